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
configuration.name_folders(config)
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


# Every rule with the outputs of a figure or a table adds these to the targets.
include: "workflow/rules/sources.smk"
include: "workflow/rules/convex.smk"
include: "workflow/rules/geometry.smk"
include: "workflow/rules/certificates.smk"
include: "workflow/rules/attacks.smk"
include: "workflow/rules/assumptions.smk"
include: "workflow/rules/labels.smk"
include: "workflow/rules/removal.smk"
include: "workflow/rules/reporting.smk"


rule all:
    default_target: True
    input:
        PUBLISHED,
        SUSPECTS,
        # One page with all of it, and checks: of experiments that have a verdict.
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

# Every job knows all that it was made from, so that nothing stale passes as finished.
LINEAGE = Lineage(workflow.rules, ROOT / "workflow" / "rules")
LINEAGE.track()
