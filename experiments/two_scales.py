"""Made data sets of two classes whose border varies slowly in one place or direction, and fast in another."""

import numpy as np

ROWS = 1500
NOISE = 0.1  # deviation of what is added to the function whose sign is the class
SEED = 1


def two_scales():
    """The sign of sin(pi x1) + 0.7 sin(12 pi x2): every class depends on a slow and on a fast wave."""
    return _rows(lambda x: np.sin(np.pi * x[:, 0]) + 0.7 * np.sin(12 * np.pi * x[:, 1]))


def two_regions():
    """The sign of sin(16 pi x2) where x1 > 0.3, and of sin(pi x2) elsewhere."""
    return _rows(lambda x: np.where(x[:, 0] > 0.3, np.sin(16 * np.pi * x[:, 1]), np.sin(np.pi * x[:, 1])))


def _rows(function):
    """Inputs, uniform in [-1, 1]^2, and classes, -1 and +1."""
    random = np.random.default_rng(SEED)
    inputs = random.uniform(-1.0, 1.0, (ROWS, 2))
    return inputs, np.where(function(inputs) + NOISE * random.normal(size=ROWS) > 0, 1.0, -1.0)
