"""The page on which labels are corrected: what it says, and what a person does on it."""

import base64
import io
import json
import re

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import suspects_page as suspects_page_script
from browser import PROGRAM, browser
from chain import call
from wtrak.job.io import read_csv, save_arrays, write_csv, write_json
from wtrak.job.shown import packed_columns
from wtrak.job.training_labels import save_corrected
from wtrak.labels.corrections import Corrected, apply_corrections, read_corrections
from wtrak.reporting.suspects_page import (
    CAVEAT,
    MOST_ROWS,
    SIDE,
    as_json,
    lead_of,
    on_page,
    pictured_rows,
    rows_of,
    suspects_page,
    thumbnail,
)

NASTY = [
    "</script><script>document.title='broken'</script>",
    "<img src=x onerror=\"document.title='broken'\">",
    '01,"quoted"\n& more',
    "für später ☂ \u2028",
]
needs_browser = pytest.mark.skipif(PROGRAM is None, reason="no Chromium is installed")


def listed(n, classes, rng, **columns):
    """A list of suspicious labels with a few copies, and the table of these."""
    given, suggested = rng.integers(len(classes), size=(2, n))
    names = np.array(classes, dtype=object)
    p = np.sort(rng.random((n, 2)) / 2)
    p[given == suggested, 0] = p[given == suggested, 1]
    groups = np.where(np.arange(n) % 9 < 2, np.arange(n) // 9, -1)
    frame = pd.DataFrame(
        {
            "rank": np.arange(1, n + 1),
            "index": rng.permutation(n),
            **columns,
            "copies": (groups >= 0).astype(int),
            "copies_differ": (groups >= 0) & (groups % 2 == 0),
            "cleanlab": (np.arange(n) < n // 4) & (given != suggested),
            "given_label": names[given],
            "suggested_label": names[suggested],
            "p_given": p[:, 0],
            "p_suggested": p[:, 1],
            "flagged": (np.arange(n) < n // 3) & (given != suggested),
            "out_of_fold_loss": -np.log(p[:, 0]),
        }
    )
    copies = frame[["index", "given_label"]].assign(group=groups, exact=groups % 3 == 0)
    return frame, copies[groups >= 0].rename(columns={"copies_differ": "labels_differ"})


def page_of(path, frame, copies, classes, pictures=(), removed=()):
    """Write a page and return its path."""
    columns = ["index", "given_label", "path"]
    rows = rows_of(frame, copies, classes, pd.DataFrame(removed, columns=columns))
    text = suspects_page(
        rows,
        list(pictures),
        title="Suspicious labels: mine <b>",
        lead=["A & b."],
        footer="Data: x.",
    )
    path.write_text(text, encoding="utf-8")
    return path


# --- what the page is made of ---


def test_json_cannot_end_its_element():
    """A name of a class would run as a script on the user's machine."""
    text = as_json({"names": NASTY})
    assert not re.search("[<>&]", text) and "\u2028" not in text
    assert json.loads(text) == {"names": NASTY}


@pytest.mark.parametrize("shape", [(300, 200, 3), (224, 224, 1), (8, 8, 3)])
def test_thumbnails_are_small_and_keep_their_shape(shape):
    """The page would be as large as the pictures, or show them distorted."""
    image = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    found = Image.open(io.BytesIO(thumbnail(image)))
    assert found.format == "JPEG" and max(found.size) == min(SIDE, max(shape))
    assert found.size[0] / found.size[1] == pytest.approx(shape[1] / shape[0], rel=0.02)
    assert found.mode == ("L" if shape[2] == 1 else "RGB")


def test_the_first_and_copies_under_two_labels_have_pictures():
    """The surest errors would be words only."""
    frame = pd.DataFrame({"copies_differ": [False, True, False, False, True, True, True]})
    assert pictured_rows(frame, 2) == [0, 1, 4, 5]
    assert pictured_rows(frame, 0) == []


def test_long_texts_are_cut_and_names_are_not():
    """A page of long texts would be too large, or a correction name no example."""
    rng = np.random.default_rng(0)
    frame, copies = listed(3, ["a", "b"], rng, path=["p" * 900] * 3, text=["t" * 900] * 3)
    rows = rows_of(frame, copies, ["a", "b"], pd.DataFrame(columns=["index", "given_label"]))
    assert {len(text) for text in rows["shown"]["path"]} == {900}
    assert {len(text) for text in rows["shown"]["text"]} == {400}
    # Three examples share the path: it names none of them.
    assert rows["keys"] == []


def test_very_long_lists_are_cut_but_for_decisions():
    """A page of a million examples would not open, or the next file forget confirmed labels."""
    frame = pd.DataFrame({"rank": range(1, 7), "decision": ["", "", "", "", "keep", ""]})
    assert on_page(frame, 2)["rank"].tolist() == [1, 2, 5]
    assert on_page(frame.drop(columns="decision"), 2)["rank"].tolist() == [1, 2]
    whole = pd.DataFrame({"flagged": np.zeros(MOST_ROWS + 1, bool)})
    rows = [("errors", len(whole), 0.0, 0.0, 0.0)]
    columns = ["quantity", "top", "value", "low", "high"]
    found = lead_of(whole, pd.DataFrame(rows, columns=columns))
    assert found[1:] == ["This page holds the first 100,000; suspects.csv holds all.", CAVEAT]


def test_a_list_without_copies_has_none(tmp_path):
    """Clean data would end in a traceback."""
    frame, copies = listed(4, ["a", "b"], np.random.default_rng(0))
    write_csv(tmp_path / "c.csv", copies.iloc[:0])
    frame["copies"], frame["copies_differ"] = 0, False
    none = pd.DataFrame(columns=["index", "given_label"])
    rows = rows_of(frame, read_csv(tmp_path / "c.csv"), ["a", "b"], none)
    assert rows["group"] == [-1] * 4 and all(mark & 28 == 0 for mark in rows["marks"])


def test_lead_says_how_many_are_wrong():
    """A reader could not tell how far to look."""
    frame = pd.DataFrame({"flagged": [True, False]})
    rows = [("errors", 2, 173.2, 150.0, 190.4), ("precision", 40, 0.975, 0.9, 1.0)]
    found = lead_of(frame, pd.DataFrame(rows, columns=["quantity", "top", "value", "low", "high"]))
    assert (
        "About 173 labels are estimated to be wrong (95 % interval 150 to 190); 1 are" in found[0]
    )
    assert found[1] == "Estimated to be wrong: 98 % of the first 40 (90 % to 100 %)."


def test_script_writes_rows_pictures_and_what_was_removed(tmp_path):
    """A picture would stand beside another example, or a removal be undone by the next file."""
    rng = np.random.default_rng(0)
    classes, n = ["a", "b", "c"], 12
    images = np.full((n + 1, 8, 8, 3), 0, np.uint8) + 20 * np.arange(n + 1)[:, None, None, None]
    labels = np.arange(n + 1, dtype=np.uint16) % 3
    files = [f"x/{k}.png" for k in range(n + 1)]
    about = {"classes": classes, "shown": ["path"]}
    arrays = {"train_images": images.astype(np.uint8), "train_labels": labels}
    arrays |= packed_columns({"path": files})
    save_arrays(tmp_path / "d", arrays, about)
    frame, copies = listed(n, classes, rng)
    frame.insert(2, "path", [files[k] for k in frame["index"]])
    write_csv(tmp_path / "s.csv", frame)
    write_csv(tmp_path / "c.csv", copies)
    estimates = [("errors", n, 3.0, 1.0, 5.0)]
    columns = ["quantity", "top", "value", "low", "high"]
    write_csv(tmp_path / "e.csv", pd.DataFrame(estimates, columns=columns))
    write_json(tmp_path / "r.json", {"dataset": "mine"})
    decisions = np.array(["skip"] * n + ["remove"], dtype=object)
    save_corrected(tmp_path / "k", Corrected(labels.astype(np.int64), decisions))
    inputs = {"suspects": "s.csv", "copies": "c.csv", "estimates": "e.csv", "dataset": "d"}
    inputs |= {"corrections": ["k"], "provenance": ["r.json"]}
    output = {"page": "p.html"}
    call(
        suspects_page_script,
        tmp_path,
        output,
        inputs=inputs,
        title="mine",
        pictures=5,
        notice="N.B.",
    )
    text = (tmp_path / "p.html").read_text("utf-8")
    rows = json.loads(re.search(r'id="rows">(.*?)</script>', text, flags=re.S).group(1))
    assert rows["removed"] == [[["x/12.png"], 12, 0]]
    assert rows["index"] == frame["index"].tolist() and rows["keys"] == ["path"]
    assert rows["pictured"][:5] == [0, 1, 2, 3, 4]
    (block,) = re.findall(r'id="pictures\d+">(.*?)</script>', text, flags=re.S)
    for row, encoded in zip(rows["pictured"], block.split("\n"), strict=True):
        picture = Image.open(io.BytesIO(base64.b64decode(encoded)))
        assert np.abs(np.asarray(picture, int) - 20 * rows["index"][row]).max() <= 3
    assert "N.B. Data: mine." in text and "http" not in text.replace("http-equiv", "")
    # Features have no pictures.
    del arrays["train_images"]
    save_arrays(tmp_path / "d", arrays, about)
    call(suspects_page_script, tmp_path, output, inputs=inputs, title="mine", pictures=5, notice="")
    assert "pictures0" not in (tmp_path / "p.html").read_text("utf-8").split("<script>")[0]


# --- what a person does on it ---


@pytest.fixture(scope="module")
def page():
    if PROGRAM is None:
        pytest.skip("no Chromium is installed")
    with browser() as opened:
        yield opened


CARD = "document.querySelector('article.at')"
ROWS = "[...document.querySelectorAll('article')].map(a => +a.dataset.row)"
DOWNLOAD = "document.getElementById('download').click()"


@needs_browser
def test_decisions_by_keyboard_reach_the_labels(page, tmp_path):
    """A key would decide about another example, or the file not be what make takes."""
    rng = np.random.default_rng(1)
    classes = NASTY
    paths = [f'={k}, it\'s "x".png' for k in range(40)]
    frame, copies = listed(40, classes, rng, path=paths)
    page.open(page_of(tmp_path / "a.html", frame, copies, classes))
    page.choose("kind", "other")
    rows = page.value(ROWS)
    differs = np.flatnonzero(frame["given_label"] != frame["suggested_label"])
    assert rows == differs.tolist()
    # Confirm, relabel, skip, remove; back, and another decision about the last one.
    page.press("c", "r", "s", "x", "k", "s", "ArrowUp", "x", "j")
    expected = dict(zip(rows[:4], ["keep", "relabel", None, "remove"], strict=True))
    expected[rows[3]] = "remove"
    raw = page.download(tmp_path, DOWNLOAD)
    # No spreadsheet may run a name.
    assert b"\n=" not in raw and b'\n"=' not in raw and b"'=" in raw
    (tmp_path / "corrections.csv").write_bytes(raw)
    found = read_corrections(tmp_path / "corrections.csv").set_index("path")["decision"]
    assert found.to_dict() == {paths[k]: word for k, word in expected.items() if word}
    given = np.array([classes.index(label) for label in frame["given_label"]])
    labels = np.empty(40, int)
    labels[frame["index"]] = given
    by_index = np.empty(40, dtype=object)
    by_index[frame["index"]] = paths
    names = {"path": list(by_index), "index": list(map(str, range(40)))}
    applied = apply_corrections(
        read_corrections(tmp_path / "corrections.csv"), names, labels, classes
    )
    place = frame["index"].iloc[rows[1]]
    assert classes[applied.labels[place]] == frame["suggested_label"].iloc[rows[1]]
    assert applied.decisions[place] == "relabel" and (applied.decisions == "skip").sum() == 37
    assert page.value("document.title") == "Suspicious labels: mine <b>" and not page.errors


@needs_browser
def test_texts_of_the_user_are_shown_as_they_are(page, tmp_path):
    """A class or a text would run as a script, or show as its markup."""
    frame, copies = listed(
        8, NASTY, np.random.default_rng(2), text=NASTY * 2, id=NASTY + list("abcd")
    )
    page.open(page_of(tmp_path / "a.html", frame, copies, NASTY))
    page.choose("kind", "all")
    assert page.value("document.title") == "Suspicious labels: mine <b>" and not page.errors
    assert page.value("document.querySelectorAll('main img, main script').length") == 0
    texts = page.value("[...document.querySelectorAll('.text')].map(t => t.textContent)")
    assert texts == NASTY * 2


@needs_browser
def test_filters_and_orders(page, tmp_path):
    """A user would look through the wrong class, or miss copies under two labels."""
    classes = list("abcd")
    frame, copies = listed(200, classes, np.random.default_rng(3))
    page.open(page_of(tmp_path / "a.html", frame, copies, classes))
    assert page.value("document.getElementById('kind').value") == "flagged"
    assert page.value(ROWS) == np.flatnonzero(frame["flagged"]).tolist()[:60]
    page.choose("kind", "all")
    page.choose("given", "1")
    page.choose("suggested", "2")
    pair = (frame["given_label"] == "b") & (frame["suggested_label"] == "c")
    assert page.value(ROWS) == np.flatnonzero(pair).tolist()
    assert page.value("document.getElementById('pair').value") == "1 2"
    page.choose("sort", "p_suggested")
    ordered = frame[pair].sort_values("p_suggested", ascending=False, kind="stable")
    found = frame["p_suggested"].iloc[page.value(ROWS)].round(4).tolist()
    assert found == ordered["p_suggested"].round(4).tolist()
    page.choose("pair", "")
    page.choose("kind", "copies")
    rows = page.value(ROWS)
    first = frame["copies_differ"].iloc[rows].tolist()
    assert first == sorted(first, reverse=True) and any(first) and not all(first)
    groups = dict(zip(copies["index"], copies["group"], strict=True))
    numbers = [groups[index] for index in frame["index"].iloc[rows]]
    assert [n for k, n in enumerate(numbers) if numbers.index(n) == k] == list(
        dict.fromkeys(numbers)
    )
    page.choose("kind", "decided")
    assert page.value(ROWS) == []
    assert "No example" in page.value("document.getElementById('grid').textContent")


@needs_browser
def test_keys_walk_over_pages(page, tmp_path):
    """A user would be stuck at the end of a page, or lose the place."""
    frame, copies = listed(130, ["a", "b"], np.random.default_rng(4))
    page.open(page_of(tmp_path / "a.html", frame, copies, ["a", "b"]))
    page.choose("kind", "all")
    page.press(*["j"] * 60)
    assert page.value(f"+{CARD}.dataset.row") == 60
    page.press("k")
    assert page.value(f"+{CARD}.dataset.row") == 59
    page.press("n", "n", "n")
    assert page.value(ROWS) == list(range(120, 130))
    page.press("p")
    assert page.value(f"+{CARD}.dataset.row") == 60
    # The bar at the top must not cover the card.
    for keys in ("jjjjjjjjjj", "kkkk", "cccc", "kkkkkkkk"):
        page.press(*keys)
        box = page.value(f"JSON.stringify({CARD}.getBoundingClientRect())")
        bar = page.value("document.getElementById('bar').getBoundingClientRect().bottom")
        assert bar <= json.loads(box)["top"] + 1, keys
        assert json.loads(box)["bottom"] <= page.value("innerHeight") + 1, keys
    page.press("k", "k")
    assert page.value(f"+{CARD}.dataset.row") == 60
    page.press("ArrowDown", "c")
    assert page.value("document.querySelectorAll('article.keep').length") == 5


@needs_browser
def test_a_reload_and_an_earlier_file_keep_decisions(page, tmp_path):
    """An afternoon's work would be gone, or the next file forget what the first said."""
    classes = list("abc")
    paths = [f"{k}.png" for k in range(6)]
    frame, copies = listed(6, classes, np.random.default_rng(5), path=paths)
    frame["given_label"], frame["suggested_label"] = list("abcabc"), list("bcabca")
    frame["decision"] = ["", "keep", "relabel", "", "", ""]
    frame["original_label"] = ["a", "b", "a", "a", "b", "c"]
    file = page_of(tmp_path / "a.html", frame, copies, classes, removed=[(6, "b", "6.png")])

    def downloaded():
        (tmp_path / "c").write_bytes(page.download(tmp_path, DOWNLOAD))
        frame = read_corrections(tmp_path / "c").set_index("path")
        for path in tmp_path.glob("*.csv"):
            path.unlink()
        return frame[["given_label", "decision", "new_label"]].T.to_dict("list")

    page.open(file)
    before = {
        "1.png": ["b", "keep", ""],
        "2.png": ["a", "relabel", "c"],
        "6.png": ["b", "remove", ""],
    }
    assert downloaded() == before
    page.choose("kind", "all")
    # Relabel the first; skip the second, which was confirmed; confirm what was relabelled.
    page.press("r", "s", "c")
    after = {"0.png": ["a", "relabel", "b"], "2.png": ["a", "relabel", "c"]}
    after |= {"6.png": ["b", "remove", ""]}
    assert downloaded() == after
    page.open(file)
    assert downloaded() == after
    # Back to the label of the data.
    page.choose("kind", "all")
    page.press("j", "j", "l")
    choose = "const s = document.activeElement; s.value = '0'; s.dispatchEvent(new Event('change'))"
    page.value(f"(() => {{ {choose} }})()")
    assert downloaded() == after | {"2.png": ["a", "keep", ""]}
    assert not page.errors


@needs_browser
def test_fifty_thousand_examples_open_at_once(page, tmp_path):
    """The page could not be used where it is needed the most."""
    rng = np.random.default_rng(6)
    classes, n = [f"class {k}" for k in range(100)], 50_000
    frame, copies = listed(n, classes, rng, path=[f"class/picture_{k:05d}.jpg" for k in range(n)])
    # Smooth pictures with some noise, as photographs are.
    some = []
    for _ in range(50):
        low = Image.fromarray(rng.integers(0, 256, (9, 9, 3), dtype=np.uint8)).resize((SIDE, SIDE))
        noisy = np.asarray(low, int) + rng.integers(-12, 13, (SIDE, SIDE, 3))
        some.append(thumbnail(np.clip(noisy, 0, 255).astype(np.uint8)))
    pictures = [(row, some[row % 50]) for row in range(5_000)]
    file = page_of(tmp_path / "a.html", frame, copies, classes, pictures)
    assert file.stat().st_size < 60e6
    # Of the processor, so that other work of the machine does not count.
    assert min(page.open(file) for _ in range(3)) < 1.0
    shown = "[...document.images].every(i => i.complete && i.naturalWidth === 128)"
    assert page.value(f"document.images.length === 60 && {shown}")
    page.choose("kind", "all")
    assert "834" in page.value("document.getElementById('page').textContent")
    page.press("n")
    assert page.value(ROWS)[0] == 60 and not page.errors
