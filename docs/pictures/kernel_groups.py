#!/usr/bin/env python3
"""Makes kernel-groups.png beside this file, with the package `mercer` and matplotlib: fruit with three descriptions."""

import pathlib

import matplotlib

matplotlib.use("agg")
import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402

from mercer.estimators import MixedNormMKLClassifier  # noqa: E402
from mercer.plots import KernelWeightsDisplay  # noqa: E402

random = np.random.default_rng(5)
shape, colour, surface = random.normal(size=(3, 400, 3))
score = np.sin(3 * shape[:, 0]) + (colour**2).sum(axis=1) / 3 - 1 + surface @ [0.5, -0.5, 0.2]
blocks = {"shape": shape, "colour": colour, "surface": surface}
rows = pd.concat([pd.DataFrame(values).add_prefix(name) for name, values in blocks.items()], axis=1)
kernels = []
for name in blocks:
    columns = ",".join(f"{name}{number}" for number in range(3))
    kernels.append(f"gaussian bandwidths=0.25,0.5,1,2,4,8,16 columns={columns} name={name} group={name}")
    kernels.append(f'linear columns={columns} name="{name}, linear" group={name}')
model = MixedNormMKLClassifier(kernels=kernels).fit(rows, np.where(score > 0, "ripe", "green"))
display = KernelWeightsDisplay.from_estimator(model, most=12)
display.figure_.savefig(pathlib.Path(__file__).with_name("kernel-groups.png"), dpi=80)
