# Provenance of a run, and the copy of its results that the repository shows.


rule provenance:
    input:
        # Of every job behind the results: for wall times, and for versions of packages.
        unpack(lambda w: LINEAGE.records_behind(FIGURES + TABLES)),
        results=FIGURES + TABLES,
        records=all_records(),
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
        code=code("provenance.py"),
        config=published_config(),
        # An update of a package re-runs this alone, so that the page says what was made before it.
        versions=stable(installed_versions()),
    message:
        "Write down the configuration, versions, data, machine and times behind the results"
    script:
        "../scripts/provenance.py"


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
        code=code("publish.py"),
        notice=config["notice"],
    message:
        "Copy the figures, tables and provenance of this run to results/published"
    script:
        "../scripts/publish.py"


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
        code=code("page.py"),
        captions=captions(),
        notice=config["notice"],
    message:
        "Write the page with everything on it"
    script:
        "../scripts/page.py"


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
        code=code("check_results.py"),
        suite=suite_of_results(),
    message:
        "Check the results"
    script:
        "../scripts/check_results.py"
