"""Start Snakemake for `make`, with settings that the user gives as variables of make.

make and the shell expand characters like `$`, which the name of a folder may contain. So recipes
never contain the user's text. make passes it through the environment, and this script turns it into
arguments of a command, without a shell.

    python workflow/start.py SNAKEMAKE ARGUMENT…

DATA is a folder of images, a list of images, or features. NAME is the name of the folder of
results, by default that of DATA. CORRECTIONS is a file of corrected labels. MIRROR is a folder with
downloads. CORES is a number or `all`. ARGS holds further arguments. They are split into words as a
shell does, with quotes and backslashes, but nothing is expanded.
"""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import unicodedata
from pathlib import Path

RUNS = Path("runs")
# Folders in RUNS that profiles use themselves.
RESERVED = ("quick", "suspects")
# In the folder of each run: the path of the data that its results are of.
RECORD = "data.txt"
# Arguments of Snakemake after which there is no new result in the folder of the run.
WITHOUT_RESULT = re.compile(r"-\w*[ndh]\w*|--(dry-?run|directory|unlock|help)(=.*)?", re.S)


def quoted(text):
    """A text as a YAML string in double quotes, in ASCII and on one line.

    Bytes that are not UTF-8 are kept; Python represents them as lone surrogates.
    """
    plain = (c if " " <= c <= "~" and c not in '"\\' else f"\\U{ord(c):08X}" for c in text)
    return f'"{"".join(plain)}"'


def settings(environment, with_data):
    """Items KEY=VALUE for --config that the variables stand for, with absolute paths."""
    out = []
    if with_data:
        block = {"path": environment["DATA"], "corrections": environment.get("CORRECTIONS")}
        items = (
            f"{key}: {quoted(str(Path(text).absolute()))}" for key, text in block.items() if text
        )
        out.append(f"experiments={{own: {{dataset: {{{', '.join(items)}}}}}}}")
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


def safe_name(text):
    """A text as the name of a folder: letters, digits, `_`, `.` and `-`; at most 80 characters."""
    name = re.sub(r"[^\w.]+", "-", unicodedata.normalize("NFC", text))
    return name.strip("-.")[:80].rstrip("-.") or "data"


def run_folder(environment):
    """The folder for results of DATA, which results of no other data may share.

    Raises
    ------
    ValueError
        If the name is taken. The message is meant for the user.
    """
    data = Path(environment["DATA"]).absolute()
    name = safe_name(environment.get("NAME") or data.name)
    folder = RUNS / name
    other = "Choose another name for these results: make suspects … NAME=…"
    if name.lower() in RESERVED:
        raise ValueError(f"{folder} is kept for another kind of run. {other}")
    if not folder.exists():
        return folder
    record = folder / RECORD
    if not record.is_file():
        raise ValueError(f"{folder} exists, but was not made by make suspects. {other}")
    known = os.fsdecode(record.read_bytes())
    if known != str(data):
        # Bytes that are not UTF-8 cannot be printed.
        shown = known.encode("utf-8", "backslashreplace").decode()
        raise ValueError(
            f"{folder} holds the results of {shown}. {other}, or delete {record} if the same data "
            "have moved"
        )
    return folder


def further_words(environment):
    """The words of ARGS, as a list.

    Raises
    ------
    ValueError
        If ARGS has an open quote. The message is meant for the user.
    """
    try:
        return shlex.split(environment.get("ARGS", ""))
    except ValueError as error:
        raise ValueError(f"ARGS cannot be split into words: {error}") from error


def command(arguments, environment):
    """The command to run, as a list of words.

    Raises
    ------
    ValueError
        If DATA is missing for the target `suspects`, its results would replace those of other
        data, or ARGS has an open quote. The message is meant for the user.
    """
    with_data = "suspects" in arguments
    if with_data and not environment.get("DATA"):
        raise ValueError("Say where the data are: make suspects DATA=/path/to/folder/or/file")
    words = further_words(environment)
    # In one word, so that a value that begins with a dash is not taken for an option.
    own = [f"--cores={environment.get('CORES') or 'all'}"]
    if with_data:
        own.append(f"--directory={run_folder(environment)}")
    return [*arguments, *own, *with_settings(words, settings(environment, with_data))]


def keep_record(environment):
    """Note in the folder of results which data they are of, if the data exist."""
    data, folder = Path(environment["DATA"]).absolute(), run_folder(environment)
    if data.exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / RECORD).write_bytes(os.fsencode(str(data)))


def run(words):
    """Run a command, which gets the signals that are meant for it, and return its status."""
    with subprocess.Popen(words) as process:
        # A terminal sends Ctrl-C to both processes. The command decides what it means.
        kept = {
            signal.SIGINT: signal.signal(signal.SIGINT, signal.SIG_IGN),
            signal.SIGTERM: signal.signal(signal.SIGTERM, lambda *_: process.terminate()),
        }
        try:
            status = process.wait()
        finally:
            for number, handler in kept.items():
                signal.signal(number, handler)
    return 128 - status if status < 0 else status


def closing_lines(folder):
    """What was found, and where it lies, as a list of lines; empty without results.

    Parameters
    ----------
    folder : Path
        Folder of the run.
    """
    results = folder / "results"
    path = results / "suspects" / "own" / "summary.json"
    if not path.is_file():
        return []
    found = json.loads(path.read_text(encoding="utf-8"))
    skipped, copies, errors = found.get("skipped"), found["copies"], found["errors"]
    # Only of images may files be skipped.
    what = "examples" if skipped is None else "images"
    examples = f"{found['examples']:,} {what} in {found['classes']:,} classes"
    if skipped and skipped["files"]:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in skipped["by_reason"].items())
        examples += f"; {skipped['files']:,} files skipped ({kinds})"
    lines = [
        examples,
        f"about {errors['value']:,.0f} wrong labels ({errors['low']:,.0f} to "
        f"{errors['high']:,.0f} by chance alone); {found['flagged']:,} are flagged",
        f"{copies['examples']:,} copies in {copies['groups']:,} groups, of which "
        f"{copies['groups_under_two_labels']:,} under two labels"
        if copies["examples"]
        else "no copies",
    ]
    if "corrected" in found:
        numbers = found["corrected"]
        lines.append(
            f"corrections: {numbers['keep']:,} confirmed, {numbers['relabel']:,} relabelled, "
            f"{numbers['remove']:,} removed"
        )
    files = {
        "Look at them, and correct": "suspects/own/suspects.html",
        "The list": "suspects/own/suspects.csv",
        "By class, by pair": "suspects/own/by_class.csv",
        "Copies": "copies/own.csv",
        "Skipped files": "datasets/own.skipped.csv",
    }
    there = {what: results / name for what, name in files.items() if (results / name).is_file()}
    width = max(map(len, there), default=0) + 1
    return [*lines, "", *(f"{what + ':':{width}} {path}" for what, path in there.items())]


def main(arguments, environment):
    """Run the command, say what was found, and return the status of the command."""
    words = command(arguments, environment)
    if "suspects" not in arguments:
        os.execv(words[0], words)
    keep_record(environment)
    status = run(words)
    if status == 0 and not any(map(WITHOUT_RESULT.fullmatch, further_words(environment))):
        # A folder may have a name that the terminal cannot show.
        sys.stdout.reconfigure(errors="backslashreplace")
        print("", *closing_lines(run_folder(environment)), sep="\n")
    return status


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:], os.environ))
    except ValueError as error:
        sys.exit(str(error))
