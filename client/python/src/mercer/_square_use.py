"""Which square matrices, and which of their columns, predictions of a model read."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mercer._gradient_terms import KernelGradient
from mercer._kernel_values import SQUARE_TYPES
from mercer._model_file import ModelFile


def square_rows(file: ModelFile) -> dict[str, npt.NDArray[np.int64]]:
    """For each square matrix that is read its columns that are."""
    rows: dict[str, set[int]] = {}
    of_gradients = (term.functions for term in file.gradients if isinstance(term, KernelGradient))
    for term in (*file.terms, *of_gradients):
        used = file.bases[term.basis].training_rows[np.abs(term.coefficients).sum(axis=1) > 0]
        for weights, spec in zip(term.weights, term.kernels):
            if spec.type in SQUARE_TYPES and weights.any():
                # A kernel that names no matrix reads the only one.
                for name in (spec.block,) if spec.block else file.preprocessing.squares[:1]:
                    rows.setdefault(name, set()).update(used.tolist())
    for repair in file.preprocessing.repairs:
        if repair.block in rows and repair.vectors.size > 0:
            rows[repair.block].update(repair.rows.tolist())
    return {name: np.array(sorted(rows[name]), dtype=np.int64) for name in file.preprocessing.squares if name in rows}
