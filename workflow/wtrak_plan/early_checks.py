"""What can be said of a run before its first job: whether it is planned as it was meant.

Plain functions, without Snakemake: each returns sentences that say what is wrong and what to do.
"""

import re
import subprocess
import sys


def profiles_left_out(arguments, environment, folder, root):
    """Profiles of this project that a command names, of which it leaves out the configuration.

    A profile that has a configuration names its own Snakefile, which reads it. Another --snakefile
    would plan the full run in the place of the one that the profile is for.

    Parameters
    ----------
    arguments : list of str
        Of the command.
    environment : mapping
        In which SNAKEMAKE_PROFILE may name profiles, separated by commas.
    folder : Path
        That the command was given in.
    root : Path
        Of this project.

    Returns
    -------
    list of str
    """
    named = [part for part in environment.get("SNAKEMAKE_PROFILE", "").split(",") if part]
    of_profile = False
    for argument in arguments:
        if argument.startswith("-"):
            option, equals, value = argument.partition("=")
            of_profile = option in ("--profile", "--workflow-profile")
            named += [value] if of_profile and equals else []
        elif of_profile:
            named.append(argument)
    known = {path.parent.resolve() for path in (root / "profiles").glob("*/Snakefile")}
    out = []
    for name in named:
        # A folder or its file; a workflow's profile may be named without the folder of all of them.
        found = [folder / name, folder / "profiles" / name]
        used = {path.resolve() for path in (*found, *(path.parent for path in found))} & known
        out += [
            f"{name} is used with another Snakefile than its own, so that its configuration is "
            "left out; drop --snakefile, which the profile sets"
            for _ in used
        ]
    return list(dict.fromkeys(out))


def cards_here():
    """How many CUDA cards torch can use, asked of a process of its own; None without torch.

    A process that has asked keeps memory on the card.
    """
    ask = "import torch; print(torch.cuda.device_count() if torch.cuda.is_available() else 0)"
    done = subprocess.run(
        [sys.executable, "-c", ask], capture_output=True, text=True, check=False, encoding="utf-8"
    )
    return int(done.stdout) if done.returncode == 0 else None


def missing_card(device, cards):
    """What is wrong where `device` is a card that is not among so many; None where nothing is.

    Parameters
    ----------
    device : str
        ``compute.device``.
    cards : int or None
        Output of `cards_here`.
    """
    if not device.startswith("cuda") or cards is None:
        return None
    if int(device.partition(":")[2] or 0) < cards:
        return None
    return (
        f"compute.device: {device!r}, but torch finds {cards or 'no'} usable CUDA cards here; auto "
        "takes one where there is one, cpu none"
    )


def unknown_names(targets, patterns, allowed):
    """Targets that a rule would make if the names in their path were of the configuration.

    Parameters
    ----------
    targets : iterable of str
    patterns : iterable of str
        Outputs of rules, with wildcards as ``{name}`` or ``{name,constraint}``.
    allowed : dict of str to (str, str)
        By wildcard, the regular expression of what it may be, and that in words.

    Returns
    -------
    list of str
    """
    pairs = [(as_expression(pattern, {}), as_expression(pattern, allowed)) for pattern in patterns]
    out = []
    for target in targets:
        if any(strict.fullmatch(target) for _, strict in pairs):
            continue
        for match in filter(None, (loose.fullmatch(target) for loose, _ in pairs)):
            wrong = {
                name: value
                for name, value in match.groupdict().items()
                if name in allowed and not re.fullmatch(allowed[name][0], value)
            }
            if wrong:
                out += [
                    f"{target}: there is no {name} {value!r}; {allowed[name][1]}"
                    for name, value in wrong.items()
                ]
                break
    return out


def as_expression(pattern, allowed):
    """The regular expression of the paths that a pattern with wildcards stands for."""
    # A constraint may hold braces that close.
    parts = re.split(r"\{(\w+)(?:,(?:[^{}]|\{[^{}]*\})*)?\}", pattern)
    out, seen = re.escape(parts[0]), set()
    for name, text in zip(parts[1::2], parts[2::2], strict=True):
        inside = allowed[name][0] if name in allowed else "[^/]+?"
        out += f"(?P={name})" if name in seen else f"(?P<{name}>{inside})"
        out += re.escape(text)
        seen.add(name)
    return re.compile(out)


def list_of(names):
    """Names in alphabetical order, in words."""
    return ", ".join(sorted(map(str, names)))
