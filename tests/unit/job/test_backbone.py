"""The file of a backbone holds all that is needed to compute its activations."""

from dataclasses import asdict

import pytest
import torch

from wtrak.errors import WtrakError
from wtrak.geometry.backbone import backbone_state, untrained_state
from wtrak.geometry.catalogue import Preprocessing
from wtrak.job.backbone import load_backbone
from wtrak.job.io import save_arrays

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


def test_size_that_the_network_does_not_take_is_refused(stored, monkeypatch):
    """If it failed, the job would first read the images and then end with an error of torch."""

    def refuse(architecture, _model, side):
        raise WtrakError(f"{architecture} cannot take {side}")

    monkeypatch.setattr("wtrak.job.backbone.check_side", refuse)
    with pytest.raises(WtrakError, match="shufflenet_v2_x0_5 cannot take 48"):
        load_backbone(stored, "48", CPU)
