# Training anew without the points that an attribution names.


rule head_removal:
    input:
        dataset=dataset_of,
        activations=activations_of,
        frontier="results/experiments/{experiment}/frontier.json",
        human_labels=people_of,
    output:
        curves="results/removal/{experiment}/curves.csv",
        removed="results/removal/{experiment}/removed.csv",
    log:
        "results/logs/head_removal/{experiment}.log",
    benchmark:
        "results/benchmarks/head_removal/{experiment}.tsv"
    conda:
        "../../envs/wtrak.yaml"
    threads: 16
    resources:
        gpu=1,
        mem_mb=megabytes(4000),
        runtime=minutes(60),
    params:
        code=code("head_removal.py"),
        content_sha256=content_of,
        n_train=lambda w: setting(w, "n_train"),
        recipe=lambda w: stable(config["heads"][setting(w, "head")]),
        gradient=lambda w: setting(w, "gradient"),
        ridge=lambda w: setting(w, "ridge"),
        n_test_scored=lambda w: setting(w, "n_test_scored"),
        seeds=config["removal"]["seeds"],
        shares=config["removal"]["shares"],
        neighbours=config["removal"]["neighbours"],
        looked_at=config["removal"]["looked_at"],
        block_size=config["compute"]["block_size"],
        device=config["compute"]["device"],
    message:
        "Remove training points of {wildcards.experiment} and fit the head anew"
    script:
        "../scripts/head_removal.py"


rule fig7_head_removal:
    input:
        curves=of_removal("results/removal/{experiment}/curves.csv"),
        removed=of_removal("results/removal/{experiment}/removed.csv"),
        provenance=records(),
    output:
        svg=report(
            "results/figures/fig7_head_removal.svg",
            caption="../report/fig7_head_removal.rst",
            category="Figures",
            labels={"figure": "Fig. 7: training points removed"},
        ),
        pdf="results/figures/fig7_head_removal.pdf",
    log:
        "results/logs/fig7_head_removal.log",
    benchmark:
        "results/benchmarks/fig7_head_removal.tsv"
    conda:
        "../../envs/wtrak.yaml"
    resources:
        mem_mb=megabytes(1000),
        runtime=minutes(5),
    params:
        code=code("fig7_head_removal.py"),
        experiments=removal_experiments(),
        notice=config["notice"],
    message:
        "Draw figure 7: training points removed"
    script:
        "../scripts/fig7_head_removal.py"


rule table10:
    input:
        curves=of_removal("results/removal/{experiment}/curves.csv"),
        removed=of_removal("results/removal/{experiment}/removed.csv"),
        provenance=records(),
    output:
        csv="results/tables/table10.csv",
        md="results/tables/table10.md",
        tex="results/tables/table10.tex",
        html=report(
            "results/tables/table10.html",
            caption="../report/table10.rst",
            category="Tables",
            labels={"table": "Table 10: training points removed"},
        ),
    log:
        "results/logs/table10.log",
    benchmark:
        "results/benchmarks/table10.tsv"
    conda:
        "../../envs/wtrak.yaml"
    resources:
        mem_mb=megabytes(1000),
        runtime=minutes(5),
    params:
        code=code("table10.py"),
        experiments=removal_experiments(),
        looked_at=config["removal"]["looked_at"],
        notice=config["notice"],
    message:
        "Write table 10: training points removed"
    script:
        "../scripts/table10.py"
