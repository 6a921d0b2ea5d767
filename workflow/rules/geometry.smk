# Activations, the last layer and its gradients, their covariance, scores, and foreign inputs.


include: "lookups/geometry.smk"


rule activations:
    input:
        dataset=plan.dataset_of,
        weights="results/backbones/{backbone}.safetensors",
    output:
        "results/activations/{dataset}/{backbone}/{size}.safetensors",
    log:
        "results/logs/activations/{dataset}/{backbone}/{size}.log",
    benchmark:
        "results/benchmarks/activations/{dataset}/{backbone}/{size}.tsv"
    conda:
        "../../envs/wtrak.yaml"
    threads: 16
    resources:
        gpu=cards(),
        mem_mb=lambda w, attempt: attempt * (4000 + 2 * weights_megabytes(w.backbone)),
        runtime=minutes(120),
    params:
        code=code("geometry/activations.py"),
        batch_size=config["activations"]["batch_size"],
        shard_size=config["activations"]["shard_size"],
        precision=config["activations"]["precision"],
        device=config["compute"]["device"],
    message:
        "Compute the activations of {wildcards.dataset} by {wildcards.backbone}, image size {wildcards.size}"
    script:
        "../scripts/geometry/activations.py"


rule head:
    input:
        dataset=plan.dataset_of,
        corrections=plan.corrections_of,
        activations=plan.activations_of,
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
        code=code("geometry/head.py"),
        n_train=lambda w: plan.setting(w, "n_train"),
        subset_seed=lambda w: plan.setting(w, "subset_seed"),
        recipe=lambda w: stable(config["heads"][plan.setting(w, "head")]),
        device=config["compute"]["device"],
    message:
        "Fine-tune the last layer of {wildcards.experiment}"
    script:
        "../scripts/geometry/head.py"


rule residuals:
    input:
        dataset=plan.dataset_of,
        activations=plan.activations_of,
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
        code=code("geometry/residuals.py"),
        gradient=lambda w: plan.setting(w, "gradient"),
        test_label=lambda w: plan.setting(w, "test_label"),
    message:
        "Compute the residuals of {wildcards.experiment}"
    script:
        "../scripts/geometry/residuals.py"


rule covariance:
    input:
        activations=plan.activations_of,
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
        code=code("geometry/covariance.py"),
        ridge=lambda w: plan.setting(w, "ridge"),
        block_size=config["compute"]["block_size"],
        device=config["compute"]["device"],
    message:
        "Factorise the feature covariance of {wildcards.experiment}"
    script:
        "../scripts/geometry/covariance.py"


rule scores:
    input:
        activations=plan.activations_of,
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
        code=code("geometry/scores.py"),
        n_test_scored=lambda w: plan.setting(w, "n_test_scored"),
        n_wasserstein=lambda w: plan.setting(w, "n_wasserstein"),
        subset_seed=lambda w: plan.setting(w, "subset_seed"),
        block_size=config["compute"]["block_size"],
        device=config["compute"]["device"],
    message:
        "Compute self-influence and TRAK scores of {wildcards.experiment}"
    script:
        "../scripts/geometry/scores.py"


rule amplification:
    input:
        activations=plan.activations_of,
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
        code=code("geometry/amplification.py"),
        ridge=lambda w: plan.setting(w, "ridge"),
        n_test=lambda w: plan.setting(w, "n_test_scored"),
        block_size=config["compute"]["block_size"],
        device=config["compute"]["device"],
    message:
        "Measure the amplification along each eigenvector of {wildcards.experiment}"
    script:
        "../scripts/geometry/amplification.py"


rule fig2_spectrum:
    input:
        spectra=plan.of_experiments("results/experiments/{experiment}/spectrum.csv"),
        records=plan.of_experiments("results/experiments/{experiment}/spectrum.json"),
        amplifications=plan.of_experiments("results/experiments/{experiment}/amplification.csv"),
        enlargements=plan.of_experiments("results/experiments/{experiment}/enlargement.csv"),
        provenance=plan.records(),
    output:
        **figure("fig2_spectrum", "Fig. 2: spectrum and amplification"),
    log:
        "results/logs/fig2_spectrum.log",
    benchmark:
        "results/benchmarks/fig2_spectrum.tsv"
    conda:
        "../../envs/wtrak.yaml"
    params:
        code=code("geometry/fig2_spectrum.py"),
        experiments=plan.experiments(),
        labels=plan.labels(plan.experiments()),
        notice=config["notice"],
    message:
        "Draw figure 2: the spectrum and its amplification"
    script:
        "../scripts/geometry/fig2_spectrum.py"


rule head_training:
    input:
        curves=plan.of_experiments("results/experiments/{experiment}/head_curve.csv"),
        records=plan.of_experiments("results/experiments/{experiment}/head.json"),
        provenance=plan.records(),
    output:
        **figure("head_training", "Head: training curves"),
    log:
        "results/logs/head_training.log",
    benchmark:
        "results/benchmarks/head_training.tsv"
    conda:
        "../../envs/wtrak.yaml"
    params:
        code=code("geometry/head_training.py"),
        experiments=plan.experiments(),
        labels=plan.labels(plan.experiments()),
        notice=config["notice"],
    message:
        "Draw the training curves of the heads"
    script:
        "../scripts/geometry/head_training.py"


rule ood_activations:
    input:
        dataset=plan.dataset_of,
        others=foreign_datasets,
        weights="results/backbones/{backbone}.safetensors",
    output:
        "results/ood/{dataset}/{backbone}/{size}.safetensors",
    log:
        "results/logs/ood_activations/{dataset}/{backbone}/{size}.log",
    benchmark:
        "results/benchmarks/ood_activations/{dataset}/{backbone}/{size}.tsv"
    conda:
        "../../envs/wtrak.yaml"
    threads: 16
    resources:
        gpu=cards(),
        mem_mb=lambda w, attempt: attempt * (4000 + 2 * weights_megabytes(w.backbone)),
        runtime=minutes(30),
    params:
        code=code("geometry/ood_activations.py"),
        batch_size=config["activations"]["batch_size"],
        precision=config["activations"]["precision"],
        seed=config["ood"]["seed"],
        n_images=config["ood"]["n_images"],
        blur_sigma=config["ood"]["blur_sigma"],
        datasets=config["ood"]["datasets"],
        device=config["compute"]["device"],
    message:
        "Compute the activations of inputs unlike {wildcards.dataset} by {wildcards.backbone}, image size {wildcards.size}"
    script:
        "../scripts/geometry/ood_activations.py"


rule ood:
    input:
        dataset=plan.dataset_of,
        activations=plan.activations_of,
        foreign=foreign_of,
        head="results/experiments/{experiment}/head.safetensors",
        factor="results/experiments/{experiment}/covariance.safetensors",
        scores="results/experiments/{experiment}/scores.safetensors",
    output:
        "results/experiments/{experiment}/ood.csv",
    log:
        "results/logs/ood/{experiment}.log",
    benchmark:
        "results/benchmarks/ood/{experiment}.tsv"
    conda:
        "../../envs/wtrak.yaml"
    threads: 16
    resources:
        gpu=cards(),
        mem_mb=megabytes(4000),
        runtime=minutes(30),
    params:
        code=code("geometry/ood.py"),
        gradient=lambda w: plan.setting(w, "gradient"),
        ridge=lambda w: plan.setting(w, "ridge"),
        neighbours=config["ood"]["neighbours"],
        block_size=config["compute"]["block_size"],
        device=config["compute"]["device"],
    message:
        "Measure self-influence and distance of inputs unlike {wildcards.experiment}"
    script:
        "../scripts/geometry/ood.py"


rule fig3_ood:
    input:
        ood=of_images("results/experiments/{experiment}/ood.csv"),
        provenance=records_with_foreign(),
    output:
        **figure(
            "fig3_ood",
            "Fig. 3: the out-of-distribution barrier",
            when=plan.with_images(plan.experiments()),
        ),
    log:
        "results/logs/fig3_ood.log",
    benchmark:
        "results/benchmarks/fig3_ood.tsv"
    conda:
        "../../envs/wtrak.yaml"
    params:
        code=code("geometry/fig3_ood.py"),
        experiments=plan.with_images(plan.experiments()),
        labels=plan.labels(plan.with_images(plan.experiments())),
        neighbours=config["ood"]["neighbours"],
        notice=config["notice"],
    message:
        "Draw figure 3: self-influence against the distance to the training data"
    script:
        "../scripts/geometry/fig3_ood.py"


rule ood_table:
    input:
        ood=of_images("results/experiments/{experiment}/ood.csv"),
        provenance=records_with_foreign(),
    output:
        **table(
            "ood_table",
            "The out-of-distribution barrier",
            when=plan.with_images(plan.experiments()),
        ),
    log:
        "results/logs/ood_table.log",
    benchmark:
        "results/benchmarks/ood_table.tsv"
    conda:
        "../../envs/wtrak.yaml"
    params:
        code=code("geometry/ood_table.py"),
        experiments=plan.with_images(plan.experiments()),
        labels=plan.labels(plan.with_images(plan.experiments())),
        notice=config["notice"],
    message:
        "Write the table: self-influence and distance of foreign inputs"
    script:
        "../scripts/geometry/ood_table.py"
