"""Colours of figures. Catalogues import them without importing matplotlib."""

# Okabe–Ito colours, which remain distinct for colour-blind readers and in grey print.
EUCLIDEAN = "#D55E00"
NATURAL = "#0072B2"
NEUTRAL = "#555555"
EXPERIMENTS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00"]
