"""Natural-geometry data attribution.

The public classes, `Attributor` and `LinearHead`, work on plain arrays, which `read_dataset` reads
from files. The modules below hold pure functions on arrays, each one concept of the paper; none of
them knows about Snakemake, paths of the workflow or its configuration. Shapes use the symbols n
(training examples), m (test examples), p (features, the constant 1 for the bias included), C
(classes) and d = C·p.
"""

import importlib

# Module of each public name. They are imported on first use: torch takes over a second, and every
# script of the workflow imports this file, which must not make it depend on all of them.
_HOMES = {
    "Attributor": "wtrak.attributor",
    "Dataset": "wtrak.dataset",
    "InputError": "wtrak.errors",
    "LinearHead": "wtrak.linear_head",
    "WtrakError": "wtrak.errors",
    "__version__": "wtrak.version",
    "read_dataset": "wtrak.dataset",
}
__all__ = list(_HOMES)


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module 'wtrak' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__():
    return sorted({*globals(), *_HOMES})
