"""Whether one method is better than another on the same divisions."""

import numpy as np
from scipy.stats import wilcoxon

# Decimals to which differences are told apart: accuracies of equal counts may differ in their last bits.
DIGITS = 9


def accuracy_differences(records, others):
    """Accuracies of `records` less those of `others`, of the divisions that both have."""
    return np.round([a["accuracy"] - b["accuracy"] for a, b in zip(records, others, strict=True) if a and b], DIGITS)


def mean_difference(differences):
    """The mean and its standard error as a text; None of less than two."""
    if len(differences) < 2:
        return None
    return f"{differences.mean():+.2f} ± {differences.std(ddof=1) / np.sqrt(len(differences)):.2f}"


def wilcoxon_p(differences):
    """The two-sided p of Wilcoxon's signed-rank test as a text; None of less than two.

    With five differences or fewer it is never below 0.05.
    """
    if len(differences) < 2:
        return None
    return f"{wilcoxon(differences).pvalue:.3f}" if np.any(differences) else "1.000"
