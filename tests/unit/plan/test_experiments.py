"""Lookups in a configuration: which experiments run, and with what."""

import copy
from types import SimpleNamespace

import pytest

from settings import CONFIG
from wtrak_plan.configuration import name_own_data, problems_of
from wtrak_plan.experiments import Plan, stable


def plan_of(**changes):
    """The plan of the quick run, with changes by section."""
    config = copy.deepcopy(CONFIG)
    for section, values in changes.items():
        config[section] |= values
    assert not problems_of(config)
    name_own_data(config)
    return Plan(config)


@pytest.mark.parametrize("chosen", ["all", ["digits_half"]])
def test_lists_hold_for_experiments_that_run_alone(chosen):
    """A job of an experiment that was not asked for would run, or one that was would not."""
    plan = plan_of(run={"experiments": chosen})
    names = plan.chosen_experiments()
    assert names == (list(CONFIG["experiments"]) if chosen == "all" else chosen)
    for found in (plan.removal_experiments(), plan.noisy("uniform_10")):
        assert set(found) <= set(names)
    assert plan.of_experiments("a/{experiment}") == [f"a/{name}" for name in plan.experiments()]


def test_variations_lie_over_their_experiment():
    """A variation would run with the settings of its experiment, or with none of them."""
    plan, own = plan_of(), dict(CONFIG["experiments"]["digits"])
    # A label is no setting: a new one computes nothing again.
    del own["label"]
    assert plan.experiment_block("digits") == own
    assert plan.experiment_block("digits__margin") == own | {"gradient": "margin"}
    refitted = plan.experiment_block("digits__adam_1_500")
    assert refitted == own | {"head": "adam_1", "n_train": 500}
    wildcards = SimpleNamespace(experiment="digits__margin")
    assert plan.setting(wildcards, "gradient") == "margin"


def test_a_fit_that_is_an_experiment_goes_by_its_name():
    """The same head would be fitted twice."""
    head, n_train = (CONFIG["experiments"]["digits"][key] for key in ("head", "n_train"))
    plan = plan_of()
    plan.config["label_noise"]["fits"] = {
        "experiment": "digits",
        "setting": "uniform_10",
        "heads": [head],
        "n_train": [n_train, 9],
    }
    assert [fit["name"] for fit in plan.fits()] == ["digits", f"digits__{head}_9"]
    plan.config["run"] = {"experiments": ["digits_half"]}
    assert plan.fits() == []


def test_labels_name_experiments_and_noise_for_readers():
    """A code name would reach a figure, or a label name another size than was computed."""
    plan = plan_of()
    blocks, settings = plan.config["experiments"], plan.config["label_noise"]["settings"]
    blocks["digits"] |= {"label": "digits, n = {n_train}", "n_train": 1200}
    del blocks["digits_half"]["label"], settings["pair_10"]["label"]
    assert plan.labels(["digits_half", "digits"]) == {
        "digits_half": "digits_half",
        "digits": "digits, n = 1,200",
    }
    blocks["digits"]["n_train"] = "all"
    assert plan.label_of("digits") == "digits, n = all"
    settings["uniform_10"]["label"] = "ten"
    assert plan.noise_label("pair_10") == "pair_10"
    # Human labels are of CIFAR-10, which the quick run leaves out.
    assert plan.noise_labels() == {"uniform_10": "ten", "pair_10": "pair_10"}


def test_experiments_that_run_have_labels_of_their_own():
    """Two curves of a figure would have one name, or a label of an unused experiment stop a run."""
    config = copy.deepcopy(CONFIG)
    for block in config["experiments"].values():
        block["label"] = "the same"
    (problem,) = problems_of(config)
    assert problem.startswith("experiments.digits_half.label: 'the same'")
    config["run"]["experiments"] = ["digits"]
    assert not problems_of(config)


def test_a_label_changes_no_job_that_computes():
    """Heads would be fitted again to the same labels because a legend says something else."""
    plan = plan_of()
    before = plan.experiment_block("digits__margin"), plan.noise_block("uniform_10"), plan.fits()
    plan.config["experiments"]["digits"]["label"] = "another"
    plan.config["label_noise"]["settings"]["uniform_10"]["label"] = "another"
    after = plan.experiment_block("digits__margin"), plan.noise_block("uniform_10"), plan.fits()
    assert before == after and plan.noise_block("uniform_10") == {"kind": "uniform", "rate": 0.1}


def test_a_folder_of_images_follows_its_files(tmp_path):
    """An image that was exchanged would keep the results of the old one."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "1.png").write_bytes(b"one")
    own = {"kind": "image_folder", "path": str(tmp_path), "side": 8}
    block = CONFIG["experiments"]["digits"] | {"dataset": own}

    def content():
        plan = plan_of(experiments={"mine": copy.deepcopy(block)}, run={"experiments": ["mine"]})
        # Without test images it has suspicious labels and nothing else.
        assert plan.chosen_own_images() == ["mine"] and plan.experiments() == []
        return plan.content_of(SimpleNamespace(dataset="mine"))

    first = content()
    assert content() == first
    (tmp_path / "a" / "2.png").write_bytes(b"two")
    assert content() != first


def test_the_published_configuration_names_no_folder_of_this_machine():
    """A path of somebody's home would be published; or a section be left out without a word."""
    plan = plan_of()
    plan.config["data"] |= {"directory": "/home/me", "mirrors": ["/mnt/mine"]}
    plan.config["datasets"]["mine"] = {"kind": "image_folder", "path": "/home/me/x", "side": 8}
    published = plan.published_config()
    assert "/home/me" not in repr(published) and "/mnt/mine" not in repr(published)
    assert published.keys() == plan.config.keys()
    ran = {name: plan.config["experiments"][name] for name in plan.chosen_experiments()}
    assert published["experiments"] == stable(ran)


def test_parameters_do_not_depend_on_the_order_of_keys():
    """A second configuration file would re-run a finished workflow."""
    one, other = {"b": [{"d": 1, "c": 2}], "a": 0}, {"a": 0, "b": [{"c": 2, "d": 1}]}
    assert repr(stable(one)) == repr(stable(other)) != repr(one)


def own_folder(folder, **changes):
    """An experiment on a folder of images, with a file of corrections."""
    (folder / "a").mkdir()
    (folder / "corrections.csv").write_text("path,decision\n", encoding="utf-8")
    block = {"kind": "image_folder", "path": str(folder), "side": 32}
    block |= {"corrections": str(folder / "corrections.csv")} | changes
    return CONFIG["experiments"]["digits"] | {"label": "mine", "dataset": block}


def test_corrections_belong_to_their_dataset(tmp_path):
    """Other experiments would wait for them, or a changed file re-run nothing."""
    plan = plan_of(experiments={"own": own_folder(tmp_path)})
    own, digits = (SimpleNamespace(experiment=name) for name in ("own", "digits"))
    assert plan.corrections_of(own) == ["results/corrections/own.safetensors"]
    assert plan.corrections_of(digits) == []
    before = plan.corrections_content("own")
    (tmp_path / "corrections.csv").write_text("path,decision\na,keep\n", encoding="utf-8")
    assert plan.corrections_content("own") != before
    assert str(tmp_path) not in str(plan.published_config())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"corrections": "/no/such.csv"}, "dataset.corrections: there is no file '/no/such.csv'"),
        ({"test_path": "."}, "dataset.corrections: certificates are of the data as they are"),
    ],
)
def test_corrections_that_cannot_be_used_are_named(tmp_path, changes, message):
    """Certificates would be of labels that nobody corrected, or a job fail in a traceback."""
    config = copy.deepcopy(CONFIG)
    config["experiments"]["own"] = own_folder(tmp_path, **changes)
    (line,) = problems_of(config)
    assert line.startswith(f"experiments.own.{message}")
