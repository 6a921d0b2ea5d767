# Retraining without the points that an attribution ranks highest, and linear datamodeling scores.


include: "lookups/removal.smk"


rule head_removal:
    input:
        dataset=plan.dataset_of,
        activations=plan.activations_of,
        frontier="results/experiments/{experiment}/frontier.json",
        human_labels=plan.people_of,
    output:
        curves="results/removal/{experiment}/curves.csv",
        removed="results/removal/{experiment}/removed.csv",
    log:
        "results/logs/head_removal/{experiment}.log",
    benchmark:
        "results/benchmarks/head_removal/{experiment}.tsv"
    conda:
        "../../envs/wtrak.yaml"
    threads: 16
    resources:
        gpu=cards(),
        mem_mb=megabytes(4000),
        runtime=minutes(60),
    params:
        code=code("removal/head_removal.py"),
        n_train=lambda w: plan.setting(w, "n_train"),
        recipe=lambda w: stable(config["heads"][plan.setting(w, "head")]),
        gradient=lambda w: plan.setting(w, "gradient"),
        ridge=lambda w: plan.setting(w, "ridge"),
        n_test_scored=lambda w: plan.setting(w, "n_test_scored"),
        seeds=config["removal"]["seeds"],
        shares=config["removal"]["shares"],
        neighbours=config["removal"]["neighbours"],
        looked_at=config["removal"]["looked_at"],
        block_size=config["compute"]["block_size"],
        device=config["compute"]["device"],
    message:
        "Refit the head of {wildcards.experiment} without training points"
    script:
        "../scripts/removal/head_removal.py"


rule fig7_head_removal:
    input:
        curves=of_removal("results/removal/{experiment}/curves.csv"),
        removed=of_removal("results/removal/{experiment}/removed.csv"),
        provenance=plan.records(),
    output:
        **figure(
            "fig7_head_removal", "Fig. 7: training points removed", when=plan.removal_experiments()
        ),
    log:
        "results/logs/fig7_head_removal.log",
    benchmark:
        "results/benchmarks/fig7_head_removal.tsv"
    conda:
        "../../envs/wtrak.yaml"
    params:
        code=code("removal/fig7_head_removal.py"),
        experiments=plan.removal_experiments(),
        labels=plan.labels(plan.removal_experiments()),
        notice=config["notice"],
    message:
        "Draw figure 7: heads refitted without training points"
    script:
        "../scripts/removal/fig7_head_removal.py"


rule head_removal_table:
    input:
        curves=of_removal("results/removal/{experiment}/curves.csv"),
        removed=of_removal("results/removal/{experiment}/removed.csv"),
        provenance=plan.records(),
    output:
        **table(
            "head_removal_table",
            "Heads refitted without training points",
            when=plan.removal_experiments(),
        ),
    log:
        "results/logs/head_removal_table.log",
    benchmark:
        "results/benchmarks/head_removal_table.tsv"
    conda:
        "../../envs/wtrak.yaml"
    params:
        code=code("removal/head_removal_table.py"),
        experiments=plan.removal_experiments(),
        labels=plan.labels(plan.removal_experiments()),
        looked_at=config["removal"]["looked_at"],
        notice=config["notice"],
    message:
        "Write the table: heads refitted without training points"
    script:
        "../scripts/removal/head_removal_table.py"


rule mlp_models:
    input:
        dataset=plan.dataset_file(config["retraining"]["dataset"]),
    output:
        "results/retraining/models.safetensors",
    log:
        "results/logs/mlp_models.log",
    benchmark:
        "results/benchmarks/mlp_models.tsv"
    conda:
        "../../envs/wtrak.yaml"
    threads: 16
    resources:
        gpu=cards(),
        mem_mb=megabytes(3000),
        runtime=minutes(60),
    params:
        code=code("removal/mlp_models.py"),
        recipe=stable(config["retraining"]["recipe"]),
        models=config["retraining"]["networks"],
        device=config["compute"]["device"],
    message:
        "Train the networks whose predictions are attributed"
    script:
        "../scripts/removal/mlp_models.py"


rule mlp_scores:
    input:
        dataset=plan.dataset_file(config["retraining"]["dataset"]),
        models="results/retraining/models.safetensors",
    output:
        "results/retraining/scores/{network}.safetensors",
    log:
        "results/logs/mlp_scores/{network}.log",
    benchmark:
        "results/benchmarks/mlp_scores/{network}.tsv"
    conda:
        "../../envs/wtrak.yaml"
    threads: 16
    resources:
        gpu=cards(),
        mem_mb=megabytes(6000),
        runtime=minutes(60),
    params:
        code=code("removal/mlp_scores.py"),
        recipe=stable(config["retraining"]["recipe"]),
        projection=config["retraining"]["projection"],
        ridge=config["retraining"]["ridge"],
        certified_share=config["retraining"]["certified_share"],
        n_test=config["retraining"]["n_test"],
        subsets=config["retraining"]["subsets"]["count"],
        share=config["retraining"]["subsets"]["share"],
        seed=config["retraining"]["subsets"]["seed"],
        block_size=config["compute"]["block_size"],
        device=config["compute"]["device"],
    message:
        "Attribute the predictions of network {wildcards.network}"
    script:
        "../scripts/removal/mlp_scores.py"


rule mlp_removal:
    input:
        dataset=plan.dataset_file(config["retraining"]["dataset"]),
        scores=of_networks("results/retraining/scores/{}.safetensors"),
    output:
        "results/retraining/removal/{share}.csv",
    log:
        "results/logs/mlp_removal/{share}.log",
    benchmark:
        "results/benchmarks/mlp_removal/{share}.tsv"
    conda:
        "../../envs/wtrak.yaml"
    threads: 16
    resources:
        gpu=cards(),
        mem_mb=megabytes(3000),
        runtime=minutes(60),
    params:
        code=code("removal/mlp_removal.py"),
        recipe=stable(config["retraining"]["recipe"]),
        stack=config["retraining"]["stack"],
        seeds=config["retraining"]["removal"]["seeds"],
        device=config["compute"]["device"],
    message:
        "Train networks without {wildcards.share} of the training points"
    script:
        "../scripts/removal/mlp_removal.py"


rule mlp_subsets:
    input:
        dataset=plan.dataset_file(config["retraining"]["dataset"]),
    output:
        "results/retraining/subsets/{part}.safetensors",
    log:
        "results/logs/mlp_subsets/{part}.log",
    benchmark:
        "results/benchmarks/mlp_subsets/{part}.tsv"
    conda:
        "../../envs/wtrak.yaml"
    threads: 16
    resources:
        gpu=cards(),
        mem_mb=megabytes(3000),
        runtime=minutes(60),
    params:
        code=code("removal/mlp_subsets.py"),
        recipe=stable(config["retraining"]["recipe"]),
        stack=config["retraining"]["stack"],
        n_test=config["retraining"]["n_test"],
        subsets=config["retraining"]["subsets"]["count"],
        share=config["retraining"]["subsets"]["share"],
        repeats=config["retraining"]["subsets"]["repeats"],
        parts=config["retraining"]["subsets"]["parts"],
        seed=config["retraining"]["subsets"]["seed"],
        device=config["compute"]["device"],
    message:
        "Train networks on random subsets, part {wildcards.part}"
    script:
        "../scripts/removal/mlp_subsets.py"


rule mlp_speed:
    input:
        dataset=plan.dataset_file(config["retraining"]["dataset"]),
    output:
        "results/retraining/speed.csv",
    log:
        "results/logs/mlp_speed.log",
    benchmark:
        "results/benchmarks/mlp_speed.tsv"
    conda:
        "../../envs/wtrak.yaml"
    threads: 16
    resources:
        gpu=cards(),
        mem_mb=megabytes(3000),
        runtime=minutes(20),
    params:
        code=code("removal/mlp_speed.py"),
        recipe=stable(config["retraining"]["recipe"]),
        stack=config["retraining"]["stack"],
        repeats=3,
        device=config["compute"]["device"],
    message:
        "Time networks trained one after the other and side by side"
    script:
        "../scripts/removal/mlp_speed.py"


rule mlp_datamodels:
    input:
        scores=of_networks("results/retraining/scores/{}.safetensors"),
        subsets=of_subset_parts("results/retraining/subsets/{}.safetensors"),
    output:
        "results/retraining/datamodels.csv",
    log:
        "results/logs/mlp_datamodels.log",
    benchmark:
        "results/benchmarks/mlp_datamodels.tsv"
    conda:
        "../../envs/wtrak.yaml"
    resources:
        mem_mb=megabytes(2000),
        runtime=minutes(10),
    params:
        code=code("removal/mlp_datamodels.py"),
    message:
        "Compute linear datamodeling scores"
    script:
        "../scripts/removal/mlp_datamodels.py"


rule fig6_mlp_removal:
    input:
        curves=of_removed_shares("results/retraining/removal/{}.csv"),
        provenance=[f"results/datasets/{config['retraining']['dataset']}.json"],
    output:
        **figure("fig6_mlp_removal", "Fig. 6: networks without points"),
    log:
        "results/logs/fig6_mlp_removal.log",
    benchmark:
        "results/benchmarks/fig6_mlp_removal.tsv"
    conda:
        "../../envs/wtrak.yaml"
    params:
        code=code("removal/fig6_mlp_removal.py"),
        width=config["retraining"]["recipe"]["width"],
        notice=config["notice"],
    message:
        "Draw figure 6: networks retrained without training points"
    script:
        "../scripts/removal/fig6_mlp_removal.py"


rule datamodeling:
    input:
        scores="results/retraining/datamodels.csv",
        provenance=[f"results/datasets/{config['retraining']['dataset']}.json"],
    output:
        **figure("datamodeling", "Linear datamodeling scores"),
    log:
        "results/logs/datamodeling.log",
    benchmark:
        "results/benchmarks/datamodeling.tsv"
    conda:
        "../../envs/wtrak.yaml"
    params:
        code=code("removal/datamodeling.py"),
        subsets=config["retraining"]["subsets"]["count"],
        repeats=config["retraining"]["subsets"]["repeats"],
        notice=config["notice"],
    message:
        "Draw linear datamodeling scores"
    script:
        "../scripts/removal/datamodeling.py"


rule networks_table:
    input:
        curves=of_removed_shares("results/retraining/removal/{}.csv"),
        scores=of_networks("results/retraining/scores/{}.safetensors"),
        datamodels="results/retraining/datamodels.csv",
        speed="results/retraining/speed.csv",
        provenance=[f"results/datasets/{config['retraining']['dataset']}.json"],
    output:
        **table("networks_table", "Retrained networks"),
    log:
        "results/logs/networks_table.log",
    benchmark:
        "results/benchmarks/networks_table.tsv"
    conda:
        "../../envs/wtrak.yaml"
    params:
        code=code("removal/networks_table.py"),
        stack=config["retraining"]["stack"],
        notice=config["notice"],
    message:
        "Write the table: retrained networks"
    script:
        "../scripts/removal/networks_table.py"
