# Convex models: robust influence intervals, where they hold, and why deep models are another matter.


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
        code=code("convex_task.py"),
        task=task_of,
    message:
        "Prepare the features of {wildcards.task}"
    script:
        "../scripts/convex_task.py"


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
        code=code("wrif_orders.py"),
        task=task_of,
        seed=config["wrif"]["seed"],
        n_train=config["wrif"]["orders"]["n_train"],
        n_test=config["wrif"]["orders"]["n_test"],
        triples=config["wrif"]["orders"]["triples"],
        step_range=config["wrif"]["orders"]["step_range"],
        points=config["wrif"]["orders"]["points"],
    message:
        "Measure the error of linear predictions of influence, {wildcards.task}"
    script:
        "../scripts/wrif_orders.py"


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
        code=code("wrif_coverage.py"),
        task=task_of,
        seed=config["wrif"]["seed"],
        n_train=config["wrif"]["coverage"]["n_train"],
        n_test=config["wrif"]["coverage"]["n_test"],
        resamples=config["wrif"]["coverage"]["resamples"],
    message:
        "Cover leave-one-out influences of {wildcards.task}"
    script:
        "../scripts/wrif_coverage.py"


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
        code=code("wrif_attacks.py"),
        task=task_of,
        seed=config["wrif"]["seed"],
        n_train=config["wrif"]["attacks"]["n_train"],
        n_test=config["wrif"]["attacks"]["n_test"],
        n_points=config["wrif"]["attacks"]["n_points"],
    message:
        "Look for the worst distributions around {wildcards.task}"
    script:
        "../scripts/wrif_attacks.py"


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
        mem_mb=megabytes(1000),
        runtime=minutes(10),
    params:
        code=code("wrif_cost.py"),
        seed=config["wrif"]["seed"],
        n_train=config["wrif"]["cost"]["n_train"],
        n_features=config["wrif"]["cost"]["n_features"],
    message:
        "Time robust influence intervals"
    script:
        "../scripts/wrif_cost.py"


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
        code=code("robustness_gap.py"),
        task=stable(config["wrif"]["tasks"][config["robustness_gap"]["task"]]),
        seed=config["wrif"]["seed"],
        settings=stable(config["robustness_gap"]),
    message:
        "Predict how a convex and a deep model move with the data"
    script:
        "../scripts/robustness_gap.py"


rule fig1_robustness_gap:
    input:
        errors="results/convex/gap_errors.csv",
        paths="results/convex/gap_paths.csv",
        profile="results/convex/gap_profile.csv",
    output:
        svg=report(
            "results/figures/fig1_robustness_gap.svg",
            caption="../report/fig1_robustness_gap.rst",
            category="Figures",
            labels={"figure": "Fig. 1: convex and deep"},
        ),
        pdf="results/figures/fig1_robustness_gap.pdf",
        numbers="results/figures/fig1_robustness_gap.numbers.csv",
    log:
        "results/logs/fig1_robustness_gap.log",
    benchmark:
        "results/benchmarks/fig1_robustness_gap.tsv"
    conda:
        "../../envs/wtrak.yaml"
    resources:
        mem_mb=megabytes(1000),
        runtime=minutes(5),
    params:
        code=code("fig1_robustness_gap.py"),
        settings=stable(config["robustness_gap"]),
        notice=config["notice"],
    message:
        "Draw figure 1: predictions of the parameters, convex and deep"
    script:
        "../scripts/fig1_robustness_gap.py"


rule error_orders:
    input:
        of_tasks("results/convex/{task}/orders.csv"),
    output:
        svg=report(
            "results/figures/error_orders.svg",
            caption="../report/error_orders.rst",
            category="Figures",
            labels={"figure": "Convex: orders of the error"},
        ),
        pdf="results/figures/error_orders.pdf",
    log:
        "results/logs/error_orders.log",
    benchmark:
        "results/benchmarks/error_orders.tsv"
    conda:
        "../../envs/wtrak.yaml"
    resources:
        mem_mb=megabytes(1000),
        runtime=minutes(5),
    params:
        code=code("error_orders.py"),
        tasks=tasks(),
        notice=config["notice"],
    message:
        "Draw the orders of the error of linear predictions of influence"
    script:
        "../scripts/error_orders.py"


rule loo_coverage:
    input:
        of_tasks("results/convex/{task}/coverage.csv"),
    output:
        svg=report(
            "results/figures/loo_coverage.svg",
            caption="../report/loo_coverage.rst",
            category="Figures",
            labels={"figure": "Convex: coverage and width"},
        ),
        pdf="results/figures/loo_coverage.pdf",
    log:
        "results/logs/loo_coverage.log",
    benchmark:
        "results/benchmarks/loo_coverage.tsv"
    conda:
        "../../envs/wtrak.yaml"
    resources:
        mem_mb=megabytes(1000),
        runtime=minutes(5),
    params:
        code=code("loo_coverage.py"),
        tasks=tasks(),
        notice=config["notice"],
    message:
        "Draw coverage and width of robust influence intervals"
    script:
        "../scripts/loo_coverage.py"


rule table9:
    input:
        orders=of_tasks("results/convex/{task}/orders.csv"),
        coverage=of_tasks("results/convex/{task}/coverage.csv"),
        attacks=of_tasks("results/convex/{task}/attacks.csv"),
        cost="results/convex/cost.csv",
    output:
        csv="results/tables/table9.csv",
        md="results/tables/table9.md",
        tex="results/tables/table9.tex",
        numbers="results/tables/table9.numbers.csv",
        html=report(
            "results/tables/table9.html",
            caption="../report/table9.rst",
            category="Tables",
            labels={"table": "Table 9: convex models"},
        ),
    log:
        "results/logs/table9.log",
    benchmark:
        "results/benchmarks/table9.tsv"
    conda:
        "../../envs/wtrak.yaml"
    resources:
        mem_mb=megabytes(1000),
        runtime=minutes(5),
    params:
        code=code("table9.py"),
        tasks=tasks(),
        notice=config["notice"],
    message:
        "Write table 9: orders, coverage, attacks and cost for convex models"
    script:
        "../scripts/table9.py"
