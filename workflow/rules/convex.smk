# Convex models: robust influence intervals, their coverage, and the gap to deep models.


include: "lookups/convex.smk"


rule convex_task:
    input:
        dataset=images_of_task,
    output:
        "results/convex/{task}/data.safetensors",
    log:
        "results/logs/convex_task/{task}.log",
    benchmark:
        "results/benchmarks/convex_task/{task}.tsv"
    conda:
        "../../envs/wtrak.yaml"
    resources:
        mem_mb=megabytes(1000),
        runtime=minutes(5),
    params:
        code=code("convex/convex_task.py"),
        task=task_of,
    message:
        "Prepare the features of {wildcards.task}"
    script:
        "../scripts/convex/convex_task.py"


rule wrif_orders:
    input:
        data="results/convex/{task}/data.safetensors",
    output:
        "results/convex/{task}/orders.csv",
    log:
        "results/logs/wrif_orders/{task}.log",
    benchmark:
        "results/benchmarks/wrif_orders/{task}.tsv"
    conda:
        "../../envs/wtrak.yaml"
    threads: 2
    resources:
        mem_mb=megabytes(1000),
        runtime=minutes(30),
    params:
        code=code("convex/wrif_orders.py"),
        task=task_of,
        seed=config["wrif"]["seed"],
        n_train=config["wrif"]["orders"]["n_train"],
        n_test=config["wrif"]["orders"]["n_test"],
        triples=config["wrif"]["orders"]["triples"],
        step_range=config["wrif"]["orders"]["step_range"],
        points=config["wrif"]["orders"]["points"],
    message:
        "Measure the error of linear predictions of influence for {wildcards.task}"
    script:
        "../scripts/convex/wrif_orders.py"


rule wrif_coverage:
    input:
        data="results/convex/{task}/data.safetensors",
    output:
        "results/convex/{task}/coverage.csv",
    log:
        "results/logs/wrif_coverage/{task}.log",
    benchmark:
        "results/benchmarks/wrif_coverage/{task}.tsv"
    conda:
        "../../envs/wtrak.yaml"
    threads: 2
    resources:
        mem_mb=megabytes(1000),
        runtime=minutes(60),
    params:
        code=code("convex/wrif_coverage.py"),
        task=task_of,
        seed=config["wrif"]["seed"],
        n_train=config["wrif"]["coverage"]["n_train"],
        n_test=config["wrif"]["coverage"]["n_test"],
        resamples=config["wrif"]["coverage"]["resamples"],
    message:
        "Measure the coverage of leave-one-out influences for {wildcards.task}"
    script:
        "../scripts/convex/wrif_coverage.py"


rule wrif_support:
    input:
        data="results/convex/{task}/data.safetensors",
    output:
        "results/convex/{task}/support.csv",
    log:
        "results/logs/wrif_support/{task}.log",
    benchmark:
        "results/benchmarks/wrif_support/{task}.tsv"
    conda:
        "../../envs/wtrak.yaml"
    threads: 2
    resources:
        mem_mb=megabytes(1000),
        runtime=minutes(30),
    params:
        code=code("convex/wrif_support.py"),
        task=task_of,
        seed=config["wrif"]["seed"],
        n_train=config["wrif"]["support"]["n_train"],
        n_test=config["wrif"]["support"]["n_test"],
        n_points=config["wrif"]["support"]["n_points"],
        radii=config["wrif"]["radii"],
    message:
        "Solve for the worst distributions on the training points of {wildcards.task}"
    script:
        "../scripts/convex/wrif_support.py"


rule wrif_attacks:
    input:
        data="results/convex/{task}/data.safetensors",
    output:
        "results/convex/{task}/attacks.csv",
    log:
        "results/logs/wrif_attacks/{task}.log",
    benchmark:
        "results/benchmarks/wrif_attacks/{task}.tsv"
    conda:
        "../../envs/wtrak.yaml"
    threads: 2
    resources:
        mem_mb=megabytes(1000),
        runtime=minutes(30),
    params:
        code=code("convex/wrif_attacks.py"),
        task=task_of,
        seed=config["wrif"]["seed"],
        n_train=config["wrif"]["attacks"]["n_train"],
        n_test=config["wrif"]["attacks"]["n_test"],
        n_points=config["wrif"]["attacks"]["n_points"],
        radii=config["wrif"]["radii"],
    message:
        "Move points of {wildcards.task} to where they change an influence the most"
    script:
        "../scripts/convex/wrif_attacks.py"


rule wrif_cost:
    output:
        "results/convex/cost.csv",
    log:
        "results/logs/wrif_cost.log",
    benchmark:
        "results/benchmarks/wrif_cost.tsv"
    conda:
        "../../envs/wtrak.yaml"
    resources:
        mem_mb=megabytes(2000),
        runtime=minutes(20),
    params:
        code=code("convex/wrif_cost.py"),
        seed=config["wrif"]["seed"],
        n_train=config["wrif"]["cost"]["n_train"],
        n_features=config["wrif"]["cost"]["n_features"],
        repeats=config["wrif"]["cost"]["repeats"],
        seconds=config["wrif"]["cost"]["seconds"],
    message:
        "Time Algorithm 1"
    script:
        "../scripts/convex/wrif_cost.py"


rule robustness_gap:
    input:
        data=f"results/convex/{config['robustness_gap']['task']}/data.safetensors",
    output:
        errors="results/convex/gap_errors.csv",
        paths="results/convex/gap_paths.csv",
        profile="results/convex/gap_profile.csv",
    log:
        "results/logs/robustness_gap.log",
    benchmark:
        "results/benchmarks/robustness_gap.tsv"
    conda:
        "../../envs/wtrak.yaml"
    threads: 2
    resources:
        mem_mb=megabytes(2000),
        runtime=minutes(60),
    params:
        code=code("convex/robustness_gap.py"),
        task=stable(config["wrif"]["tasks"][config["robustness_gap"]["task"]]),
        seed=config["wrif"]["seed"],
        settings=stable(config["robustness_gap"]),
    message:
        "Compare predicted and exact parameter changes of a convex and a deep model"
    script:
        "../scripts/convex/robustness_gap.py"


rule fig1_robustness_gap:
    input:
        errors="results/convex/gap_errors.csv",
        paths="results/convex/gap_paths.csv",
        profile="results/convex/gap_profile.csv",
    output:
        **figure("fig1_robustness_gap", "Fig. 1: convex and deep", numbers=True),
    log:
        "results/logs/fig1_robustness_gap.log",
    benchmark:
        "results/benchmarks/fig1_robustness_gap.tsv"
    conda:
        "../../envs/wtrak.yaml"
    params:
        code=code("convex/fig1_robustness_gap.py"),
        settings=stable(config["robustness_gap"]),
        notice=config["notice"],
    message:
        "Draw figure 1: predicted parameter changes of a convex and a deep model"
    script:
        "../scripts/convex/fig1_robustness_gap.py"


rule error_orders:
    input:
        of_tasks("results/convex/{task}/orders.csv"),
    output:
        **figure("error_orders", "Convex: orders of the error"),
    log:
        "results/logs/error_orders.log",
    benchmark:
        "results/benchmarks/error_orders.tsv"
    conda:
        "../../envs/wtrak.yaml"
    params:
        code=code("convex/error_orders.py"),
        tasks=plan.tasks(),
        notice=config["notice"],
    message:
        "Draw the order of the error of linear predictions of influence"
    script:
        "../scripts/convex/error_orders.py"


rule loo_coverage:
    input:
        of_tasks("results/convex/{task}/coverage.csv"),
    output:
        **figure("loo_coverage", "Convex: coverage and width"),
    log:
        "results/logs/loo_coverage.log",
    benchmark:
        "results/benchmarks/loo_coverage.tsv"
    conda:
        "../../envs/wtrak.yaml"
    params:
        code=code("convex/loo_coverage.py"),
        tasks=plan.tasks(),
        notice=config["notice"],
    message:
        "Draw the coverage and width of robust influence intervals"
    script:
        "../scripts/convex/loo_coverage.py"


rule convex_table:
    input:
        orders=of_tasks("results/convex/{task}/orders.csv"),
        coverage=of_tasks("results/convex/{task}/coverage.csv"),
        support=of_tasks("results/convex/{task}/support.csv"),
        attacks=of_tasks("results/convex/{task}/attacks.csv"),
        cost="results/convex/cost.csv",
    output:
        **table("convex_table", "Convex models"),
    log:
        "results/logs/convex_table.log",
    benchmark:
        "results/benchmarks/convex_table.tsv"
    conda:
        "../../envs/wtrak.yaml"
    params:
        code=code("convex/convex_table.py"),
        tasks=plan.tasks(),
        notice=config["notice"],
    message:
        "Write the table: orders, coverage, worst distributions and cost for convex models"
    script:
        "../scripts/convex/convex_table.py"
