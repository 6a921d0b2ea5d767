"""Archives: members are read as they are, and nothing an archive claims costs more than it may."""

import bz2
import gzip
import io
import lzma
import struct
import tarfile
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest

from limits import within_limits
from wtrak.errors import SourceError
from wtrak.sources import archives as archives_module
from wtrak.sources.archives import read_members

HTML = b"\n<!DOCTYPE html><html><body>Please sign in</body></html>"
BODY = bytes(range(256)) * 40


def contents(folder):
    """Every file below a folder, hidden ones included, with its bytes."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in Path(folder).rglob("*")
        if path.is_file()
    }


MEMBERS = {"top/a.bin": b"first", "top/deep/b.bin": b"second", "other.txt": b"ignored"}
WANTED = {"a.bin": b"first", "b.bin": b"second"}


def make_tar(path, members, mode="w:gz"):
    with tarfile.open(path, mode) as archive:
        for name, blob in members:
            info = tarfile.TarInfo(name)
            info.size = len(blob)
            archive.addfile(info, io.BytesIO(blob))


def make_zip(path, members, compression=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, blob in members:
            info = zipfile.ZipInfo(name)
            info.compress_type = compression
            archive.writestr(info, blob)


def make_folder(path, members):
    for name, blob in members:
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(blob)


ARCHIVES = {
    "tar": lambda path, members: make_tar(path, members, "w"),
    "tar.gz": make_tar,
    "tar.xz": lambda path, members: make_tar(path, members, "w:xz"),
    "zip": make_zip,
    "folder": make_folder,
}
# A folder cannot hold one name twice or a name outside itself.
every_archive = pytest.mark.parametrize("kind", ARCHIVES)
packed_archive = pytest.mark.parametrize("kind", ["tar", "tar.gz", "zip"])


@every_archive
def test_members_are_read_by_base_name(tmp_path, kind):
    """If it failed, the folder inside an archive would matter, or other bytes would be read."""
    path = tmp_path / "archive"
    ARCHIVES[kind](path, MEMBERS.items())
    before = contents(tmp_path)
    assert read_members(path, list(WANTED)) == WANTED
    assert contents(tmp_path) == before


@every_archive
def test_lacking_members_are_named(tmp_path, kind):
    """If it failed, an incomplete archive would be used, or refused without saying why."""
    path = tmp_path / "archive"
    ARCHIVES[kind](path, MEMBERS.items())
    with pytest.raises(SourceError, match=r"archive lacks c\.bin, d\.bin(;|$)"):
        read_members(path, ["a.bin", "c.bin", "d.bin"])


@every_archive
def test_two_members_of_one_name_are_refused(tmp_path, kind):
    """If it failed, it would be chance which of the two is read."""
    path = tmp_path / "archive"
    ARCHIVES[kind](path, [("one/a.bin", b"1"), ("two/a.bin", b"2")])
    with pytest.raises(SourceError, match=r"more than one a\.bin"):
        read_members(path, ["a.bin"])


@packed_archive
@pytest.mark.parametrize("prefix", ["../", "../../../", "{outside}/"])
def test_member_names_cannot_lead_outside(tmp_path, kind, prefix):
    """If it failed, an archive could overwrite any file of the user."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.bin").write_bytes(b"the user's own")
    path = tmp_path / "in" / "archive"
    path.parent.mkdir()
    ARCHIVES[kind](path, [(prefix.format(outside=outside) + "a.bin", b"evil")])
    before = contents(tmp_path)
    assert read_members(path, ["a.bin"]) == {"a.bin": b"evil"}
    assert contents(tmp_path) == before


def test_links_and_devices_in_a_tar_are_not_followed(tmp_path):
    """If it failed, a link in an archive could read any file of the user."""
    (tmp_path / "secret").write_bytes(b"secret")
    with tarfile.open(tmp_path / "archive.tar", "w") as archive:
        for name, kind in {
            "soft.bin": tarfile.SYMTYPE,
            "hard.bin": tarfile.LNKTYPE,
            "pipe.bin": tarfile.FIFOTYPE,
        }.items():
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, str(tmp_path / "secret")
            archive.addfile(info)
    with pytest.raises(SourceError, match=r"lacks soft\.bin, hard\.bin, pipe\.bin"):
        read_members(tmp_path / "archive.tar", ["soft.bin", "hard.bin", "pipe.bin"])


@every_archive
def test_member_that_claims_too_much_is_refused_before_it_is_read(tmp_path, monkeypatch, kind):
    """If it failed, a small archive could fill the memory."""
    monkeypatch.setattr(archives_module, "_MAX_MEMBER_BYTES", 10_000)
    path = tmp_path / "archive"
    ARCHIVES[kind](path, [("a.bin", bytes(10_000)), ("b.bin", bytes(10_001))])
    assert read_members(path, ["a.bin"]) == {"a.bin": bytes(10_000)}
    with pytest.raises(SourceError, match=r"b\.bin in archive claims 10,001 bytes"):
        read_members(path, ["b.bin"])


@pytest.mark.parametrize("kind", ["tar", "tar.gz", "tar.xz", "zip"])
def test_truncated_archive_is_refused(tmp_path, kind):
    """If it failed, the part of an archive that arrived would pass for all of it, or crash."""
    path = tmp_path / "archive"
    rng = np.random.default_rng(0)
    ARCHIVES[kind](path, [("a.bin", rng.bytes(2000)), ("b.bin", rng.bytes(2000))])
    whole = path.read_bytes()
    # All of these cuts lose some of the second member.
    for keep in [*range(0, 40, 3), *range(40, 2500, 100)]:
        path.write_bytes(whole[:keep])
        with pytest.raises(SourceError, match=r"archive .*truncated"):
            read_members(path, ["a.bin", "b.bin"])


def zip_with(compression, place=None, value=b"", *, in_directory=False):
    """A small zip in which some bytes of the data, or of the central directory, are others."""
    buffer = io.BytesIO()
    make_zip(buffer, [("a.bin", np.random.default_rng(0).bytes(100) * 20)], compression)
    blob = bytearray(buffer.getvalue())
    # The data follow a header of 30 bytes and the name; the directory has a mark of its own.
    start = blob.rindex(b"PK\x01\x02") if in_directory else 30 + len("a.bin")
    blob[start + place : start + place + len(value)] = value
    return bytes(blob)


DAMAGED = {
    "an encrypted zip": zip_with(zipfile.ZIP_STORED, 8, b"\x01", in_directory=True),
    "a zip of patches": zip_with(zipfile.ZIP_STORED, 8, b"\x20", in_directory=True),
    "a zip of a later version": zip_with(zipfile.ZIP_STORED, 6, b"\x63", in_directory=True),
    "a zip with a wrong sum": zip_with(zipfile.ZIP_STORED, 50, b"damage"),
    "damaged deflate data": zip_with(zipfile.ZIP_DEFLATED, 0, b"\xff" * 8),
    "a gzip that ends in its header": b"\x1f\x8b\x08\x04\x00\x00\x00\x00\x00\x03\x00",
    "an empty file": b"",
    "text": b"404: not found",
}


@pytest.mark.parametrize("case", DAMAGED)
def test_damaged_archive_is_refused(tmp_path, case):
    """If it failed, a damaged archive would end the workflow and not only this source."""
    path = tmp_path / "archive"
    path.write_bytes(DAMAGED[case])
    with pytest.raises(SourceError, match="archive is damaged, or truncated, or not an archive"):
        read_members(path, ["a.bin"])


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA, 0x61])
def test_zip_of_a_method_without_bounds_is_refused(tmp_path, method):
    """If it failed, a small member could unpack to more than the memory in one step."""
    blob = zip_with(zipfile.ZIP_STORED, 10, method.to_bytes(1, "little"), in_directory=True)
    (tmp_path / "archive").write_bytes(blob)
    with pytest.raises(SourceError, match=r"a\.bin is packed by a method other than deflate"):
        read_members(tmp_path / "archive", ["a.bin"])


def tar_header(name, size, kind):
    info = tarfile.TarInfo(name)
    info.size, info.type = size, kind
    return info.tobuf()


HUGE = 2 * 1024**3


PACKERS = {
    "gzip": lambda blob: gzip.compress(blob, 1),
    "bzip2": bz2.compress,
    "xz": lambda blob: lzma.compress(blob, preset=0),
}


def read_limited(path, names=("a.bin",), memory=256 << 20):
    """The words in which an archive is refused within limits, low so that bombs may be small."""
    with pytest.raises(SourceError) as caught:
        within_limits(read_members, path, list(names), memory=memory)
    return str(caught.value)


@pytest.mark.parametrize("packer", PACKERS)
@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.REGTYPE])
def test_bomb_in_a_tar_is_refused(tmp_path, packer, kind):
    """If it failed, a megabyte of download would take the memory, or the disk's worth of time."""
    path = tmp_path / "archive"
    # Packed pieces one after the other unpack to all of them.
    piece = PACKERS[packer](bytes(16 << 20))
    path.write_bytes(PACKERS[packer](tar_header("x", HUGE, kind)) + piece * 65)
    assert path.stat().st_size < 6_000_000
    is_file = kind == tarfile.REGTYPE
    reason = "unpacks to more than" if is_file else "a header claims 2,147,483,648 bytes"
    assert reason in read_limited(path)


def pax(*records):
    """An extended header of a tar, with its data."""
    body = b"".join(records)
    return tar_header("x", len(body), tarfile.XHDTYPE) + body + bytes(-len(body) % 512)


def record(key, value):
    """A record of an extended header, which begins with its own length."""
    rest = b" " + key + b"=" + value + b"\n"
    length = len(rest) + 1
    while len(str(length)) + len(rest) != length:
        length += 1
    return str(length).encode() + rest


def many_headers():
    return b"", tar_header("x", 0, tarfile.REGTYPE) * 2000, 1000


def many_keys():
    return pax(*(record(b"k%d" % k, b"") for k in range(1_000_000))), b"", 0


def sparse_of_the_old_form():
    header = bytearray(tar_header("a.bin", 0, tarfile.GNUTYPE_SPARSE))
    header[482] = 1  # more of the map follows
    header[148:156] = b"%06o\0 " % (sum(header[:148]) + sum(header[156:]) + 8 * 32)
    return bytes(header), (b"00000000001\0" * 42 + b"\1" + bytes(7)) * 1000, 400


def sparse_of_the_new_form():
    keys = (b"major", b"1"), (b"minor", b"0"), (b"name", b"a.bin"), (b"realsize", b"1")
    start = pax(*(record(b"GNU.sparse." + key, value) for key, value in keys))
    start += tar_header("a.bin", 300 << 20, tarfile.REGTYPE) + b"99999999\n"
    return start, b"1\n" * (1 << 19), 300


def slow_pattern():
    """For which tarfile's search takes time that grows with the square of the length."""
    return pax(b"1" * 2_000_000), b"", 0


TARS = {
    "two million headers": (many_headers, "more than 20,000 headers"),
    "a million keys": (many_keys, "a header claims"),
    "a sparse file": (sparse_of_the_old_form, "sparse"),
    "a sparse file of the new form": (sparse_of_the_new_form, "sparse"),
    "two million digits": (slow_pattern, "a header claims"),
}


@pytest.mark.parametrize("case", TARS)
def test_tar_that_claims_to_have_much_to_say_is_refused(tmp_path, case):
    """If it failed, some megabytes of packed headers would take gigabytes, or hours."""
    write, reason = TARS[case]
    start, piece, count = write()
    packed = gzip.compress(start, 1) + gzip.compress(piece, 1) * count
    (tmp_path / "archive").write_bytes(packed)
    assert len(packed) < 20_000_000
    assert reason in read_limited(tmp_path / "archive")


def test_extended_headers_are_read_as_tarfile_reads_them(tmp_path):
    """If it failed, a member would be read under another name, or at another place."""
    long = "é" * 150 + "/a.bin"
    for form in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
        with tarfile.open(tmp_path / "archive", "w", format=form) as archive:
            for name, blob in ((long, b"1" * 700), ("b.bin", b"2")):
                info = tarfile.TarInfo(name)
                info.size, info.pax_headers = (
                    len(blob),
                    {"comment": "x\ny=z", "size": str(len(blob))},
                )
                archive.addfile(info, io.BytesIO(blob))
        assert read_members(tmp_path / "archive", ["a.bin", "b.bin"]) == {
            "a.bin": b"1" * 700,
            "b.bin": b"2",
        }


def test_xz_that_asks_for_gigabytes_is_refused(tmp_path):
    """If it failed, a dictionary of any size would be set aside for a file of a hundred bytes."""
    make_tar(tmp_path / "plain", MEMBERS.items(), "w")
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0}]
    blob = bytearray(lzma.compress((tmp_path / "plain").read_bytes(), filters=filters))
    # The header of a block: its length, flags, the filter's name and length, the dictionary's size.
    assert blob[14:16] == b"\x21\x01"
    blob[16] = 40  # 4 GiB
    blob[20:24] = zlib.crc32(blob[12:20]).to_bytes(4, "little")
    (tmp_path / "archive").write_bytes(blob)
    assert "Memory usage limit" in read_limited(tmp_path / "archive")


def test_xz_of_several_streams_is_read(tmp_path):
    """If it failed, what parallel packers write would be cut."""
    make_tar(tmp_path / "plain", [("a.bin", bytes(range(256)) * 100)], "w")
    whole = (tmp_path / "plain").read_bytes()
    parts = [lzma.compress(part) for part in (whole[:5000], whole[5000:])]
    (tmp_path / "archive").write_bytes(parts[0] + bytes(8) + parts[1])
    assert read_members(tmp_path / "archive", ["a.bin"]) == {"a.bin": bytes(range(256)) * 100}


def test_zip_that_lies_about_its_sizes_is_refused(tmp_path):
    """If it failed, a member that claims a byte could unpack to two billions."""
    buffer = io.BytesIO()
    make_zip(buffer, [("a.bin", bytes(300 << 20))])
    blob = bytearray(buffer.getvalue())
    start = blob.rindex(b"PK\x01\x02")
    blob[start + 24 : start + 28] = (1).to_bytes(4, "little")
    (tmp_path / "archive").write_bytes(blob)
    assert len(blob) < 2_000_000
    assert "archive is damaged" in read_limited(tmp_path / "archive")


def test_members_that_are_too_large_together_are_refused(tmp_path, monkeypatch):
    """If it failed, eight members of the largest size would take 1.6 GB."""
    names = [f"{k}.bin" for k in range(8)]
    make_zip(tmp_path / "archive", [(name, bytes(1 << 20)) for name in names])
    monkeypatch.setattr(archives_module, "_MAX_TOTAL_BYTES", 2_500_000)
    assert set(read_members(tmp_path / "archive", names[:2])) == set(names[:2])
    assert "2.bin in archive claims" in read_limited(tmp_path / "archive", names)


def test_zip_of_a_million_members_is_refused(tmp_path):
    """If it failed, 50 MB of names would take ten times as much."""
    entry = (
        struct.pack("<4s6H3L5H2L", b"PK\1\2", 20, 20, 0, 0, 0, 33, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0)
        + b"x"
    )
    count = 1_500_000
    size = count * len(entry)
    wide = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, count, count, size, 0)
    wide += struct.pack("<4sLQL", b"PK\6\7", 0, size, 1)
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 65535, 65535, 2**32 - 1, 2**32 - 1, 0)
    (tmp_path / "archive").write_bytes(entry * count + wide + end)
    assert "has a list of 70,500,000 bytes of members" in read_limited(tmp_path / "archive")


def test_html_page_in_place_of_an_archive_is_called_one(tmp_path):
    """If it failed, the user would not see that a sign-in page was saved."""
    (tmp_path / "archive.tgz").write_bytes(HTML)
    with pytest.raises(SourceError, match=r"archive\.tgz is an HTML page"):
        read_members(tmp_path / "archive.tgz", ["a.bin"])
