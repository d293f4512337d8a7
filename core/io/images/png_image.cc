// PNG by libpng. The library leaves its functions by longjmp when a file is bad, which runs no
// destructors: the functions that call it hold none.
#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include <png.h>

#include "core/base/status/status_macros.h"
#include "core/io/images/gray_image.h"

namespace mercer {
namespace {

struct PngFile {
  const char* next = nullptr;
  size_t rest = 0;
  png_structp reader = nullptr;
  png_infop info = nullptr;
  png_uint_32 rows = 0;
  png_uint_32 columns = 0;
  int depth = 0;
  int color = 0;
  char message[128] = "";
};

[[noreturn]] void OnError(png_structp reader, png_const_charp message) {
  auto* file = static_cast<PngFile*>(png_get_error_ptr(reader));
  std::snprintf(file->message, sizeof(file->message), "%s", message);
  png_longjmp(reader, 1);
}

// Warnings of the library concern parts of the file that are no pixels, and are of no use here.
void OnWarning(png_structp /*reader*/, png_const_charp /*message*/) {}

void OnRead(png_structp reader, png_bytep target, size_t size) {
  auto* file = static_cast<PngFile*>(png_get_io_ptr(reader));
  if (size > file->rest) {
    png_error(reader, "the file is cut off");
  }
  std::memcpy(target, file->next, size);
  file->next += size;
  file->rest -= size;
}

// False, with a message, when the file is bad.
bool ReadHeader(PngFile* file) {
  if (setjmp(png_jmpbuf(file->reader)) != 0) {
    return false;
  }
  png_set_read_fn(file->reader, file, OnRead);
  // Texts, profiles and the like are not wanted, and small ones may inflate to gigabytes.
  png_set_keep_unknown_chunks(file->reader, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  png_read_info(file->reader, file->info);
  png_get_IHDR(file->reader, file->info, &file->columns, &file->rows, &file->depth, &file->color,
               nullptr, nullptr, nullptr);
  return true;
}

// `rows` have room for the pixels, one or two bytes each, those of two with the high byte first.
bool ReadPixels(PngFile* file, png_bytepp rows) {
  if (setjmp(png_jmpbuf(file->reader)) != 0) {
    return false;
  }
  png_set_packing(file->reader);
  png_set_interlace_handling(file->reader);
  png_read_update_info(file->reader, file->info);
  png_read_image(file->reader, rows);
  png_read_end(file->reader, nullptr);
  return true;
}

// Owns what the library allocates.
class PngReader {
 public:
  explicit PngReader(std::string_view bytes) {
    file_.next = bytes.data();
    file_.rest = bytes.size();
    file_.reader = png_create_read_struct(PNG_LIBPNG_VER_STRING, &file_, OnError, OnWarning);
    file_.info = file_.reader != nullptr ? png_create_info_struct(file_.reader) : nullptr;
  }
  ~PngReader() { png_destroy_read_struct(&file_.reader, &file_.info, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  bool ready() const { return file_.info != nullptr; }
  PngFile& file() { return file_; }

 private:
  PngFile file_;
};

// What the size says must be possible: deflate makes at most 1032 bytes of one.
absl::Status CheckHeader(const PngFile& file, size_t file_bytes) {
  constexpr size_t kMostInflated = 1032;
  if ((file.color & PNG_COLOR_MASK_COLOR) != 0) {
    return ImageError("the PNG file is in colour; make it grayscale first");
  }
  if ((file.color & PNG_COLOR_MASK_ALPHA) != 0) {
    return ImageError("the PNG file has transparency; make it opaque first");
  }
  const size_t row_bytes = (size_t{file.columns} * static_cast<size_t>(file.depth) + 7) / 8;
  if (size_t{file.rows} > static_cast<size_t>(kMaxImagePixels) / file.columns ||
      row_bytes * file.rows / kMostInflated > file_bytes) {
    return ImageError(absl::StrCat("a PNG file of ", file.rows, " x ", file.columns, " pixels in ",
                                   file_bytes, " bytes cannot be read"));
  }
  return absl::OkStatus();
}

absl::Status CannotBeRead(const PngFile& file) {
  return ImageError(absl::StrCat("the PNG file cannot be read: ", file.message));
}

// Reads the file up to its pixels.
absl::Status BeginPng(PngReader& reader, size_t file_bytes) {
  if (!reader.ready()) {
    return absl::ResourceExhaustedError("there is no memory to read a PNG file");
  }
  if (!ReadHeader(&reader.file())) {
    return CannotBeRead(reader.file());
  }
  return CheckHeader(reader.file(), file_bytes);
}

}  // namespace

absl::StatusOr<ImageSize> ReadPngSize(std::string_view bytes) {
  PngReader reader(bytes);
  MERCER_RETURN_IF_ERROR(BeginPng(reader, bytes.size()));
  return ImageSize{static_cast<Index>(reader.file().rows),
                   static_cast<Index>(reader.file().columns)};
}

absl::StatusOr<GrayImage> ReadPng(std::string_view bytes) {
  PngReader reader(bytes);
  MERCER_RETURN_IF_ERROR(BeginPng(reader, bytes.size()));
  PngFile& file = reader.file();
  const size_t width = file.depth == 16 ? 2 : 1;
  const size_t row_bytes = width * file.columns;
  std::vector<png_byte> values(row_bytes * file.rows);
  std::vector<png_bytep> rows(file.rows);
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i] = values.data() + i * row_bytes;
  }
  if (!ReadPixels(&file, rows.data())) {
    return CannotBeRead(file);
  }
  if (file.rest > 0) {
    return ImageError("the PNG file has more than its image");
  }
  GrayImage image;
  image.rows = static_cast<Index>(file.rows);
  image.columns = static_cast<Index>(file.columns);
  image.maximum = (1 << file.depth) - 1;
  image.pixels.resize(values.size() / width);
  for (size_t i = 0; i < image.pixels.size(); ++i) {
    const int value = width == 2 ? 256 * values[2 * i] + values[2 * i + 1] : values[i];
    image.pixels[i] = static_cast<uint16_t>(value);
  }
  return image;
}

absl::StatusOr<std::string> EncodePng(const GrayImage& image) {
  if (image.maximum != 255 || image.rows < 1 || image.columns < 1) {
    return ImageError("only images of 8 bits are written");
  }
  const std::vector<png_byte> bytes(image.pixels.begin(), image.pixels.end());
  png_image description = {};
  description.version = PNG_IMAGE_VERSION;
  description.width = static_cast<png_uint_32>(image.columns);
  description.height = static_cast<png_uint_32>(image.rows);
  description.format = PNG_FORMAT_GRAY;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(description);
  std::string file(size, '\0');
  if (png_image_write_to_memory(&description, file.data(), &size, 0, bytes.data(), 0, nullptr) ==
      0) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no PNG file was made: ", description.message));
  }
  file.resize(size);
  return file;
}

}  // namespace mercer
