"""Lists of suspicious labels, what is drawn of them, and what people say of them."""

import numpy as np
import pandas as pd
import pytest
import torch

import gallery as gallery_script
import noisy_suspects as noisy_suspects_script
import suspects_table as table8_script
import suspicious_labels as suspicious_labels_script
from chain import RECIPE, RIDGE, call
from reference import covariance, explicit
from wtrak.geometry.gradients import Gradients, append_constant, residuals
from wtrak.geometry.head import train_head
from wtrak.job.io import load_arrays, save_arrays, write_csv, write_json
from wtrak.job.shown import packed_columns
from wtrak.job.training_labels import load_training_labels, save_corrected
from wtrak.labels.catalogue import RANKINGS
from wtrak.labels.corrections import Corrected
from wtrak.labels.ranking import flag, read_suspects, suspects

CPU = torch.device("cpu")


@pytest.mark.parametrize("rank_by", RANKINGS)
def test_the_most_suspicious_come_first_and_rows_stay_together(rank_by):
    """A label would stand beside another image, or the worst errors at the end."""
    rng = np.random.default_rng(0)
    scores = {name: rng.permutation(6).astype(float) for name in RANKINGS}
    scores["loss"][2] = scores["loss"][4]
    given, z = rng.integers(3, size=6), rng.standard_normal((6, 3))
    index = np.array([4, 7, 9, 11, 12, 20])
    frame = suspects(index, given, scores, z, ["a", "b", "c"], rank_by, path=index.astype(str))
    assert list(frame["rank"]) == list(range(1, 7))
    assert frame[rank_by].is_monotonic_decreasing
    for row in frame.itertuples():
        k = list(index).index(row.index)
        assert row.path == str(row.index)
        assert row.given_label == "abc"[given[k]]
        assert row.suggested_label == "abc"[z[k].argmax()]
        p = np.exp(z[k]) / np.exp(z[k]).sum()
        assert (row.p_given, row.p_suggested) == pytest.approx((p[given[k]], p.max()))
        assert [getattr(row, name) for name in RANKINGS] == [scores[name][k] for name in RANKINGS]
    ties = frame.groupby(rank_by)["index"].apply(list)
    assert all(rows == sorted(rows) for rows in ties)


def test_flagged_are_those_within_the_errors_to_which_another_label_is_suggested():
    """A user would be sent to labels that heads agree with, or to the end of the list."""
    scores, given = {"loss": np.arange(4.0, 0.0, -1.0)}, np.array([0, 1, 0, 0])
    z = np.eye(2)[[1, 1, 1, 1]]
    frame = flag(suspects(np.arange(4), given, scores, z, ["a", "b"], "loss"), 2.6)
    assert list(frame["flagged"]) == [True, False, True, False]
    assert not flag(suspects(np.arange(4), given, scores, z, ["a", "b"], "loss"), 0.2)[
        "flagged"
    ].any()


def test_names_of_classes_stay_as_they_are(tmp_path):
    """Class 01 would become 1, and class NA a missing value."""
    scores = dict.fromkeys(RANKINGS, np.arange(3.0))
    given, z = np.array([0, 1, 2]), np.eye(3)
    write_csv(tmp_path / "s.csv", suspects(given, given, scores, z, ["01", "NA", "x, y"], "loss"))
    frame = read_suspects(tmp_path / "s.csv")
    assert list(frame["given_label"]) == ["x, y", "NA", "01"]


def run_suspicious_labels(folder, dataset="dataset", human=(), corrections=(), **changes):
    h = load_arrays(folder / "activations")["train"]
    labels = load_arrays(folder / dataset)["train_labels"].astype(int)
    rows = np.arange(2, 38)
    if corrections:
        kept = load_training_labels(folder / dataset, [folder / corrections[0]])
        labels = kept.labels
    weight, _, _ = train_head(append_constant(h[rows]), labels[rows], 3, RECIPE, CPU)
    save_arrays(folder / "some_head", {"weight": weight, "train_index": rows})
    groups = np.where(np.arange(36) < 33, np.arange(36), 5)
    save_arrays(folder / "groups", {"groups": groups, "train_index": rows})
    settings = {"gradient": "loss", "ridge": RIDGE, "recipe": RECIPE, "folds": 4, "seed": 0}
    settings |= {"rank_by": "self_influence", "block_size": 8, "device": "cpu"}
    settings |= {"resamples": 20, "top": [5, 40, 1000]}
    call(
        suspicious_labels_script,
        folder,
        {name: f"{name}.csv" for name in ("suspects", "by_class", "by_pair", "estimates")},
        inputs={"dataset": dataset, "activations": "activations", "head": "some_head"}
        | {"human_labels": list(human), "copies": "groups", "corrections": list(corrections)},
        **settings | changes,
    )
    return read_suspects(folder / "suspects.csv").set_index("index"), weight, rows


@pytest.mark.parametrize("gradient", ["loss", "logit"])
def test_scores_are_of_the_labels_and_head_of_the_experiment(data, gradient):
    """Images would be suspected for what another head, or another image, did."""
    folder, arrays, features = data
    frame, weight, rows = run_suspicious_labels(folder, gradient=gradient)
    h = append_constant(features["train"][rows])
    labels, z = arrays["train_labels"][rows].astype(int), h.astype(float) @ weight.T
    phi = explicit(Gradients(residuals(z, labels, gradient), h, rows))
    si = np.einsum("nd,de,ne->n", phi, np.linalg.inv(covariance(phi, RIDGE)), phi)
    np.testing.assert_allclose(frame.loc[rows, "self_influence"], si, rtol=1e-6)
    loss = np.log(np.exp(z).sum(axis=1)) - z[np.arange(36), labels]
    np.testing.assert_allclose(frame.loc[rows, "loss"], loss, rtol=1e-8)
    assert (frame.loc[rows, "given_label"] == np.array(list("abc"))[labels]).all()
    copied = list(rows[[5, 33, 34, 35]])
    assert list(frame.index[frame["copies"] > 0].sort_values()) == copied
    assert (frame.loc[copied, "copies"] == 3).all()
    assert set(frame.index[frame["copies_differ"]]) == set(copied)
    assert (frame["out_of_fold_loss"] > 0).all()
    assert frame["out_of_fold_loss"].mean() > frame["loss"].mean()


def test_self_influence_is_left_out_where_the_head_is_not_at_its_optimum(data):
    """The number would say how far training went, and not how the example acts."""
    recipe = {"optimizer": "adam", "epochs": 2, "learning_rate": 0.01, "batch_size": 8}
    recipe |= {"weight_decay": 0.0, "seed": 0}
    frame, _, _ = run_suspicious_labels(data[0], recipe=recipe, rank_by="out_of_fold_loss")
    assert "self_influence" not in frame and "loss" in frame
    frame, _, _ = run_suspicious_labels(data[0], recipe=recipe, rank_by="self_influence")
    assert "self_influence" in frame


def test_corrected_labels_are_ranked_and_confirmed_ones_come_last(data):
    """What a person has decided would come up again, or the old label be ranked."""
    folder, arrays, _ = data
    labels = arrays["train_labels"].astype(int)
    decisions = np.full(40, "skip", dtype=object)
    decisions[[5, 9]], decisions[7] = "keep", "relabel"
    new = labels.copy()
    new[7] = (labels[7] + 1) % 3
    save_corrected(folder / "corrected", Corrected(new, decisions))
    frame, _, _ = run_suspicious_labels(folder, corrections=["corrected"])
    assert set(frame.index[-2:]) == {5, 9} and not frame.loc[[5, 9], "flagged"].any()
    assert frame["rank"].tolist() == list(range(1, 37))
    assert frame["self_influence"].iloc[:-2].is_monotonic_decreasing
    changed = frame["given_label"] != frame["original_label"]
    assert list(frame.index[changed]) == [7]
    assert frame.loc[7, ["decision", "given_label", "original_label"]].tolist() == [
        "relabel",
        "abc"[new[7]],
        "abc"[labels[7]],
    ]
    assert frame["decision"].value_counts().to_dict() == {"": 33, "keep": 2, "relabel": 1}
    estimates = pd.read_csv(folder / "estimates.csv").set_index("quantity")
    assert estimates.loc["errors", "top"] == 34


def test_a_list_in_which_all_labels_are_confirmed_has_no_errors(data):
    """The last round of corrections would end in a traceback."""
    folder, arrays, _ = data
    decisions = np.full(40, "keep", dtype=object)
    labels = arrays["train_labels"].astype(np.int64)
    save_corrected(folder / "corrected", Corrected(labels, decisions))
    frame, _, _ = run_suspicious_labels(folder, corrections=["corrected"])
    assert not frame["flagged"].any()
    (row,) = pd.read_csv(folder / "estimates.csv").to_dict("records")
    assert (row["quantity"], row["value"], row["low"], row["high"]) == ("errors", 0, 0, 0)


def test_estimates_are_those_of_the_list(data):
    """Counts would be of other examples than the list holds."""
    folder = data[0]
    frame, _, _ = run_suspicious_labels(folder)
    classes = pd.read_csv(folder / "by_class.csv")
    estimates = pd.read_csv(folder / "estimates.csv").set_index("quantity")
    assert classes["examples"].sum() == len(frame) == 36
    assert classes["flagged"].sum() == frame["flagged"].sum()
    assert classes["errors"].sum() == pytest.approx(estimates.loc["errors", "value"])
    tops = set(estimates.loc[["precision"], "top"])
    assert tops == {5, int(frame["flagged"].sum())} - {0}


def test_out_of_fold_suggestions_are_of_heads_without_the_example(data):
    """A head that has learnt a wrong label by heart would suggest it again."""
    folder, arrays, features = data
    wrong = arrays | {"train_labels": arrays["train_labels"].copy()}
    far = features["train"][:, :3].argmax(axis=1)
    k = int(np.flatnonzero((far == arrays["train_labels"])[5:30])[0]) + 5
    wrong["train_labels"][k] = (far[k] + 1) % 3
    save_arrays(folder / "wrong", wrong, {"classes": ["a", "b", "c"]})
    recipe = RECIPE | {"weight_decay": 1e-7, "gradient_norm": 1e-5}
    frame, _, _ = run_suspicious_labels(folder, "wrong", recipe=recipe)
    assert frame.loc[k, "suggested_label"] != frame.loc[k, "given_label"]


def test_files_and_people_stand_beside_their_image(data):
    """A user would correct, or people would be quoted on, another image."""
    folder, arrays, _ = data
    files = [f"x/{k}.png" for k in range(40)]
    pictures = ["dark, blurred" if k % 5 == 0 else "" for k in range(40)]
    shown = {"path": files, "picture": pictures, "id": [f"no {k}" for k in range(40)]}
    about = {"classes": ["a", "b", "c"], "shown": list(shown)}
    save_arrays(folder / "own", arrays | packed_columns(shown), about)
    people = (arrays["train_labels"] + (np.arange(40) % 7 == 0)) % 3
    save_arrays(folder / "said", {"aggre": people.astype(np.uint8)})
    frame, _, rows = run_suspicious_labels(folder, "own", human=["said"])
    for index in rows:
        assert frame.loc[index, "path"] == files[index]
        assert frame.loc[index, "picture"] == pictures[index]
        assert frame.loc[index, "id"] == f"no {index}"
        assert frame.loc[index, "people_label"] == "abc"[people[index]]


def test_noisy_list_knows_the_true_labels(tmp_path):
    """A gallery of made errors would frame right labels."""
    save_arrays(tmp_path / "d", {"x": np.zeros(1)}, {"classes": ["a", "b", "c"]})
    heads = {"train_index": np.array([3, 5, 8]), "true": np.array([0, 1, 2])}
    heads["given"] = np.array([[0, 2, 2], [1, 1, 1]])
    heads["out_of_fold"] = np.stack([np.eye(3), -np.eye(3)]).astype(np.float32)
    save_arrays(tmp_path / "heads", heads)
    scores = {name: np.array([[1.0, 9.0, 2.0], [3.0, 2.0, 1.0]]) for name in RANKINGS}
    save_arrays(tmp_path / "scores", scores)
    call(
        noisy_suspects_script,
        tmp_path,
        {"list": "list.csv"},
        inputs={"dataset": "d", "heads": "heads", "scores": "scores"},
        rank_by="loss",
    )
    frame = read_suspects(tmp_path / "list.csv")
    assert list(frame["index"]) == [5, 8, 3]
    assert list(frame["true_label"]) == ["b", "c", "a"]
    assert list(frame["given_label"]) == ["c", "c", "a"]
    assert list(frame["suggested_label"]) == ["b", "c", "a"]


@pytest.mark.parametrize("judge", ["true_label", "people_label", None])
def test_gallery_shows_the_first_and_frames_the_wrong(tmp_path, monkeypatch, judge):
    """Right labels would be framed, or other images shown than the list names."""
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, size=(20, 8, 8, 3), dtype=np.uint8)
    save_arrays(tmp_path / "d", {"train_images": images})
    index = rng.permutation(20)[:12]
    frame = pd.DataFrame({"rank": range(1, 13), "index": index})
    frame["given_label"] = ["a", "b", "a class with a long name", "d"] * 3
    frame["suggested_label"] = ["b", "b", "a", "a"] * 3
    if judge:
        frame[judge] = ["b", "b", "a class with a long name", "d"] * 3
    write_csv(tmp_path / "s.csv", frame)
    write_json(tmp_path / "r.json", {"dataset": "mine"})
    kept = {}
    save = gallery_script.save_figure

    def keep(figure, *rest):
        kept.update(figure=figure, footer=rest[-1])
        save(figure, *rest)

    monkeypatch.setattr(gallery_script, "save_figure", keep)
    call(
        gallery_script,
        tmp_path,
        {"svg": "g.svg", "pdf": "g.pdf"},
        inputs={"suspects": "s.csv", "dataset": "d", "provenance": ["r.json"]},
        title="mine",
        rank_by="loss",
        shown=10,
        notice="",
    )
    shown = [axis for axis in kept["figure"].axes if axis.images]
    assert len(shown) == 10
    for axis, row in zip(shown, frame.itertuples(), strict=False):
        np.testing.assert_array_equal(axis.images[0].get_array(), images[row.index])
        given, suggested = axis.get_title().split("\n")
        assert row.given_label.startswith(given.rstrip("…"))
        assert suggested == ("same" if row.given_label == "b" else f"→ {row.suggested_label}")
        framed = axis.spines["top"].get_linewidth() > 1
        assert framed == bool(judge and row.given_label == "a")
    assert ("3 of these 10; of all 12, 25.0 %" in kept["footer"]) == bool(judge)
    assert (tmp_path / "g.svg").read_text("utf-8").startswith("<?xml")


def test_table_8_counts_what_people_say(tmp_path):
    """Real errors would be counted among other images than those that were suspected."""
    frame = pd.DataFrame({"rank": range(1, 9), "index": range(8)})
    frame["given_label"], frame["suggested_label"] = "a", list("bbabaaaa")
    frame["people_label"] = list("bcabaaaa")
    frame["copies"], frame["copies_differ"] = [2, 2, 0, 1, 2, 0, 0, 1], [True, True] + [False] * 6
    for k, name in enumerate(RANKINGS):
        frame[name] = np.arange(8.0) if k else 8.0 - np.arange(8)
    write_csv(tmp_path / "s.csv", frame)
    write_csv(tmp_path / "t.csv", frame.drop(columns="people_label"))
    write_json(tmp_path / "r.json", {"dataset": "mine"})
    outputs = {suffix: f"table.{suffix}" for suffix in ("csv", "numbers", "md", "tex", "html")}
    call(
        table8_script,
        tmp_path,
        outputs,
        inputs={"suspects": ["s.csv", "t.csv"], "provenance": ["r.json"]},
        experiments=["one", "other"],
        labels={"one": "the first", "other": "the second"},
        top=[4, 8, 100],
        notice="",
    )
    table = pd.read_csv(tmp_path / "table.csv").set_index(["experiment", "ranked_by", "top"])
    first = table.loc[("one", RANKINGS[0], 4)]
    assert (first["suggested_differs"], first["people_differ"]) == (0.75, 0.75)
    assert first["people_agree"] == pytest.approx(2 / 3)
    last = table.loc[("one", RANKINGS[1], 4)]
    assert (last["suggested_differs"], last["people_differ"]) == (0, 0)
    assert np.isnan(last["people_agree"])
    every = table.loc[("one", "all", 8)]
    assert (every["suggested_differs"], every["people_differ"]) == (3 / 8, 3 / 8)
    assert (first["with_copies"], first["copies_differ"]) == (3, 2)
    assert (every["with_copies"], every["copies_differ"]) == (5, 2)
    assert len(table.loc["one"]) == 4
    assert table.loc["other"][["people_differ", "people_agree"]].isna().all().all()
    shown = (tmp_path / "table.md").read_text("utf-8")
    assert "–" in shown and "the second" in shown
