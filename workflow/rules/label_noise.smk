# Wrong training labels: made, learnt, and looked for.


rule human_labels:
    input:
        dataset=dataset_file(config["human_labels"]["dataset"]),
    output:
        labels="results/human_labels.safetensors",
        record="results/human_labels.json",
    log:
        "results/logs/human_labels.log",
    benchmark:
        "results/benchmarks/human_labels.tsv"
    retries: 2
    conda:
        "../../envs/wtrak.yaml"
    resources:
        data_directory=config["data"]["directory"],
        data_mirrors=":".join(config["data"]["mirrors"]),
        mem_mb=megabytes(1000),
        runtime=minutes(15),
    params:
        code=code("human_labels.py"),
        sources=stable(config["data"]["sources"][config["human_labels"]["source"]]),
        content_sha256=config["human_labels"]["content_sha256"],
    message:
        "Fetch and check the labels that people gave"
    script:
        "../scripts/human_labels.py"


rule noisy_heads:
    input:
        dataset=dataset_of,
        human_labels=human_labels_of,
        activations=activations_of,
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
        code=code("noisy_heads.py"),
        n_train=lambda w: setting(w, "n_train"),
        subset_seed=lambda w: setting(w, "subset_seed"),
        recipe=lambda w: stable(config["heads"][setting(w, "head")]),
        seeds=config["label_noise"]["seeds"],
        folds=config["label_noise"]["folds"],
        tracin=stable(config["heads"][config["label_noise"]["tracin"]]),
        noise=lambda w: stable(config["label_noise"]["settings"][w.noise]),
        device=config["compute"]["device"],
    message:
        "Fit heads of {wildcards.experiment} to wrong labels, {wildcards.noise}"
    script:
        "../scripts/noisy_heads.py"


rule detectors:
    input:
        activations=activations_of,
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
        code=code("detectors.py"),
        gradient=lambda w: setting(w, "gradient"),
        ridge=lambda w: setting(w, "ridge"),
        penalty=penalty_of,
        block_size=config["compute"]["block_size"],
        device=config["compute"]["device"],
    message:
        "Look for the wrong labels of {wildcards.experiment}, {wildcards.noise}"
    script:
        "../scripts/detectors.py"


rule fig5_label_noise:
    input:
        metrics=of_shown_noise("results/label_noise/{experiment}/{noise}/detection.csv"),
        curves=of_shown_noise("results/label_noise/{experiment}/{noise}/curves.csv"),
        scores=of_shown_noise("results/label_noise/{experiment}/{noise}/scores.safetensors"),
        provenance=records(),
    output:
        svg=report(
            "results/figures/fig5_label_noise.svg",
            caption="../report/fig5_label_noise.rst",
            category="Figures",
            labels={"figure": "Fig. 5: wrong labels found by self-influence"},
        ),
        pdf="results/figures/fig5_label_noise.pdf",
        numbers="results/figures/fig5_label_noise.numbers.csv",
    log:
        "results/logs/fig5_label_noise.log",
    benchmark:
        "results/benchmarks/fig5_label_noise.tsv"
    conda:
        "../../envs/wtrak.yaml"
    resources:
        mem_mb=megabytes(1000),
        runtime=minutes(5),
    params:
        code=code("fig5_label_noise.py"),
        experiments=noisy(config["label_noise"]["figure"]),
        noise=config["label_noise"]["figure"],
        notice=config["notice"],
    message:
        "Draw figure 5: wrong labels found by self-influence"
    script:
        "../scripts/fig5_label_noise.py"


rule detector_comparison:
    input:
        metrics=of_noise("results/label_noise/{experiment}/{noise}/detection.csv"),
        provenance=records(),
    output:
        svg=report(
            "results/figures/detector_comparison.svg",
            caption="../report/detector_comparison.rst",
            category="Figures",
            labels={"figure": "Detectors of wrong labels"},
        ),
        pdf="results/figures/detector_comparison.pdf",
    log:
        "results/logs/detector_comparison.log",
    benchmark:
        "results/benchmarks/detector_comparison.tsv"
    conda:
        "../../envs/wtrak.yaml"
    resources:
        mem_mb=megabytes(1000),
        runtime=minutes(5),
    params:
        code=code("detector_comparison.py"),
        notice=config["notice"],
    message:
        "Draw every detector of wrong labels"
    script:
        "../scripts/detector_comparison.py"


rule table6:
    input:
        metrics=of_noise("results/label_noise/{experiment}/{noise}/detection.csv"),
        provenance=records(),
    output:
        csv="results/tables/table6.csv",
        md="results/tables/table6.md",
        tex="results/tables/table6.tex",
        numbers="results/tables/table6.numbers.csv",
        html=report(
            "results/tables/table6.html",
            caption="../report/table6.rst",
            category="Tables",
            labels={"table": "Table 6: wrong labels found"},
        ),
    log:
        "results/logs/table6.log",
    benchmark:
        "results/benchmarks/table6.tsv"
    conda:
        "../../envs/wtrak.yaml"
    resources:
        mem_mb=megabytes(1000),
        runtime=minutes(5),
    params:
        code=code("table6.py"),
        paper=paper_detection(),
        notice=config["notice"],
    message:
        "Write table 6: wrong labels found by every detector"
    script:
        "../scripts/table6.py"


rule noise_by_fit:
    input:
        metrics=of_fits("results/label_noise/{experiment}/{noise}/detection.csv"),
        fits=of_fits("results/label_noise/{experiment}/{noise}/fits.csv"),
        provenance=records(),
    output:
        svg=report(
            "results/figures/noise_by_fit.svg",
            caption="../report/noise_by_fit.rst",
            category="Figures",
            labels={"figure": "Wrong labels: where the geometry helps"},
        ),
        pdf="results/figures/noise_by_fit.pdf",
    log:
        "results/logs/noise_by_fit.log",
    benchmark:
        "results/benchmarks/noise_by_fit.tsv"
    conda:
        "../../envs/wtrak.yaml"
    resources:
        mem_mb=megabytes(1000),
        runtime=minutes(5),
    params:
        code=code("noise_by_fit.py"),
        heads=[fit["head"] for fit in fits()],
        notice=config["notice"],
    message:
        "Draw detectors by what the head has learnt by heart"
    script:
        "../scripts/noise_by_fit.py"


rule table7:
    input:
        metrics=of_fits("results/label_noise/{experiment}/{noise}/detection.csv"),
        fits=of_fits("results/label_noise/{experiment}/{noise}/fits.csv"),
        provenance=records(),
    output:
        csv="results/tables/table7.csv",
        md="results/tables/table7.md",
        tex="results/tables/table7.tex",
        numbers="results/tables/table7.numbers.csv",
        html=report(
            "results/tables/table7.html",
            caption="../report/table7.rst",
            category="Tables",
            labels={"table": "Table 7: wrong labels by head and size"},
        ),
    log:
        "results/logs/table7.log",
    benchmark:
        "results/benchmarks/table7.tsv"
    conda:
        "../../envs/wtrak.yaml"
    resources:
        mem_mb=megabytes(1000),
        runtime=minutes(5),
    params:
        code=code("table7.py"),
        heads=[fit["head"] for fit in fits()],
        notice=config["notice"],
    message:
        "Write table 7: wrong labels found by head and size"
    script:
        "../scripts/table7.py"
