#!/usr/bin/env python3
"""Folders of images, from the upload to predictions of textures that the training has not seen."""

import json
import math
import os
import pathlib
import random
import struct
import sys
import unittest
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import command_line_lib  # noqa: E402

SIDE = 48
PATCH = 8


def stripes(direction, seed):
    """A wave of period 5 in that direction, with noise: the pixels row by row."""
    noise = random.Random(seed)
    phase = noise.uniform(0, 2 * math.pi)
    cosine, sine = math.cos(direction), math.sin(direction)
    return [
        [int(127 + 90 * math.sin(2 * math.pi / 5 * (cosine * column + sine * row) + phase) + noise.uniform(-30, 30))
         for column in range(SIDE)]
        for row in range(SIDE)
    ]  # fmt: skip


def pgm(pixels):
    return f"P5 {len(pixels[0])} {len(pixels)} 255\n".encode() + b"".join(map(bytes, pixels))


def png(pixels):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", len(pixels[0]), len(pixels), 8, 0, 0, 0, 0)
    lines = b"".join(b"\0" + bytes(row) for row in pixels)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


def write_textures(folder, seed):
    """One image of each of two textures, as PGM and as PNG."""
    for label, direction, encode, ending in (("rising", 0.0, pgm, "pgm"), ("lying", math.pi / 2, png, "png")):
        path = pathlib.Path(folder, label, f"{seed}.{ending}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encode(stripes(direction, seed)))


class ImagesTest(command_line_lib.CommandLineTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name, seeds in (("known", (1, 2)), ("new", (3,))):
            for seed in seeds:
                write_textures(cls.path(name), seed)

    def test_textures_are_told_apart(self):
        upload = ("data", "upload-images", "--patch", f"{PATCH}x{PATCH}")
        shown = self.run_ok(*upload, self.path("known"), "--count", "150", "--seed", "1", "--id", "known")
        self.assertIn(f"600 rows, {PATCH * PATCH} feature columns", shown)
        self.assertIn("lying (300), rising (300)", shown)
        self.run_ok(*upload, self.path("new"), "--stride", "8", "--id", "new")
        self.run_ok("train", "known", "infinite_features", "--family", "gabor", "--hold-out", "0.25", "--model", "textures",
                    "--watch")  # fmt: skip
        evaluated = json.loads(self.run_ok("evaluate", "textures", "new", "--json"))
        accuracy = {metric["name"]: metric["value"] for metric in evaluated["metrics"]}["accuracy"]
        self.assertGreaterEqual(accuracy, 0.95)
        predicted = self.run_ok("predict", "textures", "datasets/new").split()
        self.assertEqual(predicted[0], "label")
        places = ((SIDE - PATCH) // 8 + 1) ** 2
        self.assertEqual(len(predicted), 1 + 2 * places)
        right = predicted[1:].count("lying")
        self.assertLess(abs(right - places), 0.1 * places)
        picture = self.path("filters.png")
        self.run_ok("show", "textures", "--picture", picture)
        self.assertTrue(pathlib.Path(picture).read_bytes().startswith(b"\x89PNG"))

    def test_whole_images_and_regions(self):
        shown = self.run_ok("data", "upload-images", self.path("known"), "--region", "0,0,4,3", "--target", "texture")
        self.assertIn("4 rows, 12 feature columns", shown)
        self.assertRegex(shown, r"target  texture: lying \(2\), rising \(2\)")

    def test_errors_name_the_image(self):
        upload = ("data", "upload-images")
        self.expect(3, "image 'lying/3.png'", *upload, self.path("new"), "--patch", "64")
        self.expect(3, "image 'lying/3.png': there are 1 places, fewer than 2",
                    *upload, self.path("new"), "--patch", str(SIDE), "--count", "2")  # fmt: skip
        broken = pathlib.Path(self.path("broken"), "x/cut.png")
        broken.parent.mkdir(parents=True)
        broken.write_bytes(png(stripes(0, 0))[:-20])
        self.expect(3, "image 'x/cut.png': the PNG file cannot be read", *upload, self.path("broken"))
        self.expect(4, "there is no folder", *upload, self.path("none"))


if __name__ == "__main__":
    unittest.main()
