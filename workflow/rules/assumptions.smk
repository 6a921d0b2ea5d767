# The choices that the paper does not state: one job for each variation, a figure and a table.


include: "lookups/assumptions.smk"


rule variation:
    input:
        dataset=plan.dataset_of,
        activations=plan.activations_of,
        head=head_of,
        frontier=frontier_of,
    output:
        "results/assumptions/{experiment}.csv",
    log:
        "results/logs/variation/{experiment}.log",
    benchmark:
        "results/benchmarks/variation/{experiment}.tsv"
    conda:
        "../../envs/wtrak.yaml"
    threads: 16
    resources:
        gpu=cards(),
        mem_mb=megabytes(5000),
        runtime=minutes(30),
    params:
        code=code("assumptions/variation.py"),
        experiment=lambda w: w.experiment.partition(VARIED)[0],
        variation=lambda w: w.experiment.partition(VARIED)[2] or "as configured",
        gradient=lambda w: plan.setting(w, "gradient"),
        seed=config["assumptions"]["seed"],
        n_test=config["assumptions"]["n_test"],
        pairs_per_test=config["assumptions"]["pairs_per_test"],
        n_wasserstein=config["assumptions"]["n_wasserstein"],
        ridges=config["assumptions"]["ridges"],
        block_size=config["compute"]["block_size"],
        device=config["compute"]["device"],
    message:
        "Compute the paper's numbers of {wildcards.experiment} for every ridge and test label"
    script:
        "../scripts/assumptions/variation.py"


rule assumptions_figure:
    input:
        readings=of_variations("results/assumptions/{experiment}.csv"),
        provenance=plan.records(),
    output:
        **figure("assumptions_figure", "Choices that the paper does not state"),
    log:
        "results/logs/assumptions_figure.log",
    benchmark:
        "results/benchmarks/assumptions_figure.tsv"
    conda:
        "../../envs/wtrak.yaml"
    params:
        code=code("assumptions/assumptions_figure.py"),
        experiments=plan.experiments(),
        labels=plan.labels(plan.experiments()),
        defaults=stable({name: plan.experiment_block(name) for name in plan.experiments()}),
        paper=stable({name: paper.values(name) for name in plan.experiments()}),
        notice=config["notice"],
    message:
        "Draw the range of the paper's numbers over choices that it does not state"
    script:
        "../scripts/assumptions/assumptions_figure.py"


rule assumptions_table:
    input:
        readings=of_variations("results/assumptions/{experiment}.csv"),
        provenance=plan.records(),
    output:
        **table("assumptions_table", "Choices that the paper does not state"),
    log:
        "results/logs/assumptions_table.log",
    benchmark:
        "results/benchmarks/assumptions_table.tsv"
    conda:
        "../../envs/wtrak.yaml"
    params:
        code=code("assumptions/assumptions_table.py"),
        experiments=plan.experiments(),
        labels=plan.labels(plan.experiments()),
        defaults=stable({name: plan.experiment_block(name) for name in plan.experiments()}),
        paper=stable({name: paper.values(name) for name in plan.experiments()}),
        notice=config["notice"],
    message:
        "Write the table: the paper's numbers under choices that it does not state"
    script:
        "../scripts/assumptions/assumptions_table.py"
