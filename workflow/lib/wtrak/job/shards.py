"""Long passes over rows that survive a kill: finished shards are kept and not done again."""

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
    """Folder for the shards of one computation; clears those of any other under `parent`.

    Parameters
    ----------
    parent : path
        Folder that holds the shards of one target, whatever its inputs were.
    identity : dict
        All that decides the bytes: hashes of inputs, settings, code. A change of any of them
        makes another folder, so that stale shards are never used.
    """
    key = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]
    parent = Path(parent)
    if parent.exists():
        for other in parent.iterdir():
            if other.name != key:
                say(f"dropping shards {other.name}, made from other inputs")
                shutil.rmtree(other) if other.is_dir() else other.unlink()
    folder = parent / key
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def compute_in_shards(compute, n_rows, shard_rows, folder, name, advance):
    """Concatenate ``compute(start, stop)`` over shards of `shard_rows` rows, resuming.

    Shards are cut at fixed rows, so that a killed and resumed pass gives the same bytes as one
    that was left alone. A damaged shard is computed again.

    Parameters
    ----------
    compute : callable
        Maps a row range to an array of shape (stop - start, …).
    advance : callable
        Told the number of rows after each shard, for progress.
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
        say(f"{name}: {resumed:,} of {n_rows:,} rows were done before")
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
