"""Datasets decode to exactly their pixels and labels, whatever the source, or are refused."""

import gzip
import io
import json
import shutil
import struct
import tarfile
import zlib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import PIL.Image
import pytest
import yaml

import dataset as dataset_script
from conftest import REPOSITORY
from limits import within_limits
from wtrak.errors import WtrakError
from wtrak.job.io import load_arrays, load_metadata, read_json
from wtrak.sources.datasets import content_sha256, load_dataset

CONFIG = yaml.safe_load((REPOSITORY / "config.yaml").read_text(encoding="utf-8"))


HTML = b"\n<!DOCTYPE html><html><body>Please sign in</body></html>"


def make_folder(path, members):
    for name, blob in members:
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(blob)


def contents(folder):
    """Every file below a folder, hidden ones included, with its bytes."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in Path(folder).rglob("*")
        if path.is_file()
    }


def png_chunk(kind, body):
    length, checksum = struct.pack(">I", len(body)), struct.pack(">I", zlib.crc32(kind + body))
    return length + kind + body + checksum


def png_claiming(width, height, pixel_rows=b""):
    """An RGB PNG of a claimed size, its uncompressed rows each behind the filter byte 0."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = png_chunk(b"IHDR", header) + png_chunk(b"IDAT", zlib.compress(pixel_rows, 0))
    return b"\x89PNG\r\n\x1a\n" + chunks + png_chunk(b"IEND", b"")


def png(pixels):
    """A PNG of an array of shape (height, width, 3)."""
    height, width, _ = pixels.shape
    rows = np.zeros((height, 1 + 3 * width), np.uint8)
    rows[:, 1:] = pixels.reshape(height, -1)
    return png_claiming(width, height, rows.tobytes())


def png_of_one_bit(side):
    """A square PNG of black, a bit for each pixel."""
    blob = png_claiming(side, side)
    header = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)
    body = zlib.compress(bytes((1 + side // 8) * side), 1)
    return blob[:8] + png_chunk(b"IHDR", header) + png_chunk(b"IDAT", body) + blob[-12:]


def png_with_words(count):
    """A PNG of the right size with as many words beside the pixels."""
    blob = png_claiming(1024, 10_000)
    return blob[:33] + b"".join(png_chunk(b"tEXt", b"%07d\0" % k) for k in range(count)) + blob[33:]


SHEETS = [f"data_batch_{k}.png" for k in range(1, 6)] + ["test_batch.png"]
BINARIES = [name.replace(".png", ".bin") for name in SHEETS]


@pytest.fixture(scope="session")
def cifar10(tmp_path_factory):
    """Synthetic CIFAR-10 of full size: its arrays, and the same as binary batches and as sheets."""
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, size=(6, 10_000, 32, 32, 3), dtype=np.uint8)
    labels = rng.integers(0, 10, size=(6, 10_000), dtype=np.uint8)
    folder = tmp_path_factory.mktemp("cifar10")
    (folder / "sheets").mkdir()
    with tarfile.open(folder / "binary.tar", "w") as archive:
        for name, batch, batch_labels in zip(BINARIES, images, labels, strict=True):
            info = tarfile.TarInfo(f"cifar-10-batches-bin/{name}")
            info.size = 10_000 * 3073
            records = np.empty((10_000, 3073), dtype=np.uint8)
            records[:, 0] = batch_labels
            # Red, green and blue planes, each in rows.
            for channel in range(3):
                plane = batch[..., channel].reshape(10_000, 1024)
                records[:, 1 + 1024 * channel : 1 + 1024 * (channel + 1)] = plane
            archive.addfile(info, io.BytesIO(records.tobytes()))
    for name, batch in zip(SHEETS, images, strict=True):
        (folder / "sheets" / name).write_bytes(png(batch.reshape(10_000, 1024, 3)))
    train_labels, test_labels = labels[:5].ravel(), labels[5]
    for name, values in (("train_lables", train_labels), ("test_lables", test_labels)):
        (folder / "sheets" / f"{name}.json").write_text(
            json.dumps(values.tolist()), encoding="utf-8"
        )
    arrays = {
        "train_images": images[:5].reshape(-1, 32, 32, 3),
        "train_labels": train_labels,
        "test_images": images[5],
        "test_labels": test_labels,
    }
    yield folder, arrays, content_sha256(arrays)
    # 370 MB that pytest would keep for three more runs.
    shutil.rmtree(folder)


@pytest.mark.parametrize(
    ("path", "form"), [("binary.tar", "cifar10-binary"), ("sheets", "cifar10-png-sheets")]
)
def test_both_forms_of_cifar10_decode_to_the_same_arrays(cifar10, path, form):
    """If it failed, pixels, channels or labels would depend on where the data came from."""
    folder, wanted, wanted_sha256 = cifar10
    source = {"kind": "file", "path": path, "format": form}
    arrays, record = load_dataset("cifar10", [source], wanted_sha256, directory=folder)
    assert set(arrays) == set(wanted)
    for name, array in arrays.items():
        assert array.dtype == np.uint8
        np.testing.assert_array_equal(array, wanted[name], err_msg=name)
    assert record["content_sha256"] == wanted_sha256
    assert record["source"] == f"file {path}"
    assert len(record["classes"]) == 10


def test_decoded_content_with_another_hash_is_refused(tmp_path):
    """If it failed, other pixels or labels in the right form would be taken for the dataset."""
    source = CONFIG["data"]["sources"]["digits"]
    wrong = "0" * 64
    with pytest.raises(WtrakError) as caught:
        load_dataset("digits", source, wrong, directory=tmp_path)
    found = CONFIG["datasets"]["digits"]["content_sha256"]
    assert found[:16] in str(caught.value)
    assert wrong[:16] in str(caught.value)


def test_digits_are_those_of_scikit_learn(tmp_path):
    """If it failed, the quick run's data would be scaled, split or ordered otherwise."""
    from sklearn.datasets import load_digits

    arrays, record = load_dataset(
        "digits",
        CONFIG["data"]["sources"]["digits"],
        CONFIG["datasets"]["digits"]["content_sha256"],
        directory=tmp_path,
    )
    assert arrays["train_images"].shape == (1437, 8, 8, 1)
    assert arrays["test_images"].shape == (360, 8, 8, 1)
    digits = load_digits()
    for array, wanted in (("images", digits.images[..., None]), ("labels", digits.target)):
        joined = np.concatenate([arrays[f"train_{array}"], arrays[f"test_{array}"]])
        assert joined.dtype == np.uint8
        # Sixteen grey levels become 0 to 255; labels stay as they are.
        scale = 255 / 16 if array == "images" else 1
        assert np.abs(joined - wanted * scale).max() <= 0.5
    assert record["classes"] == list("0123456789")
    assert contents(tmp_path) == {}


@pytest.fixture
def sheets(tmp_path, monkeypatch):
    """Return ``sheets(files)``: the words in which a folder with these files is refused."""
    small = dict.fromkeys(SHEETS, b"no pixels are read from here")
    small |= {
        "train_lables.json": json.dumps([1] * 50_000).encode(),
        "test_lables.json": json.dumps([2] * 10_000).encode(),
    }

    def refusal(files):
        make_folder(tmp_path / "sheets", (small | files).items())
        source = {"kind": "file", "path": "sheets", "format": "cifar10-png-sheets"}
        with pytest.raises(WtrakError) as caught:
            within_limits(load_dataset, "cifar10", [source], "0" * 64, directory=tmp_path)
        return str(caught.value)

    return refusal


BAD_SHEETS = {
    "the wrong size": (png(np.zeros((20, 1024, 3), np.uint8)), "(20, 1024, 3)"),
    "no pixels": (png_claiming(1024, 10_000), "not a readable PNG"),
    "a claim to fill the memory": (png_claiming(30_000, 30_000), "data_batch_1.png"),
    "a cut header": (b"\x89PNG\r\n\x1a\n\0\0\0\1IHDR\0\0\0\0\0", "not a readable PNG"),
    "a cut body": (png_claiming(1024, 10_000, bytes(20 * 3073))[:-40], "not a readable PNG"),
    "an HTML page": (HTML, "not a readable PNG"),
    # Of a size that Pillow admits: 169 million pixels of one bit.
    "a small file of many pixels": (png_of_one_bit(13_000), "(13000, 13000, 3)"),
    "millions of words": (png_with_words(2_500_000), "bytes, more than"),
}


@pytest.mark.parametrize("case", BAD_SHEETS)
def test_bad_sheet_is_named(sheets, case):
    """If it failed, a bad PNG would end the workflow and not only this source."""
    blob, reason = BAD_SHEETS[case]
    message = sheets({"data_batch_1.png": blob})
    assert "data_batch_1.png" in message
    assert reason in message


BAD_LABELS = {
    "not JSON": b"1, 2, 3",
    "not UTF-8": b"[\xff]",
    "an HTML page": HTML,
    "an object": b'{"labels": [1]}',
    "null": b"null",
    "no labels": b"[]",
    "too few": json.dumps([1] * 49_999).encode(),
    "a column": json.dumps([[1]] * 50_000).encode(),
    "ragged": b"[[1], [1, 2]]",
    "a null among them": json.dumps([1] * 49_999 + [None]).encode(),
    "a negative label": json.dumps([1] * 49_999 + [-1]).encode(),
    "a label of 10": json.dumps([1] * 49_999 + [10]).encode(),
    "a huge label": json.dumps([1] * 49_999 + [10**30]).encode(),
    "an infinite label": json.dumps([1] * 49_999 + [float("inf")]).encode(),
    "a NaN label": json.dumps([1] * 49_999 + [float("nan")]).encode(),
    "a fraction": json.dumps([1] * 49_999 + [1.5]).encode(),
    "a deep nest": b"[" * 100_000,
    "lists by the million": b"[" + b"[]," * 30_000_000 + b"0]",
}


@pytest.mark.parametrize("case", BAD_LABELS)
def test_bad_labels_are_named(sheets, monkeypatch, case):
    """If it failed, labels that are no labels would be bent into some, or end the workflow."""
    blank = SimpleNamespace(size=(1024, 10_000), mode="RGB")
    blank.convert = lambda _mode: np.zeros((10_000, 1024, 3), np.uint8)
    monkeypatch.setattr(PIL.Image, "open", lambda _file, formats: blank)
    message = sheets({"train_lables.json": BAD_LABELS[case]})
    assert "train_lables.json" in message


@pytest.mark.parametrize("size", [0, 3073, 10_000 * 3073 - 1])
def test_binary_batch_of_the_wrong_size_is_named(tmp_path, size):
    """If it failed, a short batch would shift every label after it, or crash."""
    make_folder(tmp_path / "batches", [(name, bytes(size)) for name in BINARIES])
    source = {"kind": "file", "path": "batches", "format": "cifar10-binary"}
    with pytest.raises(WtrakError, match=rf"data_batch_1\.bin has {size:,} bytes"):
        load_dataset("cifar10", [source], "0" * 64, directory=tmp_path)


def test_content_hash_sees_names_types_shapes_and_bytes():
    """If it failed, two different datasets could pass for one another."""
    pixels = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    labels = np.array([1, 0], dtype=np.uint8)
    reference = content_sha256({"images": pixels, "labels": labels})
    different = [
        {"images": pixels, "label": labels},
        {"images": pixels, "labels": labels.astype(np.int64)},
        {"images": pixels.reshape(3, 2, 4), "labels": labels},
        {"images": pixels + np.uint8(1), "labels": labels},
        {"images": pixels},
    ]
    assert len({reference, *map(content_sha256, different)}) == 6
    # The order of the names and the layout in memory are not content.
    same = {"labels": labels, "images": np.asfortranarray(pixels)}
    assert content_sha256(same) == reference


def test_dataset_script_writes_what_the_library_decoded(tmp_path):
    """If it failed, the file that all rules read would differ from the checked content."""
    out = SimpleNamespace(arrays=tmp_path / "d.safetensors", record=tmp_path / "d.json")
    dataset_script.main(
        SimpleNamespace(
            wildcards=SimpleNamespace(dataset="digits"),
            params=SimpleNamespace(
                sources=CONFIG["data"]["sources"]["digits"],
                content_sha256=CONFIG["datasets"]["digits"]["content_sha256"],
            ),
            resources=SimpleNamespace(data_directory=str(tmp_path / "data"), data_mirrors=""),
            output=out,
        )
    )
    arrays = load_arrays(out.arrays)
    assert content_sha256(arrays) == CONFIG["datasets"]["digits"]["content_sha256"]
    assert read_json(out.record) == load_metadata(out.arrays)
    assert read_json(out.record)["dataset"] == "digits"


MNIST_SIZES = {"train": 60_000, "t10k": 10_000}


@pytest.fixture(scope="module")
def mnist():
    """Synthetic MNIST of full size as IDX files, by name, and its arrays."""
    rng = np.random.default_rng(0)
    files, arrays = {}, {}
    for name, split in {"train": "train", "t10k": "test"}.items():
        n = MNIST_SIZES[name]
        images = rng.integers(0, 256, size=(n, 28, 28), dtype=np.uint8)
        labels = rng.integers(0, 10, size=n, dtype=np.uint8)
        header = struct.pack(">IIII", 0x803, n, 28, 28)
        files[f"{name}-images-idx3-ubyte"] = header + images.tobytes()
        files[f"{name}-labels-idx1-ubyte"] = struct.pack(">II", 0x801, n) + labels.tobytes()
        arrays |= {f"{split}_images": images[..., None], f"{split}_labels": labels}
    return files, arrays


@pytest.mark.parametrize("packed", [False, True])
def test_mnist_decodes_alike_plain_and_packed(mnist, tmp_path, packed):
    """If it failed, pixels or labels would depend on where the digits came from."""
    files, wanted = mnist
    for name, blob in files.items():
        target = tmp_path / "mnist" / (f"{name}.gz" if packed else name)
        make_folder(tmp_path, [(target, gzip.compress(blob, 1) if packed else blob)])
    source = {"kind": "file", "path": "mnist", "format": "mnist-idx"}
    arrays, _ = load_dataset("mnist", [source], content_sha256(wanted), directory=tmp_path)
    for name, array in wanted.items():
        np.testing.assert_array_equal(arrays[name], array, err_msg=name)


def damaged_idx(files):
    labels = files["t10k-labels-idx1-ubyte"]
    yield "short", labels[:-1], "not an IDX file"
    yield "long", labels + b"\0", "not an IDX file"
    yield "other header", b"\0" * 8 + labels[8:], "not an IDX file"
    yield "label 10", labels[:-1] + b"\x0a", "label above 9"
    yield "HTML", HTML, "not an IDX file"


def test_damaged_mnist_is_refused_by_name(mnist, tmp_path):
    """If it failed, a cut or foreign file would give wrong digits or a crash."""
    files, _ = mnist
    make_folder(tmp_path / "mnist", files.items())
    source = {"kind": "file", "path": "mnist", "format": "mnist-idx"}
    for case, blob, reason in damaged_idx(files):
        make_folder(tmp_path / "mnist", [("t10k-labels-idx1-ubyte", blob)])
        with pytest.raises(WtrakError, match=f"t10k-labels-idx1-ubyte.*{reason}"):
            load_dataset("mnist", [source], None, directory=tmp_path)
            pytest.fail(case)


def test_packed_mnist_that_is_cut_or_a_bomb_is_refused(mnist, tmp_path):
    """If it failed, a cut file would crash, or a small one fill the memory."""
    files, _ = mnist
    packed = {f"{name}.gz": gzip.compress(blob, 1) for name, blob in files.items()}
    name = "t10k-labels-idx1-ubyte.gz"
    source = {"kind": "file", "path": "mnist", "format": "mnist-idx"}
    bomb = packed[name] + gzip.compress(bytes(16 << 20), 1) * 80
    for blob, reason in (
        (packed[name][:-20], "truncated or damaged"),
        (packed[name][:50] + b"damage" + packed[name][56:], "damaged|no IDX"),
        (HTML, "truncated or damaged"),
        (bomb, "not an IDX file"),
    ):
        make_folder(tmp_path / "mnist", (packed | {name: blob}).items())
        with pytest.raises(WtrakError, match=f"t10k-labels-idx1-ubyte.*({reason})"):
            within_limits(load_dataset, "mnist", [source], None, directory=tmp_path)


def test_measurements_are_the_scaled_table(tmp_path):
    """If it failed, the quick run's foreign inputs would be another table or in another order."""
    from sklearn.datasets import load_breast_cancer

    block = CONFIG["datasets"]["measurements"]
    sources = CONFIG["data"]["sources"][block["source"]]
    arrays, record = load_dataset(
        "measurements", sources, block["content_sha256"], directory=tmp_path
    )
    table = load_breast_cancer()
    images = np.concatenate([arrays["train_images"], arrays["test_images"]])
    assert images.shape == (569, 5, 6, 1)
    pixels = images.reshape(569, 30).astype(float)
    scaled = (table.data - table.data.min(axis=0)) / np.ptp(table.data, axis=0)
    assert np.abs(pixels - 255 * scaled).max() <= 0.5
    labels = np.concatenate([arrays["train_labels"], arrays["test_labels"]])
    np.testing.assert_array_equal(labels, table.target)
    assert record["classes"] == list(table.target_names)
