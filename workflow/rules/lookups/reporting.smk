# Results behind the claims, captions, and checks of results.

import hashlib


def claim_sources():
    """Results files that decide each claim, by its id; empty if its experiment does not run.

    ``claims.stand_ins`` replaces an experiment of the paper by another one.
    """
    out = {}
    for claim in paper.claims():
        name = config["claims"]["stand_ins"].get(claim["experiment"], claim["experiment"])
        runs = name in plan.experiments() or claim["experiment"] not in paper.EXPERIMENTS
        files = {
            key: f"results/{claim[key]}".format(experiment=name)
            for key in ("source", "sweep")
            if claim[key]
        }
        out[claim["id"]] = files | {"experiment": name} if runs else {}
    return out


def claim_inputs():
    """Results files that decide any claim."""
    files = (files.get(key) for files in claim_sources().values() for key in ("source", "sweep"))
    return sorted({path for path in files if path})


def captions():
    """Captions of figures and tables, by name."""
    folder = ROOT / "workflow" / "report"
    return {path.stem: path.read_text("utf-8") for path in sorted(folder.glob("*.rst"))}


def suite_of_results():
    """Content hashes of the tests that run on results, and of columns.csv, which they read."""
    columns = ROOT / "workflow" / "resources" / "columns.csv"
    return [
        f"{path.name}:{hashlib.sha256(path.read_bytes()).hexdigest()[:10]}"
        for path in [columns, *sorted((ROOT / "tests" / "results").glob("*.py"))]
    ]
