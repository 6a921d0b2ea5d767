"""README.md and the pages in docs: short, complete, with links that lead somewhere."""

import json
import re
import subprocess
import sys
from types import SimpleNamespace
from urllib.parse import unquote

import pytest

import publish
from conftest import REPOSITORY
from wtrak.job.io import read_csv
from wtrak.reporting.claims import short
from wtrak.reporting.tables import markdown

README = REPOSITORY / "README.md"
RESULTS = REPOSITORY / "docs" / "results.md"
PAGES = [README, *sorted((REPOSITORY / "docs").glob("*.md"))]
RULES = sorted((REPOSITORY / "workflow" / "rules").glob("*.smk"))
LEDGER = REPOSITORY / "results" / "published" / "tables" / "claims.csv"


def text_of(path):
    return path.read_text("utf-8")


def without_code(text):
    """A page without its code blocks, in which a # begins no heading."""
    return re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)


def anchors(text):
    """Anchors that GitHub gives the headings of a page."""
    out = []
    for heading in re.findall(r"^#+ (.+)$", without_code(text), flags=re.M):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        anchor = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        out.append(f"{anchor}-{out.count(anchor)}" if anchor in out else anchor)
    return out


def links(text):
    """Targets of links and pictures of a page that lead to no other site."""
    found = re.findall(r"\]\(([^)\s]+)\)", without_code(text))
    return [link for link in found if not re.match(r"[a-z]+:", link)]


def sentences(text):
    """Sentences of a page's running text, one line each: no code, table, heading or picture."""
    kept = []
    for block in re.split(r"\n\s*\n", re.sub(r"<!--.*?-->", "", without_code(text), flags=re.S)):
        lines = [line for line in block.splitlines() if not re.match(r"\s*([|#]|!\[)", line)]
        # An item of a list begins a sentence.
        for part in re.split(r"\n(?=\s*(?:[-*]|\d+\.) )", "\n".join(lines)):
            words = re.sub(r"\]\([^)]*\)|[\[\]*`]|^\s*(?:-|\d+\.) ", "", " ".join(part.split()))
            kept += re.split(r"(?<=[.:?!]) ", words)
    return [sentence.strip() for sentence in kept]


def repeated(pages):
    """Sentences of more than 60 characters that stand in two of the pages, or twice in one."""
    seen, found = {}, []
    for name, text in pages.items():
        for sentence in sentences(text):
            if len(sentence) > 60:
                found += [f"{seen[sentence]}, {name}: {sentence}"] if sentence in seen else []
                seen.setdefault(sentence, name)
    return found


def broken(path, text):
    """Links of a page that lead to no file, or to no heading of one."""
    problems = []
    for link in links(text):
        target, _, anchor = link.partition("#")
        file = (path.parent / unquote(target)).resolve() if target else path
        if target and not file.exists():
            problems.append(f"{path.name}: {link}")
        elif anchor and unquote(anchor) not in anchors(text_of(file) if target else text):
            problems.append(f"{path.name}: {link} has no such heading")
    return problems


def test_readme_is_one_page():
    """Nobody would read it, least of all on a phone."""
    assert README.stat().st_size <= 6000


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_links_lead_somewhere(path):
    """A reader would end at a page that is not there."""
    assert broken(path, text_of(path)) == []


def test_links_are_looked_up(tmp_path):
    """A check that finds nothing wrong anywhere would pass for every page."""
    (tmp_path / "other.md").write_text("# One, two\n\n# 3 × 4\n\n# One two\n", "utf-8")
    page = "## Here\n[a](other.md#one-two-1) [b](other.md#3--4) [c](#here) [d](https://x.y/z)\n"
    assert broken(tmp_path / "page.md", page) == []
    wrong = "[a](gone.md) [b](other.md#one) ![c](gone.svg) [d](#there)\n"
    assert len(broken(tmp_path / "page.md", page + wrong)) == 4


def test_every_page_can_be_reached():
    """A page would exist that no other leads to."""
    linked = {(REPOSITORY / link.partition("#")[0]).resolve() for link in links(text_of(README))}
    assert set(PAGES) - {README} <= linked


def test_no_sentence_stands_twice():
    """One of the two would be forgotten when the other changes."""
    assert repeated({path.name: text_of(path) for path in PAGES}) == []


def test_repeated_sentences_are_found():
    """Line breaks, lists and marks would hide a sentence that stands twice."""
    one = "Yes. This sentence has far more than sixty characters, with a [link](a.md) in it.\n"
    two = "- This *sentence* has far more than\n  sixty characters, with a link in it.\n- More.\n"
    assert len(repeated({"one": one, "two": two})) == 1
    assert repeated({"one": one, "two": f"```\n{one}```\n| {one} |\n"}) == []


def test_targets_are_documented():
    """A reader could not find how to make a figure or table, or would ask for one that is gone."""
    rules = "".join(map(text_of, RULES))
    shown = re.findall(r'\*\*(figure|table)\(\s*"([\w{}]+)"', rules)
    assert len(shown) > 30
    ending = {"figure": ("figures", "svg"), "table": ("tables", "md")}
    wanted = {
        "results/{}/{}.{}".format(
            ending[kind][0], name.replace("{experiment}", "<experiment>"), ending[kind][1]
        )
        for kind, name in shown
    }
    page = text_of(REPOSITORY / "docs" / "targets.md")
    named = re.findall(r"^\|[^|\n]*\| `(results/(?:figures|tables)/\S+)`", page, flags=re.M)
    assert sorted(named) == sorted(wanted)


def test_make_targets_are_documented():
    """A reader could not know of a command."""
    pages = "".join(map(text_of, PAGES))
    targets = re.findall(r"^([a-z-]+):", text_of(REPOSITORY / "Makefile"), flags=re.M)
    assert len(targets) > 10
    for target in targets:
        assert re.search(rf"`make {target}\b(?!-)|^make {target}\b(?!-)", pages, flags=re.M) or (
            target == "help"
        ), target


def test_make_targets_named_in_pages_exist():
    """A reader would be told of a command that make does not know."""
    targets = re.findall(r"^([a-z-]+):", text_of(REPOSITORY / "Makefile"), flags=re.M)
    named = re.findall(r"(?:`|^)make ([a-z-]+)", "".join(map(text_of, PAGES)), flags=re.M)
    assert len(named) > 10 and set(named) <= set(targets)


def test_no_table_is_called_by_a_number_of_ours():
    """It would look like the paper's table of that number; only Table 1 is."""
    captions = sorted((REPOSITORY / "workflow" / "report").glob("*.rst"))
    scripts = sorted((REPOSITORY / "workflow" / "scripts").rglob("*.py"))
    settings = [REPOSITORY / "config.yaml", *(REPOSITORY / "profiles").rglob("*.yaml")]
    for path in [*PAGES, *captions, *scripts, *settings, *RULES]:
        assert not re.findall(r"\b[Tt]ables? (?!1\b)\d+", text_of(path)), path


def test_verdicts_are_the_published_ones():
    """The pages would show verdicts of another run than the published one."""
    ledger = short(read_csv(LEDGER))
    assert len(ledger) > 35
    assert markdown(ledger).strip() in text_of(RESULTS)
    rows = re.findall(r"^\| (.+?) \| (.+?) \| (.+?) \| (.+?) \|$", text_of(README), flags=re.M)
    claims = [row for row in rows if row[0] in set(ledger["claim"])]
    assert len(claims) == 5
    for row in claims:
        assert row in set(ledger[["claim", "verdict", "paper", "ours"]].itertuples(False, None))


def test_numbers_of_verdicts_are_the_published_ones():
    """The front page would count verdicts of another run."""
    counts = read_csv(LEDGER)["verdict"].value_counts()
    page = " ".join(text_of(README).split())
    for words in (
        f"Of {counts.sum()} claims, {counts['reproduced']} are reproduced",
        f"{counts['holds in direction']} hold in direction",
        f"{counts['depends on an unstated choice']} depend on a choice",
        f"{counts['not reproduced']} are not reproduced and {counts['refuted']} are refuted",
    ):
        assert words in page, words


def test_publishing_writes_the_verdicts(tmp_path, monkeypatch):
    """The page would keep the verdicts of the run before."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    # As it was when another run was published.
    marks = r"(<!-- claims: written by make publish -->\n).*?(<!-- end of claims -->)"
    text = text_of(RESULTS)
    old = re.sub(marks, r"\1\n| old |\n\n\2", text, flags=re.S)
    page = tmp_path / "docs" / "results.md"
    page.write_text(old, "utf-8")
    (tmp_path / "claims.csv").write_bytes(LEDGER.read_bytes())
    params = SimpleNamespace(notice="")
    publish.main(SimpleNamespace(input=["claims.csv"], output=["copy.csv"], params=params))
    assert old != text and page.read_text("utf-8") == text
    assert (tmp_path / "copy.csv").read_bytes() == LEDGER.read_bytes()


def test_python_example_runs(tmp_path):
    """The first thing that a reader tries would fail."""
    (example,) = re.findall(r"^```python\n(.*?)^```$", text_of(README), flags=re.M | re.S)
    library = str(REPOSITORY / "workflow" / "lib")
    start = f"import sys; sys.path.append({json.dumps(library)})\n"
    done = subprocess.run(
        [sys.executable, "-c", start + example],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
