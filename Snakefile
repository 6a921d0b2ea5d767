from snakemake.utils import min_version

min_version("9.27.1")


configfile: workflow.source_path("config.yaml")


include: "workflow/rules/common.smk"


validate_config(config)


report: "workflow/report/workflow.rst"


wildcard_constraints:
    experiment="[a-z][a-z0-9_]*",
    dataset="[a-z][a-z0-9_]*",
    backbone="[a-z][a-z0-9_]*",
    size=r"\d+",
    noise="[a-z][a-z0-9_]*",


# What the workflow is for. Adding a name here adds a target.
FIGURES = expand(
    "results/figures/{figure}.{format}",
    figure=[
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
    ],
    format=["svg", "pdf"],
)
TABLES = expand(
    "results/tables/{table}.{format}",
    table=["table1", "table2", "table3", "table4", "table5", "table6", "table7"],
    format=["csv", "md", "tex", "html"],
)
PUBLISHED = [*FIGURES, *TABLES, "results/provenance.json"]


rule all:
    input:
        PUBLISHED,


rule figures:
    input:
        FIGURES,


rule tables:
    input:
        TABLES,


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
include: "workflow/rules/publish.smk"
