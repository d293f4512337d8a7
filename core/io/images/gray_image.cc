#include "core/io/images/gray_image.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"

namespace mercer {
namespace {

constexpr std::string_view kPngMagic = "\x89PNG\r\n\x1a\n";
constexpr int kMaxValue = 65535;

bool IsHeaderSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// The numbers of a PGM file. Between two of them are spaces and comments, from '#' to the end of
// the line.
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

// A PGM file up to its pixels.
struct PgmHeader {
  bool binary = false;
  ImageSize size;
  int maximum = 0;
  std::string_view pixels;  // of binary files behind the space after `maximum`

  size_t count() const { return static_cast<size_t>(size.rows * size.columns); }
  size_t width() const { return maximum > 255 ? 2 : 1; }  // bytes of a pixel, binary
};

// The file must have as many bytes as its pixels take: no memory is taken for others.
absl::Status CheckPixelBytes(PgmHeader& header) {
  const auto& [rows, columns] = header.size;
  if (!header.binary) {
    return header.pixels.size() >= 2 * header.count()  // a space and a digit each
               ? absl::OkStatus()
               : ImageError(absl::StrCat("the PGM file ends before its ", rows, " x ", columns,
                                         " pixels"));
  }
  if (header.pixels.empty() || !IsHeaderSpace(header.pixels[0])) {
    return ImageError("the header of the PGM file is cut off");
  }
  header.pixels.remove_prefix(1);
  const size_t expected = header.width() * header.count();
  if (header.pixels.size() != expected) {
    return ImageError(absl::StrCat("the PGM file has ", header.pixels.size(),
                                   " bytes of pixels, not the ", expected, " of ", rows, " x ",
                                   columns));
  }
  return absl::OkStatus();
}

absl::StatusOr<PgmHeader> ReadPgmHeader(std::string_view bytes) {
  PgmHeader header;
  header.binary = bytes.substr(0, 2) == "P5";
  if (!header.binary && bytes.substr(0, 2) != "P2") {
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
  header.size = {*rows, *columns};
  header.maximum = static_cast<int>(*maximum);
  header.pixels = numbers.rest();
  MERCER_RETURN_IF_ERROR(CheckPixelBytes(header));
  return header;
}

// Two bytes each from 256 values on.
absl::Status ReadBinaryPixels(const PgmHeader& header, GrayImage& image) {
  const std::string_view bytes = header.pixels;
  const size_t width = header.width();
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

absl::Status ReadPlainPixels(const PgmHeader& header, GrayImage& image) {
  PgmNumbers numbers(header.pixels);
  for (size_t i = 0; i < header.count(); ++i) {
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

bool IsPng(std::string_view bytes) { return bytes.substr(0, kPngMagic.size()) == kPngMagic; }

bool IsPgm(std::string_view bytes) {
  const std::string_view magic = bytes.substr(0, 2);
  return magic == "P2" || magic == "P5";
}

absl::Status UnknownKind() { return ImageError("neither a PGM nor a PNG file"); }

}  // namespace

absl::Status ImageError(std::string_view what) {
  return WithReason(absl::InvalidArgumentError(absl::string_view(what.data(), what.size())),
                    "BAD_IMAGE");
}

absl::StatusOr<ImageSize> ReadPgmSize(std::string_view bytes) {
  MERCER_ASSIGN_OR_RETURN(const PgmHeader header, ReadPgmHeader(bytes));
  return header.size;
}

absl::StatusOr<GrayImage> ReadPgm(std::string_view bytes) {
  MERCER_ASSIGN_OR_RETURN(const PgmHeader header, ReadPgmHeader(bytes));
  GrayImage image;
  image.rows = header.size.rows;
  image.columns = header.size.columns;
  image.maximum = header.maximum;
  image.pixels.reserve(header.count());
  MERCER_RETURN_IF_ERROR(header.binary ? ReadBinaryPixels(header, image)
                                       : ReadPlainPixels(header, image));
  return image;
}

absl::StatusOr<GrayImage> ReadGrayImage(std::string_view bytes) {
  return IsPng(bytes)   ? ReadPng(bytes)
         : IsPgm(bytes) ? ReadPgm(bytes)
                        : absl::StatusOr<GrayImage>(UnknownKind());
}

absl::StatusOr<ImageSize> ReadGrayImageSize(std::string_view bytes) {
  return IsPng(bytes)   ? ReadPngSize(bytes)
         : IsPgm(bytes) ? ReadPgmSize(bytes)
                        : absl::StatusOr<ImageSize>(UnknownKind());
}

int64_t ImageReadingBytes(const ImageSize& size) {
  constexpr int64_t kPerPixel = 4;                // what libpng gives, up to 16 bits, and the image
  constexpr int64_t kPerRow = sizeof(char*);      // where each row is
  constexpr int64_t kPerColumn = 16;              // libpng's buffers of a row
  constexpr int64_t kLibrary = int64_t{1} << 20;  // its other buffers, and those of zlib
  return kPerPixel * size.rows * size.columns + kPerRow * size.rows + kPerColumn * size.columns +
         kLibrary;
}

}  // namespace mercer
