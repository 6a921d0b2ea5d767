"""Orders of remainders from their slopes, by hand."""

import numpy as np
import pandas as pd
import pytest

from wtrak.convex.error_orders import derivative_error, slopes_of


def test_slopes_are_of_each_triple_and_of_what_is_not_zero():
    """The order of one triple would be mixed with another's, or a zero have a logarithm."""
    steps = np.array([1e-3, 1e-2, 1e-1])
    parts = {
        "a": (steps, 3 * steps**2),
        "b": (steps, np.append(0.0, steps[1:] ** 3)),
        "c": (steps, [0.0, 0.0, 1.0]),
        "d": (steps, np.zeros(3)),
    }
    frame = pd.concat(
        pd.DataFrame({"triple": name, "step": step, "remainder": remainder})
        for name, (step, remainder) in parts.items()
    )
    np.testing.assert_allclose(slopes_of(frame.sample(frac=1, random_state=0)), [2, 3], rtol=1e-9)
    assert slopes_of(frame[frame["triple"] == "d"]).shape == (0,)


def test_error_of_a_derivative_counts_each_triple_once():
    """A triple with more steps would weigh more, or the error be relative to what is judged."""
    frame = pd.DataFrame(
        {"triple": [0, 0, 0, 1], "sensitivity": [3.0, 3.0, 3.0, 5.0], "derivative": [1.0] * 3 + [2]}
    )
    # √((2² + 3²)/(1² + 2²)).
    assert derivative_error(frame) == pytest.approx(np.sqrt(13 / 5), rel=1e-12)
