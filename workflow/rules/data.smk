# Datasets, backbone weights and activations: what every experiment shares.


rule dataset:
    output:
        arrays="results/datasets/{dataset}.safetensors",
        record="results/datasets/{dataset}.json",
    log:
        "results/logs/dataset/{dataset}.log",
    benchmark:
        "results/benchmarks/dataset/{dataset}.tsv"
    wildcard_constraints:
        dataset=either(name for name in config["datasets"] if name not in folders()),
    retries: 2
    conda:
        "../../envs/wtrak.yaml"
    # Where files lie is no property of the result, whose content is checked. As a resource
    # it is not tracked, so that a new mirror re-runs nothing.
    resources:
        data_directory=config["data"]["directory"],
        data_mirrors=":".join(config["data"]["mirrors"]),
        mem_mb=megabytes(2000),
        runtime=minutes(30),
    # Nor are the code and the sources tracked: whatever they are, the content is that of the hash or
    # is refused. Snakemake does not track a parameter that is a function of the resources.
    params:
        sources=lambda w, resources: config["data"]["sources"][
            config["datasets"][w.dataset]["source"]
        ],
        content_sha256=content_of,
    message:
        "Fetch and check the dataset {wildcards.dataset}"
    script:
        "../scripts/dataset.py"


# Without retries: a folder that cannot be used stays so.
rule image_folder:
    output:
        arrays="results/datasets/{dataset}.safetensors",
        record="results/datasets/{dataset}.json",
        skipped="results/datasets/{dataset}.skipped.csv",
    log:
        "results/logs/image_folder/{dataset}.log",
    benchmark:
        "results/benchmarks/image_folder/{dataset}.tsv"
    wildcard_constraints:
        dataset=either(folders()),
    conda:
        "../../envs/wtrak.yaml"
    threads: 4
    resources:
        mem_mb=lambda w, attempt: attempt * folder_megabytes(w.dataset),
        runtime=minutes(60),
    params:
        code=code("image_folder.py"),
        path=lambda w: config["datasets"][w.dataset]["path"],
        test_path=lambda w: config["datasets"][w.dataset].get("test_path"),
        side=lambda w: config["datasets"][w.dataset]["side"],
        n_files=lambda w: len(folder_listing(w.dataset)),
        # Changes with every file's name, size and time.
        content=content_of,
    message:
        "Read the images of {wildcards.dataset}"
    script:
        "../scripts/image_folder.py"


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
        mem_mb=megabytes(2000),
        runtime=minutes(15),
    params:
        code=code("backbone.py"),
        architecture=lambda w: config["backbones"][w.backbone]["architecture"],
        weights=lambda w: config["backbones"][w.backbone]["weights"],
        seed=lambda w: config["backbones"][w.backbone]["seed"],
        sources=lambda w: stable(
            config["data"]["sources"].get(config["backbones"][w.backbone]["weights"], [])
        ),
    message:
        "Fetch and check the backbone {wildcards.backbone}"
    script:
        "../scripts/backbone.py"


rule activations:
    input:
        dataset=dataset_of,
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
        mem_mb=megabytes(4000),
        runtime=minutes(120),
    params:
        code=code("activations.py"),
        architecture=lambda w: config["backbones"][w.backbone]["architecture"],
        batch_size=config["activations"]["batch_size"],
        shard_size=config["activations"]["shard_size"],
        precision=config["activations"]["precision"],
        device=config["compute"]["device"],
    message:
        "Compute the activations of {wildcards.dataset} by {wildcards.backbone} at {wildcards.size} px"
    script:
        "../scripts/activations.py"
