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
        numbers="results/figures/reduction_theorem.numbers.csv",
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


rule lipschitz_tightness:
    input:
        activations=activations_of,
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
        code=code("lipschitz_tightness.py"),
        n_test=lambda w: setting(w, "n_test_frontier"),
        seed=config["tightness"]["seed"],
        n_points=config["tightness"]["n_points"],
        pairs_per_test=config["tightness"]["pairs_per_test"],
        block_size=config["compute"]["block_size"],
        device=config["compute"]["device"],
    message:
        "Set the natural bound of {wildcards.experiment} against the exact constant"
    script:
        "../scripts/lipschitz_tightness.py"


rule natural_bound:
    input:
        constants=of_experiments("results/experiments/{experiment}/lipschitz_tightness.csv"),
        records=of_experiments("results/experiments/{experiment}/head.json"),
        provenance=records(),
    output:
        svg=report(
            "results/figures/natural_bound.svg",
            caption="../report/natural_bound.rst",
            category="Figures",
            labels={"figure": "How tight is the natural bound?"},
        ),
        pdf="results/figures/natural_bound.pdf",
    log:
        "results/logs/natural_bound.log",
    benchmark:
        "results/benchmarks/natural_bound.tsv"
    conda:
        "../../envs/wtrak.yaml"
    resources:
        mem_mb=megabytes(1000),
        runtime=minutes(5),
    params:
        code=code("natural_bound.py"),
        experiments=experiments(),
        notice=config["notice"],
    message:
        "Draw how tight the natural bound is"
    script:
        "../scripts/natural_bound.py"


rule ood_activations:
    input:
        dataset=dataset_of,
        others=foreign_datasets,
        weights="results/backbones/{backbone}.safetensors",
    output:
        "results/ood/{dataset}/{backbone}/{size}.safetensors",
    log:
        "results/logs/ood_activations/{dataset}/{backbone}/{size}.log",
    benchmark:
        "results/benchmarks/ood_activations/{dataset}/{backbone}/{size}.tsv"
    conda:
        "../../envs/wtrak.yaml"
    threads: 16
    resources:
        gpu=cards(),
        mem_mb=megabytes(4000),
        runtime=minutes(30),
    params:
        code=code("ood_activations.py"),
        architecture=lambda w: config["backbones"][w.backbone]["architecture"],
        batch_size=config["activations"]["batch_size"],
        precision=config["activations"]["precision"],
        seed=config["ood"]["seed"],
        n_images=config["ood"]["n_images"],
        blur_sigma=config["ood"]["blur_sigma"],
        datasets=config["ood"]["datasets"],
        device=config["compute"]["device"],
    message:
        "Compute the activations of inputs unlike {wildcards.dataset} by {wildcards.backbone} at {wildcards.size} px"
    script:
        "../scripts/ood_activations.py"


rule ood:
    input:
        dataset=dataset_of,
        activations=activations_of,
        foreign=foreign_of,
        head="results/experiments/{experiment}/head.safetensors",
        factor="results/experiments/{experiment}/covariance.safetensors",
        scores="results/experiments/{experiment}/scores.safetensors",
    output:
        "results/experiments/{experiment}/ood.csv",
    log:
        "results/logs/ood/{experiment}.log",
    benchmark:
        "results/benchmarks/ood/{experiment}.tsv"
    conda:
        "../../envs/wtrak.yaml"
    threads: 16
    resources:
        gpu=cards(),
        mem_mb=megabytes(4000),
        runtime=minutes(30),
    params:
        code=code("ood.py"),
        gradient=lambda w: setting(w, "gradient"),
        ridge=lambda w: setting(w, "ridge"),
        neighbours=config["ood"]["neighbours"],
        block_size=config["compute"]["block_size"],
        device=config["compute"]["device"],
    message:
        "Measure self-influence and distance of inputs unlike {wildcards.experiment}"
    script:
        "../scripts/ood.py"


rule fig3_ood:
    input:
        ood=of_experiments("results/experiments/{experiment}/ood.csv"),
        records=of_experiments("results/experiments/{experiment}/head.json"),
        provenance=records_with_foreign(),
    output:
        svg=report(
            "results/figures/fig3_ood.svg",
            caption="../report/fig3_ood.rst",
            category="Figures",
            labels={"figure": "Fig. 3: the out-of-distribution barrier"},
        ),
        pdf="results/figures/fig3_ood.pdf",
    log:
        "results/logs/fig3_ood.log",
    benchmark:
        "results/benchmarks/fig3_ood.tsv"
    conda:
        "../../envs/wtrak.yaml"
    resources:
        mem_mb=megabytes(1000),
        runtime=minutes(5),
    params:
        code=code("fig3_ood.py"),
        experiments=experiments(),
        neighbours=config["ood"]["neighbours"],
        notice=config["notice"],
    message:
        "Draw figure 3: self-influence against the distance to the training data"
    script:
        "../scripts/fig3_ood.py"


rule table4:
    input:
        ood=of_experiments("results/experiments/{experiment}/ood.csv"),
        provenance=records_with_foreign(),
    output:
        csv="results/tables/table4.csv",
        md="results/tables/table4.md",
        tex="results/tables/table4.tex",
        numbers="results/tables/table4.numbers.csv",
        html=report(
            "results/tables/table4.html",
            caption="../report/table4.rst",
            category="Tables",
            labels={"table": "Table 4: the out-of-distribution barrier"},
        ),
    log:
        "results/logs/table4.log",
    benchmark:
        "results/benchmarks/table4.tsv"
    conda:
        "../../envs/wtrak.yaml"
    resources:
        mem_mb=megabytes(1000),
        runtime=minutes(5),
    params:
        code=code("table4.py"),
        experiments=experiments(),
        notice=config["notice"],
    message:
        "Write table 4: self-influence and distance of foreign inputs"
    script:
        "../scripts/table4.py"
