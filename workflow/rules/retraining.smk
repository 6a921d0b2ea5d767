# Training anew without the points that an attribution names.


rule head_removal:
    input:
        dataset=dataset_of,
        activations=activations_of,
        frontier="results/experiments/{experiment}/frontier.json",
        human_labels=people_of,
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
        code=code("head_removal.py"),
        n_train=lambda w: setting(w, "n_train"),
        recipe=lambda w: stable(config["heads"][setting(w, "head")]),
        gradient=lambda w: setting(w, "gradient"),
        ridge=lambda w: setting(w, "ridge"),
        n_test_scored=lambda w: setting(w, "n_test_scored"),
        seeds=config["removal"]["seeds"],
        shares=config["removal"]["shares"],
        neighbours=config["removal"]["neighbours"],
        looked_at=config["removal"]["looked_at"],
        block_size=config["compute"]["block_size"],
        device=config["compute"]["device"],
    message:
        "Remove training points of {wildcards.experiment} and fit the head anew"
    script:
        "../scripts/head_removal.py"


rule fig7_head_removal:
    input:
        curves=of_removal("results/removal/{experiment}/curves.csv"),
        removed=of_removal("results/removal/{experiment}/removed.csv"),
        provenance=records(),
    output:
        svg=report(
            "results/figures/fig7_head_removal.svg",
            caption="../report/fig7_head_removal.rst",
            category="Figures",
            labels={"figure": "Fig. 7: training points removed"},
        ),
        pdf="results/figures/fig7_head_removal.pdf",
    log:
        "results/logs/fig7_head_removal.log",
    benchmark:
        "results/benchmarks/fig7_head_removal.tsv"
    conda:
        "../../envs/wtrak.yaml"
    resources:
        mem_mb=megabytes(1000),
        runtime=minutes(5),
    params:
        code=code("fig7_head_removal.py"),
        experiments=removal_experiments(),
        notice=config["notice"],
    message:
        "Draw figure 7: training points removed"
    script:
        "../scripts/fig7_head_removal.py"


rule table10:
    input:
        curves=of_removal("results/removal/{experiment}/curves.csv"),
        removed=of_removal("results/removal/{experiment}/removed.csv"),
        provenance=records(),
    output:
        csv="results/tables/table10.csv",
        md="results/tables/table10.md",
        tex="results/tables/table10.tex",
        numbers="results/tables/table10.numbers.csv",
        html=report(
            "results/tables/table10.html",
            caption="../report/table10.rst",
            category="Tables",
            labels={"table": "Table 10: training points removed"},
        ),
    log:
        "results/logs/table10.log",
    benchmark:
        "results/benchmarks/table10.tsv"
    conda:
        "../../envs/wtrak.yaml"
    resources:
        mem_mb=megabytes(1000),
        runtime=minutes(5),
    params:
        code=code("table10.py"),
        experiments=removal_experiments(),
        looked_at=config["removal"]["looked_at"],
        notice=config["notice"],
    message:
        "Write table 10: training points removed"
    script:
        "../scripts/table10.py"


rule mlp_models:
    input:
        dataset=dataset_file(config["retraining"]["dataset"]),
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
        code=code("mlp_models.py"),
        recipe=stable(config["retraining"]["recipe"]),
        models=config["retraining"]["networks"],
        device=config["compute"]["device"],
    message:
        "Train the networks that are attributed"
    script:
        "../scripts/mlp_models.py"


rule mlp_scores:
    input:
        dataset=dataset_file(config["retraining"]["dataset"]),
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
        code=code("mlp_scores.py"),
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
        "Attribute the test points of network {wildcards.network}"
    script:
        "../scripts/mlp_scores.py"


rule mlp_removal:
    input:
        dataset=dataset_file(config["retraining"]["dataset"]),
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
        code=code("mlp_removal.py"),
        recipe=stable(config["retraining"]["recipe"]),
        stack=config["retraining"]["stack"],
        seeds=config["retraining"]["removal"]["seeds"],
        device=config["compute"]["device"],
    message:
        "Train networks without {wildcards.share} of the training points"
    script:
        "../scripts/mlp_removal.py"


rule mlp_subsets:
    input:
        dataset=dataset_file(config["retraining"]["dataset"]),
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
        code=code("mlp_subsets.py"),
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
        "../scripts/mlp_subsets.py"


rule mlp_speed:
    input:
        dataset=dataset_file(config["retraining"]["dataset"]),
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
        code=code("mlp_speed.py"),
        recipe=stable(config["retraining"]["recipe"]),
        stack=config["retraining"]["stack"],
        repeats=3,
        device=config["compute"]["device"],
    message:
        "Time networks trained one by one and side by side"
    script:
        "../scripts/mlp_speed.py"


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
        code=code("mlp_datamodels.py"),
    message:
        "Score attributions by networks of random subsets"
    script:
        "../scripts/mlp_datamodels.py"


rule fig6_mlp_removal:
    input:
        curves=of_removed_shares("results/retraining/removal/{}.csv"),
        provenance=[f"results/datasets/{config['retraining']['dataset']}.json"],
    output:
        svg=report(
            "results/figures/fig6_mlp_removal.svg",
            caption="../report/fig6_mlp_removal.rst",
            category="Figures",
            labels={"figure": "Fig. 6: networks without points"},
        ),
        pdf="results/figures/fig6_mlp_removal.pdf",
    log:
        "results/logs/fig6_mlp_removal.log",
    benchmark:
        "results/benchmarks/fig6_mlp_removal.tsv"
    conda:
        "../../envs/wtrak.yaml"
    resources:
        mem_mb=megabytes(1000),
        runtime=minutes(5),
    params:
        code=code("fig6_mlp_removal.py"),
        width=config["retraining"]["recipe"]["width"],
        notice=config["notice"],
    message:
        "Draw figure 6: networks without training points"
    script:
        "../scripts/fig6_mlp_removal.py"


rule datamodeling:
    input:
        scores="results/retraining/datamodels.csv",
        provenance=[f"results/datasets/{config['retraining']['dataset']}.json"],
    output:
        svg=report(
            "results/figures/datamodeling.svg",
            caption="../report/datamodeling.rst",
            category="Figures",
            labels={"figure": "Linear datamodeling scores"},
        ),
        pdf="results/figures/datamodeling.pdf",
    log:
        "results/logs/datamodeling.log",
    benchmark:
        "results/benchmarks/datamodeling.tsv"
    conda:
        "../../envs/wtrak.yaml"
    resources:
        mem_mb=megabytes(1000),
        runtime=minutes(5),
    params:
        code=code("datamodeling.py"),
        subsets=config["retraining"]["subsets"]["count"],
        repeats=config["retraining"]["subsets"]["repeats"],
        notice=config["notice"],
    message:
        "Draw linear datamodeling scores"
    script:
        "../scripts/datamodeling.py"


rule table11:
    input:
        curves=of_removed_shares("results/retraining/removal/{}.csv"),
        scores=of_networks("results/retraining/scores/{}.safetensors"),
        datamodels="results/retraining/datamodels.csv",
        speed="results/retraining/speed.csv",
        provenance=[f"results/datasets/{config['retraining']['dataset']}.json"],
    output:
        csv="results/tables/table11.csv",
        md="results/tables/table11.md",
        tex="results/tables/table11.tex",
        numbers="results/tables/table11.numbers.csv",
        html=report(
            "results/tables/table11.html",
            caption="../report/table11.rst",
            category="Tables",
            labels={"table": "Table 11: networks trained anew"},
        ),
    log:
        "results/logs/table11.log",
    benchmark:
        "results/benchmarks/table11.tsv"
    conda:
        "../../envs/wtrak.yaml"
    resources:
        mem_mb=megabytes(1000),
        runtime=minutes(5),
    params:
        code=code("table11.py"),
        stack=config["retraining"]["stack"],
        notice=config["notice"],
    message:
        "Write table 11: networks trained anew"
    script:
        "../scripts/table11.py"
