"""What exceptions say."""

import mercer.errors


def test_a_field_that_would_have_helped_is_called_as_the_argument():
    remedy = {"remedy": "csv.allow_missing"}
    error = mercer.errors.MercerError("row 1: the value is missing", reason="BAD_CELL", metadata=remedy)
    assert str(error) == "row 1: the value is missing [BAD_CELL]\n  see the argument allow_missing"
    assert str(mercer.errors.MercerError("no", reason="BAD_CELL")) == "no [BAD_CELL]"
