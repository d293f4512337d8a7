"""What exceptions say."""

import mercer.errors


def test_a_field_that_would_have_helped_is_called_as_the_argument():
    remedy = {"remedy": "csv.allow_missing"}
    error = mercer.errors.MercerError("row 1: the value is missing", reason="BAD_CELL", metadata=remedy)
    assert str(error) == "row 1: the value is missing [BAD_CELL]\n  see the argument allow_missing"
    assert str(mercer.errors.MercerError("no", reason="BAD_CELL")) == "no [BAD_CELL]"


def test_who_is_refused_learns_where_a_token_is_given():
    error = mercer.errors.AccessError("this server wants a token", code="UNAUTHENTICATED", reason="TOKEN_MISSING")
    assert str(error).startswith("this server wants a token [TOKEN_MISSING]\n  mercer.connect takes a token=")
    assert "MERCER_TOKEN" in str(error)
    refused = mercer.errors.AccessError("no scope", code="PERMISSION_DENIED", reason="SCOPE_MISSING")
    assert str(refused) == "no scope [SCOPE_MISSING]"
