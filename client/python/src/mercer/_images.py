"""From grayscale images to the part of an upload."""

from __future__ import annotations

import dataclasses
import os
import pathlib
from typing import Any, Callable, Iterable, Iterator, Optional, Sequence, Union

import numpy as np
import numpy.typing as npt

from mercer._content import CHUNK_BYTES, Bytes, Part, cut, read_file
from mercer._proto import v1
from mercer._tables import category_text

_ENDINGS = (".pgm", ".png")


@dataclasses.dataclass(frozen=True)
class Image:
    """One image: its name in errors, its number of bytes, and a function that reads them."""

    name: str
    num_bytes: int
    read: Callable[[], Iterator[Bytes]]
    label: str = ""


def patch_spec(
    patch: Union[None, int, Sequence[int]], stride: int, count: int, seed: int, region: Optional[Sequence[int]]
) -> Any:
    """The message ``PatchSpec``; None for whole images."""
    if patch is None and (stride != 1 or count or seed):
        raise ValueError("stride, count and seed are about patches; patch says how large they are")
    if patch is None and region is None:
        return None
    rows, columns = (0, 0) if patch is None else _sides(patch)
    spec = v1.PatchSpec(rows=rows, columns=columns, stride=stride, count=count, seed=seed)
    if stride < 1:
        raise ValueError(f"the stride must be >= 1, is {stride}")
    if region is not None:
        if len(region) != 4:
            raise ValueError(f"the region must be row, column, rows and columns, has {len(region)} numbers")
        spec.region.row, spec.region.column, spec.region.rows, spec.region.columns = map(int, region)
    return spec


def _sides(patch: Union[int, Sequence[int]]) -> tuple[int, int]:
    sides = (patch, patch) if isinstance(patch, (int, np.integer)) else tuple(patch)
    if len(sides) != 2 or min(sides) < 1:
        raise ValueError(f"a patch must have rows and columns, both >= 1, is {patch!r}")
    return int(sides[0]), int(sides[1])


def images_part(images: Any, target: Any, spec: Any, target_name: str, group_name: str = "") -> Part:
    """The table of an upload; :meth:`mercer.Client.upload_images` explains the arguments."""
    if isinstance(images, (str, os.PathLike)):
        if target is not None:
            raise ValueError("the classes of a folder of images are its folders, not a target")
        found = _folder_images(pathlib.Path(images))
    else:
        found = [_describe(image, f"images[{i}]") for i, image in enumerate(images)]
        if not found:
            raise ValueError("there is no image")
        found = _with_labels(found, target)
    named = target_name if found[0].label else ""
    description = v1.ImagesFormat(target_name=named, group_name=group_name, patch=spec)
    for image in found:
        description.files.add(name=image.name, label=image.label, size_bytes=image.num_bytes)
    return Part(v1.UploadPart(images=description), _read_all(found))


def _describe(image: Any, name: str) -> Image:
    if isinstance(image, (str, os.PathLike)):
        return _describe_file(pathlib.Path(image))
    return _describe_array(image, name)


def _describe_file(path: pathlib.Path, name: Optional[str] = None) -> Image:
    num_bytes = path.stat().st_size
    if num_bytes == 0:
        raise ValueError(f"the image {str(path)!r} is empty")
    return Image(name or str(path), num_bytes, read_file(path))


def _describe_array(image: Any, name: str) -> Image:
    pixels = np.asarray(image)
    if pixels.ndim != 2 or pixels.size == 0:
        raise ValueError(f"{name} must have two dimensions, rows and columns, has the shape {pixels.shape}")
    if pixels.dtype.kind != "u" or pixels.itemsize > 2:
        raise ValueError(f"{name} must be of type uint8 or uint16, is {pixels.dtype}")
    header = _pgm_header(pixels)
    return Image(name, len(header) + pixels.nbytes, lambda: _read_pgm(header, pixels))


def _pgm_header(pixels: npt.NDArray[Any]) -> bytes:
    return f"P5 {pixels.shape[1]} {pixels.shape[0]} {np.iinfo(pixels.dtype).max}\n".encode()


def _read_pgm(header: bytes, pixels: npt.NDArray[Any]) -> Iterator[Bytes]:
    yield header
    step = max(1, CHUNK_BYTES // (pixels.shape[1] * pixels.itemsize))
    for begin in range(0, pixels.shape[0], step):
        rows = np.ascontiguousarray(pixels[begin : begin + step], dtype=pixels.dtype.newbyteorder(">"))
        yield from cut(rows.tobytes())


def _with_labels(images: list[Image], target: Any) -> list[Image]:
    if target is None:
        return images
    values = np.asarray(target, dtype=object)
    if values.shape != (len(images),):
        raise ValueError(f"the target must have a class for each of {len(images)} images, has the shape {values.shape}")
    texts = ["" if value is None or value != value else category_text(value) for value in values.tolist()]
    if "" in texts:
        raise ValueError(f"the class of image {texts.index('')} is missing")
    return [dataclasses.replace(image, label=label) for image, label in zip(images, texts)]


def _folder_images(folder: pathlib.Path) -> list[Image]:
    """Of each subfolder, at any depth, or of the folder itself; by class, then by name."""
    classes = sorted(path.name for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    loose = sorted(path for path in folder.iterdir() if _is_image(path))
    if loose and classes:
        raise ValueError(f"the image {str(loose[0])!r} lies beside the folders of the classes, not in one")
    found = [_describe_file(path, path.name) for path in loose]
    for label in classes:
        members = sorted(_relative_images(folder, folder / label))
        if not members:
            raise ValueError(f"there is no .pgm or .png file in {str(folder / label)!r}")
        found += [dataclasses.replace(_describe_file(folder / name, name), label=label) for name in members]
    if not found:
        raise ValueError(f"there is no .pgm or .png file in {str(folder)!r}")
    return found


def _relative_images(folder: pathlib.Path, within: pathlib.Path) -> Iterator[str]:
    for parent, subfolders, names in os.walk(within):
        subfolders[:] = [name for name in subfolders if not name.startswith(".")]
        paths = (pathlib.Path(parent, name) for name in names)
        yield from (path.relative_to(folder).as_posix() for path in paths if _is_image(path))


def _is_image(path: pathlib.Path) -> bool:
    return path.suffix.lower() in _ENDINGS and not path.name.startswith(".") and path.is_file()


def _read_all(images: Iterable[Image]) -> Callable[[], Iterator[Bytes]]:
    """A function that reads all images, one after the other, in chunks of many small ones."""

    def read() -> Iterator[Bytes]:
        gathered = bytearray()
        for image in images:
            for piece in image.read():
                if len(gathered) + len(piece) > CHUNK_BYTES and gathered:
                    yield bytes(gathered)
                    gathered.clear()
                if len(piece) >= CHUNK_BYTES:
                    yield piece
                else:
                    gathered += piece
        if gathered:
            yield bytes(gathered)

    return read
