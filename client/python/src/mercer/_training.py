"""From Python's arguments to a TrainRequest."""

from __future__ import annotations

import datetime
import math
import numbers
import uuid
from typing import Any, Mapping, Optional, Sequence, Union

import numpy as np

from mercer import _proto
from mercer._names import full_name
from mercer._proto import v1
from mercer.kernels import Kernels, parse_all

SCALINGS = _proto.enum_words(_proto.enum("Scaling"))
IMPUTATIONS = _proto.enum_words(_proto.enum("Imputation"))
UNSEEN = _proto.enum_words(_proto.enum("UnseenCategory"))
SQUARE_REPAIRS = _proto.enum_words(_proto.enum("SquareRepair"))
CODINGS = _proto.enum_words(_proto.enum("CodingChoice"))
TARGET_SCALINGS = _proto.enum_words(_proto.enum("TargetScaling"))

Validation = Union[None, float, int, str]
Path = Optional[tuple[str, Sequence[float]]]
RankingTest = Union[bool, Sequence[int], None]
ClassWeight = Union[None, str, Mapping[Any, float]]


def choose(name: str, word: Optional[str], words: Mapping[str, int]) -> int:
    """The enumerator of a word; 0 for None."""
    if word is None:
        return 0
    if word not in words:
        raise ValueError(f"{name} must be one of {', '.join(words)}, is {word!r}")
    return words[word]


def learner_message(learner: str, options: Mapping[str, Any], kernels: Kernels) -> Any:
    """The message Learner. A trailing underscore of an option (``lambda_``) is no part of its name.

    A learner that the messages do not have is left to the server by its name.
    """
    message = v1.Learner()
    named = learner not in message.DESCRIPTOR.fields_by_name
    chosen = message.other if named else getattr(message, learner)
    chosen.SetInParent()
    if named:
        chosen.name = learner
    for name, value in options.items():
        if value is not None and named:
            chosen.options[name.rstrip("_")] = _option_text(value)
        elif value is not None:
            _set_option(chosen, name.rstrip("_"), value)
    grids = parse_all(kernels)
    if grids:
        chosen.kernels.extend(grids)
    return message


def _option_text(value: Any) -> str:
    """As the server reads it; a whole number has no point, for it may be for an option of whole numbers."""
    if isinstance(value, str):
        return value
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value)).lower()
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real):
        real = float(value)
        return str(int(real)) if real.is_integer() and abs(real) < 2**53 else repr(real)
    return f"[{', '.join(_option_text(float(each)) for each in value)}]"


def _set_option(message: Any, name: str, value: Any) -> None:
    # An option has the name of its field, or, as C does, the one that the field has in JSON.
    fields = [field for field in message.DESCRIPTOR.fields if field.message_type is None]
    options = {f.name if f.json_name == f.camelcase_name else f.json_name: f for f in fields}
    field = options.get(name)
    if field is None:
        raise ValueError(f"{message.DESCRIPTOR.name} has no option {name!r}; there are {', '.join(options)}")
    if field.enum_type is not None:
        value = choose(name, value, _proto.enum_words(field.enum_type))
    elif hasattr(getattr(message, field.name), "extend"):
        getattr(message, field.name).extend([value] if isinstance(value, (int, float)) else value)
        return
    elif field.type == field.TYPE_DOUBLE:
        value = float(value)
    setattr(message, field.name, value)


def validation_message(validation: Validation) -> Any:
    """None: none. A share in (0, 1): hold-out. A whole number: so many folds. ``"split"``: as a column says."""
    if validation is None:
        return None
    if isinstance(validation, str):
        if validation not in ("hold_out", "folds"):
            raise ValueError(f"validation must be a share, a number of folds, 'hold_out' or 'folds', is {validation!r}")
        hold_out = validation == "hold_out"
        return v1.Validation(hold_out=v1.HoldOut()) if hold_out else v1.Validation(folds=v1.Folds())
    if isinstance(validation, float):
        return v1.Validation(hold_out=v1.HoldOut(fraction=validation))
    return v1.Validation(folds=v1.Folds(count=validation))


def path_message(path: Path, keep_all: bool) -> Any:
    """None: none. The name of an option and its values; all models are kept, or the best alone."""
    if path is None:
        if keep_all:
            raise ValueError("keep_path needs a path")
        return None
    option, values = path
    return v1.OptionPath(option=option, values=[float(value) for value in values], keep_all=keep_all)


def stability_message(resamples: int) -> Any:
    """0: none. So many trainings on halves of the rows."""
    return v1.SelectionStability(resamples=resamples) if resamples else None


def ranking_test_message(test: RankingTest) -> Any:
    """None and False: none. True: numbers of columns that the server chooses; else these."""
    if test is None or test is False:
        return None
    if test is True:
        return v1.RankingTest()
    if isinstance(test, (int, str)) or len(test) == 0:
        raise ValueError(f"ranking_test must be True or numbers of columns, is {test!r}")
    return v1.RankingTest(columns=[int(count) for count in test])


def class_weights_message(weights: ClassWeight) -> Any:
    """None, ``"balanced"``, or a factor for each label."""
    if weights is None:
        return None
    if isinstance(weights, str):
        if weights != "balanced":
            raise ValueError(f"class_weight must be 'balanced' or a mapping of labels, is {weights!r}")
        return v1.ClassWeights(weighting=v1.CLASS_WEIGHTING_BALANCED)
    named = {str(label): float(weight) for label, weight in weights.items()}
    return v1.ClassWeights(weighting=v1.CLASS_WEIGHTING_EXPLICIT, weights=named)


def set_time_limit(message: Any, seconds: Optional[float]) -> None:
    """Of a message with the field ``time_limit``; None: no limit."""
    if seconds is None:
        return
    if not math.isfinite(seconds):
        raise ValueError(f"time_limit must be finite, is {seconds}")
    message.time_limit.FromTimedelta(datetime.timedelta(seconds=seconds))


def _set_stopping(
    request: Any, relative_gap: Optional[float], max_iterations: Optional[int], time_limit: Optional[float]
) -> None:
    if relative_gap is not None:
        request.stopping.relative_gap = relative_gap
    if max_iterations is not None:
        request.stopping.max_iterations = max_iterations
    set_time_limit(request.stopping, time_limit)


def _target_kind(regression: bool | None) -> Any:
    if regression is None:
        return v1.TARGET_KIND_UNSPECIFIED
    return v1.TARGET_KIND_REGRESSION if regression else v1.TARGET_KIND_CLASSIFICATION


def train_request(
    datasets: Sequence[str],
    learner: str,
    options: Mapping[str, Any],
    kernels: Kernels,
    settings: dict[str, Any],
) -> Any:
    """The message; :meth:`mercer.Client.train` explains `settings`, of which it makes use of every one."""
    request = v1.TrainRequest(
        target=settings.pop("target") or "",
        target_kind=_target_kind(settings.pop("regression")),
        target_scaling=choose("target_scaling", settings.pop("target_scaling"), TARGET_SCALINGS),
        coding=choose("coding", settings.pop("coding"), CODINGS),
        learner=learner_message(learner, options, kernels),
        validation=validation_message(settings.pop("validation")),
        path=path_message(settings.pop("path"), settings.pop("keep_path")),
        stability=stability_message(settings.pop("stability", 0)),
        ranking_test=ranking_test_message(settings.pop("ranking_test", None)),
        class_weights=class_weights_message(settings.pop("class_weight")),
        labels=settings.pop("labels") or {},
        display_name=settings.pop("display_name"),
        seed=settings.pop("seed"),
        threads=settings.pop("threads"),
        priority=settings.pop("priority"),
        request_id=settings.pop("request_id") or uuid.uuid4().hex,
    )
    for name in datasets:
        request.data.add(dataset=name, role=v1.DATA_ROLE_TASK if len(datasets) > 1 else 0)
    task = settings.pop("task")
    if task is not None:
        request.task = task
    model = settings.pop("model")
    if model:
        request.model = full_name(model, "models")
    request.preprocessing.scaling = choose("scaling", settings.pop("scaling"), SCALINGS)
    request.preprocessing.imputation = choose("imputation", settings.pop("imputation"), IMPUTATIONS)
    request.preprocessing.unseen_category = choose("unseen_category", settings.pop("unseen_category"), UNSEEN)
    request.preprocessing.square_repair = choose("square_repair", settings.pop("square_repair"), SQUARE_REPAIRS)
    request.preprocessing.blocks.extend(settings.pop("blocks") or ())
    _set_stopping(request, settings.pop("relative_gap"), settings.pop("max_iterations"), settings.pop("time_limit"))
    if settings:
        raise TypeError(f"unknown arguments: {', '.join(settings)}")
    return request
