"""Tokens and TLS, against a server that asks for both."""

import pickle
import shutil
import subprocess

import numpy as np
import pytest
import server_lib

import mercer

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl to make certificates")


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    """A server with TLS and tokens, and the folder of its files."""
    folder = tmp_path_factory.mktemp("access")
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"]
    files = ["-keyout", folder / "server.key", "-out", folder / "server.pem"]
    run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *subject, *files)
    lines = ""
    for name, scopes in (("ada", "read,train,predict"), ("ben", "predict"), ("cleo", "train"), ("dan", "read,train")):
        made = run(server_lib.BIN / "mercer-server", "token", "--name", name, "--scopes", scopes)
        lines += made.stdout
        (folder / name).write_text(made.stderr.strip().splitlines()[-1] + "\n")
    (folder / "tokens").write_text(lines)
    flags = ["--tokens", folder / "tokens", "--tls-cert", folder / "server.pem", "--tls-key", folder / "server.key"]
    with server_lib.Server(*map(str, flags)) as server:
        yield server.address, folder


def connect(guarded, name):
    address, folder = guarded
    return mercer.connect(address, ca=folder / "server.pem", token_file=folder / name)


def test_everything_over_tls(guarded, rings):
    features, labels = rings
    client = connect(guarded, "ada")
    model = client.train(client.upload(features, labels), "svm").wait()
    assert np.mean(model.predict(features) == labels) > 0.95
    copy = pickle.loads(pickle.dumps(client))
    assert copy.model(model.name).export() == model.export()
    with pytest.raises(mercer.AccessError) as caught:
        connect(guarded, "dan").model(model.model).update(display_name="mine")
    assert caught.value.reason == "NOT_OWNER"


def test_who_may_only_train_uploads_without_asking(guarded, rings):
    """The upload looks for equal content first, which needs another scope."""
    features, labels = rings
    client = connect(guarded, "cleo")
    large = np.random.default_rng(5).normal(size=(20_000, 40))
    for data, target in ((features, labels), (large, None)):
        names = {client.upload(data, target).name for _ in range(2)}
        assert len(names) == 1
    with pytest.raises(mercer.AccessError) as caught:
        next(client.datasets())
    assert (caught.value.reason, caught.value.metadata["scope"]) == ("SCOPE_MISSING", "read")


def test_strangers_are_refused(guarded):
    address, folder = guarded
    with pytest.raises(mercer.AccessError) as caught:
        mercer.connect(address, ca=folder / "server.pem", token="mercer_" + "0" * 64).learners()
    assert caught.value.reason == "TOKEN_UNKNOWN"
    with pytest.raises(mercer.AccessError) as caught:
        mercer.connect(address, ca=folder / "server.pem").learners()
    assert caught.value.reason == "TOKEN_MISSING"
    with pytest.raises(mercer.AccessError) as caught:
        connect(guarded, "ben").upload(np.eye(3))
    assert caught.value.reason == "SCOPE_MISSING"
