# The verdict: every claim of the paper against what was computed.


rule claims:
    input:
        claim_inputs(),
    output:
        csv="results/tables/claims.csv",
        md="results/tables/claims.md",
        tex="results/tables/claims.tex",
        numbers="results/tables/claims.numbers.csv",
        html=report(
            "results/tables/claims.html",
            caption="../report/claims.rst",
            category="Verdict",
            labels={"what": "Every claim, decided"},
        ),
    log:
        "results/logs/claims.log",
    benchmark:
        "results/benchmarks/claims.tsv"
    conda:
        "../../envs/wtrak.yaml"
    resources:
        mem_mb=megabytes(1000),
        runtime=minutes(5),
    params:
        code=code("claims.py"),
        claims=stable(paper_claims()),
        inconsistencies=stable(resource("paper_inconsistencies.csv")),
        sources=stable(claim_sources()),
        rules=stable(config["claims"]["rules"]),
        notice=config["notice"],
    message:
        "Decide the paper's claims"
    script:
        "../scripts/claims.py"


rule claims_figure:
    input:
        "results/tables/claims.csv",
    output:
        svg=report(
            "results/figures/claims_figure.svg",
            caption="../report/claims_figure.rst",
            category="Verdict",
            labels={"what": "The claims at a glance"},
        ),
        pdf="results/figures/claims_figure.pdf",
    log:
        "results/logs/claims_figure.log",
    benchmark:
        "results/benchmarks/claims_figure.tsv"
    conda:
        "../../envs/wtrak.yaml"
    resources:
        mem_mb=megabytes(1000),
        runtime=minutes(5),
    params:
        code=code("claims_figure.py"),
        notice=config["notice"],
    message:
        "Draw the claims at a glance"
    script:
        "../scripts/claims_figure.py"
