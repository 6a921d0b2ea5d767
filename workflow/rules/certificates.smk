# Lipschitz constants, the certification frontier, figure 4 and table 1.


rule lipschitz:
    input:
        scores="results/experiments/{experiment}/scores.safetensors",
        spectrum="results/experiments/{experiment}/spectrum.json",
    output:
        "results/experiments/{experiment}/lipschitz.csv",
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
        code=code("lipschitz.py"),
    message:
        "Compute the Lipschitz constants of {wildcards.experiment}"
    script:
        "../scripts/lipschitz.py"


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
        code=code("frontier.py"),
        n_test_frontier=lambda w: setting(w, "n_test_frontier"),
        points=config["frontier"]["points"],
        share_range=config["frontier"]["share_range"],
        paper_share=paper_values("cifar10")["certified_natural"] / 100,
    message:
        "Count the certified pairs of {wildcards.experiment} at every radius"
    script:
        "../scripts/frontier.py"


rule fig4_frontier:
    input:
        frontiers=of_experiments("results/experiments/{experiment}/frontier.csv"),
        records=of_experiments("results/experiments/{experiment}/frontier.json"),
        provenance=records(),
    output:
        svg=report(
            "results/figures/fig4_frontier.svg",
            caption="../report/fig4_frontier.rst",
            category="Figures",
            labels={"figure": "Fig. 4: certification frontier"},
        ),
        pdf="results/figures/fig4_frontier.pdf",
    log:
        "results/logs/fig4_frontier.log",
    benchmark:
        "results/benchmarks/fig4_frontier.tsv"
    conda:
        "../../envs/wtrak.yaml"
    resources:
        mem_mb=megabytes(1000),
        runtime=minutes(5),
    params:
        code=code("fig4_frontier.py"),
        experiments=experiments(),
        notice=config["notice"],
    message:
        "Draw figure 4: the certification frontier"
    script:
        "../scripts/fig4_frontier.py"


rule table1:
    input:
        lipschitz=of_experiments("results/experiments/{experiment}/lipschitz.csv"),
        frontiers=of_experiments("results/experiments/{experiment}/frontier.json"),
        spectra=of_experiments("results/experiments/{experiment}/spectrum.json"),
        heads=of_experiments("results/experiments/{experiment}/head.json"),
        provenance=records(),
    output:
        csv="results/tables/table1.csv",
        md="results/tables/table1.md",
        tex="results/tables/table1.tex",
        numbers="results/tables/table1.numbers.csv",
        html=report(
            "results/tables/table1.html",
            caption="../report/table1.rst",
            category="Tables",
            labels={"table": "Table 1: robustness comparison"},
        ),
    log:
        "results/logs/table1.log",
    benchmark:
        "results/benchmarks/table1.tsv"
    conda:
        "../../envs/wtrak.yaml"
    resources:
        mem_mb=megabytes(1000),
        runtime=minutes(5),
    params:
        code=code("table1.py"),
        experiments=experiments(),
        paper=stable({name: paper_values(name) for name in experiments()}),
        notice=config["notice"],
    message:
        "Write table 1: Lipschitz constants and certified pairs beside the paper's"
    script:
        "../scripts/table1.py"


rule certificates:
    input:
        activations=activations_of,
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
        code=code("certificates.py"),
        n_test=lambda w: setting(w, "n_test_frontier"),
        block_size=config["compute"]["block_size"],
        device=config["compute"]["device"],
    message:
        "Certify the pairs of a panel of {wildcards.experiment} in every way"
    script:
        "../scripts/certificates.py"


rule deletions:
    input:
        activations=activations_of,
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
        code=code("deletions.py"),
        n_test=lambda w: setting(w, "n_test_frontier"),
        block_size=config["compute"]["block_size"],
        device=config["compute"]["device"],
    message:
        "Remove training points of {wildcards.experiment} and see which pairs turn"
    script:
        "../scripts/deletions.py"


rule certificates_frontier:
    input:
        curves=of_experiments("results/experiments/{experiment}/certificates_curve.csv"),
        deletions=of_experiments("results/experiments/{experiment}/deletions.csv"),
        records=of_experiments("results/experiments/{experiment}/head.json"),
        provenance=records(),
    output:
        svg=report(
            "results/figures/certificates_frontier.svg",
            caption="../report/certificates_frontier.rst",
            category="Figures",
            labels={"figure": "Every certificate, in deletions"},
        ),
        pdf="results/figures/certificates_frontier.pdf",
    log:
        "results/logs/certificates_frontier.log",
    benchmark:
        "results/benchmarks/certificates_frontier.tsv"
    conda:
        "../../envs/wtrak.yaml"
    resources:
        mem_mb=megabytes(1000),
        runtime=minutes(5),
    params:
        code=code("certificates_frontier.py"),
        experiments=experiments(),
        notice=config["notice"],
    message:
        "Draw the share of pairs under every certificate, in deletions"
    script:
        "../scripts/certificates_frontier.py"


rule table2:
    input:
        certificates=of_experiments("results/experiments/{experiment}/certificates.csv"),
        deletions=of_experiments("results/experiments/{experiment}/deletions.csv"),
        top_k=of_experiments("results/experiments/{experiment}/top_k.csv"),
        provenance=records(),
    output:
        csv="results/tables/table2.csv",
        md="results/tables/table2.md",
        tex="results/tables/table2.tex",
        numbers="results/tables/table2.numbers.csv",
        html=report(
            "results/tables/table2.html",
            caption="../report/table2.rst",
            category="Tables",
            labels={"table": "Table 2: certified pairs, in deletions"},
        ),
    log:
        "results/logs/table2.log",
    benchmark:
        "results/benchmarks/table2.tsv"
    conda:
        "../../envs/wtrak.yaml"
    resources:
        mem_mb=megabytes(1000),
        runtime=minutes(5),
    params:
        code=code("table2.py"),
        experiments=experiments(),
        notice=config["notice"],
    message:
        "Write table 2: pairs certified in every way, in deletions"
    script:
        "../scripts/table2.py"


rule audit:
    input:
        activations=activations_of,
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
        code=code("audit.py"),
        n_test=lambda w: setting(w, "n_test_frontier"),
        block_size=config["compute"]["block_size"],
        device=config["compute"]["device"],
        seed=config["audit"]["seed"],
        n_points=config["audit"]["n_points"],
        pairs_per_test=config["audit"]["pairs_per_test"],
        n_sources=config["audit"]["n_sources"],
        restarts=config["audit"]["restarts"],
        ridge=lambda w: setting(w, "ridge"),
    message:
        "Attack the certificates of {wildcards.experiment}"
    script:
        "../scripts/audit.py"


rule audit_tightness:
    input:
        audits=of_experiments("results/experiments/{experiment}/audit.csv"),
        refits=of_experiments("results/experiments/{experiment}/refit.csv"),
        records=of_experiments("results/experiments/{experiment}/head.json"),
        provenance=records(),
    output:
        svg=report(
            "results/figures/audit_tightness.svg",
            caption="../report/audit_tightness.rst",
            category="Figures",
            labels={"figure": "Audit: certificates against attacks"},
        ),
        pdf="results/figures/audit_tightness.pdf",
    log:
        "results/logs/audit_tightness.log",
    benchmark:
        "results/benchmarks/audit_tightness.tsv"
    conda:
        "../../envs/wtrak.yaml"
    resources:
        mem_mb=megabytes(1000),
        runtime=minutes(5),
    params:
        code=code("audit_tightness.py"),
        experiments=experiments(),
        notice=config["notice"],
    message:
        "Draw how close attacks come to the certificates"
    script:
        "../scripts/audit_tightness.py"


rule table3:
    input:
        audits=of_experiments("results/experiments/{experiment}/audit.csv"),
        refits=of_experiments("results/experiments/{experiment}/refit.csv"),
        provenance=records(),
    output:
        csv="results/tables/table3.csv",
        md="results/tables/table3.md",
        tex="results/tables/table3.tex",
        numbers="results/tables/table3.numbers.csv",
        html=report(
            "results/tables/table3.html",
            caption="../report/table3.rst",
            category="Tables",
            labels={"table": "Table 3: certificates broken by attack"},
        ),
    log:
        "results/logs/table3.log",
    benchmark:
        "results/benchmarks/table3.tsv"
    conda:
        "../../envs/wtrak.yaml"
    resources:
        mem_mb=megabytes(1000),
        runtime=minutes(5),
    params:
        code=code("table3.py"),
        experiments=experiments(),
        notice=config["notice"],
    message:
        "Write table 3: certificates broken by attack"
    script:
        "../scripts/table3.py"


rule refit:
    input:
        dataset=dataset_of,
        activations=activations_of,
        head="results/experiments/{experiment}/head.safetensors",
        residuals="results/experiments/{experiment}/residuals.safetensors",
        factor="results/experiments/{experiment}/covariance.safetensors",
        scores="results/experiments/{experiment}/scores.safetensors",
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
        code=code("refit.py"),
        recipe=lambda w: stable(config["heads"][setting(w, "head")]),
        gradient=lambda w: setting(w, "gradient"),
        test_label=lambda w: setting(w, "test_label"),
        ridge=lambda w: setting(w, "ridge"),
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
        "../scripts/refit.py"


rule cross_leverage:
    input:
        activations=activations_of,
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
        code=code("cross_leverage.py"),
        removals=config["deletions"]["removals"],
        block_size=config["compute"]["block_size"],
        device=config["compute"]["device"],
    message:
        "Bound how removals from {wildcards.experiment} act on one another"
    script:
        "../scripts/cross_leverage.py"


rule certified_radii:
    input:
        audits=of_experiments("results/experiments/{experiment}/audit.csv"),
        top_k=of_experiments("results/experiments/{experiment}/top_k.csv"),
        records=of_experiments("results/experiments/{experiment}/head.json"),
        provenance=records(),
    output:
        svg=report(
            "results/figures/certified_radii.svg",
            caption="../report/certified_radii.rst",
            category="Figures",
            labels={"figure": "Certified radii of pairs and top sets"},
        ),
        pdf="results/figures/certified_radii.pdf",
    log:
        "results/logs/certified_radii.log",
    benchmark:
        "results/benchmarks/certified_radii.tsv"
    conda:
        "../../envs/wtrak.yaml"
    resources:
        mem_mb=megabytes(1000),
        runtime=minutes(5),
    params:
        code=code("certified_radii.py"),
        experiments=experiments(),
        notice=config["notice"],
    message:
        "Draw the distributions of certified radii"
    script:
        "../scripts/certified_radii.py"
