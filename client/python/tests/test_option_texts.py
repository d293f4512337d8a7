"""Options of learners that the messages do not have travel as texts."""

import numpy as np
import pytest

from mercer import _training


@pytest.mark.parametrize(
    "value, text",
    [
        (True, "true"),
        (np.bool_(False), "false"),
        (1000, "1000"),
        (np.int64(-3), "-3"),
        (1000.0, "1000"),
        (np.float32(4), "4"),
        (2.5, "2.5"),
        (1e300, "1e+300"),
        (float("inf"), "inf"),
        ("newton", "newton"),
        ([1, 0.5], "[1, 0.5]"),
        (np.array([1e-3, 2.0]), "[0.001, 2]"),
        ((), "[]"),
    ],
)
def test_an_option_is_written_as_the_server_reads_it(value, text):
    message = _training.learner_message("not_in_the_messages", {"option_": value}, ())
    assert dict(message.other.options) == {"option": text}


def test_an_option_that_has_a_name_of_its_own_in_json_is_set_by_it():
    assert _training.learner_message("svm", {"C": 3}, ()).svm.c == 3
    with pytest.raises(ValueError, match=r"Svm has no option 'c'; there are .*\bC\b"):
        _training.learner_message("svm", {"c": 3}, ())
