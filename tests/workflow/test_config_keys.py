"""Every key of the configuration is used by a rule, and explained by a comment."""

import ast
import functools
import re

import pytest
import yaml

from conftest import REPOSITORY
from settings import NAMED

CONFIG_TEXT = (REPOSITORY / "config.yaml").read_text(encoding="utf-8")
CONFIG = yaml.safe_load(CONFIG_TEXT)


# --- every key is used ---


def leaves(value, path=()):
    """Paths of all keys that hold a value, with * for list items and names that users choose."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*path, "*" if path in NAMED else key))
    elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
        for item in value:
            yield from leaves(item, (*path, "*"))
    else:
        yield path


LEAVES = sorted(set(leaves(CONFIG)))
by_name = pytest.mark.parametrize("path", LEAVES, ids=".".join)


@functools.cache
def rules_text():
    """The Snakefile and the rules, without the functions that use no value of their own."""
    folder = REPOSITORY / "workflow" / "rules"
    plan = ast.parse((REPOSITORY / "workflow/wtrak_plan/experiments.py").read_text("utf-8"))
    texts = [
        ast.unparse(node)
        for node in ast.walk(plan)
        # To copy all of it is no use.
        if isinstance(node, ast.FunctionDef) and node.name != "published_config"
    ]
    # Nor is a check.
    files = [file for file in folder.rglob("*.smk") if file.name != "checks.smk"]
    texts += [file.read_text("utf-8") for file in [REPOSITORY / "Snakefile", *files]]
    return "\n".join(texts).replace('"', "'")


@functools.cache
def keys_read_from(variable):
    """Keys that the scripts and the library look up in a variable of this name."""
    found = set()
    folders = [REPOSITORY / "workflow" / name for name in ("scripts", "lib")]
    for file in (path for folder in folders for path in folder.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            match node:
                case (
                    ast.Subscript(ast.Name(name), ast.Constant(key))
                    | ast.Call(ast.Attribute(ast.Name(name), "get"), [ast.Constant(key), *_])
                    | ast.Compare(ast.Constant(key), [ast.In()], [ast.Name(name)])
                ) if name == variable:
                    found.add(key)
    return found


def is_used(path, text):
    """Whether a key of the configuration reaches a rule, and the script behind it."""
    *_, key = path
    match path:
        # Looked up by functions of the plan, whose results rules hand to scripts.
        case ("experiments", "*", "label"):
            return "block.get('label', name)" in text and "plan.labels(" in text
        case ("label_noise", "settings", "*", "label"):
            return "block.get('label', name)" in text and "plan.noise_label(" in text
        # A variation is laid over its experiment.
        case ("experiments", "*", _) | ("assumptions", "variations", "*", _):
            return bool(re.search(rf"setting\(\w+, '{key}'\)|block\['{key}'\]", text))
        case ("datasets" | "backbones" as section, "*", _):
            return bool(re.search(rf"config\['{section}'\]\[[^\n]*?\]\['{key}'\]", text))
        # These blocks are handed to the scripts whole.
        case ("heads", "*", _):
            return "config['heads'][" in text and key in keys_read_from("recipe")
        case ("retraining", "recipe", _):
            return "config['retraining']['recipe']" in text and key in keys_read_from("recipe")
        case ("label_noise", "settings", "*", "experiments"):
            return "config['label_noise']['settings'][noise]['experiments']" in text
        case ("label_noise", "settings", "*", _):
            return key in keys_read_from("noise")
        case ("wrif", "tasks", "*", _):
            return "config['wrif']['tasks'][" in text and key in keys_read_from("task")
        case ("robustness_gap", "task"):
            return "config['robustness_gap']['task']" in text
        case ("robustness_gap", _):
            return "stable(config['robustness_gap'])" in text and key in keys_read_from("settings")
        case ("claims", "rules", "*", _):
            return "config['claims']['rules']" in text and key in keys_read_from("rule")
        case ("data", "sources", "*", "*", _):
            return "config['data']['sources']" in text and key in keys_read_from("source")
    return "config" + "".join(f"['{part}']" for part in path) in text


@by_name
def test_key_is_used_by_the_rules(path):
    """If it failed, a user could set this key and nothing would change."""
    assert is_used(path, rules_text())


def test_made_up_key_is_not_found_used():
    """If it failed, the test before this one could not fail."""
    text = rules_text()
    sections = {path[:-1] for path in LEAVES}
    assert len(sections) > 8
    for section in sections:
        assert not is_used((*section, "made_up"), text)


# --- every key is commented ---


@functools.cache
def commented(text):
    """Paths of the keys that a comment explains.

    A comment explains the key below it and those that follow without a gap or a block between;
    and, by naming them, the keys of the block that it stands above or at the top of. What stands
    above a list item is about that item, and explains its keys only by naming them.
    """
    explained = set()
    # Of every open block: its path, the indentation of its keys, and what is said at its head.
    blocks = [((), 0, [])]
    above, explained_run, at_top = [], None, True
    for line in text.splitlines():
        if line.lstrip().startswith("#"):
            above.append(line.strip(" #"))
            continue
        entry = re.match(r"( *)(- )?([\w<]+):(?: (.*))?$", line)
        if entry is None:  # an empty line, or one of a longer text
            above, explained_run = [], None
            continue
        spaces, dash, key, value = entry.groups()
        while blocks[-1][1] > len(spaces):
            blocks.pop()
        if at_top:
            blocks[-1][2].extend(above)
        if dash:
            blocks.append(((*blocks[-1][0], "*"), len(spaces) + 2, list(above)))
        parent = blocks[-1][0]
        path = (*parent, "*" if parent in NAMED else key)
        heads = " ".join(words for _, _, head in blocks for words in head)
        in_list = parent[-1:] == ("*",) and parent[:-1] not in NAMED
        explained_run = parent if not in_list and (above or explained_run == parent) else None
        if explained_run == parent or re.search(rf"\b{key.replace('_', '[_ ]')}\b", heads):
            explained.add(path)
        # Keys of a block on one line, which are explained by being named.
        for inner in re.findall(r"(\w+):", value or "") if (value or "").startswith("{") else ():
            if re.search(rf"\b{inner.replace('_', '[_ ]')}\b", heads):
                explained.add((*path, inner))
        at_top = not value or value.startswith("&")
        if at_top:
            blocks.append((path, len(spaces) + (4 if dash else 2), list(above)))
        above = []
    return explained


@by_name
def test_key_is_commented(path):
    """If it failed, a reader of config.yaml would not learn what this key does."""
    assert path in commented(CONFIG_TEXT)


def test_comments_are_told_from_their_absence():
    """If it failed, the test before this one would accept or refuse the wrong keys."""
    text = """
# Sizes.
compute:
  # Where it runs.
  device: auto
  block_size: 1

  left_alone: 2
heads:
  # weight_decay: of the weights.
  lbfgs:
    weight_decay: 1
  adam:
    learning_rate: 1
    momentum: 2
# Their momentum is above.
experiments:
  first:
    # How many.
    n_train: 1
    ridge: 2
data:
  sources:
    cifar10:
      # The authors' copy, checked by its sha256.
      - kind: https
        sha256: 0
"""
    assert commented(text) & set(leaves(yaml.safe_load(text))) == {
        ("compute", "device"),
        ("compute", "block_size"),
        ("heads", "*", "weight_decay"),
        ("experiments", "*", "n_train"),
        ("experiments", "*", "ridge"),
        ("data", "sources", "*", "*", "sha256"),
    }
