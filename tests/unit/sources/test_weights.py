"""Weights: the same tensors from every kind of file, and refusal in words of all else."""

import argparse
import hashlib
import io
import os
import pickle
import re
import zipfile
from types import SimpleNamespace

import numpy as np
import pytest
import safetensors.torch
import torch

import backbone as backbone_script
from limits import within_limits
from wtrak.errors import SourceError, WtrakError
from wtrak.geometry.backbone import backbone_state, untrained_state
from wtrak.geometry.networks import network
from wtrak.job.io import load_arrays, load_metadata, read_json
from wtrak.sources import weights as weights_module
from wtrak.sources.weights import read_state_dict

HTML = b"\n<!DOCTYPE html><html><body>Please sign in</body></html>"
BODY = bytes(range(256)) * 40


def tensors():
    return {"layer.weight": torch.arange(6.0).reshape(2, 3), "count": torch.tensor(3)}


def write_npz(state, path):
    np.savez(path, **{key: value.numpy() for key, value in state.items()})


WRITERS = {
    ".pth": torch.save,
    ".pt": torch.save,
    ".safetensors": safetensors.torch.save_file,
    ".npz": write_npz,
}


@pytest.mark.parametrize("suffix", WRITERS)
def test_state_dict_is_read_whatever_its_file_kind(tmp_path, suffix):
    """If it failed, weights would depend on the kind of file they came in."""
    path = tmp_path / f"weights{suffix}"
    WRITERS[suffix](tensors(), path)
    state = read_state_dict(path)
    assert set(state) == set(tensors())
    for key, value in tensors().items():
        assert state[key].dtype == value.dtype
        assert torch.equal(state[key], value), key


def written(write):
    """Bytes that a function writes to a binary file."""
    buffer = io.BytesIO()
    write(buffer)
    return buffer.getvalue()


class Attack:
    """Unpickling this makes a folder."""

    def __init__(self, marker):
        self.marker = str(marker)

    def __reduce__(self):
        return os.mkdir, (self.marker,)


def write_object_array(state, path):
    np.savez(path, weight=np.array([state], dtype=object))


def write_pickle(state, path):
    path.write_bytes(pickle.dumps(state, protocol=2))


ATTACKS = {
    "torch.save": (".pth", torch.save, lambda path: torch.load(path, weights_only=False)),
    "pickle": (".pt", write_pickle, lambda path: pickle.loads(path.read_bytes())),
    "object array": (
        ".npz",
        write_object_array,
        lambda path: np.load(path, allow_pickle=True)["weight"],
    ),
    "pickle as npz": (".npz", write_pickle, lambda path: np.load(path, allow_pickle=True)),
}


@pytest.mark.parametrize("case", ATTACKS)
def test_pickled_code_in_weights_is_never_run(tmp_path, case):
    """If it failed, a file of weights could run any program as the user."""
    suffix, write, careless = ATTACKS[case]
    path, marker = tmp_path / f"weights{suffix}", tmp_path / "marker"
    write({"weight": Attack(marker)}, path)
    # The attack is a real one: a careless reader runs it.
    careless(path)
    assert marker.is_dir()
    marker.rmdir()
    with pytest.raises(SourceError, match="weights"):
        read_state_dict(path)
    assert not marker.exists()


@pytest.mark.parametrize("suffix", WRITERS)
def test_html_page_in_place_of_weights_is_called_one(tmp_path, suffix):
    """If it failed, a sign-in page under the weights' name would read as a torch error."""
    path = tmp_path / f"weights{suffix}"
    path.write_bytes(HTML)
    with pytest.raises(SourceError, match=rf"weights\{suffix} is an HTML page"):
        read_state_dict(path)


@pytest.mark.parametrize("suffix", WRITERS)
def test_truncated_weights_are_refused(tmp_path, suffix):
    """If it failed, a download that was cut would crash or pass for the weights."""
    path = tmp_path / f"weights{suffix}"
    WRITERS[suffix](tensors(), path)
    whole = path.read_bytes()
    for keep in (0, 1, 10, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:keep])
        with pytest.raises(SourceError, match=rf"weights\{suffix} is damaged"):
            read_state_dict(path)


@pytest.mark.parametrize("suffix", WRITERS)
def test_folder_or_absent_file_in_place_of_weights_is_refused(tmp_path, suffix):
    """If it failed, a folder under the weights' name would end all sources."""
    (tmp_path / f"weights{suffix}").mkdir()
    for name in (f"weights{suffix}", f"absent{suffix}"):
        with pytest.raises(SourceError, match=name):
            read_state_dict(tmp_path / name)


def test_unknown_kind_of_weights_names_the_known_ones(tmp_path):
    """If it failed, the user would not learn which kinds of file can be read."""
    (tmp_path / "weights.bin").write_bytes(BODY)
    with pytest.raises(SourceError, match=r"weights\.bin: .*\.pth, \.pt, \.safetensors or \.npz"):
        read_state_dict(tmp_path / "weights.bin")


@pytest.mark.parametrize(
    "state",
    [
        pytest.param({"epoch": 3, "w": torch.zeros(1)}, id="a number"),
        pytest.param({"weights": {"w": torch.zeros(1)}}, id="under another name"),
        pytest.param({"model": {"name": "resnet18"}}, id="a model without weights"),
        pytest.param([torch.zeros(1)], id="a list"),
        pytest.param(torch.zeros(1), id="one tensor"),
        pytest.param({0: torch.zeros(1)}, id="a key that is no text"),
    ],
)
def test_what_is_no_flat_state_dict_is_refused(tmp_path, state):
    """If it failed, a checkpoint with other entries would crash later, without its name."""
    torch.save(state, tmp_path / "weights.pth")
    with pytest.raises(SourceError, match=r"weights\.pth does not hold a flat state dict"):
        read_state_dict(tmp_path / "weights.pth")


def read_limited(path):
    """The words in which weights are refused within limits."""
    with pytest.raises(SourceError) as caught:
        within_limits(read_state_dict, path)
    return str(caught.value)


def npy_claiming(header, body=b""):
    """A .npy file with any header."""
    header = header.encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + body


def npy_of_shape(shape, dtype="<f8"):
    return npy_claiming(f"{{'descr': {dtype!r}, 'fortran_order': False, 'shape': {shape!r}, }}")


ARRAYS = {
    "a shape of 2^40": (npy_of_shape((2**40,)), "another shape"),
    "a shape of 2^28": (npy_of_shape((2**28,)), "another shape"),
    "a shape whose product overflows": (npy_of_shape((2**62, 2**62)), "another shape"),
    "a negative shape": (npy_of_shape((-1, 4)), "impossible shape"),
    "objects": (npy_of_shape((1,), "|O"), "an array of object"),
    "text of 4 GB": (npy_of_shape((1,), "<U1000000000"), "descriptor"),
    "arrays within an array": (npy_of_shape((1,), ("<f8", (2**28,))), "weights"),
    # Python's parser runs out of its stack, and calls that a lack of memory.
    "a deep header": (npy_claiming("-" * 9000 + "1"), "reading array header"),
}


@pytest.mark.parametrize("case", ARRAYS)
def test_array_that_claims_anything_is_refused(tmp_path, case):
    """If it failed, a header of a hundred bytes could take the memory."""
    blob, reason = ARRAYS[case]
    with zipfile.ZipFile(tmp_path / "weights.npz", "w") as archive:
        archive.writestr("weight.npy", blob)
    message = read_limited(tmp_path / "weights.npz")
    assert message.startswith("weights.npz is damaged or unsafe") and reason in message


@pytest.mark.parametrize("suffix", [".npz", ".pth"])
def test_bomb_of_weights_is_refused_before_it_is_read(tmp_path, monkeypatch, suffix):
    """If it failed, a megabyte of weights could take the memory."""
    monkeypatch.setattr(weights_module, "_MAX_WEIGHTS_BYTES", 64 << 20)
    path = tmp_path / f"weights{suffix}"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for k in range(7):
            archive.writestr(f"x/data/{k}", bytes(10 << 20))
    assert "claims 73,400,320 bytes of weights; too large" in read_limited(path)


def torch_file(body, **storages):
    """A zip as torch.save makes it, with any pickle."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, blob in {
            "data.pkl": body,
            "version": b"3\n",
            "byteorder": b"little",
            **storages,
        }.items():
            archive.writestr(f"weights/{name}", blob)
    return buffer.getvalue()


def with_entries(blob, count, new):
    """A legacy file whose storage of `count` entries claims to have others."""
    old = b"K" + bytes([count])
    assert old in blob
    return blob.replace(old, b"\x8a\x06" + new.to_bytes(6, "little"))


TEN_GB = b"\x8a\x05" + (10**10).to_bytes(5, "little") + b"\x85R."
LEGACY_ONE = written(
    lambda buffer: torch.save({"w": torch.ones(77)}, buffer, _use_new_zipfile_serialization=False)
)
PICKLES = {
    "lists by the million": (torch_file(b"\x80\x02" + b"]" * 15_000_000), "300,000 steps"),
    "a pickle of 20 MB": (torch_file(b"]" * (20 << 20)), "its pickle claims"),
    "a bytearray of 10 GB": (
        torch_file(
            b"\x80\x02c__builtin__\nbytearray\n\x8a\x05"
            + (10**10).to_bytes(5, "little")
            + b"\x85R."
        ),
        "asks for __builtin__.bytearray",
    ),
    "a tensor of 10 GB": (
        torch_file(b"\x80\x02ctorch\nFloatTensor\n" + TEN_GB),
        "asks for torch.FloatTensor",
    ),
    "a memo of 300 million": (torch_file(b"\x80\x02}r\x00\xa3\xe1\x11."), None),
    "a legacy storage of 2 GB": (with_entries(LEGACY_ONE, 77, 2**29), "of another length"),
    "a cut legacy storage": (
        with_entries(LEGACY_ONE, 77, 2**29).replace(
            (77).to_bytes(8, "little"), (2**29).to_bytes(8, "little")
        ),
        "it is cut",
    ),
    "a tensor that repeats one entry": (
        written(lambda buffer: torch.save({"w": torch.ones(1).expand(10**9)}, buffer)),
        "another shape than its storage",
    ),
}


@pytest.mark.parametrize("case", PICKLES)
def test_pickle_that_claims_anything_is_refused(tmp_path, case):
    """If it failed, a megabyte of weights could take the memory, with torch.load's own guard on."""
    blob, reason = PICKLES[case]
    path = tmp_path / "weights.pth"
    path.write_bytes(blob)
    assert len(blob) < 10_000_000
    if reason is None:
        assert within_limits(read_state_dict, path) == {}
    else:
        assert reason in read_limited(path)


@pytest.mark.parametrize("size", [2**40, 90 << 20])
def test_safetensors_that_have_more_header_than_content_are_refused(tmp_path, size):
    """If it failed, a million names of nothing would take gigabytes."""
    one = b'"%07d":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},'
    header = b"{" + b"".join(one % k for k in range((90 << 20) // (len(one) + 4) - 10))
    header = header[:-1] + b"}"
    header += b" " * (8 - len(header) % 8)
    size = len(header) if size < 2**40 else size
    (tmp_path / "weights.safetensors").write_bytes(size.to_bytes(8, "little") + header)
    assert "its header claims" in read_limited(tmp_path / "weights.safetensors")


SHARED = torch.arange(24.0)
STATES = {
    "views of one storage": {"a": SHARED[3:9], "b": SHARED.view(4, 6).T},
    "empty tensors": {"a": torch.zeros(0, 3), "b": torch.tensor(2.5)},
    "parameters": {"a": torch.nn.Parameter(torch.ones(2, 3))},
    "kinds of numbers": {
        str(dtype): torch.tensor([0, 1, 1]).to(dtype)
        for dtype in (
            *(torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.int32),
            *(torch.int16, torch.int8, torch.uint8, torch.bool),
        )
    },
    "a module's own": torch.nn.BatchNorm2d(3).state_dict(),
    "channels last": {"a": torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last)},
}


@pytest.mark.parametrize("case", STATES)
@pytest.mark.parametrize("zipped", [True, False])
def test_torch_files_are_read_as_torch_reads_them(tmp_path, case, zipped):
    """If it failed, the project's own reader would mix up, turn or cut tensors."""
    path = tmp_path / "weights.pth"
    torch.save(STATES[case], path, _use_new_zipfile_serialization=zipped)
    found, wanted = read_state_dict(path), torch.load(path, weights_only=True)
    assert list(found) == list(wanted)
    for key, value in wanted.items():
        assert found[key].dtype == value.dtype and torch.equal(found[key], value.detach())
        assert found[key].stride() == value.stride()


@pytest.mark.parametrize("name", ["state_dict", "model", "model_state_dict"])
@pytest.mark.parametrize("zipped", [True, False])
def test_weights_are_found_in_checkpoints(tmp_path, name, zipped):
    """If it failed, what training scripts save could not be used, or another tensor be taken."""
    optimizer = {"state": {0: {"step": torch.tensor(4.0), "moment": torch.ones(5)}}}
    settings = argparse.Namespace(lr=0.1, sizes=[1, 2], output=None)
    checkpoint = {"epoch": 3, "optimizer": optimizer, name: tensors(), "args": settings}
    path = tmp_path / "checkpoint.pth"
    torch.save(checkpoint, path, _use_new_zipfile_serialization=zipped)
    found = read_state_dict(path)
    assert list(found) == list(tensors())
    assert all(torch.equal(found[key], value) for key, value in tensors().items())


def test_files_of_large_networks_may_be_larger(tmp_path, monkeypatch):
    """If it failed, large networks could not be used, or small ones cost the memory of large."""
    monkeypatch.setattr(weights_module, "_MAX_WEIGHTS_BYTES", 1000)
    for suffix, write in WRITERS.items():
        path = tmp_path / f"weights{suffix}"
        write({"w": torch.zeros(2000)}, path)
        with pytest.raises(SourceError, match="too large"):
            read_state_dict(path)
        assert read_state_dict(path, network_bytes=8000)["w"].shape == (2000,)


@pytest.mark.parametrize("depth", [1, 60])
def test_legacy_file_that_holds_itself_is_read_once(tmp_path, depth):
    """If it failed, a kilobyte could keep a job busy for ever."""
    inner = {"w": torch.ones(3)}
    rest = []
    for _ in range(depth):
        rest = [rest, rest]
    rest.append(rest)
    path = tmp_path / "weights.pth"
    torch.save({"rest": rest, "model": inner}, path, _use_new_zipfile_serialization=False)
    assert torch.equal(read_state_dict(path)["w"], torch.ones(3))


@pytest.fixture(scope="module")
def resnet18():
    """Untrained weights of a ResNet-18, its last layer included."""
    return untrained_state("resnet18", 0)


def test_backbone_state_drops_the_head_and_keeps_the_rest(resnet18):
    """If it failed, ImageNet's last layer would stay in, or weights would be changed."""
    state = backbone_state("resnet18", resnet18)
    assert set(resnet18) - set(state) == {"fc.weight", "fc.bias"}
    assert all(torch.equal(state[key], resnet18[key]) for key in state)


def test_backbone_state_takes_weights_without_head_and_batch_counters(resnet18):
    """If it failed, headless and old checkpoints could not be used."""
    bare = {
        key: value
        for key, value in resnet18.items()
        if not key.startswith("fc.") and not key.endswith("num_batches_tracked")
    }
    whole = backbone_state("resnet18", resnet18)
    state = backbone_state("resnet18", bare)
    assert set(state) == set(whole)
    assert all(torch.equal(state[key], whole[key]) for key in bare)


def test_backbone_state_is_float32(resnet18):
    """If it failed, half-precision weights would make half-precision activations."""
    half = {key: v.half() if v.is_floating_point() else v for key, v in resnet18.items()}
    for key, value in backbone_state("resnet18", half).items():
        assert value.dtype == resnet18[key].dtype


@pytest.mark.parametrize("prefix", ["module.", "model.", "_orig_mod.module."])
def test_prefix_that_all_keys_share_is_dropped(resnet18, prefix):
    """If it failed, weights of a wrapped model could not be used."""
    wrapped = {prefix + key: value for key, value in resnet18.items()}
    found = backbone_state("resnet18", wrapped)
    assert all(torch.equal(found[key], resnet18[key]) for key in found)
    bare = {key: value for key, value in wrapped.items() if not key.startswith(f"{prefix}fc.")}
    assert backbone_state("resnet18", bare).keys() == found.keys()


def test_prefix_of_the_network_itself_stays():
    """If it failed, a DenseNet without its head would lose the first part of its names."""
    state = untrained_state("densenet121", 0)
    bare = {key: value for key, value in state.items() if key.startswith("features.")}
    assert backbone_state("densenet121", bare).keys() == bare.keys()


HEADS = {
    "resnet18": {"fc.weight": (7, 512), "fc.bias": (7,)},
    "a sequence instead of it": {"fc.0.weight": (9, 512), "fc.2.weight": (7, 9)},
}


@pytest.mark.parametrize("case", HEADS)
def test_last_layer_may_have_any_classes_and_layers(resnet18, case):
    """If it failed, a network that was trained on other classes could not be used."""
    state = {key: value for key, value in resnet18.items() if not key.startswith("fc.")}
    head = {key: torch.ones(shape) for key, shape in HEADS[case].items()}
    assert backbone_state("resnet18", state | head).keys() == state.keys()


def test_head_alone_in_its_sequence_may_be_replaced_whole():
    """If it failed, an EfficientNet whose classifier was replaced could not be used."""
    state = untrained_state("efficientnet_b0", 0)
    body = {key: value for key, value in state.items() if key.startswith("features.")}
    new = {"classifier.weight": torch.ones(3, 1280), "classifier.bias": torch.ones(3)}
    assert backbone_state("efficientnet_b0", body | new).keys() == body.keys()
    # This family has a layer before the last in the same sequence, which is part of the features.
    state = untrained_state("mobilenet_v3_small", 0)
    body = {key: value for key, value in state.items() if key.startswith("features.")}
    with pytest.raises(WtrakError, match=r"missing \['classifier\.0\.bias"):
        backbone_state("mobilenet_v3_small", body | new)


# As in the files that torchvision publishes for these families.
OLD_KEYS = {
    "densenet121": (r"(denselayer\d+\.(?:norm|conv))(\d)", r"\1.\2", "denselayer1.norm.1.weight"),
    "vit_b_32": (
        r"mlp\.(\d)",
        lambda m: f"mlp.linear_{m[1].replace('3', '2').replace('0', '1')}",
        "mlp.linear_2.bias",
    ),
}


@pytest.mark.parametrize("architecture", OLD_KEYS)
def test_keys_of_older_versions_are_understood(architecture):
    """If it failed, torchvision's own published weights would not fit."""
    pattern, new, example = OLD_KEYS[architecture]
    state = network(architecture, 32).state_dict()
    old = {re.sub(pattern, new, key): value for key, value in state.items()}
    assert any(key.endswith(example) for key in old)
    found = backbone_state(architecture, old)
    assert len(found) == len(state) - 2
    assert all(torch.equal(found[key], state[key]) for key in found)


FAULTS = {
    "a missing key": lambda state: state.pop("layer2.0.conv1.weight"),
    "an extra key": lambda state: state.update({"layer5.0.weight": torch.zeros(1)}),
    "a wrong shape": lambda state: state.update({"conv1.weight": torch.zeros(64, 1, 7, 7)}),
    "a NaN": lambda state: state["layer3.1.bn2.bias"].__setitem__(5, torch.nan),
    "an overflow": lambda state: state.update(
        {"bn1.running_var": torch.full((64,), 1e300, dtype=torch.float64)}
    ),
}
CULPRITS = {
    "a missing key": ["1 keys missing", "layer2.0.conv1.weight"],
    "an extra key": ["1 unknown", "layer5.0.weight"],
    "a wrong shape": ["conv1.weight", "(64, 1, 7, 7)", "(64, 3, 7, 7)"],
    "a NaN": ["not finite", "layer3.1.bn2.bias"],
    "an overflow": ["not finite", "bn1.running_var"],
}


@pytest.mark.parametrize("case", FAULTS)
def test_weights_that_do_not_fit_are_refused_by_name(resnet18, case):
    """If it failed, other weights would run in part, or spread NaN to every result."""
    state = {key: value.clone() for key, value in resnet18.items()}
    FAULTS[case](state)
    with pytest.raises(WtrakError) as caught:
        backbone_state("resnet18", state)
    assert all(word in str(caught.value) for word in CULPRITS[case])


def test_backbone_script_passes_over_weights_that_do_not_fit(resnet18, tmp_path, capsys):
    """If it failed, a wrong first file would end the workflow, or the record name the wrong one."""
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "page.pth").write_bytes(HTML)
    torch.save({"w": torch.zeros(1)}, folder / "other.pth")
    write_npz(resnet18, folder / "right.npz")
    sources = [
        {"kind": "file", "path": "page.pth"},
        {"kind": "file", "path": "other.pth"},
        {"kind": "file", "path": "right.npz", "description": "the right ones", "notice": "by A"},
    ]
    out = SimpleNamespace(weights=tmp_path / "w.safetensors", record=tmp_path / "w.json")
    backbone_script.main(
        SimpleNamespace(
            wildcards=SimpleNamespace(backbone="mine"),
            params=SimpleNamespace(
                architecture="resnet18",
                weights="resnet18",
                seed=0,
                preprocessing={"resize": 230, "mean": [0.5, 0.5, 0.5]},
                sources=sources,
            ),
            resources=SimpleNamespace(
                data_directory=str(tmp_path / "absent"), data_mirrors=f"{tmp_path}:{folder}"
            ),
            output=out,
        )
    )
    record = read_json(out.record)
    assert record["weights"] == "the right ones"
    assert record["source"] == "file right.npz"
    assert record["notice"] == "by A"
    published = {"crop": 224, "interpolation": "bilinear", "std": [0.229, 0.224, 0.225]}
    assert record["preprocessing"] == published | {"resize": 230, "mean": [0.5, 0.5, 0.5]}
    assert record["sha256"] == hashlib.sha256((folder / "right.npz").read_bytes()).hexdigest()
    assert load_metadata(out.weights) == record
    saved = load_arrays(out.weights)
    for key, value in backbone_state("resnet18", resnet18).items():
        np.testing.assert_array_equal(saved[key], value.numpy(), err_msg=key)
    log = capsys.readouterr().out
    assert "page.pth is an HTML page" in log
    assert "do not fit resnet18" in log
