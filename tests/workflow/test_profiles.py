"""Every profile: what it configures lies over config.yaml and under what the command line says."""

import os
import re
import subprocess
import sys

import pytest
import yaml

from conftest import REPOSITORY
from wtrak_plan.early_checks import profiles_left_out

PROFILES = sorted(path.parent.name for path in REPOSITORY.glob("profiles/*/profile.yaml"))
CONFIGURED = sorted(path.parent.name for path in REPOSITORY.glob("profiles/*/config.yaml"))
# Prints the configuration in the place of the whole workflow, which takes less time to plan.
PROBE = """
configfile: workflow.source_path("config.yaml")
if "PROFILE_CONFIG" in globals():
    configfile: PROFILE_CONFIG
print("CONFIG", dict(config), flush=True)
rule all:
"""


def plan(folder, *arguments, environment=()):
    """A dry run of the real workflow from another folder than its own."""
    return subprocess.run(
        [sys.executable, "-m", "snakemake", "-n", *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | dict(environment),
        encoding="utf-8",
    )


@pytest.fixture(scope="module")
def probe(tmp_path_factory):
    """The profiles beside a Snakefile that prints the configuration."""
    folder = tmp_path_factory.mktemp("my probe")
    (folder / "Snakefile").write_text(PROBE, encoding="utf-8")
    (folder / "config.yaml").symlink_to(REPOSITORY / "config.yaml")
    for path in REPOSITORY.glob("profiles/*/*"):
        copy = folder / path.relative_to(REPOSITORY)
        copy.parent.mkdir(parents=True, exist_ok=True)
        text = path.read_text("utf-8")
        # The plugin need not be installed.
        copy.write_text(text.replace("executor: slurm", "executor: local"), encoding="utf-8")
    (folder / "mine.yaml").write_text("compute: {block_size: 321}", encoding="utf-8")
    return folder


def configuration(done):
    (line,) = re.findall(r"^CONFIG (.*)$", done.stdout, flags=re.M)
    return yaml.safe_load(line)


@pytest.mark.parametrize("name", PROFILES)
@pytest.mark.parametrize("option", ["--profile", "--workflow-profile"])
def test_settings_of_the_command_line_lie_over_those_of_the_profile(probe, name, option):
    """One's own file would replace the profile's, and the full run with its downloads start."""
    mine = ["--configfile", "mine.yaml", "--config", "notice=N.B."]
    none = ["--workflow-profile", "none"] if option == "--profile" else []
    done = plan(probe, option, f"profiles/{name}", *none, *mine)
    assert done.returncode == 0, done.stdout
    found = configuration(done)
    assert found["compute"]["block_size"] == 321
    assert found["notice"] == "N.B."
    own = probe / "profiles" / name / "config.yaml"
    if own.exists():
        for section, values in yaml.safe_load(own.read_text("utf-8")).items():
            for key, value in values.items() if isinstance(values, dict) else ():
                if not isinstance(value, dict):
                    assert found[section][key] == value, (section, key)


def test_no_profile_sets_a_configfile_that_the_command_line_replaces():
    """The test before this one would not see it, as long as both are the same."""
    assert len(PROFILES) >= 5 and CONFIGURED == ["gpu", "quick", "suspects"]
    for name in PROFILES:
        profile = yaml.safe_load((REPOSITORY / f"profiles/{name}/profile.yaml").read_text("utf-8"))
        assert not {"configfile", "configfiles", "config"} & set(profile), name
        assert profile.get("snakefile") == ("Snakefile" if name in CONFIGURED else None), name


@pytest.mark.slow
@pytest.mark.parametrize("name", CONFIGURED)
def test_profile_works_from_another_folder_and_with_directory(tmp_path, name):
    """The default target, or the folder of the profile, would be that of the project alone."""
    (tmp_path / "mine.yaml").write_text("activations: {batch_size: 32}", encoding="utf-8")
    # Images are not opened when a run is planned.
    for place in ("a/1", "a/2", "b/1", "b/2"):
        image = tmp_path / "images" / f"{place}.png"
        image.parent.mkdir(parents=True, exist_ok=True)
        image.touch()
    done = plan(
        tmp_path,
        *("--profile", str(REPOSITORY / "profiles" / name), "--workflow-profile", "none"),
        *("--directory", str(tmp_path / "run"), "--configfile", "mine.yaml"),
        *("--config", f"experiments={{own: {{dataset: {{path: {tmp_path / 'images'}}}}}}}")
        if name == "suspects"
        else (),
    )
    assert done.returncode == 0, done.stdout[-2000:]
    # All of it is planned, for the experiments of the profile and for no others.
    planned = set(re.findall(r"^(\w+) +\d+$", done.stdout, flags=re.M))
    assert {"all", "head", "gallery", "suspicious_labels"} <= planned
    names = {"quick": {"digits", "digits_half"}, "suspects": {"own"}}
    names = names.get(name, {"cifar10", "cifar10_5k"})
    assert set(re.findall(r"results/suspects/(\w+)/suspects", done.stdout)) == names


def test_another_snakefile_than_the_profiles_is_refused(tmp_path):
    """The profile's configuration would be left out, and the full run with its downloads start."""
    other = ("--snakefile", str(REPOSITORY / "Snakefile"), "--directory", str(tmp_path / "run"))
    done = plan(REPOSITORY, "--profile", "profiles/quick", *other)
    assert done.returncode == 1
    assert "profiles/quick is used with another Snakefile than its own" in done.stdout
    assert "Traceback" not in done.stdout and "Job stats" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "environment", "named"),
    [
        (["-n", "--profile", "profiles/quick", "--cores", "1"], {}, ["profiles/quick"]),
        (["--profile=profiles/gpu/"], {}, ["profiles/gpu/"]),
        (["--profile", "profiles/slurm", "profiles/quick"], {}, ["profiles/quick"]),
        (["--workflow-profile", "suspects"], {}, ["suspects"]),
        (["--profile", "profiles/quick/profile.yaml"], {}, ["profiles/quick/profile.yaml"]),
        ([], {"SNAKEMAKE_PROFILE": "profiles/slurm,profiles/quick"}, ["profiles/quick"]),
        # Of this project but without a configuration; somebody else's; a target; a folder.
        (["--profile", "profiles/default"], {}, []),
        (["--profile", "gpu"], {}, []),
        (["--cores", "1", "profiles/quick"], {}, []),
        (["--directory", "profiles/quick"], {}, []),
    ],
)
def test_profiles_that_are_left_out(tmp_path, arguments, environment, named):
    """Another profile would be refused, or this project's not."""
    folder = tmp_path if arguments[-1:] == ["gpu"] else REPOSITORY
    found = profiles_left_out(arguments, environment, folder, REPOSITORY)
    assert [line.split(" is used")[0] for line in found] == named
