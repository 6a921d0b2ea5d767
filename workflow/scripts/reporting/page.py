"""One page with everything: what was asked, what holds, every figure and table, and where from."""

import base64
import html
import re
from pathlib import Path

import pandas as pd
from docutils.core import publish_parts
from jinja2 import Environment, StrictUndefined

from wtrak.job.io import read_csv, read_json, write_text
from wtrak.job.runtime import run
from wtrak.reporting.claims import VERDICTS, short
from wtrak.reporting.tables import number

TITLE = "Natural geometry of robust data attribution: the paper's claims, recomputed"
ASKED = """
A paper says how far scores that attribute a network's predictions to its training examples can move
when the training data move, and certifies rankings that cannot change. It measures with two rulers:
the usual distance between gradients, and a "natural" one that their covariance induces. The second,
it says, certifies 68.7 % of all rankings where the first certifies none; and what it measures finds
wrong labels. Everything below is computed from data by one workflow, so that each statement can be
checked, varied and run again. Every claim has a verdict, made by a rule that is the same for all of
its kind.
"""
COLORS = {
    "reproduced": "#009E73",
    "holds in direction": "#2A8FC4",
    "depends on an unstated choice": "#B87400",
    "not reproduced": "#B0558B",
    "refuted": "#D55E00",
    "not run": "#777777",
}
STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #222; margin: 0 auto; max-width: 64rem;
  padding: 1rem; }
h1 { font-size: 1.6rem; line-height: 1.25; } h2 { margin-top: 2.5rem; } h3 { margin-top: 1.8rem; }
figure { margin: 1rem 0 2rem; } figure img { width: 100%; height: auto; }
figcaption, .caption { color: #333; font-size: 0.95rem; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: 0.85rem; }
th, td { padding: 0.3em 0.7em; border-bottom: 1px solid #ddd; text-align: right;
  vertical-align: top; } td small { color: #666; font-weight: 400; }
#verdicts td { text-align: left; }
td.text, th.text, td:first-child, th:first-child { text-align: left; }
th { border-bottom: 2px solid #888; }
.notice { background: #fff3d6; border-left: 4px solid #E69F00; padding: 0.6rem 1rem; }
.chip { display: inline-block; color: white; border-radius: 1em; padding: 0.15em 0.8em;
  margin: 0.15em; font-size: 0.9rem; } .chip b { margin-right: 0.4em; }
details { margin: 0.6rem 0; } summary { cursor: pointer; font-weight: 600; }
nav a { margin-right: 1em; } code { background: #f4f4f4; padding: 0 0.2em; }
.small { color: #666; font-size: 0.85rem; }
"""


def caption_of(name, captions):
    """The caption of a figure or table; galleries share theirs, which names the experiment."""
    kind, gallery, experiment = name.partition("gallery_")
    text = captions[f"{kind}gallery" if gallery else name]
    # As Snakemake's own report fills it in.
    values = {"wildcards": {"experiment": experiment}}
    return Environment(undefined=StrictUndefined).from_string(text).render(snakemake=values)


def paragraphs(caption):
    """A caption in reStructuredText as HTML."""
    settings = {"report_level": 5, "halt_level": 5, "raw_enabled": False}
    settings |= {"file_insertion_enabled": False}
    return publish_parts(caption, writer="html5", settings_overrides=settings)["fragment"]


def image(path, title):
    """A figure as an image that the page carries itself."""
    data = base64.b64encode(Path(path).read_bytes()).decode()
    return f'<img alt="{html.escape(title)}" src="data:image/svg+xml;base64,{data}">'


def table_of(head, rows):
    """A table of cells that are HTML already, wide ones to be scrolled sideways."""
    lines = [head, *rows]
    parts = []
    for tag, cells in zip(["th", *["td"] * len(rows)], lines, strict=True):
        parts.append(f"<tr>{''.join(f'<{tag}>{cell}</{tag}>' for cell in cells)}</tr>")
    return f"<div class=scroll><table>{''.join(parts)}</table></div>"


def verdict_table(ledger):
    """Claim and what our number for it is, verdict, the paper's value, ours, where it is shown."""
    rows = []
    for of, row in zip(short(ledger).to_dict("records"), ledger.itertuples(), strict=True):
        name = row.target.rsplit("/", 1)[-1]
        claim = f"{html.escape(row.claim)}<br><small>{html.escape(row.where)}</small>"
        mine = f"{of['ours']}<br><small>{html.escape(row.note)}</small>"
        verdict = f'<b style="color:{COLORS[row.verdict]}">{row.verdict}</b>'
        rows.append([claim, verdict, of["paper"], mine, f'<a href="#{name}">{name}</a>'])
    return table_of(["claim", "verdict", "paper", "ours", "shown in"], rows)


def body_of(page):
    """What stands in the body of a table's own page, without its title."""
    body = re.search(r"<body>(.*)</body>", page, flags=re.S).group(1)
    body = re.sub(r"<h2>.*?</h2>", "", body, count=1, flags=re.S)
    return re.sub(r"(<table>.*?</table>)", r"<div class=scroll>\1</div>", body, flags=re.S)


def times(jobs):
    """Wall time of each rule, the longest first."""
    frame = pd.DataFrame(
        [{"rule": name.split("/")[0], "seconds": job["seconds"]} for name, job in jobs.items()]
    )
    found = frame.groupby("rule")["seconds"].agg(["count", "sum"]).sort_values("sum")[::-1]
    rows = [[row.Index, row.count, number(row.sum)] for row in found.itertuples()]
    return table_of(["rule", "jobs", "seconds"], rows)


def versions_in_words(record):
    """One or two sentences on the packages that results were made with."""
    known = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    others = record["made_with_other_versions"]
    if not others:
        return f"Every job ran with {known}."
    jobs = sorted({name for names in others.values() for name in names})
    shown = ", ".join(jobs[:5]) + (" and more" if len(jobs) > 5 else "")
    return (
        f"Installed now: {known}. {len(jobs)} of {len(record['jobs'])} jobs ran with other "
        f"versions ({', '.join(others)}): {shown}. All of them are in provenance.json. "
        "To make these results again with what is installed: snakemake --forceall."
    )


def main(smk):
    ledger, record = read_csv(smk.input.claims), read_json(smk.input.provenance)
    captions, named = smk.params.captions, []
    parts = [f"<h1>{TITLE}</h1>"]
    if smk.params.notice:
        parts.append(f"<p class=notice>{html.escape(smk.params.notice)}</p>")
    parts.append(
        "<nav><a href=#verdict>Verdict</a><a href=#figures>Figures</a><a href=#tables>Tables</a>"
        "<a href=#provenance>Provenance</a></nav>"
    )
    parts += [f"<p>{ASKED.strip()}</p>", "<h2 id=verdict>What holds, and what does not</h2><p>"]
    counts = ledger["verdict"].value_counts()
    parts += [
        f'<span class=chip style="background:{COLORS[name]}"><b>{counts[name]}</b>{name}</span>'
        for name in VERDICTS
        if name in counts
    ]
    parts.append("</p>")
    for path in smk.input.figures:
        name = Path(path).stem
        caption = paragraphs(caption_of(name, captions))
        named.append(
            f"<figure id={name}>{image(path, name)}<figcaption>{caption}</figcaption></figure>"
        )
    parts += [
        named[0],
        f"<div id=verdicts>{verdict_table(ledger)}</div>",
        "<h2 id=figures>Figures</h2>",
        *named[1:],
    ]
    parts.append("<h2 id=tables>Tables</h2>")
    for path in smk.input.tables:
        name, page = Path(path).stem, Path(path).read_text("utf-8")
        title = re.search(r"<h2>(.*?)</h2>", page).group(1)
        parts.append(
            f"<details id={name}><summary>{title}</summary><div class=caption>"
            f"{paragraphs(caption_of(name, captions))}</div>{body_of(page)}"
            f"<p class=small>Every number in full, with its unit: tables/{name}.numbers.csv</p>"
            "</details>"
        )
    parts.append("<h2 id=provenance>Where it comes from</h2><ul>")
    for of in record["inputs"]:
        line = f"{of.get('weights') or of.get('dataset')}: {of.get('source', '')}"
        parts.append(f"<li>{html.escape(line)}</li>")
    machine = "; ".join(f"{key}: {value}" for key, value in record["machine"].items())
    parts.append(f"</ul><p>Commit {record['commit']}. {html.escape(machine)}.</p>")
    parts.append(f"<p>{html.escape(versions_in_words(record))}</p>")
    parts.append(
        "<details><summary>Wall time of every rule</summary>"
        f"{times(record['jobs'])}</details>"
        "<p class=small>Hashes, versions, configuration and memory are in provenance.json; the "
        "graph of the rules is in report.html (make report).</p>"
    )
    write_text(
        smk.output[0],
        "<!doctype html>\n<html lang=en><head><meta charset=utf-8>"
        "<meta name=viewport content='width=device-width, initial-scale=1'>"
        f"<title>{TITLE}</title><style>{STYLE}</style></head><body>\n"
        + "\n".join(parts)
        + "\n</body></html>\n",
    )


if __name__ == "__main__":
    run(main, snakemake)
