"""Every setting: another value re-runs the rules that read it and what follows from those.

Which rules read a setting is found in their text, what follows in Snakemake's own graph.
"""

import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from conftest import QUICK, snakemake
from rulegraph import BLOCKS, functions
from settings import LEAVES, QUICK_CONFIG, USED, others, write_change

pytestmark = pytest.mark.matrix

# Settings that decide which jobs there are: rules of which another value needs jobs not run before.
NEW_JOBS = {
    ("experiments", "digits_half", "backbone"): {"backbone"},
    ("label_noise", "fits", "experiment"): {"copies"},
    ("label_noise", "fits", "n_train"): {"copies"},
    ("label_noise", "fits", "setting"): {"noisy_heads"},
    ("retraining", "removal", "shares"): {"mlp_removal"},
}
# The provenance records every setting. It does not stand on the page of suspicious labels.
RECORDED = {("suspects", "pictures"): {"provenance"}}


def plan(repository, folder, path, value):
    """The graph of jobs under another value, in which jobs that need not run are dashed."""
    for count, other in enumerate(others(path, value)):
        file = folder / f"{'.'.join(path)}.{count}.yaml"
        write_change(file, path, other)
        done = snakemake(
            repository,
            *(*QUICK, "--dag", "dot", "--nolock", "--configfile", QUICK_CONFIG, str(file)),
            check=False,
        )
        if done.returncode == 0:
            return done.stdout
    return None


@pytest.fixture(scope="module")
def plans(finished, tmp_path_factory):
    """Graph of the jobs for every setting."""
    folder = tmp_path_factory.mktemp("settings")
    with ThreadPoolExecutor(2) as pool:
        found = pool.map(lambda item: plan(finished, folder, *item), LEAVES.items())
        return dict(zip(LEAVES, found, strict=True))


def jobs_of(dot):
    """Rule of each job, those of them that would run, and those that each follows directly."""
    rules, planned, before = {}, set(), {}
    for job, rule, style in re.findall(r'(\d+)\[label = "(\w+)[^"]*", .*style="([\w,]+)"', dot):
        rules[job] = rule
        if "dashed" not in style:
            planned.add(job)
    for first, second in re.findall(r"(\d+) -> (\d+)", dot):
        before.setdefault(second, set()).add(first)
    return rules, planned, before


FUNCTIONS = functions()


def text_of(rule):
    """The text of a rule and of the functions that it calls, directly or not."""
    done, queue, texts = set(), [BLOCKS[rule].replace('"', "'")], []
    while queue:
        text = queue.pop()
        texts.append(text)
        for name in set(re.findall(r"\b(\w+)\b", text)) & FUNCTIONS.keys() - done:
            done.add(name)
            queue.append(FUNCTIONS[name])
    return "\n".join(texts)


TEXTS = {rule: text_of(rule) for rule in BLOCKS}


def reads(rule, path):
    """Whether the rule itself reads a setting by its full path, and whether it could by any."""
    own, text = BLOCKS[rule].replace('"', "'"), TEXTS[rule]
    full = "config" + "".join(f"['{key}']" for key in path) in own
    if path[0] == "experiments":
        full = f"plan.setting(w, '{path[-1]}')" in own
    # A section may be handed over whole, or a block of it be looked up by its name.
    whole = any(
        re.search(r"config" + "".join(rf"\['{key}'\]" for key in path[:k]) + r"(?!\['[a-z])", text)
        for k in range(1, len(path))
    )
    names = [key for key in path[1:] if not any(key in used for used in USED.values())]
    return full, full or whole or all(f"'{key}'" in text for key in names)


@pytest.mark.parametrize("path", LEAVES, ids=".".join)
def test_setting_reruns_what_reads_it_and_what_follows(plans, path):
    """Results of the old value would stay, or work be repeated that does not know it."""
    if plans[path] is None:
        pytest.fail(f"no other value of {'.'.join(path)} is allowed; name one in OTHER")
    rules, planned, before = jobs_of(plans[path])
    again = {rules[job] for job in planned} - {"all"}
    assert again, "no rule of the quick run reads it"
    readers = {rule for rule in BLOCKS.keys() & set(rules.values()) if reads(rule, path)[0]}
    assert readers <= again, f"not run again, though they read it: {readers - again}"
    first = {rules[job] for job in planned if not before.get(job, set()) & planned} - {"all"}
    allowed = NEW_JOBS.get(path, set()) | RECORDED.get(path, set())
    strangers = {rule for rule in first if not reads(rule, path)[1]} - allowed
    assert not strangers, f"run again, though they do not read it: {strangers}"
    left = {rules[job] for job in rules.keys() - planned if before.get(job, set()) & planned}
    assert not left, f"not run again, though what they stand on is: {left}"
