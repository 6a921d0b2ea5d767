# What the paper leaves unstated, varied: one reading of it per job, a figure and a table of all.


rule reading:
    input:
        dataset=dataset_of,
        activations=activations_of,
        head=head_of,
        frontier=frontier_of,
    output:
        "results/assumptions/{experiment}.csv",
    log:
        "results/logs/reading/{experiment}.log",
    benchmark:
        "results/benchmarks/reading/{experiment}.tsv"
    conda:
        "../../envs/wtrak.yaml"
    threads: 16
    resources:
        gpu=cards(),
        mem_mb=megabytes(5000),
        runtime=minutes(30),
    params:
        code=code("reading.py"),
        experiment=lambda w: w.experiment.partition(VARIED)[0],
        variation=lambda w: w.experiment.partition(VARIED)[2] or "as configured",
        gradient=lambda w: setting(w, "gradient"),
        seed=config["assumptions"]["seed"],
        n_test=config["assumptions"]["n_test"],
        pairs_per_test=config["assumptions"]["pairs_per_test"],
        n_wasserstein=config["assumptions"]["n_wasserstein"],
        ridges=config["assumptions"]["ridges"],
        block_size=config["compute"]["block_size"],
        device=config["compute"]["device"],
    message:
        "Read {wildcards.experiment} with every ridge and label"
    script:
        "../scripts/reading.py"


rule assumptions_sweep:
    input:
        readings=of_readings("results/assumptions/{experiment}.csv"),
        provenance=records(),
    output:
        svg=report(
            "results/figures/assumptions_sweep.svg",
            caption="../report/assumptions_sweep.rst",
            category="Figures",
            labels={"figure": "What the paper leaves unstated"},
        ),
        pdf="results/figures/assumptions_sweep.pdf",
    log:
        "results/logs/assumptions_sweep.log",
    benchmark:
        "results/benchmarks/assumptions_sweep.tsv"
    conda:
        "../../envs/wtrak.yaml"
    resources:
        mem_mb=megabytes(1000),
        runtime=minutes(5),
    params:
        code=code("assumptions_sweep.py"),
        experiments=experiments(),
        defaults=stable({name: experiment_block(name) for name in experiments()}),
        paper=stable({name: paper_values(name) for name in experiments()}),
        notice=config["notice"],
    message:
        "Draw how far the paper's numbers move under what it leaves unstated"
    script:
        "../scripts/assumptions_sweep.py"


rule table5:
    input:
        readings=of_readings("results/assumptions/{experiment}.csv"),
        provenance=records(),
    output:
        csv="results/tables/table5.csv",
        md="results/tables/table5.md",
        tex="results/tables/table5.tex",
        numbers="results/tables/table5.numbers.csv",
        html=report(
            "results/tables/table5.html",
            caption="../report/table5.rst",
            category="Tables",
            labels={"table": "Table 5: what the paper leaves unstated"},
        ),
    log:
        "results/logs/table5.log",
    benchmark:
        "results/benchmarks/table5.tsv"
    conda:
        "../../envs/wtrak.yaml"
    resources:
        mem_mb=megabytes(1000),
        runtime=minutes(5),
    params:
        code=code("table5.py"),
        experiments=experiments(),
        defaults=stable({name: experiment_block(name) for name in experiments()}),
        paper=stable({name: paper_values(name) for name in experiments()}),
        notice=config["notice"],
    message:
        "Write table 5: the paper's numbers under every reading"
    script:
        "../scripts/table5.py"
