"""What notebooks show of data sets, jobs and models."""

import html.parser

import numpy as np
import pandas as pd
import pytest

import mercer


class Cells(html.parser.HTMLParser):
    """The texts of a table; fails for tags that are not closed."""

    def __init__(self, content):
        super().__init__()
        self.open, self.texts, self.tags = [], [], set()
        self.feed(content)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data.replace("\xa0", " "))


@pytest.fixture(scope="module")
def trained(client, rings):
    features, labels = rings
    frame = pd.DataFrame(features, columns=["a<b>", "c", "d"]).assign(ring=labels)
    dataset = client.upload(frame, "ring", labels={"kind": "<script>"})
    job = client.train(
        dataset, "lp_mkl", kernels="gaussian median per_column", validation=0.25, display_name="<i>rings</i>"
    )
    job.wait()
    return dataset, job, job.result()


def test_all_is_escaped(trained):
    for shown in trained:
        cells = Cells(shown._repr_html_())
        assert cells.tags <= {"div", "strong", "table", "tr", "th", "td", "progress", "br"}
        assert cells.texts[0] == shown.name


def test_data_sets(trained):
    texts = Cells(trained[0]._repr_html_()).texts
    assert {"240", "3", "target ring"} <= set(texts)
    assert any("kind <script>" in text for text in texts)


def test_jobs(client, trained, long_training):
    texts = Cells(trained[1]._repr_html_()).texts
    assert {"succeeded", "<i>rings</i>", "lp_mkl", trained[0].name, trained[2].name} <= set(texts)
    features, labels, arguments = long_training
    job = client.train(client.upload(features, labels), **arguments)
    while not job.refresh().message.HasField("progress"):
        pass
    cells = Cells(job._repr_html_())
    assert "progress" in cells.tags
    assert "running" in cells.texts
    with pytest.raises(mercer.JobCancelledError):
        job.cancel().wait()
    assert "cancelled" in Cells(job._repr_html_()).texts


def test_models(trained):
    model = trained[2]
    texts = " ".join(Cells(model._repr_html_()).texts)
    assert f"held_out.accuracy {model.metrics()['held_out.accuracy']:.4g}" in texts
    name, weight = max(model.kernel_weights().items(), key=lambda pair: pair[1][0])
    assert f"{weight[0]:.3g} {name}" in texts
    assert f"{model.get().certificate.accuracy:.2g}; objective" in texts


def test_models_on_their_own(trained):
    local = mercer.load_model(trained[2].export())
    texts = " ".join(Cells(local._repr_html_()).texts)
    assert f"{local.kernel_weights.max():.3g} {local.kernel_names[local.kernel_weights.argmax()]}" in texts
    assert "inner, outer" in texts
    assert "converged" in texts


def test_a_model_that_is_gone_is_no_traceback(client):
    assert "not shown" in Cells(client.model("never-trained")._repr_html_()).texts


def test_features(client, rings):
    job = client.train(client.upload(rings[0], np.sign(rings[0][:, 0])), "infinite_features", {"max_groups": 3})
    model = job.wait()
    assert next(iter(model.feature_weights())) in " ".join(Cells(model._repr_html_()).texts)


def test_kernels_are_named_with_their_groups(client, rings):
    kernels = ["gaussian median group=near", "linear group=far", "laplacian median"]
    model = client.train(client.upload(*rings), "svm", kernels=kernels).wait()
    for shown in (model, mercer.load_model(model.export())):
        texts = " ".join(Cells(shown._repr_html_()).texts)
        assert "near: gaussian(" in texts and "far: linear" in texts and ": laplacian" not in texts
