# Datasets, data of one's own, human labels and backbone weights.


include: "lookups/sources.smk"


rule dataset:
    output:
        arrays="results/datasets/{dataset}.safetensors",
        record="results/datasets/{dataset}.json",
    log:
        "results/logs/dataset/{dataset}.log",
    benchmark:
        "results/benchmarks/dataset/{dataset}.tsv"
    wildcard_constraints:
        dataset=either(name for name in config["datasets"] if name not in plan.own_datasets()),
    retries: 2
    conda:
        "../../envs/wtrak.yaml"
    # The place of a file does not change the result, because the content is checked. Snakemake
    # does not track resources, so a new mirror re-runs nothing.
    resources:
        data_directory=config["data"]["directory"],
        data_mirrors=":".join(config["data"]["mirrors"]),
        mem_mb=megabytes(2000),
        runtime=minutes(30),
    # Neither code nor sources are tracked: a result with another content than the hash is refused.
    # Snakemake does not track a parameter that is a function of the resources.
    params:
        sources=lambda w, resources: config["data"]["sources"][
            config["datasets"][w.dataset]["source"]
        ],
        content_sha256=plan.content_of,
    message:
        "Fetch and check the dataset {wildcards.dataset}"
    script:
        "../scripts/sources/dataset.py"


# Without retries, because a folder that cannot be used will not change.
rule image_folder:
    output:
        arrays="results/datasets/{dataset}.safetensors",
        record="results/datasets/{dataset}.json",
        skipped="results/datasets/{dataset}.skipped.csv",
        quality="results/datasets/{dataset}.quality.csv",
    log:
        "results/logs/image_folder/{dataset}.log",
    benchmark:
        "results/benchmarks/image_folder/{dataset}.tsv"
    wildcard_constraints:
        dataset=either(plan.own_datasets("image_folder")),
    conda:
        "../../envs/wtrak.yaml"
    threads: 4
    resources:
        mem_mb=lambda w, attempt: attempt * images_megabytes(w.dataset),
        runtime=minutes(60),
    params:
        code=code("sources/image_folder.py"),
        path=lambda w: config["datasets"][w.dataset]["path"],
        test_path=lambda w: config["datasets"][w.dataset].get("test_path"),
        side=lambda w: config["datasets"][w.dataset]["side"],
        n_files=lambda w: plan.n_images(w.dataset),
        # Changes with the name, size, time or readability of any file, and that of a link's file.
        content=plan.content_of,
    message:
        "Read the images of {wildcards.dataset}"
    script:
        "../scripts/sources/image_folder.py"


rule image_list:
    output:
        arrays="results/datasets/{dataset}.safetensors",
        record="results/datasets/{dataset}.json",
        skipped="results/datasets/{dataset}.skipped.csv",
        quality="results/datasets/{dataset}.quality.csv",
    log:
        "results/logs/image_list/{dataset}.log",
    benchmark:
        "results/benchmarks/image_list/{dataset}.tsv"
    wildcard_constraints:
        dataset=either(plan.own_datasets("image_list")),
    conda:
        "../../envs/wtrak.yaml"
    threads: 4
    resources:
        mem_mb=lambda w, attempt: attempt * images_megabytes(w.dataset),
        runtime=minutes(60),
    params:
        code=code("sources/image_list.py"),
        path=lambda w: config["datasets"][w.dataset]["path"],
        test_path=lambda w: config["datasets"][w.dataset].get("test_path"),
        side=lambda w: config["datasets"][w.dataset]["side"],
        n_files=lambda w: plan.n_images(w.dataset),
        # Changes with the list, and with the size, time or readability of any image.
        content=plan.content_of,
    message:
        "Read the images that {wildcards.dataset} lists"
    script:
        "../scripts/sources/image_list.py"


rule features:
    output:
        arrays="results/datasets/{dataset}.safetensors",
        record="results/datasets/{dataset}.json",
        activations="results/activations/{dataset}/features.safetensors",
    log:
        "results/logs/features/{dataset}.log",
    benchmark:
        "results/benchmarks/features/{dataset}.tsv"
    wildcard_constraints:
        dataset=either(plan.own_datasets("features")),
    conda:
        "../../envs/wtrak.yaml"
    resources:
        mem_mb=megabytes(2000),
        runtime=minutes(60),
    params:
        code=code("sources/features.py"),
        path=lambda w: config["datasets"][w.dataset]["path"],
        test_path=lambda w: config["datasets"][w.dataset].get("test_path"),
        scale=lambda w: config["datasets"][w.dataset]["scale"],
        # Changes with the size or time of a file.
        content=plan.content_of,
    message:
        "Read the features of {wildcards.dataset}"
    script:
        "../scripts/sources/features.py"


rule human_labels:
    input:
        dataset=plan.dataset_file(config["human_labels"]["dataset"]),
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
        code=code("sources/human_labels.py"),
        sources=stable(config["data"]["sources"][config["human_labels"]["source"]]),
        content_sha256=config["human_labels"]["content_sha256"],
    message:
        "Fetch and check the human labels"
    script:
        "../scripts/sources/human_labels.py"


rule backbone:
    output:
        weights="results/backbones/{backbone}.safetensors",
        record="results/backbones/{backbone}.json",
    log:
        "results/logs/backbone/{backbone}.log",
    benchmark:
        "results/benchmarks/backbone/{backbone}.tsv"
    retries: 2
    conda:
        "../../envs/wtrak.yaml"
    resources:
        data_directory=config["data"]["directory"],
        data_mirrors=":".join(config["data"]["mirrors"]),
        mem_mb=lambda w, attempt: attempt * (2000 + 4 * weights_megabytes(w.backbone)),
        runtime=minutes(15),
    params:
        code=code("sources/backbone.py"),
        architecture=lambda w: config["backbones"][w.backbone]["architecture"],
        weights=lambda w: config["backbones"][w.backbone]["weights"],
        seed=lambda w: config["backbones"][w.backbone]["seed"],
        preprocessing=lambda w: stable(config["backbones"][w.backbone].get("preprocessing", {})),
        sources=lambda w: stable(plan.weights_sources(w.backbone)),
    message:
        "Fetch and check the backbone {wildcards.backbone}"
    script:
        "../scripts/sources/backbone.py"
