# Which labels look wrong: of the data as they come, of those made wrong, and of images of one's own.


rule suspicious_labels:
    input:
        dataset=dataset_of,
        activations=activations_of,
        head="results/experiments/{experiment}/head.safetensors",
        human_labels=people_of,
    output:
        "results/suspects/{experiment}/suspects.csv",
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
        code=code("suspicious_labels.py"),
        gradient=lambda w: setting(w, "gradient"),
        ridge=lambda w: setting(w, "ridge"),
        recipe=lambda w: stable(config["heads"][setting(w, "head")]),
        folds=config["suspects"]["folds"],
        seed=config["suspects"]["seed"],
        rank_by=config["suspects"]["rank_by"],
        block_size=config["compute"]["block_size"],
        device=config["compute"]["device"],
    message:
        "Look for suspicious labels of {wildcards.experiment}"
    script:
        "../scripts/suspicious_labels.py"


rule gallery:
    input:
        suspects="results/suspects/{experiment}/suspects.csv",
        dataset=dataset_of,
        provenance=records_of,
    output:
        svg=report(
            "results/figures/gallery_{experiment}.svg",
            caption="../report/gallery.rst",
            category="Figures",
            labels={"figure": "Suspicious labels of {experiment}"},
        ),
        pdf="results/figures/gallery_{experiment}.pdf",
    log:
        "results/logs/gallery/{experiment}.log",
    benchmark:
        "results/benchmarks/gallery/{experiment}.tsv"
    conda:
        "../../envs/wtrak.yaml"
    resources:
        mem_mb=megabytes(1000),
        runtime=minutes(5),
    params:
        code=code("gallery.py"),
        title=lambda w: f"{w.experiment}, labels as they come",
        rank_by=config["suspects"]["rank_by"],
        shown=config["suspects"]["shown"],
        notice=config["notice"],
    message:
        "Draw the suspicious labels of {wildcards.experiment}"
    script:
        "../scripts/gallery.py"


rule noisy_suspects:
    input:
        dataset=dataset_of,
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
        code=code("noisy_suspects.py"),
        rank_by=config["suspects"]["rank_by"],
    message:
        "List the suspicious labels of {wildcards.experiment}, {wildcards.noise}"
    script:
        "../scripts/noisy_suspects.py"


use rule gallery as noisy_gallery with:
    input:
        suspects=lambda w: f"results/label_noise/{w.experiment}/{config['label_noise']['figure']}/suspects.csv",
        dataset=dataset_of,
        provenance=records_of,
    output:
        svg=report(
            "results/figures/noisy_gallery_{experiment}.svg",
            caption="../report/noisy_gallery.rst",
            category="Figures",
            labels={"figure": "Wrong labels of {experiment}, made and found"},
        ),
        pdf="results/figures/noisy_gallery_{experiment}.pdf",
    log:
        "results/logs/noisy_gallery/{experiment}.log",
    benchmark:
        "results/benchmarks/noisy_gallery/{experiment}.tsv"
    params:
        code=code("gallery.py"),
        title=lambda w: f"{w.experiment}, {config['label_noise']['figure']}",
        rank_by=config["suspects"]["rank_by"],
        shown=config["suspects"]["shown"],
        notice=config["notice"],
    message:
        "Draw the wrong labels of {wildcards.experiment}, made and found"


rule table8:
    input:
        suspects=of_experiments("results/suspects/{experiment}/suspects.csv"),
        provenance=records(),
    output:
        csv="results/tables/table8.csv",
        md="results/tables/table8.md",
        tex="results/tables/table8.tex",
        numbers="results/tables/table8.numbers.csv",
        html=report(
            "results/tables/table8.html",
            caption="../report/table8.rst",
            category="Tables",
            labels={"table": "Table 8: suspicious labels"},
        ),
    log:
        "results/logs/table8.log",
    benchmark:
        "results/benchmarks/table8.tsv"
    conda:
        "../../envs/wtrak.yaml"
    resources:
        mem_mb=megabytes(1000),
        runtime=minutes(5),
    params:
        code=code("table8.py"),
        experiments=experiments(),
        top=config["suspects"]["top"],
        notice=config["notice"],
    message:
        "Write table 8: suspicious labels, and what people say of them"
    script:
        "../scripts/table8.py"
