# Label errors: heads fitted to wrong labels, detectors of these, and suspicious labels of the data.


include: "lookups/labels.smk"


NOISY = any(map(plan.noisy, config["label_noise"]["settings"]))
SUSPECTS = expand(
    [
        "results/suspects/{experiment}/suspects.csv",
        "results/suspects/{experiment}/suspects.html",
        "results/suspects/{experiment}/summary.json",
        "results/copies/{experiment}.csv",
    ],
    experiment=plan.chosen_experiments(),
) + expand(
    ["results/datasets/{dataset}.skipped.csv", "results/datasets/{dataset}.quality.csv"],
    dataset=plan.chosen_own_images(),
)
GALLERIES = expand(
    "results/figures/{figure}.{format}",
    figure=[
        *expand("gallery_{experiment}", experiment=plan.with_images(plan.chosen_experiments())),
        *expand(
            "noisy_gallery_{experiment}",
            experiment=plan.with_images(plan.noisy(config["label_noise"]["figure"])),
        ),
    ],
    format=["svg", "pdf"],
)


rule copies:
    input:
        dataset=plan.dataset_of,
        corrections=plan.corrections_of,
        activations=plan.activations_of,
    output:
        groups="results/copies/{experiment}.safetensors",
        table="results/copies/{experiment}.csv",
    log:
        "results/logs/copies/{experiment}.log",
    benchmark:
        "results/benchmarks/copies/{experiment}.tsv"
    conda:
        "../../envs/wtrak.yaml"
    threads: 16
    resources:
        gpu=cards(),
        mem_mb=megabytes(3000),
        runtime=minutes(15),
    params:
        code=code("labels/copies.py"),
        n_train=lambda w: plan.setting(w, "n_train"),
        subset_seed=lambda w: plan.setting(w, "subset_seed"),
        cosine=plan.copies_cosine,
        block_size=config["compute"]["block_size"],
        device=config["compute"]["device"],
    message:
        "Find copies among the training examples of {wildcards.experiment}"
    script:
        "../scripts/labels/copies.py"


rule noisy_heads:
    input:
        dataset=plan.dataset_of,
        human_labels=human_labels_of,
        activations=plan.activations_of,
        copies="results/copies/{experiment}.safetensors",
    output:
        heads="results/label_noise/{experiment}/{noise}/heads.safetensors",
        fits="results/label_noise/{experiment}/{noise}/fits.csv",
    log:
        "results/logs/noisy_heads/{experiment}/{noise}.log",
    benchmark:
        "results/benchmarks/noisy_heads/{experiment}/{noise}.tsv"
    conda:
        "../../envs/wtrak.yaml"
    threads: 16
    resources:
        gpu=cards(),
        mem_mb=megabytes(4000),
        runtime=minutes(60),
    params:
        code=code("labels/noisy_heads.py"),
        n_train=lambda w: plan.setting(w, "n_train"),
        subset_seed=lambda w: plan.setting(w, "subset_seed"),
        recipe=lambda w: stable(config["heads"][plan.setting(w, "head")]),
        seeds=config["label_noise"]["seeds"],
        folds=config["label_noise"]["folds"],
        tracin=stable(config["heads"][config["label_noise"]["tracin"]]),
        noise=lambda w: stable(plan.noise_block(w.noise)),
        device=config["compute"]["device"],
    message:
        "Fit heads of {wildcards.experiment} to wrong labels, {wildcards.noise}"
    script:
        "../scripts/labels/noisy_heads.py"


rule detectors:
    input:
        activations=plan.activations_of,
        copies="results/copies/{experiment}.safetensors",
        heads="results/label_noise/{experiment}/{noise}/heads.safetensors",
    output:
        table="results/label_noise/{experiment}/{noise}/detection.csv",
        curves="results/label_noise/{experiment}/{noise}/curves.csv",
        scores="results/label_noise/{experiment}/{noise}/scores.safetensors",
    log:
        "results/logs/detectors/{experiment}/{noise}.log",
    benchmark:
        "results/benchmarks/detectors/{experiment}/{noise}.tsv"
    conda:
        "../../envs/wtrak.yaml"
    threads: 16
    resources:
        gpu=cards(),
        mem_mb=megabytes(4000),
        runtime=minutes(60),
    params:
        code=code("labels/detectors.py"),
        gradient=lambda w: plan.setting(w, "gradient"),
        ridge=lambda w: plan.setting(w, "ridge"),
        penalty=penalty_of,
        block_size=config["compute"]["block_size"],
        device=config["compute"]["device"],
    message:
        "Detect the wrong labels of {wildcards.experiment}, {wildcards.noise}"
    script:
        "../scripts/labels/detectors.py"


rule fig5_label_noise:
    input:
        metrics=of_shown_noise("results/label_noise/{experiment}/{noise}/detection.csv"),
        curves=of_shown_noise("results/label_noise/{experiment}/{noise}/curves.csv"),
        scores=of_shown_noise("results/label_noise/{experiment}/{noise}/scores.safetensors"),
        provenance=plan.records(),
    output:
        **figure(
            "fig5_label_noise",
            "Fig. 5: wrong labels found by self-influence",
            when=plan.noisy(config["label_noise"]["figure"]),
            numbers=True,
        ),
    log:
        "results/logs/fig5_label_noise.log",
    benchmark:
        "results/benchmarks/fig5_label_noise.tsv"
    conda:
        "../../envs/wtrak.yaml"
    params:
        code=code("labels/fig5_label_noise.py"),
        experiments=plan.noisy(config["label_noise"]["figure"]),
        labels=plan.labels(plan.noisy(config["label_noise"]["figure"])),
        noise=plan.noise_label(config["label_noise"]["figure"]),
        notice=config["notice"],
    message:
        "Draw figure 5: wrong labels found by self-influence"
    script:
        "../scripts/labels/fig5_label_noise.py"


rule detector_comparison:
    input:
        metrics=of_noise("results/label_noise/{experiment}/{noise}/detection.csv"),
        provenance=plan.records(),
    output:
        **figure("detector_comparison", "Detectors of wrong labels", when=NOISY),
    log:
        "results/logs/detector_comparison.log",
    benchmark:
        "results/benchmarks/detector_comparison.tsv"
    conda:
        "../../envs/wtrak.yaml"
    params:
        code=code("labels/detector_comparison.py"),
        labels=plan.labels(plan.experiments()),
        noise_labels=plan.noise_labels(),
        notice=config["notice"],
    message:
        "Draw a comparison of all detectors of wrong labels"
    script:
        "../scripts/labels/detector_comparison.py"


rule detection_table:
    input:
        metrics=of_noise("results/label_noise/{experiment}/{noise}/detection.csv"),
        provenance=plan.records(),
    output:
        **table("detection_table", "Wrong labels found", when=NOISY),
    log:
        "results/logs/detection_table.log",
    benchmark:
        "results/benchmarks/detection_table.tsv"
    conda:
        "../../envs/wtrak.yaml"
    params:
        code=code("labels/detection_table.py"),
        labels=plan.labels(plan.experiments()),
        noise_labels=plan.noise_labels(),
        paper=paper.detection(),
        notice=config["notice"],
    message:
        "Write the table: wrong labels found by every detector"
    script:
        "../scripts/labels/detection_table.py"


rule noise_by_fit:
    input:
        metrics=of_fits("results/label_noise/{experiment}/{noise}/detection.csv"),
        fits=of_fits("results/label_noise/{experiment}/{noise}/fits.csv"),
        provenance=plan.records(),
    output:
        **figure("noise_by_fit", "Wrong labels: where the geometry helps", when=plan.fits()),
    log:
        "results/logs/noise_by_fit.log",
    benchmark:
        "results/benchmarks/noise_by_fit.tsv"
    conda:
        "../../envs/wtrak.yaml"
    params:
        code=code("labels/noise_by_fit.py"),
        noise=plan.noise_label(config["label_noise"]["fits"]["setting"]),
        heads=[fit["head"] for fit in plan.fits()],
        notice=config["notice"],
    message:
        "Draw detectors against the share of wrong labels that the head has memorised"
    script:
        "../scripts/labels/noise_by_fit.py"


rule detection_by_fit_table:
    input:
        metrics=of_fits("results/label_noise/{experiment}/{noise}/detection.csv"),
        fits=of_fits("results/label_noise/{experiment}/{noise}/fits.csv"),
        provenance=plan.records(),
    output:
        **table("detection_by_fit_table", "Wrong labels by head and size", when=plan.fits()),
    log:
        "results/logs/detection_by_fit_table.log",
    benchmark:
        "results/benchmarks/detection_by_fit_table.tsv"
    conda:
        "../../envs/wtrak.yaml"
    params:
        code=code("labels/detection_by_fit_table.py"),
        heads=[fit["head"] for fit in plan.fits()],
        notice=config["notice"],
    message:
        "Write the table: wrong labels found, by head and training size"
    script:
        "../scripts/labels/detection_by_fit_table.py"


rule suspicious_labels:
    input:
        dataset=plan.dataset_of,
        corrections=plan.corrections_of,
        activations=plan.activations_of,
        copies="results/copies/{experiment}.safetensors",
        head="results/experiments/{experiment}/head.safetensors",
        human_labels=plan.people_of,
    output:
        suspects="results/suspects/{experiment}/suspects.csv",
        by_class="results/suspects/{experiment}/by_class.csv",
        by_pair="results/suspects/{experiment}/by_pair.csv",
        estimates="results/suspects/{experiment}/estimates.csv",
    log:
        "results/logs/suspicious_labels/{experiment}.log",
    benchmark:
        "results/benchmarks/suspicious_labels/{experiment}.tsv"
    conda:
        "../../envs/wtrak.yaml"
    threads: 16
    resources:
        gpu=cards(),
        mem_mb=megabytes(6000),
        runtime=minutes(30),
    params:
        code=code("labels/suspicious_labels.py"),
        gradient=lambda w: plan.setting(w, "gradient"),
        ridge=lambda w: plan.setting(w, "ridge"),
        recipe=lambda w: stable(config["heads"][plan.setting(w, "head")]),
        folds=config["suspects"]["folds"],
        seed=config["suspects"]["seed"],
        rank_by=config["suspects"]["rank_by"],
        resamples=config["suspects"]["resamples"],
        top=config["suspects"]["top"],
        block_size=config["compute"]["block_size"],
        device=config["compute"]["device"],
    message:
        "Detect suspicious labels of {wildcards.experiment}"
    script:
        "../scripts/labels/suspicious_labels.py"


rule gallery:
    input:
        suspects="results/suspects/{experiment}/suspects.csv",
        dataset=plan.dataset_of,
        provenance=plan.records_of,
    output:
        **figure("gallery_{experiment}", "Suspicious labels of {experiment}"),
    log:
        "results/logs/gallery/{experiment}.log",
    benchmark:
        "results/benchmarks/gallery/{experiment}.tsv"
    conda:
        "../../envs/wtrak.yaml"
    params:
        code=code("labels/gallery.py"),
        title=lambda w: f"{plan.label_of(w.experiment)}, original labels",
        rank_by=config["suspects"]["rank_by"],
        shown=config["suspects"]["shown"],
        notice=config["notice"],
    message:
        "Draw the suspicious labels of {wildcards.experiment}"
    script:
        "../scripts/labels/gallery.py"


rule noisy_suspects:
    input:
        dataset=plan.dataset_of,
        heads="results/label_noise/{experiment}/{noise}/heads.safetensors",
        scores="results/label_noise/{experiment}/{noise}/scores.safetensors",
    output:
        "results/label_noise/{experiment}/{noise}/suspects.csv",
    log:
        "results/logs/noisy_suspects/{experiment}/{noise}.log",
    benchmark:
        "results/benchmarks/noisy_suspects/{experiment}/{noise}.tsv"
    conda:
        "../../envs/wtrak.yaml"
    resources:
        mem_mb=megabytes(1000),
        runtime=minutes(5),
    params:
        code=code("labels/noisy_suspects.py"),
        rank_by=config["suspects"]["rank_by"],
    message:
        "List the suspicious labels of {wildcards.experiment}, {wildcards.noise}"
    script:
        "../scripts/labels/noisy_suspects.py"


use rule gallery as noisy_gallery with:
    input:
        suspects=lambda w: f"results/label_noise/{w.experiment}/{config['label_noise']['figure']}/suspects.csv",
        dataset=plan.dataset_of,
        provenance=plan.records_of,
    output:
        **figure(
            "noisy_gallery_{experiment}",
            "Suspicious labels of {experiment} with wrong labels added",
        ),
    log:
        "results/logs/noisy_gallery/{experiment}.log",
    benchmark:
        "results/benchmarks/noisy_gallery/{experiment}.tsv"
    params:
        code=code("labels/gallery.py"),
        title=lambda w: f"{plan.label_of(w.experiment)}, {plan.noise_label(config['label_noise']['figure'])}",
        rank_by=config["suspects"]["rank_by"],
        shown=config["suspects"]["shown"],
        notice=config["notice"],
    message:
        "Draw the most suspicious of the wrong labels of {wildcards.experiment}"


rule suspects_table:
    input:
        suspects=plan.of_experiments("results/suspects/{experiment}/suspects.csv"),
        provenance=plan.records(),
    output:
        **table("suspects_table", "Suspicious labels"),
    log:
        "results/logs/suspects_table.log",
    benchmark:
        "results/benchmarks/suspects_table.tsv"
    conda:
        "../../envs/wtrak.yaml"
    params:
        code=code("labels/suspects_table.py"),
        experiments=plan.experiments(),
        labels=plan.labels(plan.experiments()),
        top=config["suspects"]["top"],
        notice=config["notice"],
    message:
        "Write the table: suspicious labels, and what people say of them"
    script:
        "../scripts/labels/suspects_table.py"
