#include "core/data/gray_image.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"

#include "core/base/errors.h"
#include "core/base/status_macros.h"

namespace mercer {
namespace {

constexpr std::string_view kPngMagic = "\x89PNG\r\n\x1a\n";
constexpr int kMaxValue = 65535;

bool IsHeaderSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// The numbers of a PGM file. Between two of them are spaces and comments, from '#' to the end of the line.
class PgmNumbers {
 public:
  explicit PgmNumbers(std::string_view bytes) : rest_(bytes) {}

  // The next number, at most `largest`; nothing when there is none or it is larger.
  std::optional<int64_t> Next(int64_t largest) {
    SkipSpace();
    if (rest_.empty() || rest_[0] < '0' || rest_[0] > '9') {
      return std::nullopt;
    }
    int64_t value = 0;
    while (!rest_.empty() && rest_[0] >= '0' && rest_[0] <= '9') {
      value = 10 * value + (rest_[0] - '0');
      if (value > largest) {
        return std::nullopt;
      }
      rest_.remove_prefix(1);
    }
    return value;
  }
  void SkipSpace() {
    while (!rest_.empty() && (IsHeaderSpace(rest_[0]) || rest_[0] == '#')) {
      const bool comment = rest_[0] == '#';
      const size_t end = comment ? rest_.find_first_of("\r\n") : 1;
      rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end);
    }
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

// One space after the largest value, then the pixels, two bytes each from 256 values on.
absl::Status ReadBinaryPixels(std::string_view bytes, GrayImage& image) {
  const size_t width = image.maximum > 255 ? 2 : 1;
  const size_t count = static_cast<size_t>(image.rows * image.columns);
  if (bytes.empty() || !IsHeaderSpace(bytes[0])) {
    return ImageError("the header of the PGM file is cut off");
  }
  bytes.remove_prefix(1);
  if (bytes.size() != width * count) {
    return ImageError(absl::StrCat("the PGM file has ", bytes.size(), " bytes of pixels, not the ",
                                   width * count, " of ", image.rows, " x ", image.columns));
  }
  image.pixels.reserve(count);
  for (size_t i = 0; i < bytes.size(); i += width) {
    int value = static_cast<unsigned char>(bytes[i]);
    if (width == 2) {
      value = 256 * value + static_cast<unsigned char>(bytes[i + 1]);
    }
    if (value > image.maximum) {
      return ImageError(
          absl::StrCat("a pixel has the value ", value, ", more than ", image.maximum));
    }
    image.pixels.push_back(static_cast<uint16_t>(value));
  }
  return absl::OkStatus();
}

absl::Status ReadPlainPixels(PgmNumbers numbers, GrayImage& image) {
  const size_t count = static_cast<size_t>(image.rows * image.columns);
  if (numbers.rest().size() < 2 * count) {  // a space and a digit each
    return ImageError(
        absl::StrCat("the PGM file ends before its ", image.rows, " x ", image.columns, " pixels"));
  }
  image.pixels.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const std::optional<int64_t> value = numbers.Next(image.maximum);
    if (!value.has_value()) {
      return ImageError(
          absl::StrCat("pixel ", i + 1, " of the PGM file is no number up to ", image.maximum));
    }
    image.pixels.push_back(static_cast<uint16_t>(*value));
  }
  numbers.SkipSpace();
  if (!numbers.rest().empty()) {
    return ImageError("the PGM file has more than its pixels");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ImageError(std::string_view what) {
  return WithReason(absl::InvalidArgumentError(absl::StrCat("image: ", std::string(what))),
                    "BAD_IMAGE");
}

absl::StatusOr<GrayImage> ReadPgm(std::string_view bytes) {
  const bool binary = bytes.substr(0, 2) == "P5";
  if (!binary && bytes.substr(0, 2) != "P2") {
    return ImageError("no PGM file");
  }
  PgmNumbers numbers(bytes.substr(2));
  const std::optional<int64_t> columns = numbers.Next(kMaxImagePixels);
  const std::optional<int64_t> rows = columns.has_value() ? numbers.Next(kMaxImagePixels) : columns;
  const std::optional<int64_t> maximum = rows.has_value() ? numbers.Next(kMaxValue) : rows;
  if (!maximum.has_value()) {
    return ImageError("the header of the PGM file is not columns, rows and the largest value");
  }
  if (*rows < 1 || *columns < 1 || *maximum < 1 || *rows > kMaxImagePixels / *columns) {
    return ImageError(absl::StrCat("a PGM file of ", *rows, " x ", *columns, " pixels up to ",
                                   *maximum, " cannot be read"));
  }
  GrayImage image;
  image.rows = *rows;
  image.columns = *columns;
  image.maximum = static_cast<int>(*maximum);
  MERCER_RETURN_IF_ERROR(binary ? ReadBinaryPixels(numbers.rest(), image)
                                : ReadPlainPixels(numbers, image));
  return image;
}

absl::StatusOr<GrayImage> ReadGrayImage(std::string_view bytes) {
  if (bytes.substr(0, kPngMagic.size()) == kPngMagic) {
    return ReadPng(bytes);
  }
  const std::string_view magic = bytes.substr(0, 2);
  if (magic == "P2" || magic == "P5") {
    return ReadPgm(bytes);
  }
  return ImageError("neither a PGM nor a PNG file");
}

}  // namespace mercer
