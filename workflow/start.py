"""Start Snakemake for `make`, with settings that the user gives as variables of make.

make and the shell expand characters like `$`, which the name of a folder may contain. So recipes
never contain the user's text. make passes it through the environment, and this script turns it into
arguments of a command, without a shell.

    python workflow/start.py SNAKEMAKE ARGUMENT…

DATA is a folder of images, a list of images, or features. MIRROR is a folder with downloads. CORES
is a number or `all`. ARGS holds further arguments. They are split into words as a shell does, with
quotes and backslashes, but nothing is expanded.
"""

import os
import shlex
import sys
from pathlib import Path


def quoted(text):
    """A text as a YAML string in double quotes, in ASCII and on one line.

    Bytes that are not UTF-8 are kept; Python represents them as lone surrogates.
    """
    plain = (c if " " <= c <= "~" and c not in '"\\' else f"\\U{ord(c):08X}" for c in text)
    return f'"{"".join(plain)}"'


def settings(environment, with_data):
    """Items KEY=VALUE for --config that DATA and MIRROR stand for, with absolute paths."""
    out = []
    if with_data:
        path = quoted(str(Path(environment["DATA"]).absolute()))
        out.append(f"experiments={{own: {{dataset: {{path: {path}}}}}}}")
    if environment.get("MIRROR"):
        out.append(f"data={{mirrors: [{quoted(str(Path(environment['MIRROR']).absolute()))}]}}")
    return out


def with_settings(words, items):
    """Arguments with items KEY=VALUE added to their last --config, or in a new --config.

    Snakemake ignores all but the last --config.
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
    """The command to run, as a list of words.

    Raises
    ------
    ValueError
        If DATA is missing for the target `suspects`, or ARGS has an open quote. The message is
        meant for the user.
    """
    with_data = "suspects" in arguments
    if with_data and not environment.get("DATA"):
        raise ValueError("Say where the data are: make suspects DATA=/path/to/folder/or/file")
    try:
        words = shlex.split(environment.get("ARGS", ""))
    except ValueError as error:
        raise ValueError(f"ARGS cannot be split into words: {error}") from error
    # In one word, so that a value that begins with a dash is not taken for an option.
    cores = f"--cores={environment.get('CORES') or 'all'}"
    return [*arguments, cores, *with_settings(words, settings(environment, with_data))]


if __name__ == "__main__":
    try:
        whole = command(sys.argv[1:], os.environ)
    except ValueError as error:
        sys.exit(str(error))
    os.execv(whole[0], whole)
