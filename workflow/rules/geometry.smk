# Covariance, spectrum, self-influence, TRAK scores, and figure 2.


rule covariance:
    input:
        activations=activations_of,
        residuals="results/experiments/{experiment}/residuals.safetensors",
    output:
        factor="results/experiments/{experiment}/covariance.safetensors",
        spectrum="results/experiments/{experiment}/spectrum.csv",
        record="results/experiments/{experiment}/spectrum.json",
    log:
        "results/logs/covariance/{experiment}.log",
    benchmark:
        "results/benchmarks/covariance/{experiment}.tsv"
    conda:
        "../../envs/wtrak.yaml"
    threads: 16
    resources:
        gpu=cards(),
        mem_mb=megabytes(4000),
        runtime=minutes(30),
    params:
        code=code("covariance.py"),
        ridge=lambda w: setting(w, "ridge"),
        block_size=config["compute"]["block_size"],
        device=config["compute"]["device"],
    message:
        "Factorise the feature covariance of {wildcards.experiment}"
    script:
        "../scripts/covariance.py"


rule scores:
    input:
        activations=activations_of,
        residuals="results/experiments/{experiment}/residuals.safetensors",
        factor="results/experiments/{experiment}/covariance.safetensors",
    output:
        scores="results/experiments/{experiment}/scores.safetensors",
        deletion="results/experiments/{experiment}/one_deletion.json",
    log:
        "results/logs/scores/{experiment}.log",
    benchmark:
        "results/benchmarks/scores/{experiment}.tsv"
    conda:
        "../../envs/wtrak.yaml"
    threads: 16
    resources:
        gpu=cards(),
        mem_mb=megabytes(4000),
        runtime=minutes(30),
    params:
        code=code("scores.py"),
        n_test_scored=lambda w: setting(w, "n_test_scored"),
        n_wasserstein=lambda w: setting(w, "n_wasserstein"),
        subset_seed=lambda w: setting(w, "subset_seed"),
        block_size=config["compute"]["block_size"],
        device=config["compute"]["device"],
    message:
        "Compute self-influence and TRAK scores of {wildcards.experiment}"
    script:
        "../scripts/scores.py"


rule fig2_spectrum:
    input:
        spectra=of_experiments("results/experiments/{experiment}/spectrum.csv"),
        records=of_experiments("results/experiments/{experiment}/spectrum.json"),
        amplifications=of_experiments("results/experiments/{experiment}/amplification.csv"),
        provenance=records(),
    output:
        svg=report(
            "results/figures/fig2_spectrum.svg",
            caption="../report/fig2_spectrum.rst",
            category="Figures",
            labels={"figure": "Fig. 2: spectrum and amplification"},
        ),
        pdf="results/figures/fig2_spectrum.pdf",
    log:
        "results/logs/fig2_spectrum.log",
    benchmark:
        "results/benchmarks/fig2_spectrum.tsv"
    conda:
        "../../envs/wtrak.yaml"
    resources:
        mem_mb=megabytes(1000),
        runtime=minutes(5),
    params:
        code=code("fig2_spectrum.py"),
        experiments=experiments(),
        notice=config["notice"],
    message:
        "Draw figure 2: the spectrum and its amplification"
    script:
        "../scripts/fig2_spectrum.py"


rule head_training:
    input:
        curves=of_experiments("results/experiments/{experiment}/head_curve.csv"),
        records=of_experiments("results/experiments/{experiment}/head.json"),
        provenance=records(),
    output:
        svg=report(
            "results/figures/head_training.svg",
            caption="../report/head_training.rst",
            category="Figures",
            labels={"figure": "Head: training curves"},
        ),
        pdf="results/figures/head_training.pdf",
    log:
        "results/logs/head_training.log",
    benchmark:
        "results/benchmarks/head_training.tsv"
    conda:
        "../../envs/wtrak.yaml"
    resources:
        mem_mb=megabytes(1000),
        runtime=minutes(5),
    params:
        code=code("head_training.py"),
        experiments=experiments(),
        notice=config["notice"],
    message:
        "Draw the training curves of the heads"
    script:
        "../scripts/head_training.py"


rule amplification:
    input:
        activations=activations_of,
        residuals="results/experiments/{experiment}/residuals.safetensors",
        factor="results/experiments/{experiment}/covariance.safetensors",
    output:
        "results/experiments/{experiment}/amplification.csv",
    log:
        "results/logs/amplification/{experiment}.log",
    benchmark:
        "results/benchmarks/amplification/{experiment}.tsv"
    conda:
        "../../envs/wtrak.yaml"
    threads: 16
    resources:
        gpu=cards(),
        mem_mb=megabytes(4000),
        runtime=minutes(30),
    params:
        code=code("amplification.py"),
        ridge=lambda w: setting(w, "ridge"),
        n_test=lambda w: setting(w, "n_test_scored"),
        block_size=config["compute"]["block_size"],
        device=config["compute"]["device"],
    message:
        "Measure the amplification along each eigenvector of {wildcards.experiment}"
    script:
        "../scripts/amplification.py"
