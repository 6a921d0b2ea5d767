# The last layer, its gradients, and the geometry they span: one chain per experiment.


rule head:
    input:
        dataset=dataset_of,
        activations=activations_of,
    output:
        head="results/experiments/{experiment}/head.safetensors",
        record="results/experiments/{experiment}/head.json",
        curve="results/experiments/{experiment}/head_curve.csv",
    log:
        "results/logs/head/{experiment}.log",
    benchmark:
        "results/benchmarks/head/{experiment}.tsv"
    conda:
        "../../envs/wtrak.yaml"
    threads: 16
    resources:
        gpu=cards(),
        mem_mb=megabytes(4000),
        runtime=minutes(30),
    params:
        code=code("head.py"),
        n_train=lambda w: setting(w, "n_train"),
        subset_seed=lambda w: setting(w, "subset_seed"),
        recipe=lambda w: stable(config["heads"][setting(w, "head")]),
        device=config["compute"]["device"],
    message:
        "Fine-tune the last layer of {wildcards.experiment}"
    script:
        "../scripts/head.py"


rule residuals:
    input:
        dataset=dataset_of,
        activations=activations_of,
        head="results/experiments/{experiment}/head.safetensors",
    output:
        "results/experiments/{experiment}/residuals.safetensors",
    log:
        "results/logs/residuals/{experiment}.log",
    benchmark:
        "results/benchmarks/residuals/{experiment}.tsv"
    conda:
        "../../envs/wtrak.yaml"
    resources:
        mem_mb=megabytes(2000),
        runtime=minutes(10),
    params:
        code=code("residuals.py"),
        gradient=lambda w: setting(w, "gradient"),
        test_label=lambda w: setting(w, "test_label"),
    message:
        "Compute the residuals of {wildcards.experiment}"
    script:
        "../scripts/residuals.py"
