"""Compute over many rows in shards, so that a killed job resumes after its last finished shard."""

import contextlib
import hashlib
import json
import shutil
from pathlib import Path

import numpy as np

from wtrak.errors import WtrakError
from wtrak.job.io import load_arrays, load_metadata, save_arrays
from wtrak.job.runtime import say


def shard_folder(parent, identity):
    """Folder for the shards of one computation. Other folders under `parent` are removed.

    Parameters
    ----------
    parent : path
        Folder for all shards of one target.
    identity : dict
        Everything that determines the result: hashes of inputs, settings and code. If it changes,
        the folder changes too, so that stale shards are never used.
    """
    key = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]
    parent = Path(parent)
    if parent.exists():
        for other in parent.iterdir():
            if other.name != key:
                say(f"removing shards {other.name}, which were made from other inputs")
                shutil.rmtree(other) if other.is_dir() else other.unlink()
    folder = parent / key
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def compute_in_shards(compute, n_rows, shard_rows, folder, name, advance):
    """Concatenate ``compute(start, stop)`` over shards of `shard_rows` rows.

    Shards that an earlier job finished are read instead of computed. Shards always begin at the
    same rows, so a resumed job gives the same bytes. A damaged shard is computed again.

    Parameters
    ----------
    compute : callable
        Maps a row range to an array of shape (stop - start, …).
    advance : callable
        Called with the number of rows after each shard, to show progress.
    """
    parts, resumed = [], 0
    for start in range(0, n_rows, shard_rows):
        stop = min(start + shard_rows, n_rows)
        path = folder / f"{name}-{start:07d}.safetensors"
        part = _read(path, start, stop)
        if part is None:
            part = compute(start, stop)
            save_arrays(path, {"rows": part}, {"start": start, "stop": stop})
        else:
            resumed += stop - start
        parts.append(part)
        advance(stop - start)
    if resumed:
        say(f"{name}: {resumed:,} of {n_rows:,} rows were read from finished shards")
    return np.concatenate(parts)


def _read(path, start, stop):
    if not path.exists():
        return None
    with contextlib.suppress(WtrakError):
        rows = load_arrays(path, ["rows"])["rows"]
        if load_metadata(path) == {"start": start, "stop": stop} and len(rows) == stop - start:
            return rows
    say(f"{path} is damaged and is computed again")
    return None
