# Checks before the first job; wtrak_plan has their logic and messages.

from wtrak_plan import dataset_sizes, early_checks


def check_profile():
    """Stop if the command leaves out the configuration of a profile that it names."""
    folder = Path(workflow.rundir)
    if "PROFILE_CONFIG" not in globals():
        problems = early_checks.profiles_left_out(sys.argv[1:], os.environ, folder, ROOT)
        if problems:
            raise WorkflowError("\n".join(problems))


def check_sizes(config):
    """Stop with one line for each number for which a dataset is too small."""
    asked = {
        "chosen": plan.chosen_experiments(),
        "attributed": plan.experiments(),
        "noisy": {noise: plan.noisy(noise) for noise in config["label_noise"]["settings"]},
        "fits": plan.fits(),
        "removal": plan.removal_experiments(),
        "tasks": plan.tasks(),
        "share": paper.share_certified(),
        "own_rows": plan.own_rows(),
    }
    problems = dataset_sizes.size_problems(config, asked, plan.folder_listing)
    stop(list(dict.fromkeys(problems)))


def check_card():
    """Stop if jobs are to run here on a card that this machine lacks.

    Jobs on a cluster are not checked, because its nodes may have cards that this machine lacks.
    """
    device, deployment = config["compute"]["device"], workflow.deployment_settings
    here = workflow.is_main_process and workflow.local_exec and not workflow.touch
    if device.startswith("cuda") and here and not deployment.deployment_method:
        if any("gpu" in job.rule.resources for job in workflow.dag.needrun_jobs()):
            problem = early_checks.missing_card(device, early_checks.cards_here())
            if problem:
                raise WorkflowError(problem)


def allowed_names():
    """For each wildcard a regular expression of its values, and a description of them."""
    varied = either(config["assumptions"]["variations"])
    refitted = rf"(?:{either(config['heads'])})_[1-9]\d*"
    retraining = config["retraining"]
    experiment = rf"(?:{either(config['experiments'])})(?:{VARIED}(?:{varied}|{refitted}))?"
    words = (
        f"known are {early_checks.list_of(config['experiments'])}, each also with {VARIED} and one of "
        f"{early_checks.list_of(config['assumptions']['variations'])}, or a head and a number of "
        f"training examples, as in {VARIED}lbfgs_5000"
    )
    lists = {
        "dataset": config["datasets"],
        "backbone": config["backbones"],
        "noise": config["label_noise"]["settings"],
        "task": config["wrif"]["tasks"],
        "network": [str(network) for network in range(retraining["networks"])],
        "part": [str(part) for part in range(retraining["subsets"]["parts"])],
        "share": [str(share) for share in (0, *retraining["removal"]["shares"])],
    }
    return {"experiment": (experiment, words)} | {
        name: (either(values), f"known are {early_checks.list_of(values)}")
        for name, values in lists.items()
    }


def allowed(name):
    """The regular expression of a wildcard's values."""
    return allowed_names()[name][0]


def check_targets():
    """Stop if the path of a target contains an unknown name; the message lists the known ones."""
    # Another workflow may use this one as a module; its rules are left out.
    root = ROOT.resolve()
    rules_here = [r for r in workflow.rules if root in Path(r.snakefile).resolve().parents]
    patterns = [str(file) for rule in rules_here for file in rule.output]
    # Snakemake has not parsed the targets yet. Other words of the command match no pattern.
    problems = early_checks.unknown_names(sys.argv[1:], patterns, allowed_names())
    if problems:
        raise WorkflowError("\n".join(problems))


onstart:
    check_card()
