# Verdicts on the paper's claims, the results page, provenance, checks, and published results.


include: "lookups/reporting.smk"


from wtrak.job.versions import installed_versions


rule claims:
    input:
        claim_inputs(),
    output:
        **table("claims", "Every claim, decided", category="Verdict"),
    log:
        "results/logs/claims.log",
    benchmark:
        "results/benchmarks/claims.tsv"
    conda:
        "../../envs/wtrak.yaml"
    params:
        code=code("reporting/claims.py"),
        claims=stable(paper.claims()),
        inconsistencies=stable(paper.rows("paper_inconsistencies.csv")),
        sources=stable(claim_sources()),
        rules=stable(config["claims"]["rules"]),
        # Results of other experiments are no evidence on the paper.
        judged=not config["claims"]["stand_ins"],
        notice=config["notice"],
    message:
        "Decide the paper's claims"
    script:
        "../scripts/reporting/claims.py"


rule claims_figure:
    input:
        "results/tables/claims.csv",
    output:
        **figure("claims_figure", "The claims at a glance", category="Verdict"),
    log:
        "results/logs/claims_figure.log",
    benchmark:
        "results/benchmarks/claims_figure.tsv"
    conda:
        "../../envs/wtrak.yaml"
    params:
        code=code("reporting/claims_figure.py"),
        notice=config["notice"],
    message:
        "Draw the claims at a glance"
    script:
        "../scripts/reporting/claims_figure.py"


# The order on the page and in the published results: verdicts first, galleries last.
FIGURES[:] = [*sorted(FIGURES, key=lambda path: "claims_figure." not in path), *GALLERIES]
TABLES[:] = sorted(TABLES, key=lambda path: "claims." not in path)
PUBLISHED = [*FIGURES, *TABLES, "results/provenance.json"]


rule provenance:
    input:
        # Logs and benchmarks of every job behind the results: versions of packages and wall times.
        unpack(lambda w: LINEAGE.records_behind(FIGURES + TABLES)),
        results=FIGURES + TABLES,
        records=plan.all_records(),
    output:
        report(
            "results/provenance.json",
            caption="../report/provenance.rst",
            category="Provenance",
            labels={"file": "Provenance"},
        ),
    log:
        "results/logs/provenance.log",
    conda:
        "../../envs/wtrak.yaml"
    resources:
        mem_mb=megabytes(1000),
        runtime=minutes(5),
    params:
        code=code("reporting/provenance.py"),
        config=plan.published_config(),
        # After an update of a package only this rule runs again; it lists what older versions made.
        versions=stable(installed_versions()),
    message:
        "Record the configuration, versions, data, machine and times behind the results"
    script:
        "../scripts/reporting/provenance.py"


rule page:
    input:
        figures=[path for path in FIGURES if path.endswith(".svg")],
        tables=[path for path in TABLES if path.endswith(".html")],
        claims="results/tables/claims.csv",
        provenance="results/provenance.json",
    output:
        "results/index.html",
    log:
        "results/logs/page.log",
    benchmark:
        "results/benchmarks/page.tsv"
    conda:
        "../../envs/wtrak.yaml"
    resources:
        mem_mb=megabytes(1000),
        runtime=minutes(5),
    params:
        code=code("reporting/page.py"),
        captions=captions(),
        notice=config["notice"],
    message:
        "Write the results page, index.html"
    script:
        "../scripts/reporting/page.py"


rule check_results:
    input:
        PUBLISHED,
        "results/index.html",
    output:
        "results/checks.xml",
    log:
        "results/logs/check_results.log",
    benchmark:
        "results/benchmarks/check_results.tsv"
    conda:
        "../../envs/wtrak.yaml"
    resources:
        mem_mb=megabytes(2000),
        runtime=minutes(10),
    params:
        code=code("reporting/check_results.py"),
        suite=suite_of_results(),
    message:
        "Run the tests of the results"
    script:
        "../scripts/reporting/check_results.py"


rule publish:
    input:
        PUBLISHED,
    output:
        [path.replace("results/", "results/published/", 1) for path in PUBLISHED],
    log:
        "results/logs/publish.log",
    conda:
        "../../envs/wtrak.yaml"
    resources:
        mem_mb=megabytes(500),
        runtime=minutes(5),
    params:
        code=code("reporting/publish.py"),
        notice=config["notice"],
    message:
        "Copy the figures, tables and provenance of this run to results/published"
    script:
        "../scripts/reporting/publish.py"
