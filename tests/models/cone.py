"""What of a vector no sum of given vectors with nonnegative weights makes up."""

import numpy as np
from scipy.optimize import lsq_linear, nnls

from tests.models.bodies import Array

# Along a least residual no column goes down by more than this part of its own size and f's.
_OPTIMAL = 1e-9


def residual_of_cone(E: Array, f: Array) -> Array:
    """E x − f for the x ≥ 0 that makes it least, proven so.

    On some processors scipy's nnls stops before it is there, and says otherwise (its issue 25389): an answer of its
    without proof is asked for again of a slower method.
    """
    least = -_OPTIMAL * float(np.abs(E).max() * np.linalg.norm(f))
    for x in (nnls(E, f)[0], lsq_linear(E, f, (0.0, np.inf), method="bvls", tol=1e-15).x):
        residual: Array = E @ x - f
        if (E.T @ residual).min() >= least:
            return residual
    raise AssertionError("no method found the least residual")
