"""Write one HTML page with the verdicts, every figure and table, and their provenance."""

import base64
import re
from pathlib import Path

import pandas as pd
from docutils.core import publish_parts
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from wtrak.job.io import read_csv, read_json, write_text
from wtrak.job.runtime import run
from wtrak.reporting.claims import VERDICTS, short
from wtrak.reporting.html import render
from wtrak.reporting.tables import embedded, number

COLORS = {
    "reproduced": "#009E73",
    "holds in direction": "#2A8FC4",
    "depends on an unstated choice": "#B87400",
    "not reproduced": "#B0558B",
    "refuted": "#D55E00",
    "true by definition": "#5B6FB5",
    "not run": "#777777",
    "smoke test: no verdict": "#777777",
}


def caption_of(name, captions):
    """Caption of a figure or table. All galleries share one, with the experiment filled in."""
    kind, gallery, experiment = name.partition("gallery_")
    text = captions[f"{kind}gallery" if gallery else name]
    # Snakemake's report fills in captions in the same way.
    values = {"wildcards": {"experiment": experiment}}
    return Environment(undefined=StrictUndefined).from_string(text).render(snakemake=values)


def paragraphs(caption):
    """A caption in reStructuredText as HTML."""
    settings = {"report_level": 5, "halt_level": 5, "raw_enabled": False}
    settings |= {"file_insertion_enabled": False}
    return publish_parts(caption, writer="html5", settings_overrides=settings)["fragment"]


def image(path):
    """A figure as a data URL, so that the page needs no other file."""
    return f"data:image/svg+xml;base64,{base64.b64encode(Path(path).read_bytes()).decode()}"


def figures_of(paths, captions):
    """Yield name, data URL and caption of each figure."""
    for path in paths:
        name = Path(path).stem
        yield name, image(path), Markup(paragraphs(caption_of(name, captions)))


def tables_of(paths, captions):
    """Yield name, title, caption and HTML of each table."""
    for path in paths:
        name, page = Path(path).stem, Path(path).read_text("utf-8")
        title = Markup(re.search(r"<h2>(.*?)</h2>", page).group(1))
        caption = Markup(paragraphs(caption_of(name, captions)))
        yield name, title, caption, Markup(embedded(page))


def verdicts_of(ledger):
    """Yield one dict for each claim: claim, place in the paper, verdict, both values, and links."""
    for text, row in zip(short(ledger).to_dict("records"), ledger.itertuples(), strict=True):
        yield {
            "claim": row.claim,
            "where": row.where,
            "verdict": row.verdict,
            "color": COLORS[row.verdict],
            "paper": text["paper"],
            "ours": text["ours"],
            "unit": text["unit"],
            "note": row.note,
            "shown_in": row.target.rsplit("/", 1)[-1],
        }


def times(jobs):
    """Name, number of jobs and total seconds of each rule, the longest first."""
    frame = pd.DataFrame(
        [{"rule": name.split("/")[0], "seconds": job["seconds"]} for name, job in jobs.items()]
    )
    totals = frame.groupby("rule")["seconds"].agg(["count", "sum"]).sort_values("sum")[::-1]
    return [(row.Index, row.count, number(row.sum)) for row in totals.itertuples()]


def versions_in_words(record):
    """Sentences that name the packages with which the results were made."""
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
    counts = ledger["verdict"].value_counts()
    first, *figures = figures_of(smk.input.figures, smk.params.captions)
    page = render(
        Path(smk.scriptdir) / "page.html",
        notice=smk.params.notice,
        counts=[(name, COLORS[name], counts[name]) for name in VERDICTS if name in counts],
        verdicts=list(verdicts_of(ledger)),
        first=first,
        figures=figures,
        tables=list(tables_of(smk.input.tables, smk.params.captions)),
        inputs=[
            f"{source.get('weights') or source.get('dataset')}: {source.get('source', '')}"
            for source in record["inputs"]
        ],
        commit=record["commit"],
        machine="; ".join(f"{key}: {value}" for key, value in record["machine"].items()),
        versions=versions_in_words(record),
        times=times(record["jobs"]),
    )
    write_text(smk.output[0], page)


if __name__ == "__main__":
    run(main, snakemake)
