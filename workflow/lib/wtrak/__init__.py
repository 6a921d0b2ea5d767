"""Data attribution in the natural geometry, as functions on arrays.

No module depends on Snakemake, on paths of the workflow or on its configuration. Shapes use the
symbols n (training examples), m (test examples), p (features, including the constant 1 for the
bias), C (classes) and d = C·p.
"""
