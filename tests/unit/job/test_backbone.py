"""The file of a backbone holds all that is needed to compute its activations."""

from dataclasses import asdict
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import activations as activations_script
from wtrak.errors import WtrakError
from wtrak.geometry.backbone import backbone_state, forward_activations, untrained_state
from wtrak.geometry.catalogue import Preprocessing
from wtrak.job.backbone import load_backbone
from wtrak.job.io import load_arrays, load_metadata, save_arrays

CPU = torch.device("cpu")
PUBLISHED = Preprocessing(90, 80, "bicubic", (0.5, 0.5, 0.5), (0.2, 0.2, 0.2))


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """The file of a small network."""
    path = tmp_path_factory.mktemp("backbone") / "weights"
    state = backbone_state("shufflenet_v2_x0_5", untrained_state("shufflenet_v2_x0_5", 0))
    record = {"architecture": "shufflenet_v2_x0_5", "preprocessing": asdict(PUBLISHED)}
    save_arrays(path, {key: value.numpy() for key, value in state.items()}, record)
    return path


def test_images_are_prepared_as_published_or_at_a_size(stored):
    """If it failed, an experiment's size or the backbone's statistics would be left out."""
    model, preprocessing = load_backbone(stored, "published", CPU)
    assert model(torch.zeros(1, 3, 80, 80)).shape == (1, 1024)
    mean, std = list(PUBLISHED.mean), list(PUBLISHED.std)
    assert preprocessing == Preprocessing(90, 80, "bicubic", mean, std)
    _, preprocessing = load_backbone(stored, "48", CPU)
    assert preprocessing == Preprocessing(None, 48, "bicubic", mean, std)


def test_activations_are_stored_with_their_preprocessing(stored, tmp_path):
    """If it failed, nobody could tell later how the images were prepared."""
    rng = np.random.default_rng(0)
    images = {
        f"{split}_images": rng.integers(0, 256, (count, 50, 60, 1), dtype=np.uint8)
        for split, count in {"train": 5, "test": 2}.items()
    }
    save_arrays(tmp_path / "data", images, {"content_sha256": "0"})
    inputs = {"dataset": str(tmp_path / "data"), "weights": str(stored)}
    output = tmp_path / "made.safetensors"
    settings = {"batch_size": 2, "shard_size": 4, "precision": "float32", "device": "cpu"}
    activations_script.main(
        SimpleNamespace(
            input=SimpleNamespace(**inputs),
            output=[str(output)],
            params=SimpleNamespace(code=[], **settings),
            wildcards=SimpleNamespace(size="published"),
        )
    )
    found, metadata = load_arrays(output), load_metadata(output)
    model, preprocessing = load_backbone(stored, "published", CPU)
    for split in ("train", "test"):
        pixels = images[f"{split}_images"]
        wanted = forward_activations(model, pixels, preprocessing, batch_size=2)
        np.testing.assert_allclose(found[split], wanted, rtol=1e-4, atol=1e-5)
    assert metadata["architecture"] == "shufflenet_v2_x0_5"
    assert Preprocessing(**metadata["preprocessing"]) == preprocessing


def test_size_that_the_network_does_not_take_is_refused(stored, monkeypatch):
    """If it failed, the job would first read the images and then end with an error of torch."""

    def refuse(architecture, _model, side):
        raise WtrakError(f"{architecture} cannot take {side}")

    monkeypatch.setattr("wtrak.job.backbone.check_side", refuse)
    with pytest.raises(WtrakError, match="shufflenet_v2_x0_5 cannot take 48"):
        load_backbone(stored, "48", CPU)
