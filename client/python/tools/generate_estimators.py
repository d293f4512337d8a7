"""Writes the modules of src/mercer/estimators from the learners' descriptions of a server.

    MERCER_SERVER_PROGRAM=build/release/bin/mercer-server python tools/generate_estimators.py

A learner that learns classes gives a classifier, one that learns numbers a regressor. Nothing here knows a
learner, but for the names that estimators of some have in the literature.
"""

import json
import pathlib
import textwrap

import mercer

OUTPUT = pathlib.Path(__file__).resolve().parents[1] / "src/mercer/estimators"
WIDTH = 120

# Of learners whose estimators are known under other names than their own with "Classifier" and "Regressor".
NAMES = {
    ("svm", "classification"): "KernelSVC",
    ("svm", "regression"): "KernelSVR",
    ("kernel_ridge", "regression"): "KernelRidge",
    ("lp_mkl", "classification"): "LpMKLClassifier",
    ("lp_mkl", "regression"): "LpMKLRegressor",
    ("csi", "classification"): "CSIClassifier",
    ("csi", "regression"): "CSIRegressor",
    ("ikl", "classification"): "IKLClassifier",
    ("mixed_norm_mkl", "classification"): "MixedNormMKLClassifier",
    ("mixed_norm_mkl", "regression"): "MixedNormMKLRegressor",
    ("sparse_multitask_svm", "classification"): "SparseMultiTaskSVM",
    ("svm_rfe", "classification"): "SVMRFE",
    ("coordinate_gradients", "classification"): "CoordinateGradients",
    ("coordinate_gradients", "regression"): "CoordinateGradientsRegressor",
}
ONLY = {"classification": "Regression only", "regression": "Classification only"}  # what the other kind leaves out
BASES = {"classification": "KernelClassifier", "regression": "KernelRegressor"}
# Learners with a table of the ranking of the columns, whose estimators select columns.
RANKING = {"svm_rfe", "coordinate_gradients"}
RANKING_BASES = {"classification": "RankingClassifier", "regression": "RankingRegressor"}
TASK_BASES = {"classification": "TaskClassifier", "regression": "TaskRegressor"}
KEYWORDS = {"lambda": "lambda_"}

MADE_BY = """Made by ``tools/generate_estimators.py`` from the descriptions of the server's learners.
A change belongs there."""

# name, type, default, text; `{default_kernels}` depends on the learner.
BEFORE = [
    (
        "kernels",
        "str or sequence of str",
        None,
        "The candidate kernels, as :mod:`mercer.kernels` explains: ``'gaussian median=0.5,1,2'``. 'precomputed' and "
        "'distance': `X` holds kernel values or distances, between all training rows in ``fit``, and of rows with the "
        "training rows in ``predict``; several matrices are a list, or an array with a last axis of kernels, which is "
        "what cross-validation takes, and `kernels` has one text for all of them or one for each. "
        "{default_kernels}",
    )
]
CLASSIFIER = [
    ("coding", "{'one_vs_all', 'one_vs_one'}", "one_vs_all", "How more than two classes become outputs."),
    (
        "class_weight",
        "'balanced' or dict",
        None,
        "Factors of the cost by class. 'balanced': ``n_samples / (n_classes * n_samples_of_the_class)``.",
    ),
]
REGRESSOR = [
    (
        "target_scaling",
        "{'standardize', 'none'}",
        "standardize",
        "Whether the target has mean 0 and deviation 1 in training, so that C, epsilon and lambda do not depend on "
        "its unit. Predictions and the certificate are in its unit either way.",
    ),
]
AFTER_KERNELS = [
    (
        "square_repair",
        "{'none', 'check', 'shift', 'clip', 'flip'}",
        "none",
        "What becomes of precomputed kernels with negative eigenvalues: ``check`` refuses them and says how large the "
        "violation is, ``shift`` adds to the diagonal, ``clip`` makes them 0, ``flip`` changes their sign.",
    ),
]
AFTER = [
    (
        "scaling",
        "{'standardize', 'none', 'min_max', 'unit_norm'}",
        "standardize",
        "What is done to the columns first, with statistics of the training rows.",
    ),
    (
        "imputation",
        "{'refuse', 'mean_or_most_frequent'}",
        "refuse",
        "Whether NaN is an error, or replaced by the mean of the column, a missing category by the most frequent one.",
    ),
    (
        "unseen_category",
        "{'refuse', 'all_zeros'}",
        "refuse",
        "A category that ``fit`` did not see is an error in ``predict``, or has 0 for all categories.",
    ),
    ("tol", "float", 1e-3, "Relative duality gap to reach, in (0, 1): the certified accuracy of the optimum."),
    ("max_iter", "int", None, "Steps of the learner. None: a million."),
    ("time_limit", "float", None, "Seconds of training, after which the best model so far is taken."),
    ("random_state", "int, RandomState instance or None", None, "Of what is random. None: the same each time."),
    (
        "server",
        "mercer.Client or str",
        None,
        "Where to train; a text is an address. None: ``MERCER_SERVER`` of the environment, else one that is started "
        "for this process and those that it starts for parallel work (``n_jobs``).",
    ),
    (
        "model",
        "str",
        None,
        "Name of the model on the server, of which ``fit`` makes a new version that stays. None: one that is deleted "
        "with the estimator.",
    ),
    ("verbose", "bool", False, "Whether to show progress: a bar of the package tqdm, or lines without it."),
]
ATTRIBUTES = [
    ("model_", "LocalModel", "The model itself, which needs no server."),
    ("model_name_", "str", "Its name on the server."),
    ("job_name_", "str", "Of the job that trained it."),
    ("intercept_", "ndarray of shape (n_outputs,)", "Biases."),
    (
        "certificate_",
        "dict of str to float",
        "Bounds of the optimum, recomputed by the server after the training; where the problem is not convex (``p`` "
        "below 1) ``accuracy`` is a measure of stationarity, and ``dual`` no bound.",
    ),
    ("history_", "list of Progress", "The events of the job."),
    ("n_iter_", "int", "Steps of the learner."),
    ("n_features_in_", "int", "Number of features."),
    ("feature_names_in_", "ndarray of str", "Their names, where ``X`` had any."),
]
KERNEL_ATTRIBUTES = [
    ("kernel_names_", "ndarray of str", "Of all candidate kernels."),
    ("kernel_weights_", "ndarray of shape (n_kernels,) or (n_kernels, n_outputs)", "As the learner defines them."),
]
FEATURE_ATTRIBUTES = [
    ("chosen_features_", "ndarray of str", "The groups of features that were chosen."),
    (
        "chosen_weights_",
        "ndarray of shape (n_groups,) or (n_groups, n_outputs)",
        "Euclidean norms of their weights, as the learner defines them.",
    ),
]
RANKING_ATTRIBUTES = [
    ("ranking_", "ndarray of shape (n_features,)", "The place of each feature, 1 being the best; no two are alike."),
    ("support_", "ndarray of shape (n_features,)", "Whether the model keeps each feature."),
    ("n_features_", "int", "How many it keeps."),
]
CLASSES = ("classes_", "ndarray of shape (n_classes,)", "The classes.")

TYPES = {1: "bool", 2: "int", 3: "float", 4: "str", 5: "str", 6: "sequence of float"}
ANNOTATIONS = {"bool": "bool", "int": "int", "float": "float", "str": "str"}


def class_name(learner, kind):
    """Of the estimator of a learner, for ``"classification"`` or ``"regression"``."""
    suffix = {"classification": "Classifier", "regression": "Regressor"}[kind]
    return NAMES.get((learner, kind), "".join(word.capitalize() for word in learner.split("_")) + suffix)


def bases_of(learner):
    """The class that an estimator of each kind is made from."""
    if learner.name in RANKING:
        return RANKING_BASES
    return TASK_BASES if learner.several_tasks else BASES


def home_of(learner):
    """The module of these classes."""
    if learner.name in RANKING:
        return "_ranking_estimator"
    return "_task_estimator" if learner.several_tasks else "_estimator"


def default_of(option):
    """The default of an option as a value of Python."""
    text = option.default_value
    kind = TYPES[option.type]
    if kind == "bool":
        return text == "true"
    if kind in ("int", "float"):
        return {"int": int, "float": float}[kind](text)
    return text if kind == "str" else tuple(float(cell) for cell in text.strip("[]").split(",") if cell.strip())


def option_parameter(option):
    """(name, type, default, text) of an option."""
    kind = TYPES[option.type]
    if option.choices:
        kind = "{" + ", ".join(repr(choice) for choice in option.choices) + "}"
    text = option.meaning.removeprefix("Regression only: ").removeprefix("Classification only: ")
    text = text[0].upper() + text[1:]
    if option.unit:
        text += f" Unit: {option.unit}."
    if not option.choices:
        text += f" In {option.range}."
    default = default_of(option)
    if option.prevents_default_path:
        text += f" None: {default_path_of(option)}{option.default_value}."
        default = None
    return KEYWORDS.get(option.name, option.name), kind, default, text


def default_path_of(option):
    """What comes before the default of an option that is left open."""
    if not option.default_path:
        return ""
    values = ", ".join(f"{value:g}" for value in option.default_path)
    return f"the best of {values} by cross-validation (with `time_limit` on rows held out); of very few rows "


def parameters_of(learner, kind):
    """All parameters of an estimator, those of the learner first."""
    options = [o for o in learner.options if not o.meaning.startswith(ONLY[kind])]
    own = [option_parameter(option) for option in options]
    default = f"None: {learner.default_kernels}."
    kernels = [(n, k, v, text.format(default_kernels=default)) for n, k, v, text in BEFORE]
    extra = {"classification": CLASSIFIER, "regression": REGRESSOR}[kind]
    if learner.uses_kernels:
        return own, kernels + own + extra + AFTER_KERNELS + AFTER
    return own, own + extra + AFTER


def fill(text, indent):
    """Text as lines of a docstring."""
    return textwrap.fill(text, WIDTH, initial_indent=indent, subsequent_indent=indent, break_long_words=False)


def section(title, entries):
    """A section of a docstring, as numpydoc wants it."""
    lines = [f"    {title}", "    " + "-" * len(title)]
    for head, text in entries:
        lines += [f"    {head}", fill(text, " " * 8)]
    return "\n".join(lines)


def annotation(kind, default):
    """The type of a parameter, as Python writes it."""
    if default is None or kind not in ANNOTATIONS and not isinstance(default, (str, bool, float, int)):
        return "Any"
    return type(default).__name__


def literal(value):
    """A value as Python writes it."""
    return 'float("inf")' if value == float("inf") else ('"' + value + '"' if isinstance(value, str) else repr(value))


def estimator(learner, kind):
    """The source of one class."""
    own, parameters = parameters_of(learner, kind)
    name = class_name(learner.name, kind)
    heads = [(f"{n} : {k}, default={v!r}", text) for n, k, v, text in parameters]
    found = KERNEL_ATTRIBUTES if learner.uses_kernels else FEATURE_ATTRIBUTES
    found = found + RANKING_ATTRIBUTES if learner.name in RANKING else found
    attributes = ([CLASSES] if kind == "classification" else []) + ATTRIBUTES[:3] + found + ATTRIBUTES[3:]
    doc = [
        f'    """{learner.title}, for {"classes" if kind == "classification" else "numbers"}.\n',
        fill(learner.summary, "    ") + "\n",
        section("Parameters", heads) + "\n",
        section("Attributes", [(f"{n} : {k}", text) for n, k, text in attributes]),
        '    """',
    ]
    options = "".join(f'"{n}", ' for n, *_ in own)
    body = [
        f'    _learner = "{learner.name}"',
        f"    _options = ({options.rstrip()})" + ("\n" if learner.uses_kernels else ""),
        *([] if learner.uses_kernels else ["    _uses_kernels = False\n"]),
        "    def __init__(\n        self,\n        *,",
        *(f"        {n}: {annotation(k, v)} = {literal(v)}," for n, k, v, _ in parameters),
        "    ) -> None:",
        *(f"        self.{n} = {n}" for n, *_ in parameters),
    ]
    return name, "\n".join([f"class {name}({bases_of(learner)[kind]}):", *doc, "", *body])


def module_of(learner, kind):
    """The name of the module with the class of this kind: that of a learner's second class has a name of its own."""
    second = kind == "regression" and learner.classification
    return f"{learner.name}_regression" if second else learner.name


def module(learner, kind):
    """(name, source) of the module with the class of this kind."""
    name, source = estimator(learner, kind)
    base = f"from mercer.{home_of(learner)} import {bases_of(learner)[kind]}"
    imports, exports = [base], [name]
    if kind == "classification" and learner.regression:
        # Objects that were pickled before it had a module of its own look for the other class here.
        other = class_name(learner.name, "regression")
        imports.append(f"from mercer.estimators.{module_of(learner, 'regression')} import {other}")
        exports.append(other)
    head = [
        f'"""{learner.title}.\n\n{MADE_BY}\n"""\n',
        "from __future__ import annotations\n",
        "from typing import Any\n",
        "\n".join(imports) + "\n",
        f"__all__ = {json.dumps(exports)}",
    ]
    return module_of(learner, kind), "\n\n\n".join(["\n".join(head), source]) + "\n"


def generate(learners):
    """The source of every module, by file name."""
    made = {
        class_name(learner.name, kind): module(learner, kind)
        for learner in learners
        for kind in ONLY
        if getattr(learner, kind)
    }
    names = sorted(made)
    imports = sorted(f"from mercer.estimators.{made[name][0]} import {name}" for name in names)
    listed = "\n".join(["__all__ = [", *(f'    "{name}",' for name in names), "]"])
    doc = f'"""Estimators for scikit-learn, one or two for each learner.\n\n{MADE_BY}\n"""'
    package = "\n\n".join([doc, "\n".join(imports), listed]) + "\n"
    return {"__init__.py": package, **{f"{name}.py": source for name, source in made.values()}}


if __name__ == "__main__":
    OUTPUT.mkdir(exist_ok=True)
    with mercer.local() as client:
        for file, source in generate(client.learners()).items():
            (OUTPUT / file).write_text(source, encoding="utf-8")
