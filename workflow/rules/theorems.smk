# Numerical checks of the paper's theorems.


rule lipschitz_ratio:
    output:
        "results/theorems/lipschitz_ratio.csv",
    log:
        "results/logs/lipschitz_ratio.log",
    benchmark:
        "results/benchmarks/lipschitz_ratio.tsv"
    conda:
        "../../envs/wtrak.yaml"
    resources:
        mem_mb=megabytes(1000),
        runtime=minutes(5),
    params:
        code=code("lipschitz_ratio.py"),
        seed=config["theorems"]["seed"],
        dimension=config["theorems"]["dimension"],
        n_points=config["theorems"]["n_points"],
    message:
        "Measure L_Euc/L_Nat under scaling and for several spectra"
    script:
        "../scripts/lipschitz_ratio.py"


rule reduction_theorem:
    input:
        "results/theorems/lipschitz_ratio.csv",
    output:
        svg=report(
            "results/figures/reduction_theorem.svg",
            caption="../report/reduction_theorem.rst",
            category="Figures",
            labels={"figure": "Is the reduction of order √κ?"},
        ),
        pdf="results/figures/reduction_theorem.pdf",
    log:
        "results/logs/reduction_theorem.log",
    benchmark:
        "results/benchmarks/reduction_theorem.tsv"
    conda:
        "../../envs/wtrak.yaml"
    resources:
        mem_mb=megabytes(1000),
        runtime=minutes(5),
    params:
        code=code("reduction_theorem.py"),
        notice=config["notice"],
    message:
        "Draw whether the Lipschitz reduction is of order √κ"
    script:
        "../scripts/reduction_theorem.py"
