from snakemake.utils import min_version

min_version("9.27.1")


configfile: workflow.source_path("config.yaml")


# Set by the Snakefile of a profile that has a configuration.
if "PROFILE_CONFIG" in globals():

    configfile: PROFILE_CONFIG


include: "workflow/rules/common.smk"
include: "workflow/rules/checks.smk"


check_profile()
stop(configuration.problems_of(config))
configuration.name_own_data(config)
check_sizes(config)


report: "workflow/report/workflow.rst"


wildcard_constraints:
    experiment=allowed("experiment"),
    dataset=allowed("dataset"),
    backbone=allowed("backbone"),
    size=r"\d+|published",
    noise=allowed("noise"),
    task=allowed("task"),
    network=allowed("network"),
    part=allowed("part"),
    share=allowed("share"),


# On a cluster, rules that download run on the submitting machine, which has the network.
localrules:
    dataset,
    backbone,
    human_labels,


# Each rule of a figure or table adds its outputs to the targets.
include: "workflow/rules/sources.smk"
include: "workflow/rules/convex.smk"
include: "workflow/rules/geometry.smk"
include: "workflow/rules/certificates.smk"
include: "workflow/rules/attacks.smk"
include: "workflow/rules/assumptions.smk"
include: "workflow/rules/labels.smk"
include: "workflow/rules/suspects.smk"
include: "workflow/rules/removal.smk"
include: "workflow/rules/reporting.smk"


rule all:
    default_target: True
    input:
        PUBLISHED,
        SUSPECTS,
        # The page and the checks need experiments with test points.
        ["results/index.html", "results/checks.xml"] if plan.experiments() else [],


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
        rules.assumptions_figure.output,
        rules.assumptions_table.output,


check_targets()

# Gives every job a hash of all that it was made from, so that no stale result passes as finished.
LINEAGE = Lineage(workflow.rules, ROOT / "workflow" / "rules")
LINEAGE.track()
