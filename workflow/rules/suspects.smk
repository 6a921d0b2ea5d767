# What is made of a list of suspicious labels.


include: "lookups/suspects.smk"


rule suspects_summary:
    input:
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
