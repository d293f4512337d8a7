"""Trainings on several descriptions: kernels on each, and the machines that a user would take instead."""

import numpy as np
import pandas as pd
import views as sets
from mercer.local_model import load_model
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from trainings import durations

# Widths of the kernels as multiples of the mean distance of the training rows.
MULTIPLES = tuple(2.0**power for power in range(-4, 5))
ZERO_SHARE = 1e-4  # of the largest weight
# Of one over the number of columns: the gammas of an SVC on all of them.
SVC_MULTIPLES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)


def kernel_texts(views, blocks, train, scaling):
    """Nine widths of one kernel on each description, each description a group."""
    texts = []
    for name, values in blocks.items():
        widths = np.array(MULTIPLES) * sets.mean_distance(views, values[train])
        # exp(-d / w) of squared distances is the Gaussian kernel whose bandwidth has the square w / 2.
        widths = widths if views.histograms else np.sqrt(widths / 2)
        kernel = "chi_square" if views.histograms else "gaussian"
        listed = ",".join(f"{width:.17g}" for width in widths)
        texts.append(f"{kernel} block={name} group={name} bandwidths={listed} scaling={scaling}")
    return texts


def _upload(client, blocks, rows, labels=None):
    columns = {f"{name}_{c}": values[rows, c] for name, values in blocks.items() for c in range(values.shape[1])}
    members = {name: [f"{name}_{c}" for c in range(values.shape[1])] for name, values in blocks.items()}
    frame = pd.DataFrame(columns)
    if labels is not None:
        frame["class"] = [f"c{label}" for label in labels[rows]]
        return client.upload(frame, "class", blocks=members)
    return frame


def train(client, views, rows, test, settings, threads):
    """Trains mixed_norm_mkl one against one and tests it.

    Returns
    -------
    dict
        ``accuracy`` in percent, and ``class_accuracies``, of the test rows of each class, classes in their order; the
        times of `trainings.durations`; ``gap``: the largest of the pairs; ``zeros``: share of weights below 1e-4 of the
        pair's largest in percent; ``groups`` in use.
    """
    blocks = sets.prepared(views, rows)
    kernels = kernel_texts(views, blocks, rows, settings["scaling"])
    options = {name: value for name, value in settings.items() if name not in ("scaling", "gap")}
    dataset = _upload(client, blocks, rows, views.labels)
    job = client.train(
        dataset, "mixed_norm_mkl", options, kernels=kernels, scaling="none", coding="one_vs_one",
        relative_gap=settings["gap"], threads=threads,
    )  # fmt: skip
    events = list(job.progress())
    model = job.result()
    local = load_model(model.export())
    predicted = local.predict(_upload(client, blocks, test).to_numpy())
    right = np.array([p == f"c{label}" for p, label in zip(predicted, views.labels[test])])
    weights = np.asarray(local.kernel_weights)
    used = weights > ZERO_SHARE * weights.max(axis=0)
    groups = used.reshape(len(blocks), len(MULTIPLES), -1).any(axis=1).sum(axis=0)
    return {
        "accuracy": 100.0 * float(right.mean()),
        "class_accuracies": [
            100.0 * float(right[views.labels[test] == label].mean()) for label in np.unique(views.labels[test])
        ],
        **durations(events),
        "gap": float(local.certificate["accuracy"]),
        "zeros": 100.0 * float(1 - used.mean()),
        "groups": float(groups.mean()),
        "rows": len(rows),
    }


def best_kernel(views, rows, test):
    """An SVC on one kernel of one description, chosen with C by cross-validation among all of them."""
    best = None
    for name, values in sets.prepared(views, rows).items():
        scaled = sets.distances(views, values) / sets.mean_distance(views, values[rows])
        for multiple in MULTIPLES:
            gram = np.exp(-scaled / multiple)
            search = _search(gram, views, rows)
            if best is None or search.best_score_ > best[0].best_score_:
                best = search, gram, name, multiple
    search, gram, name, multiple = best
    return {**_tested(search, gram, views, rows, test), "description": name, "multiple": multiple}


def average_kernel(views, rows, test):
    """An SVC on the mean of one kernel of each description, its width the mean distance; C by cross-validation."""
    blocks = sets.prepared(views, rows)
    gram = np.mean(
        [
            np.exp(-sets.distances(views, values) / sets.mean_distance(views, values[rows]))
            for values in blocks.values()
        ],
        axis=0,
    )
    return _tested(_search(gram, views, rows), gram, views, rows, test)


def _search(gram, views, rows):
    search = GridSearchCV(SVC(kernel="precomputed"), {"C": [1.0, 10.0, 100.0]}, cv=3)
    return search.fit(gram[np.ix_(rows, rows)], views.labels[rows])


def _tested(search, gram, views, rows, test):
    accuracy = search.score(gram[np.ix_(test, rows)], views.labels[test])
    return {"accuracy": 100.0 * float(accuracy), "C": search.best_params_["C"]}


def concatenated(views, rows, test):
    """An SVC with a Gaussian kernel on all descriptions side by side, standardised, C and gamma by cross-validation."""
    features = np.hstack(list(views.blocks.values()))
    grid = {"svc__C": [1.0, 10.0, 100.0], "svc__gamma": [m / features.shape[1] for m in SVC_MULTIPLES]}
    search = GridSearchCV(make_pipeline(StandardScaler(), SVC()), grid, cv=3)
    search.fit(features[rows], views.labels[rows])
    return {"accuracy": 100.0 * float(search.score(features[test], views.labels[test])), **search.best_params_}
