// Images: PGM, plain and binary, and PNG, also with its checksums put right. What is read, written as PGM, is the same image.
#include "core/io/images/gray_image.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include <png.h>
#include <zlib.h>

#include "tests/fuzz/support/checks.h"
#include "tests/fuzz/support/fuzz_target.h"

namespace mercer::fuzz {
namespace {

constexpr size_t kMagicBytes = 8;
constexpr size_t kChunkBytes = 12;  // length, type and checksum

uint32_t ReadLength(const std::string& bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) {
    value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  }
  return value;
}

// The bytes as chunks of a PNG file whose checksums fit.
std::string WithChecksums(std::string bytes) {
  for (size_t at = kMagicBytes; at + kChunkBytes <= bytes.size();) {
    const size_t length = ReadLength(bytes, at);
    if (length > bytes.size() - at - kChunkBytes) {
      break;
    }
    const auto checksum = crc32(0, reinterpret_cast<const Bytef*>(bytes.data() + at + 4),
                                static_cast<uInt>(length + 4));
    for (size_t i = 0; i < 4; ++i) {
      bytes[at + 8 + length + i] = static_cast<char>(checksum >> (24 - 8 * i));
    }
    at += kChunkBytes + length;
  }
  return bytes;
}

std::string WritePgm(const GrayImage& image) {
  std::string bytes = absl::StrCat("P5 ", image.columns, " ", image.rows, " ", image.maximum, "\n");
  for (const uint16_t pixel : image.pixels) {
    if (image.maximum > 255) {
      bytes.push_back(static_cast<char>(pixel >> 8));
    }
    bytes.push_back(static_cast<char>(pixel));
  }
  return bytes;
}

void TestImage(const std::string& bytes) {
  const absl::StatusOr<GrayImage> image = ReadGrayImage(bytes);
  if (!image.ok()) {
    RequireRefusal(image.status(), {absl::StatusCode::kInvalidArgument});
    return;
  }
  Require(image->rows >= 1 && image->columns >= 1 &&
              image->pixels.size() == static_cast<size_t>(image->rows * image->columns),
          "an image has all its pixels");
  const absl::StatusOr<ImageSize> size = ReadGrayImageSize(bytes);
  Require(size.ok() && size->rows == image->rows && size->columns == image->columns,
          "the header tells the size");
  Require(image->pixels.size() <= 8 * 1032 * bytes.size() + 8 * 1032,
          "an image is no larger than its file can hold");
  const absl::StatusOr<GrayImage> again = ReadGrayImage(WritePgm(*image));
  Require(again.ok() && again->pixels == image->pixels && again->rows == image->rows &&
              again->maximum == image->maximum,
          "what is written reads back");
}

std::string WritePng(uint32_t rows, uint32_t columns, uint32_t format) {
  png_image image;
  std::memset(&image, 0, sizeof(image));
  image.version = PNG_IMAGE_VERSION;
  image.width = columns;
  image.height = rows;
  image.format = format;
  std::vector<unsigned char> pixels(PNG_IMAGE_SIZE(image));
  for (size_t i = 0; i < pixels.size(); ++i) {
    pixels[i] = static_cast<unsigned char>(7 * i);
  }
  std::string bytes(PNG_IMAGE_PNG_SIZE_MAX(image), '\0');
  png_alloc_size_t size = bytes.size();
  Require(png_image_write_to_memory(&image, bytes.data(), &size, 0, pixels.data(), 0, nullptr) != 0,
          "libpng writes");
  bytes.resize(size);
  return bytes;
}

}  // namespace

void TestOneInput(std::string_view input) {
  const std::string bytes(input);
  TestImage(bytes);
  TestImage(WithChecksums(bytes));
}

std::vector<std::string> Seeds() {
  return {WritePng(5, 9, PNG_FORMAT_GRAY),
          WritePng(1, 1, PNG_FORMAT_GRAY),
          WritePng(3, 2, PNG_FORMAT_LINEAR_Y),
          WritePng(2, 2, PNG_FORMAT_RGB),
          WritePng(2, 2, PNG_FORMAT_GA),
          "P2 2 2 100\n0 10\n# comment\n20 100\n",
          "P5 3 1 255\nabc",
          std::string("P5 1 2 1000\n\x01\x02\x03\x04", 16)};
}

}  // namespace mercer::fuzz
