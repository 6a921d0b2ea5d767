# Lipschitz constants, and which rankings cannot change.


rule lipschitz:
    input:
        scores="results/experiments/{experiment}/scores.safetensors",
        spectrum="results/experiments/{experiment}/spectrum.json",
    output:
        constants="results/experiments/{experiment}/lipschitz.csv",
        enlargement="results/experiments/{experiment}/enlargement.csv",
    log:
        "results/logs/lipschitz/{experiment}.log",
    benchmark:
        "results/benchmarks/lipschitz/{experiment}.tsv"
    conda:
        "../../envs/wtrak.yaml"
    resources:
        mem_mb=megabytes(1000),
        runtime=minutes(10),
    params:
        code=code("certificates/lipschitz.py"),
    message:
        "Compute the Lipschitz constants of {wildcards.experiment}, and what the inverse covariance enlarges"
    script:
        "../scripts/certificates/lipschitz.py"


rule frontier:
    input:
        scores="results/experiments/{experiment}/scores.safetensors",
        deletion="results/experiments/{experiment}/one_deletion.json",
    output:
        frontier="results/experiments/{experiment}/frontier.csv",
        record="results/experiments/{experiment}/frontier.json",
    log:
        "results/logs/frontier/{experiment}.log",
    benchmark:
        "results/benchmarks/frontier/{experiment}.tsv"
    conda:
        "../../envs/wtrak.yaml"
    threads: 16
    resources:
        mem_mb=megabytes(2000),
        runtime=minutes(30),
    params:
        code=code("certificates/frontier.py"),
        n_test_frontier=lambda w: plan.setting(w, "n_test_frontier"),
        points=config["frontier"]["points"],
        share_range=config["frontier"]["share_range"],
        paper_share=paper.values("cifar10")["certified_natural"] / 100,
    message:
        "Count the certified pairs of {wildcards.experiment} at every radius"
    script:
        "../scripts/certificates/frontier.py"


rule fig4_frontier:
    input:
        frontiers=plan.of_experiments("results/experiments/{experiment}/frontier.csv"),
        records=plan.of_experiments("results/experiments/{experiment}/frontier.json"),
        provenance=plan.records(),
    output:
        **figure("fig4_frontier", "Fig. 4: certification frontier"),
    log:
        "results/logs/fig4_frontier.log",
    benchmark:
        "results/benchmarks/fig4_frontier.tsv"
    conda:
        "../../envs/wtrak.yaml"
    params:
        code=code("certificates/fig4_frontier.py"),
        experiments=plan.experiments(),
        labels=plan.labels(plan.experiments()),
        notice=config["notice"],
    message:
        "Draw figure 4: the certification frontier"
    script:
        "../scripts/certificates/fig4_frontier.py"


rule table1_robustness:
    input:
        lipschitz=plan.of_experiments("results/experiments/{experiment}/lipschitz.csv"),
        enlargements=plan.of_experiments("results/experiments/{experiment}/enlargement.csv"),
        frontiers=plan.of_experiments("results/experiments/{experiment}/frontier.json"),
        spectra=plan.of_experiments("results/experiments/{experiment}/spectrum.json"),
        heads=plan.of_experiments("results/experiments/{experiment}/head.json"),
        provenance=plan.records(),
    output:
        **table("table1_robustness", "Table 1: robustness comparison"),
    log:
        "results/logs/table1_robustness.log",
    benchmark:
        "results/benchmarks/table1_robustness.tsv"
    conda:
        "../../envs/wtrak.yaml"
    params:
        code=code("certificates/table1_robustness.py"),
        experiments=plan.experiments(),
        labels=plan.labels(plan.experiments()),
        paper=stable({name: paper.values(name) for name in plan.experiments()}),
        notice=config["notice"],
    message:
        "Write table 1: Lipschitz constants and certified pairs beside the paper's"
    script:
        "../scripts/certificates/table1_robustness.py"


rule certificates:
    input:
        activations=plan.activations_of,
        residuals="results/experiments/{experiment}/residuals.safetensors",
        factor="results/experiments/{experiment}/covariance.safetensors",
        scores="results/experiments/{experiment}/scores.safetensors",
        deletion="results/experiments/{experiment}/one_deletion.json",
    output:
        curve="results/experiments/{experiment}/certificates_curve.csv",
        table="results/experiments/{experiment}/certificates.csv",
    log:
        "results/logs/certificates/{experiment}.log",
    benchmark:
        "results/benchmarks/certificates/{experiment}.tsv"
    conda:
        "../../envs/wtrak.yaml"
    threads: 16
    resources:
        gpu=cards(),
        mem_mb=megabytes(6000),
        runtime=minutes(30),
    params:
        seed=config["certificates"]["seed"],
        n_points=config["certificates"]["n_points"],
        deletion_range=config["certificates"]["deletion_range"],
        points=config["certificates"]["points"],
        reported_deletions=config["certificates"]["reported_deletions"],
        code=code("certificates/certificates.py"),
        n_test=lambda w: plan.setting(w, "n_test_frontier"),
        block_size=config["compute"]["block_size"],
        device=config["compute"]["device"],
    message:
        "Certify the pairs of a panel of {wildcards.experiment} in every way"
    script:
        "../scripts/certificates/certificates.py"


rule deletions:
    input:
        activations=plan.activations_of,
        residuals="results/experiments/{experiment}/residuals.safetensors",
        factor="results/experiments/{experiment}/covariance.safetensors",
        scores="results/experiments/{experiment}/scores.safetensors",
        deletion="results/experiments/{experiment}/one_deletion.json",
        cross_leverage="results/experiments/{experiment}/cross_leverage.safetensors",
    output:
        pairs="results/experiments/{experiment}/deletions.csv",
        top_k="results/experiments/{experiment}/top_k.csv",
    log:
        "results/logs/deletions/{experiment}.log",
    benchmark:
        "results/benchmarks/deletions/{experiment}.tsv"
    conda:
        "../../envs/wtrak.yaml"
    threads: 16
    resources:
        gpu=cards(),
        mem_mb=megabytes(6000),
        runtime=minutes(30),
    params:
        seed=config["deletions"]["seed"],
        n_points=config["deletions"]["n_points"],
        pairs_per_test=config["deletions"]["pairs_per_test"],
        attacked_per_test=config["deletions"]["attacked_per_test"],
        removals=config["deletions"]["removals"],
        top_k=config["deletions"]["top_k"],
        code=code("certificates/deletions.py"),
        n_test=lambda w: plan.setting(w, "n_test_frontier"),
        block_size=config["compute"]["block_size"],
        device=config["compute"]["device"],
    message:
        "Remove training points of {wildcards.experiment} and see which pairs turn"
    script:
        "../scripts/certificates/deletions.py"


rule cross_leverage:
    input:
        activations=plan.activations_of,
        residuals="results/experiments/{experiment}/residuals.safetensors",
        factor="results/experiments/{experiment}/covariance.safetensors",
        scores="results/experiments/{experiment}/scores.safetensors",
    output:
        "results/experiments/{experiment}/cross_leverage.safetensors",
    log:
        "results/logs/cross_leverage/{experiment}.log",
    benchmark:
        "results/benchmarks/cross_leverage/{experiment}.tsv"
    conda:
        "../../envs/wtrak.yaml"
    threads: 16
    resources:
        gpu=cards(),
        mem_mb=megabytes(6000),
        runtime=minutes(30),
    params:
        code=code("certificates/cross_leverage.py"),
        removals=sorted({*config["deletions"]["removals"], *config["refit"]["removals"]}),
        block_size=config["compute"]["block_size"],
        device=config["compute"]["device"],
    message:
        "Bound how removals from {wildcards.experiment} act on one another"
    script:
        "../scripts/certificates/cross_leverage.py"


rule certificates_frontier:
    input:
        curves=plan.of_experiments("results/experiments/{experiment}/certificates_curve.csv"),
        deletions=plan.of_experiments("results/experiments/{experiment}/deletions.csv"),
        provenance=plan.records(),
    output:
        **figure("certificates_frontier", "Every certificate, in deletions"),
    log:
        "results/logs/certificates_frontier.log",
    benchmark:
        "results/benchmarks/certificates_frontier.tsv"
    conda:
        "../../envs/wtrak.yaml"
    params:
        code=code("certificates/certificates_frontier.py"),
        experiments=plan.experiments(),
        labels=plan.labels(plan.experiments()),
        notice=config["notice"],
    message:
        "Draw the share of pairs under every certificate, in deletions"
    script:
        "../scripts/certificates/certificates_frontier.py"


rule certificates_table:
    input:
        certificates=plan.of_experiments("results/experiments/{experiment}/certificates.csv"),
        deletions=plan.of_experiments("results/experiments/{experiment}/deletions.csv"),
        top_k=plan.of_experiments("results/experiments/{experiment}/top_k.csv"),
        provenance=plan.records(),
    output:
        **table("certificates_table", "Certified pairs, in deletions"),
    log:
        "results/logs/certificates_table.log",
    benchmark:
        "results/benchmarks/certificates_table.tsv"
    conda:
        "../../envs/wtrak.yaml"
    params:
        code=code("certificates/certificates_table.py"),
        experiments=plan.experiments(),
        labels=plan.labels(plan.experiments()),
        notice=config["notice"],
    message:
        "Write the table: pairs certified in every way, in deletions"
    script:
        "../scripts/certificates/certificates_table.py"


rule certified_radii:
    input:
        audits=plan.of_experiments("results/experiments/{experiment}/audit.csv"),
        top_k=plan.of_experiments("results/experiments/{experiment}/top_k.csv"),
        provenance=plan.records(),
    output:
        **figure("certified_radii", "Certified radii of pairs and top sets"),
    log:
        "results/logs/certified_radii.log",
    benchmark:
        "results/benchmarks/certified_radii.tsv"
    conda:
        "../../envs/wtrak.yaml"
    params:
        code=code("certificates/certified_radii.py"),
        experiments=plan.experiments(),
        labels=plan.labels(plan.experiments()),
        notice=config["notice"],
    message:
        "Draw the distributions of certified radii"
    script:
        "../scripts/certificates/certified_radii.py"


rule natural_bound:
    input:
        constants=plan.of_experiments("results/experiments/{experiment}/lipschitz_tightness.csv"),
        provenance=plan.records(),
    output:
        **figure("natural_bound", "How tight is the natural bound?"),
    log:
        "results/logs/natural_bound.log",
    benchmark:
        "results/benchmarks/natural_bound.tsv"
    conda:
        "../../envs/wtrak.yaml"
    params:
        code=code("certificates/natural_bound.py"),
        experiments=plan.experiments(),
        labels=plan.labels(plan.experiments()),
        notice=config["notice"],
    message:
        "Draw how tight the natural bound is"
    script:
        "../scripts/certificates/natural_bound.py"


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
        code=code("certificates/lipschitz_ratio.py"),
        seed=config["theorems"]["seed"],
        dimension=config["theorems"]["dimension"],
        n_points=config["theorems"]["n_points"],
    message:
        "Measure L_Euc/L_Nat under scaling and for several spectra"
    script:
        "../scripts/certificates/lipschitz_ratio.py"


rule reduction_theorem:
    input:
        "results/theorems/lipschitz_ratio.csv",
    output:
        **figure("reduction_theorem", "Is the reduction of order √κ?", numbers=True),
    log:
        "results/logs/reduction_theorem.log",
    benchmark:
        "results/benchmarks/reduction_theorem.tsv"
    conda:
        "../../envs/wtrak.yaml"
    params:
        code=code("certificates/reduction_theorem.py"),
        notice=config["notice"],
    message:
        "Draw whether the Lipschitz reduction is of order √κ"
    script:
        "../scripts/certificates/reduction_theorem.py"
