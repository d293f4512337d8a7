"""Gaussian kernels and their Nystrom factors in NumPy, apart from the learner's."""

import dataclasses

import numpy as np
from scipy.spatial.distance import cdist

# Eigenvalues between landmarks above this share of the largest one times their number are kept, as the learner does.
THRESHOLD = 1e-10


def bandwidths(count):
    """Those of kernel_trainings.kernels_text."""
    return np.geomspace(1.0, 100.0, count)


def kernel(first, second, bandwidth):
    """Values exp(-|x - z|^2 / (2 bandwidth^2)), rows of `first` by rows of `second`."""
    return np.exp(cdist(first, second, "sqeuclidean") / (-2.0 * bandwidth**2))


def factor(rows, landmarks, bandwidth):
    """V of rows x rank, such that the Nystrom approximation of the kernel between the rows is V V'."""
    values, vectors = np.linalg.eigh(kernel(landmarks, landmarks, bandwidth))
    kept = values > THRESHOLD * len(landmarks) * values[-1]
    return kernel(rows, landmarks, bandwidth) @ (vectors[:, kept] / np.sqrt(values[kept]))


def standardized(split):
    """The split with training rows of mean 0 and deviation 1 in every column, constant ones 0; it is tested on one."""
    deviation = split.train.std(axis=0)
    rows = (split.train - split.train.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    return dataclasses.replace(split, train=rows, test=rows[:1], test_labels=split.train_labels[:1])
