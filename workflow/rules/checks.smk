# Checks before the first job. What they say is in wtrak_plan.

from wtrak_plan import dataset_sizes, early_checks


def check_profile():
    """Stop when the command leaves out the configuration of a profile that it names."""
    folder = Path(workflow.rundir)
    if "PROFILE_CONFIG" not in globals():
        problems = early_checks.profiles_left_out(sys.argv[1:], os.environ, folder, ROOT)
        if problems:
            raise WorkflowError("\n".join(problems))


def check_sizes(config):
    """Stop with one line per number that a dataset is too small for."""
    asked = {
        "chosen": plan.chosen_experiments(),
        "attributed": plan.experiments(),
        "noisy": {noise: plan.noisy(noise) for noise in config["label_noise"]["settings"]},
        "fits": plan.fits(),
        "removal": plan.removal_experiments(),
        "tasks": plan.tasks(),
        "share": paper.share_certified(),
    }
    problems = dataset_sizes.size_problems(config, asked, plan.folder_listing)
    stop(list(dict.fromkeys(problems)))


def check_card():
    """Stop when jobs are to run on a card of this machine that it has not.

    Jobs of a cluster run on nodes, which may have one where this machine has none.
    """
    device, deployment = config["compute"]["device"], workflow.deployment_settings
    here = workflow.is_main_process and workflow.local_exec and not workflow.touch
    if device.startswith("cuda") and here and not deployment.deployment_method:
        if any("gpu" in job.rule.resources for job in workflow.dag.needrun_jobs()):
            problem = early_checks.missing_card(device, early_checks.cards_here())
            if problem:
                raise WorkflowError(problem)


def allowed_names():
    """What wildcards may be, by their name: a regular expression, and the same in words."""
    varied = either(config["assumptions"]["variations"])
    refitted = rf"(?:{either(config['heads'])})_[1-9]\d*"
    anew = config["retraining"]
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
        "network": [str(network) for network in range(anew["networks"])],
        "part": [str(part) for part in range(anew["subsets"]["parts"])],
        "share": [str(share) for share in (0, *anew["removal"]["shares"])],
    }
    return {"experiment": (experiment, words)} | {
        name: (either(values), f"known are {early_checks.list_of(values)}")
        for name, values in lists.items()
    }


def allowed(name):
    """The regular expression of what a wildcard may be."""
    return allowed_names()[name][0]


def check_targets():
    """Stop with the names that are known where the path of a target holds one that is not."""
    # Not of rules of another workflow, which may have this one as a module.
    root = ROOT.resolve()
    own = [rule for rule in workflow.rules if root in Path(rule.snakefile).resolve().parents]
    patterns = [str(file) for rule in own for file in rule.output]
    # Which words of the command are targets is not known yet; others are like no output.
    problems = early_checks.unknown_names(sys.argv[1:], patterns, allowed_names())
    if problems:
        raise WorkflowError("\n".join(problems))


onstart:
    check_card()
