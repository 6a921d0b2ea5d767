"""Check before the first job that a command plans the run that its user meant.

Plain functions, without Snakemake. Each returns sentences that say what is wrong and what to do.
"""

import re
import subprocess
import sys


def profiles_left_out(arguments, environment, folder, root):
    """Find profiles of this project whose configuration the command leaves out.

    A profile with a configuration names its own Snakefile, which reads that configuration. With
    another --snakefile, Snakemake would plan the full run instead of the profile's run.

    Parameters
    ----------
    arguments : list of str
        Arguments of the command.
    environment : mapping
        Its SNAKEMAKE_PROFILE, if set, names profiles, separated by commas.
    folder : Path
        Where the command was given.
    root : Path
        The folder of this project.

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
        # A profile is named by its folder or its file, and may be looked for below profiles/.
        paths = [folder / name, folder / "profiles" / name]
        used = {path.resolve() for path in (*paths, *(path.parent for path in paths))} & known
        out += [
            f"{name} is used with another Snakefile than its own, so that its configuration is "
            "left out; drop --snakefile, because the profile sets it"
            for _ in used
        ]
    return list(dict.fromkeys(out))


def cards_here():
    """Number of CUDA cards that torch can use; None without torch.

    A separate process asks, because a process that has asked keeps memory on the card.
    """
    ask = "import torch; print(torch.cuda.device_count() if torch.cuda.is_available() else 0)"
    done = subprocess.run(
        [sys.executable, "-c", ask], capture_output=True, text=True, check=False, encoding="utf-8"
    )
    return int(done.stdout) if done.returncode == 0 else None


def missing_card(device, cards):
    """A sentence if `device` is a card that this machine lacks, else None.

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
        f"compute.device: {device!r}, but torch finds {cards or 'no'} usable CUDA cards here; use "
        "'auto', which takes a card only if there is one, or 'cpu'"
    )


def unknown_names(targets, patterns, allowed):
    """Find targets that a rule would make if the configuration had the names in their path.

    Parameters
    ----------
    targets : iterable of str
    patterns : iterable of str
        Outputs of rules, with wildcards as ``{name}`` or ``{name,constraint}``.
    allowed : dict of str to (str, str)
        For each wildcard a regular expression of its values, and a description of them.

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
    """A regular expression for the paths that match a pattern with wildcards."""
    # The constraint of a wildcard may itself contain pairs of braces.
    parts = re.split(r"\{(\w+)(?:,(?:[^{}]|\{[^{}]*\})*)?\}", pattern)
    out, seen = re.escape(parts[0]), set()
    for name, text in zip(parts[1::2], parts[2::2], strict=True):
        inside = allowed[name][0] if name in allowed else "[^/]+?"
        out += f"(?P={name})" if name in seen else f"(?P<{name}>{inside})"
        out += re.escape(text)
        seen.add(name)
    return re.compile(out)


def list_of(names):
    """Names in alphabetical order, separated by commas."""
    return ", ".join(sorted(map(str, names)))
