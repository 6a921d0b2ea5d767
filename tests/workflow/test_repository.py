"""Promises of the repository itself: pins, rules, tracking and names that belong together."""

import ast
import hashlib
import json
import re
import resource
import tomllib
from pathlib import Path

import pandas as pd
import pytest
import yaml
from packaging.requirements import Requirement

import wtrak
from conftest import REPOSITORY, snakemake
from rulegraph import BLOCKS, SHOWN, script_of

SCRIPTS = REPOSITORY / "workflow" / "scripts"
LIBRARY = REPOSITORY / "workflow" / "lib"
RULES = sorted((REPOSITORY / "workflow" / "rules").glob("*.smk"))
PYTHON = sorted([*SCRIPTS.rglob("*.py"), *LIBRARY.rglob("*.py")])


def pins(text):
    return dict(re.findall(r"^([a-z][a-z0-9_-]*)==([^\s;]+)", text, flags=re.M))


def test_locked_requirements_hold_every_pin_with_hashes():
    """`make` would install other versions than the project was tested with."""
    wanted = pins((REPOSITORY / "envs" / "requirements.in").read_text("utf-8"))
    locked_text = (REPOSITORY / "envs" / "requirements.txt").read_text("utf-8")
    locked = pins(locked_text)
    assert wanted and wanted.items() <= locked.items()
    for block in re.split(r"^(?=[a-z])", locked_text, flags=re.M)[1:]:
        assert "--hash=sha256:" in block, block[:80]
    assert not re.search(r"https?://|--(extra-)?index-url|--find-links", locked_text)


def test_conda_environment_has_the_same_versions():
    """A cluster user with conda would get other numbers than a pip user."""
    environment = yaml.safe_load((REPOSITORY / "envs" / "wtrak.yaml").read_text("utf-8"))
    names = {"pytorch": "torch"}
    conda = dict(
        spec.split("=", 1) for spec in environment["dependencies"] if not spec.startswith("python")
    )
    conda = {names.get(name, name): version.lstrip("=") for name, version in conda.items()}
    wanted = pins((REPOSITORY / "envs" / "requirements.in").read_text("utf-8"))
    tools = {"pytest-xdist", "hypothesis", "ruff", "snakefmt", "snakemake"}
    assert conda == {name: v for name, v in wanted.items() if name not in tools}


def test_minimum_snakemake_is_the_pinned_one():
    """The Snakefile would ask for another version than the environment has."""
    wanted = pins((REPOSITORY / "envs" / "requirements.in").read_text("utf-8"))["snakemake"]
    assert f'min_version("{wanted}")' in (REPOSITORY / "Snakefile").read_text("utf-8")


def test_every_rule_is_complete():
    """A rule without log, environment or edit tracking fails where it hurts."""
    assert len(BLOCKS) > 60
    for name, block in BLOCKS.items():
        for part in ("message:", "output:", "log:", "conda:", "script:"):
            assert part in block, f"{name} has no {part}"
        # Defaults do for what only draws or writes; others say what they need.
        light = "**figure(" in block or "**table(" in block
        assert ("mem_mb=" in block and "runtime=" in block) or light, name
        script = script_of(name)
        expected = {"noisy_gallery": "gallery"}.get(name, name)
        assert Path(script).stem == expected, f"{name} runs {script}"
        # What a dataset holds is checked by its hash, whatever the code.
        tracked = f'code=code("{script}")' in block
        assert tracked == (name != "dataset"), f"{name} does not track its code"
        if name not in ("provenance", "publish"):
            assert "benchmark:" in block, f"{name} has no benchmark"


def test_no_logic_outside_scripts():
    """Code in shell or run directives escapes edit tracking."""
    for path in [*RULES, REPOSITORY / "Snakefile"]:
        assert not re.search(
            r"^\s+(shell|run|notebook|wrapper):", path.read_text("utf-8"), flags=re.M
        )


def test_common_defines_no_rule():
    """Rules in common.smk would hide from a reader of the Snakefile."""
    text = (REPOSITORY / "workflow" / "rules" / "common.smk").read_text("utf-8")
    assert "rule " not in re.sub(r"#.*|\"\"\".*?\"\"\"", "", text, flags=re.S)
    assert len(text.splitlines()) <= 120


def test_no_file_is_long():
    """Nobody reads a file of a thousand lines to its end."""
    for path in [*PYTHON, *RULES, *(REPOSITORY / "workflow" / "wtrak_plan").glob("*.py")]:
        assert len(path.read_text("utf-8").splitlines()) <= 400, path
    for path in (REPOSITORY / "tests").rglob("*.py"):
        assert len(path.read_text("utf-8").splitlines()) <= 600, path


def test_every_library_module_has_its_tests():
    """Whoever changes a module would not know what checks it."""
    for path in LIBRARY.glob("wtrak/*/*.py"):
        if path.name != "__init__.py":
            tests = REPOSITORY / "tests" / "unit" / path.parent.name / f"test_{path.name}"
            assert tests.is_file(), f"{path.relative_to(LIBRARY)} has no {tests.name}"


@pytest.mark.parametrize("path", PYTHON, ids=lambda path: path.name)
def test_imports_can_be_tracked(path):
    """A dynamic or relative import would let an edit go unnoticed."""
    # The public names are imported on first use. No script uses them: see below.
    public = path == LIBRARY / "wtrak" / "__init__.py"
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call) and not public:
            called = getattr(node.func, "id", None)
            assert called not in {"import_module", "__import__", "exec", "eval"}
            assert getattr(node.func, "attr", None) != "import_module"
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0


@pytest.mark.parametrize("path", PYTHON, ids=lambda path: path.name)
def test_no_script_imports_public_names(path):
    """What wtrak imports on first use is not tracked: its edits would re-run nothing."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.module != "wtrak"
        if isinstance(node, ast.Import):
            # `import wtrak.errors` gives the name `wtrak`, too, and with it every public one.
            names = [alias for alias in node.names if alias.name.split(".")[0] == "wtrak"]
            assert all("." in alias.name and alias.asname for alias in names)


def test_public_names_are_where_they_are_said_to_be():
    """A name would be documented that nobody can import."""
    for name in wtrak.__all__:
        assert hasattr(wtrak, name), name
    assert set(wtrak.__all__) <= set(dir(wtrak))
    with pytest.raises(AttributeError, match="'wtrak' has no attribute 'Attributer'"):
        _ = wtrak.Attributer


def test_version_is_that_of_the_citation():
    """The package would be cited under another version."""
    citation = yaml.safe_load((REPOSITORY / "CITATION.cff").read_text("utf-8"))
    assert wtrak.__version__ == citation["version"]


def test_installed_packages_are_bounded_by_the_pinned_ones():
    """The package would be installed with versions above those that it is tested with."""
    pinned = pins((REPOSITORY / "envs" / "requirements.in").read_text("utf-8"))
    settings = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]
    assert settings["requires-python"] == ">=3.11"
    for requirement in map(Requirement, settings["dependencies"]):
        assert requirement.name in pinned
        assert all(bound.operator == ">=" for bound in requirement.specifier)
        assert pinned[requirement.name] in requirement.specifier


def test_library_knows_no_workflow():
    """The library could not be used, or tested, without Snakemake."""
    for path in LIBRARY.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Name):
                assert node.id not in {"snakemake", "smk"} or path.name == "runtime.py", path


def test_scripts_do_not_read_the_global_config():
    """A setting read past `params` would not re-run its rule when it changes."""
    for path in SCRIPTS.rglob("*.py"):
        text = path.read_text("utf-8")
        assert "smk.config" not in text and "snakemake.config" not in text, path


def reached_from(path, seen):
    """Files of the library that a script imports, directly or not."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module.startswith("wtrak."):
            place = LIBRARY / node.module.replace(".", "/")
            # `from package import module` or `from package.module import name`.
            modules = [place / alias.name for alias in node.names] if place.is_dir() else [place]
            for module in (place.with_suffix(".py") for place in modules):
                if module not in seen:
                    seen.add(module)
                    reached_from(module, seen)
    return seen


def test_drawing_and_tables_import_no_torch():
    """Every figure and table would take two seconds longer, in every run."""
    shown = [name for name, block in BLOCKS.items() if "**figure(" in block or "**table(" in block]
    assert len(shown) > 30
    for name in shown:
        script = SCRIPTS / script_of(name)
        for path in [script, *reached_from(script, set())]:
            # Where it stands at the top; `runtime` imports it for those who ask.
            for node in ast.parse(path.read_text("utf-8")).body:
                names = [alias.name for alias in getattr(node, "names", [])]
                assert "torch" not in names, f"{name} imports torch through {path.name}"


def test_every_report_target_has_its_caption():
    """The report would fail to build, or a caption would describe nothing."""
    folder = REPOSITORY / "workflow" / "report"
    used = {f"{name.removesuffix('_{experiment}')}.rst" for _, name in SHOWN}
    expected = {*used, "provenance.rst", "workflow.rst"}
    assert expected == {path.name for path in folder.glob("*.rst")}


def test_profiles_track_edits_alike():
    """A run through another profile would miss edits, or limit no GPU."""
    for path in (REPOSITORY / "profiles").glob("*/profile.yaml"):
        profile = yaml.safe_load(path.read_text("utf-8"))
        assert profile["rerun-triggers"] == ["mtime", "params", "input", "software-env"], path
        assert profile["rerun-incomplete"] is True
        # One job at a time on a card of this machine. The quick run asks for none, and a cluster
        # counts by itself.
        own = path.parent.name not in ("quick", "slurm")
        assert profile.get("resources") == (["gpu=1"] if own else None)
    settings = yaml.safe_load((REPOSITORY / "profiles/quick/config.yaml").read_text("utf-8"))
    assert settings["compute"]["device"] == "cpu"


def test_paper_claims_are_well_formed():
    """A paper value would be looked up under another name, or be no number."""
    claims = pd.read_csv(REPOSITORY / "workflow" / "resources" / "paper_claims.csv")
    assert claims["id"].is_unique
    named = claims[claims["quantity"].notna()]
    assert not named.duplicated(["experiment", "quantity"]).any()
    assert named["paper_value"].notna().all()


def test_python_version_is_the_documented_one():
    """Syntax newer than the README promises would fail on a user's machine."""
    settings = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))
    assert settings["tool"]["ruff"]["target-version"] == "py311"
    assert "Python 3.11" in (REPOSITORY / "README.md").read_text("utf-8")


def test_parsing_is_quick_and_writes_nothing(tmp_path):
    """Every cluster job parses the Snakefile again; work or writes there multiply."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    snakemake(REPOSITORY, "--dry-run", "--cores", "1", "--directory", str(tmp_path))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    # Of a processor and not of the clock, as other work may run beside.
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 4
    assert not (tmp_path / "results").exists()


def test_published_files_are_those_of_the_provenance():
    """A published figure would not be the one that the provenance describes."""
    published = REPOSITORY / "results" / "published"
    record = json.loads((published / "provenance.json").read_text("utf-8"))
    assert record["commit"] and "uncommitted" not in record["commit"]
    assert len(record["sha256"]) >= 10
    for name, sha256 in record["sha256"].items():
        content = (published / name.removeprefix("results/")).read_bytes()
        assert hashlib.sha256(content).hexdigest() == sha256, name
