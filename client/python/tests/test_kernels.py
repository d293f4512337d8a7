"""The words for kernels mean what they mean on the command line."""

import pytest

from mercer import kernels
from mercer._proto import v1


def test_families():
    grid = kernels.parse("gaussian bandwidths=1..100:12 per_column")
    assert (grid.min_bandwidth, grid.max_bandwidth, grid.count, grid.per_column) == (1, 100, 12, True)
    assert grid.rule == v1.BANDWIDTH_RULE_LOG_SPACED
    assert list(kernels.parse("laplacian bandwidths=1,2,4").bandwidths) == [1, 2, 4]
    median = kernels.parse("gaussian median=0.5,1")
    assert median.rule == v1.BANDWIDTH_RULE_MEDIAN_MULTIPLES
    assert list(median.bandwidths) == [0.5, 1]
    assert not kernels.parse("gaussian median").bandwidths
    spaced = kernels.parse("gaussian median=0.1..10:20")
    assert spaced.rule == v1.BANDWIDTH_RULE_MEDIAN_MULTIPLES
    assert (spaced.min_bandwidth, spaced.max_bandwidth, spaced.count) == (0.1, 10, 20)
    assert not kernels.parse("gaussian").HasField("bandwidth")


def test_parameters_and_columns():
    grid = kernels.parse('polynomial degree=2 offset=0 columns=age,"first, name" unit-diagonal scaling=mean_diagonal')
    assert (grid.type, grid.degree, grid.offset) == (v1.KERNEL_TYPE_POLYNOMIAL, 2, 0)
    assert grid.HasField("offset") and not grid.HasField("scale")
    assert list(grid.columns) == ["age", "first, name"]
    assert grid.normalization.unit_diagonal
    assert grid.normalization.scaling == v1.KERNEL_SCALING_MEAN_DIAGONAL


def test_names_and_groups():
    grid = kernels.parse('gaussian bandwidths=1,2 name=hue group="colours of pixels"')
    assert (grid.name, grid.group) == ("hue", "colours of pixels")
    assert (kernels.parse("linear").name, kernels.parse("linear").group) == ("", "")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "must begin with one of linear"),
        ("sigmoid", "must begin with one of linear"),
        ("gaussian width=1", "unknown word"),
        ("gaussian width=1", "; did you mean 'bandwidth'?"),
        ("gaussian bandwith=1", "; did you mean 'bandwidth' or 'bandwidths'?"),
        ("rbf", "; did you mean 'gaussian'?"),
        ("gausian", "; did you mean 'gaussian'?"),
        ("gaussian gamma=0.5", "gamma: kernels have a bandwidth, .*: bandwidth=1$"),
        ("laplacian gamma=0.5", "gamma: kernels have a bandwidth, here 1 / gamma: bandwidth=2$"),
        ("chi_square gamma=0.5", r"gamma: kernels have a bandwidth, here 1 / \(2 gamma\): bandwidth=1$"),
        ("polynomial gamma=0.5", "gamma: is called scale here: scale=0.5$"),
        ("gaussian gamma=scale", "'median' takes it from the data"),
        ("gaussian bandwidth=wide", "must be a number"),
        ("gaussian bandwidth=1 median", "already"),
        ("gaussian bandwidth=1 bandwidth=2", "given twice"),
        ("gaussian bandwidths=1..2", "bandwidths: must be FIRST..LAST:COUNT"),
        ("gaussian median=1..2", "median: must be FIRST..LAST:COUNT"),
        ("linear scaling=unit", "must be one of none, trace"),
        ('linear columns="a', "quote is not closed"),
        ("linear per_column=maybe", "true or false"),
        ("linear name", "name: is empty"),
        ("linear name=a name=b", "name: is given twice"),
        ('linear group=""', "group: is empty"),
    ],
)
def test_nonsense_is_named(text, word):
    with pytest.raises(kernels.KernelError, match=word):
        kernels.parse(text)


def test_other_things_than_texts_are_refused():
    assert kernels.parse_all(None) == []
    assert len(kernels.parse_all("linear")) == 1
    with pytest.raises(kernels.KernelError, match="are texts"):
        kernels.parse_all([3])
