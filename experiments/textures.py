"""Patches of the Brodatz album's textures: left halves of the pictures to learn from, right halves to test on."""

import pathlib

import trainings

FILES = ("brodatz/D2.pgm", "brodatz/D29.pgm", "brodatz/D92.pgm")
PATCH = 16
TEST_PATCHES = 5000
# Row, column, rows and columns of the halves of the pictures, which have 300 x 300 pixels.
LEFT, RIGHT = (0, 0, 300, 150), (0, 150, 300, 150)


def learnt_from(client, folder, number, patches):
    """So many random patches of each left half, on the server."""
    return _upload(client, folder, patches, 2 * number, LEFT)


def tested_on(client, folder, number):
    """5000 random patches of each right half, on the server."""
    return _upload(client, folder, TEST_PATCHES, 2 * number + 1, RIGHT)


def train(client, learnt, tested, number, settings, threads):
    """Trains infinite_features on some patches, and tests it on others.

    Parameters
    ----------
    client : mercer.Client
    learnt, tested : mercer.datasets.Dataset
    number : int
        Of the division that drew the patches.
    settings : mapping
        ``gap``, and options of the learner.
    threads : int

    Returns
    -------
    dict
        ``accuracy``: in percent; ``groups``: filters with weights other than 0; ``seconds``, ``gap``, ``stop``,
        ``rounds``.
    """
    options = {name: value for name, value in settings.items() if name != "gap"}
    job = client.train(
        learnt, "infinite_features", options, scaling="none", relative_gap=settings["gap"], seed=number,
        threads=threads, display_name="brodatz",
    )  # fmt: skip
    events = list(job.progress())
    model = job.result()
    summary = model.get()
    return {
        **trainings.durations(events),
        "gap": summary.certificate.accuracy,
        "stop": trainings.stop_reason(summary),
        "groups": len(summary.feature_weights.features),
        "rounds": int(model.metrics()["features.rounds"]),
        "accuracy": 100.0 * model.evaluate(tested)["accuracy"],
    }


def _upload(client, folder, count, seed, region):
    paths = [pathlib.Path(folder) / file for file in FILES]
    return client.upload_images(
        paths, [path.stem for path in paths], patch=PATCH, count=count, seed=seed, region=region
    )  # fmt: skip
