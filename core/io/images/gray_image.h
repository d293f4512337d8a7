// Grayscale images: PGM (plain and binary) and PNG.
//
// All errors are kInvalidArgument with reason BAD_IMAGE: damaged or cut-off files, sizes that their
// bytes cannot hold, colours, and files of another kind.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"

namespace mercer {

struct GrayImage {
  Index rows = 0;
  Index columns = 0;
  int maximum = 255;             // the value of white; 0 is black
  std::vector<uint16_t> pixels;  // row by row, as the file has them: no gamma is applied

  uint16_t pixel(Index row, Index column) const {
    return pixels[static_cast<size_t>(row * columns + column)];
  }
};

struct ImageSize {
  Index rows = 0;
  Index columns = 0;
};

inline constexpr Index kMaxImagePixels = Index{1} << 27;

// The kind of file is told from its first bytes.
absl::StatusOr<GrayImage> ReadGrayImage(std::string_view bytes);
// What its header says, before memory is taken for the pixels. Errors: those that are seen there.
absl::StatusOr<ImageSize> ReadGrayImageSize(std::string_view bytes);
// How many bytes of memory reading an image of this size takes at most, the image included.
int64_t ImageReadingBytes(const ImageSize& size);

// kInvalidArgument with reason BAD_IMAGE and a message that says what is wrong.
absl::Status ImageError(std::string_view what);

// A PNG file of an image of at most 8 bits, maximum 255. Errors: kInvalidArgument for another;
// kResourceExhausted without memory.
absl::StatusOr<std::string> EncodePng(const GrayImage& image);

// The readers of one kind each.
absl::StatusOr<GrayImage> ReadPgm(std::string_view bytes);
absl::StatusOr<GrayImage> ReadPng(std::string_view bytes);
absl::StatusOr<ImageSize> ReadPgmSize(std::string_view bytes);
absl::StatusOr<ImageSize> ReadPngSize(std::string_view bytes);

}  // namespace mercer
