# Perturbations that try to change what is certified.


rule audit:
    input:
        activations=plan.activations_of,
        residuals="results/experiments/{experiment}/residuals.safetensors",
        factor="results/experiments/{experiment}/covariance.safetensors",
        scores="results/experiments/{experiment}/scores.safetensors",
        deletion="results/experiments/{experiment}/one_deletion.json",
    output:
        "results/experiments/{experiment}/audit.csv",
    log:
        "results/logs/audit/{experiment}.log",
    benchmark:
        "results/benchmarks/audit/{experiment}.tsv"
    conda:
        "../../envs/wtrak.yaml"
    threads: 16
    resources:
        gpu=cards(),
        mem_mb=megabytes(4000),
        runtime=minutes(30),
    params:
        code=code("attacks/audit.py"),
        n_test=lambda w: plan.setting(w, "n_test_frontier"),
        block_size=config["compute"]["block_size"],
        device=config["compute"]["device"],
        seed=config["audit"]["seed"],
        n_points=config["audit"]["n_points"],
        pairs_per_test=config["audit"]["pairs_per_test"],
        n_sources=config["audit"]["n_sources"],
        restarts=config["audit"]["restarts"],
        ridge=lambda w: plan.setting(w, "ridge"),
    message:
        "Attack the certificates of {wildcards.experiment}"
    script:
        "../scripts/attacks/audit.py"


rule audit_tightness:
    input:
        audits=plan.of_experiments("results/experiments/{experiment}/audit.csv"),
        refits=plan.of_experiments("results/experiments/{experiment}/refit.csv"),
        provenance=plan.records(),
    output:
        **figure("audit_tightness", "Audit: certificates against attacks"),
    log:
        "results/logs/audit_tightness.log",
    benchmark:
        "results/benchmarks/audit_tightness.tsv"
    conda:
        "../../envs/wtrak.yaml"
    params:
        code=code("attacks/audit_tightness.py"),
        experiments=plan.experiments(),
        labels=plan.labels(plan.experiments()),
        notice=config["notice"],
    message:
        "Draw how close attacks come to the certificates"
    script:
        "../scripts/attacks/audit_tightness.py"


rule attacks_table:
    input:
        audits=plan.of_experiments("results/experiments/{experiment}/audit.csv"),
        refits=plan.of_experiments("results/experiments/{experiment}/refit.csv"),
        provenance=plan.records(),
    output:
        **table("attacks_table", "Certificates broken by attack"),
    log:
        "results/logs/attacks_table.log",
    benchmark:
        "results/benchmarks/attacks_table.tsv"
    conda:
        "../../envs/wtrak.yaml"
    params:
        code=code("attacks/attacks_table.py"),
        experiments=plan.experiments(),
        labels=plan.labels(plan.experiments()),
        notice=config["notice"],
    message:
        "Write the table: certificates broken by attack"
    script:
        "../scripts/attacks/attacks_table.py"


rule refit:
    input:
        dataset=plan.dataset_of,
        activations=plan.activations_of,
        head="results/experiments/{experiment}/head.safetensors",
        residuals="results/experiments/{experiment}/residuals.safetensors",
        factor="results/experiments/{experiment}/covariance.safetensors",
        scores="results/experiments/{experiment}/scores.safetensors",
        cross_leverage="results/experiments/{experiment}/cross_leverage.safetensors",
    output:
        "results/experiments/{experiment}/refit.csv",
    log:
        "results/logs/refit/{experiment}.log",
    benchmark:
        "results/benchmarks/refit/{experiment}.tsv"
    conda:
        "../../envs/wtrak.yaml"
    threads: 16
    resources:
        gpu=cards(),
        mem_mb=megabytes(4000),
        runtime=minutes(60),
    params:
        code=code("attacks/refit.py"),
        recipe=lambda w: stable(config["heads"][plan.setting(w, "head")]),
        gradient=lambda w: plan.setting(w, "gradient"),
        test_label=lambda w: plan.setting(w, "test_label"),
        ridge=lambda w: plan.setting(w, "ridge"),
        block_size=config["compute"]["block_size"],
        device=config["compute"]["device"],
        seed=config["refit"]["seed"],
        n_test=config["refit"]["n_test"],
        n_points=config["refit"]["n_points"],
        pairs_per_test=config["refit"]["pairs_per_test"],
        removals=config["refit"]["removals"],
        sets_per_size=config["refit"]["sets_per_size"],
    message:
        "Delete points of {wildcards.experiment}, refit the head, and compare the orders"
    script:
        "../scripts/attacks/refit.py"


rule lipschitz_tightness:
    input:
        activations=plan.activations_of,
        residuals="results/experiments/{experiment}/residuals.safetensors",
        factor="results/experiments/{experiment}/covariance.safetensors",
        scores="results/experiments/{experiment}/scores.safetensors",
    output:
        "results/experiments/{experiment}/lipschitz_tightness.csv",
    log:
        "results/logs/lipschitz_tightness/{experiment}.log",
    benchmark:
        "results/benchmarks/lipschitz_tightness/{experiment}.tsv"
    conda:
        "../../envs/wtrak.yaml"
    threads: 16
    resources:
        gpu=cards(),
        mem_mb=megabytes(4000),
        runtime=minutes(30),
    params:
        code=code("attacks/lipschitz_tightness.py"),
        n_test=lambda w: plan.setting(w, "n_test_frontier"),
        seed=config["tightness"]["seed"],
        n_points=config["tightness"]["n_points"],
        pairs_per_test=config["tightness"]["pairs_per_test"],
        block_size=config["compute"]["block_size"],
        device=config["compute"]["device"],
    message:
        "Set the natural bound of {wildcards.experiment} against the exact constant"
    script:
        "../scripts/attacks/lipschitz_tightness.py"
