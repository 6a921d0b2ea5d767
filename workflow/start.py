"""Starts Snakemake for `make`, with what its user said in the environment.

The name of a folder may hold anything, and make or a shell would expand some of it. So no recipe
holds what a user says. Here it becomes arguments of a command that no shell reads.

    python workflow/start.py SNAKEMAKE ARGUMENT…

DATA is a folder of images, MIRROR one with downloads, CORES a number or `all`. ARGS are further
arguments, in words as a shell splits them (quotes and backslashes too), but nothing is expanded.
"""

import os
import shlex
import sys
from pathlib import Path


def quoted(text):
    """A text as YAML writes it in double quotes, in ASCII and on one line.

    It may hold bytes that are no UTF-8, which Python has as lone surrogates.
    """
    plain = (c if " " <= c <= "~" and c not in '"\\' else f"\\U{ord(c):08X}" for c in text)
    return f'"{"".join(plain)}"'


def settings(environment, with_data):
    """What DATA and MIRROR set, as KEY=VALUE for --config; the folders as absolute paths."""
    out = []
    if with_data:
        path = quoted(str(Path(environment["DATA"]).absolute()))
        out.append(f"experiments={{own: {{dataset: {{path: {path}}}}}}}")
    if environment.get("MIRROR"):
        out.append(f"data={{mirrors: [{quoted(str(Path(environment['MIRROR']).absolute()))}]}}")
    return out


def with_settings(words, items):
    """Arguments with KEY=VALUE items added to those of their last --config, or as one of their own.

    Snakemake takes the last --config alone, and merges what it holds.
    """
    out = []
    for word in words:
        if word.startswith("--config="):
            out += ["--config", word.partition("=")[2]]
        elif word.startswith("-C") and word != "-C":
            out += ["-C", word[2:]]
        else:
            out.append(word)
    places = [place for place, word in enumerate(out) if word in ("--config", "-C")]
    if not items:
        return out
    if not places:
        return [*out, "--config", *items]
    return [*out[: places[-1] + 1], *items, *out[places[-1] + 1 :]]


def command(arguments, environment):
    """The whole command.

    Raises
    ------
    ValueError
        If DATA is missing for the target `suspects`, or ARGS has an open quote; with a sentence.
    """
    with_data = "suspects" in arguments
    if with_data and not environment.get("DATA"):
        raise ValueError("Say where the images are: make suspects DATA=/path/to/folder")
    try:
        words = shlex.split(environment.get("ARGS", ""))
    except ValueError as error:
        raise ValueError(f"ARGS cannot be split into words: {error}") from error
    # In one word with its value, which is no option whatever it begins with.
    cores = f"--cores={environment.get('CORES') or 'all'}"
    return [*arguments, cores, *with_settings(words, settings(environment, with_data))]


if __name__ == "__main__":
    try:
        whole = command(sys.argv[1:], os.environ)
    except ValueError as error:
        sys.exit(str(error))
    os.execv(whole[0], whole)
