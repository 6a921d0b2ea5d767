from snakemake.utils import min_version

min_version("9.27.1")


configfile: workflow.source_path("config.yaml")


# Set by the Snakefile of a profile that has a configuration.
if "PROFILE_CONFIG" in globals():

    configfile: PROFILE_CONFIG


include: "workflow/rules/common.smk"
include: "workflow/rules/checks.smk"


check_profile()
validate_config(config)
name_folders(config)
check_sizes(config)


report: "workflow/report/workflow.rst"


wildcard_constraints:
    experiment=allowed("experiment"),
    dataset=allowed("dataset"),
    backbone=allowed("backbone"),
    size=r"\d+",
    noise=allowed("noise"),
    task=allowed("task"),
    network=allowed("network"),
    part=allowed("part"),
    share=allowed("share"),


# Where jobs go to a cluster, what downloads stays with the machine that has the network.
localrules:
    dataset,
    backbone,
    human_labels,


# What the workflow is for. Adding a name here adds a target. Experiments without test points, on
# folders of images, have suspicious labels and nothing else.
GALLERIES = expand(
    "results/figures/{figure}.{format}",
    figure=[
        *expand("gallery_{experiment}", experiment=chosen_experiments()),
        *expand("noisy_gallery_{experiment}", experiment=noisy(config["label_noise"]["figure"])),
    ],
    format=["svg", "pdf"],
)
SUSPECTS = expand(
    "results/suspects/{experiment}/suspects.csv", experiment=chosen_experiments()
) + expand("results/datasets/{dataset}.skipped.csv", dataset=chosen_folders())
FIGURES = expand(
    "results/figures/{figure}.{format}",
    figure=[
        "claims_figure",
        "fig1_robustness_gap",
        "error_orders",
        "loo_coverage",
        "fig2_spectrum",
        "fig4_frontier",
        "head_training",
        "certificates_frontier",
        "audit_tightness",
        "certified_radii",
        "fig3_ood",
        "natural_bound",
        "reduction_theorem",
        "assumptions_sweep",
        "fig5_label_noise",
        "detector_comparison",
        "noise_by_fit",
        "fig6_mlp_removal",
        "datamodeling",
        "fig7_head_removal",
    ],
    format=["svg", "pdf"],
)
TABLES = expand(
    "results/tables/{table}.{format}",
    table=[
        "claims",
        "table1",
        "table2",
        "table3",
        "table4",
        "table5",
        "table6",
        "table7",
        "table8",
        "table9",
        "table10",
        "table11",
    ],
    format=["csv", "numbers.csv", "md", "tex", "html"],
)
# What figures print and no table holds.
FIGURES += expand(
    "results/figures/{figure}.numbers.csv",
    figure=["fig1_robustness_gap", "fig5_label_noise", "reduction_theorem"],
)
FIGURES, TABLES = needed(FIGURES), needed(TABLES)
FIGURES += GALLERIES
PUBLISHED = [*FIGURES, *TABLES, "results/provenance.json"]


# One page with all of it, and checks of the results: with experiments that have a verdict.
LAST = ["results/index.html", "results/checks.xml"] if experiments() else []


rule all:
    input:
        PUBLISHED,
        SUSPECTS,
        LAST,


rule figures:
    input:
        FIGURES,


rule tables:
    input:
        TABLES,


rule suspects:
    input:
        SUSPECTS,
        GALLERIES,


rule assumptions:
    input:
        expand("results/figures/assumptions_sweep.{format}", format=["svg", "pdf"]),
        expand("results/tables/table5.{format}", format=["csv", "md", "tex", "html"]),


include: "workflow/rules/data.smk"
include: "workflow/rules/features.smk"
include: "workflow/rules/geometry.smk"
include: "workflow/rules/certificates.smk"
include: "workflow/rules/theorems.smk"
include: "workflow/rules/assumptions.smk"
include: "workflow/rules/label_noise.smk"
include: "workflow/rules/suspects.smk"
include: "workflow/rules/retraining.smk"
include: "workflow/rules/convex.smk"
include: "workflow/rules/claims.smk"
include: "workflow/rules/publish.smk"


check_targets()

# Every job knows all that it was made from, so that nothing stale passes as finished.
LINEAGE = Lineage(workflow.rules, ROOT / "workflow" / "rules")
LINEAGE.track()
