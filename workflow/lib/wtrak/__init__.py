"""Natural-geometry data attribution: pure functions on arrays.

Every module is one concept of the paper; no module knows about Snakemake, paths of the
workflow or its configuration. Shapes use the symbols n (training examples), m (test
examples), p (features, the constant 1 for the bias included), C (classes) and d = C·p.
"""
