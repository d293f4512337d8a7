"""Images as data: patches are slices of arrays."""

import numpy as np
import pytest

import mercer
from mercer._images import images_part, patch_spec


def write_pgm(path, pixels):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"P5 %d %d 255\n" % pixels.shape[::-1] + pixels.tobytes())


def noise(rows, columns, dtype=np.uint8, seed=0):
    random = np.random.default_rng(seed)
    return random.integers(0, np.iinfo(dtype).max, size=(rows, columns), endpoint=True, dtype=dtype)


def patches(pixels, rows, columns, stride=1):
    """All patches on the grid, row by row."""
    windows = np.lib.stride_tricks.sliding_window_view(pixels, (rows, columns))[::stride, ::stride]
    return windows.reshape(-1, rows * columns).astype(float)


@pytest.fixture
def same(client):
    """Whether two data sets have the same rows in the same order, whatever they were uploaded as."""

    def compare(dataset, expected, classes=None, name="label"):
        shown = dataset.describe()
        rows, width = expected.shape
        assert (dataset.rows, dataset.num_columns) == (rows, width)
        names = [column.name for column in shown.blocks[0].columns]
        table = client.upload(
            expected,
            None if classes is None else np.asarray(classes, dtype=object),
            names=names,
            target_name=name,
            blocks={"pixels": names},
        )
        return table.message.digest == dataset.message.digest

    return compare


def test_patches_are_slices(client, same):
    first, second = noise(20, 17), noise(9, 12, seed=1)
    dataset = client.upload_images([first, second], ["a", "b"], patch=(4, 3), stride=2)
    expected = [patches(image, 4, 3, 2) for image in (first, second)]
    classes = ["a"] * len(expected[0]) + ["b"] * len(expected[1])
    assert same(dataset, np.vstack(expected), classes)
    assert not same(dataset, np.vstack(expected[::-1]), classes)
    names = [column.name for column in dataset.describe().blocks[0].columns]
    assert names[:4] == ["pixel_1_1", "pixel_1_2", "pixel_1_3", "pixel_2_1"]


def test_whole_images_of_two_bytes_are_rows(client, same):
    images = np.stack([noise(5, 6, np.uint16), noise(5, 6, np.uint16, 1)])
    dataset = client.upload_images(images)
    assert same(dataset, images.reshape(2, 30).astype(float))
    assert not dataset.describe().role_columns


def test_regions_are_slices(client, same):
    image = noise(12, 15)
    inner = image[2:9, 3:15]
    assert same(client.upload_images([image], patch=5, region=(2, 3, 7, 0)), patches(inner, 5, 5))
    assert same(client.upload_images([image], region=(2, 3, 7, 12)), inner.reshape(1, -1).astype(float))


def test_arrays_in_any_order_of_memory_are_the_same_images(client):
    image = noise(8, 10, np.uint16)
    plain = client.upload_images([image], patch=3)
    for other in (image.copy(order="F"), np.repeat(image, 2, axis=1)[:, ::2], image.astype(">u2")):
        assert client.upload_images([other], patch=3).name == plain.name


def test_random_patches_are_some_of_the_grid(client, same):
    image = noise(10, 10)
    dataset = client.upload_images([image], patch=2, count=81, seed=3)
    assert same(dataset, patches(image, 2, 2))  # all places there are, in the order of the grid
    digests = {client.upload_images([image], patch=2, count=5, seed=seed).message.digest for seed in range(8)}
    assert len(digests) > 1


def test_patches_of_an_image_are_a_group(client):
    dataset = client.upload_images([noise(4, 4), noise(3, 3)], patch=3, group_name="image")
    (group,) = dataset.describe().role_columns
    assert (group.name, group.role) == ("image", 5)
    assert [(v.value, v.count) for v in group.value_counts] == [("images[0]", 4), ("images[1]", 1)]


def test_folders_of_classes(client, same, tmp_path):
    images = {"sand": [noise(4, 4, seed=1), noise(4, 4, seed=2)], "grass": [noise(4, 4, seed=3)]}
    for label, members in images.items():
        for i, pixels in enumerate(members):
            write_pgm(tmp_path / label / f"part/{i}.PGM", pixels)
    (tmp_path / "sand/notes.txt").write_text("not an image")
    (tmp_path / ".hidden").mkdir()
    ordered = images["grass"] + images["sand"]
    expected = np.vstack([pixels.reshape(1, -1) for pixels in ordered]).astype(float)
    classes = ["grass", "sand", "sand"]
    dataset = client.upload_images(tmp_path, target_name="texture")
    described = dataset.describe()
    assert [(v.value, v.count) for v in described.role_columns[0].value_counts] == [("grass", 1), ("sand", 2)]
    assert same(dataset, expected, classes, "texture")
    paths = [tmp_path / "grass/part/0.PGM", str(tmp_path / "sand/part/0.PGM"), tmp_path / "sand/part/1.PGM"]
    assert client.upload_images(paths, classes, target_name="texture").message.digest == dataset.message.digest
    assert same(client.upload_images(tmp_path / "sand/part"), expected[1:])


def test_the_server_names_the_bad_image(client, tmp_path):
    good, bad = tmp_path / "good.pgm", tmp_path / "bad.pgm"
    write_pgm(good, noise(4, 4))
    bad.write_bytes(good.read_bytes()[:-1])
    with pytest.raises(mercer.InvalidRequestError) as caught:
        client.upload_images([good, bad])
    assert caught.value.reason == "BAD_IMAGE"
    assert caught.value.metadata["image"] == str(bad)
    with pytest.raises(mercer.InvalidRequestError) as caught:
        client.upload_images([noise(8, 8), noise(8, 3)], patch=4)
    assert [v.field for v in caught.value.field_violations] == ["header.parts[0].images.patch.columns"]
    assert "images[1]" in caught.value.field_violations[0].description


@pytest.mark.parametrize(
    "images, target, message",
    [
        ([], None, "no image"),
        ([np.zeros((2, 2))], None, "uint8 or uint16, is float64"),
        ([np.zeros((2, 2, 3), np.uint8)], None, r"images\[0\] must have two dimensions"),
        ([np.zeros((0, 2), np.uint8)], None, "two dimensions"),
        ([np.zeros((2, 2), np.uint8)], ["a", "b"], "each of 1 images"),
        ([np.zeros((2, 2), np.uint8)], [None], "class of image 0 is missing"),
        ([np.zeros((2, 2), np.uint8)], [float("nan")], "class of image 0 is missing"),
    ],
)
def test_what_is_no_image_is_refused(images, target, message):
    with pytest.raises(ValueError, match=message):
        images_part(images, target, None, "label")


def test_bad_folders_are_refused(tmp_path):
    with pytest.raises(ValueError, match="no .pgm or .png file"):
        images_part(tmp_path, None, None, "label")
    (tmp_path / "sand").mkdir()
    with pytest.raises(ValueError, match="no .pgm or .png file in .*sand"):
        images_part(tmp_path, None, None, "label")
    write_pgm(tmp_path / "sand/a.pgm", noise(2, 2))
    with pytest.raises(ValueError, match="not a target"):
        images_part(str(tmp_path), ["a"], None, "label")
    write_pgm(tmp_path / "b.pgm", noise(2, 2))
    with pytest.raises(ValueError, match="beside the folders"):
        images_part(tmp_path, None, None, "label")
    (tmp_path / "b.pgm").write_bytes(b"")
    with pytest.raises(ValueError, match="empty"):
        images_part([tmp_path / "b.pgm"], None, None, "label")


@pytest.mark.parametrize(
    "arguments, message",
    [
        ((None, 2, 0, 0, None), "about patches"),
        ((None, 1, 5, 0, None), "about patches"),
        ((0, 1, 0, 0, None), "both >= 1"),
        (((2, 3, 4), 1, 0, 0, None), "rows and columns"),
        ((2, 0, 0, 0, None), "stride"),
        ((2, 1, 0, 0, (1, 2)), "region"),
    ],
)
def test_bad_patches_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        patch_spec(*arguments)


def test_large_images_are_sent_in_chunks_of_bounded_size():
    images = [noise(3000, 2000), *[noise(20, 20)] * 50, noise(1, 5_000_000)]
    part = images_part(images, None, None, "label")
    sizes = [len(chunk) for chunk in part.read()]
    assert max(sizes) <= 4 << 20
    assert sum(sizes) == sum(file.size_bytes for file in part.description.images.files)
