# What is made of a list of suspicious labels.


include: "lookups/suspects.smk"


# Corrections leave the activations as they are, so that a new ranking takes seconds.
rule corrected_labels:
    input:
        dataset=plan.dataset_of,
    output:
        "results/corrections/{dataset}.safetensors",
    log:
        "results/logs/corrected_labels/{dataset}.log",
    benchmark:
        "results/benchmarks/corrected_labels/{dataset}.tsv"
    wildcard_constraints:
        dataset=either(plan.corrected_datasets()),
    conda:
        "../../envs/wtrak.yaml"
    resources:
        mem_mb=megabytes(1000),
        runtime=minutes(5),
    params:
        code=code("labels/corrected_labels.py"),
        path=lambda w: config["datasets"][w.dataset]["corrections"],
        content=lambda w: plan.corrections_content(w.dataset),
    message:
        "Apply corrections to the labels of {wildcards.dataset}"
    script:
        "../scripts/labels/corrected_labels.py"


rule suspects_summary:
    input:
        dataset=plan.dataset_of,
        corrections=plan.corrections_of,
        suspects="results/suspects/{experiment}/suspects.csv",
        estimates="results/suspects/{experiment}/estimates.csv",
        copies="results/copies/{experiment}.csv",
        skipped=skipped_of,
    output:
        "results/suspects/{experiment}/summary.json",
    log:
        "results/logs/suspects_summary/{experiment}.log",
    benchmark:
        "results/benchmarks/suspects_summary/{experiment}.tsv"
    conda:
        "../../envs/wtrak.yaml"
    resources:
        mem_mb=megabytes(1000),
        runtime=minutes(5),
    params:
        code=code("labels/suspects_summary.py"),
    message:
        "Sum up the suspicious labels of {wildcards.experiment}"
    script:
        "../scripts/labels/suspects_summary.py"


rule suspects_page:
    input:
        suspects="results/suspects/{experiment}/suspects.csv",
        estimates="results/suspects/{experiment}/estimates.csv",
        copies="results/copies/{experiment}.csv",
        dataset=plan.dataset_of,
        corrections=plan.corrections_of,
        provenance=plan.records_of,
    output:
        "results/suspects/{experiment}/suspects.html",
    log:
        "results/logs/suspects_page/{experiment}.log",
    benchmark:
        "results/benchmarks/suspects_page/{experiment}.tsv"
    conda:
        "../../envs/wtrak.yaml"
    resources:
        mem_mb=megabytes(1000),
        runtime=minutes(15),
    params:
        code=code("labels/suspects_page.py"),
        title=lambda w: plan.label_of(w.experiment),
        pictures=config["suspects"]["pictures"],
        notice=config["notice"],
    message:
        "Write the page of suspicious labels of {wildcards.experiment}"
    script:
        "../scripts/labels/suspects_page.py"
