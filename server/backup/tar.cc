#include "server/backup/tar.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"

namespace mercer::server {
namespace {

// Positions and widths of the fields of a header block (POSIX.1-1988, "ustar").
struct Field {
  size_t begin;
  size_t width;
};
constexpr Field kName{0, 100};
constexpr Field kMode{100, 8};
constexpr Field kOwner{108, 8};
constexpr Field kGroup{116, 8};
constexpr Field kSize{124, 12};
constexpr Field kModified{136, 12};
constexpr Field kChecksum{148, 8};
constexpr Field kType{156, 1};
constexpr Field kMagic{257, 8};

constexpr char kRegularFile = '0';
constexpr char kPaxHeader = 'x';
// Eleven octal digits.
constexpr int64_t kMaxUstarSize = (int64_t{1} << 33) - 1;
// Of the size alone; far more than it takes.
constexpr int64_t kMaxPaxBytes = 8 * kTarBlockBytes;

absl::Status DamagedArchive(const std::string& what) {
  return WithReason(absl::DataLossError(absl::StrCat("the archive is damaged: ", what)),
                    "BACKUP_DAMAGED");
}

void Put(std::string& block, Field field, std::string_view text) {
  block.replace(field.begin, text.size(), text);
}

void PutOctal(std::string& block, Field field, size_t digits, int64_t value) {
  // absl::StrFormat ends the process when it finds no memory.
  std::array<char, 32> text;
  const int size =
      absl::SNPrintF(text.data(), text.size(), "%0*o", static_cast<int>(digits), value);
  Put(block, field, std::string_view(text.data(), static_cast<size_t>(size)));
}

// The sum of all bytes with the checksum's own field as blanks.
int64_t Checksum(std::string block) {
  block.replace(kChecksum.begin, kChecksum.width, std::string(kChecksum.width, ' '));
  int64_t sum = 0;
  for (const char c : block) {
    sum += static_cast<unsigned char>(c);
  }
  return sum;
}

std::string HeaderBlock(std::string_view name, char type, int64_t size, absl::Time modified) {
  std::string block(kTarBlockBytes, '\0');
  Put(block, kName, name.substr(0, kMaxTarName));
  PutOctal(block, kMode, kMode.width - 1, 0640);
  PutOctal(block, kOwner, kOwner.width - 1, 0);
  PutOctal(block, kGroup, kGroup.width - 1, 0);
  PutOctal(block, kSize, kSize.width - 1, size);
  PutOctal(block, kModified, kModified.width - 1,
           std::max<int64_t>(0, absl::ToUnixSeconds(modified)));
  block[kType.begin] = type;
  Put(block, kMagic, std::string_view("ustar\00000", 8));
  PutOctal(block, kChecksum, 6, Checksum(block));
  block[kChecksum.begin + 6] = '\0';
  block[kChecksum.begin + 7] = ' ';
  return block;
}

std::string Text(const std::string& block, Field field) {
  const std::string text = block.substr(field.begin, field.width);
  return text.substr(0, text.find('\0'));
}

absl::StatusOr<int64_t> Octal(const std::string& block, Field field) {
  std::string text = Text(block, field);
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  int64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '7') {
      return DamagedArchive("a header is no header of tar");
    }
    value = value * 8 + (c - '0');
  }
  return value;
}

// "LENGTH size=VALUE\n", where LENGTH counts itself.
std::string PaxSizeRecord(int64_t size) {
  const std::string rest = absl::StrCat(" size=", size, "\n");
  size_t length = rest.size();
  while (absl::StrCat(length).size() + rest.size() != length) {
    length = absl::StrCat(length).size() + rest.size();
  }
  return absl::StrCat(length, rest);
}

int64_t PaddingBytes(int64_t size) {
  return (kTarBlockBytes - size % kTarBlockBytes) % kTarBlockBytes;
}

}  // namespace

std::string TarHeader(std::string_view name, int64_t size, absl::Time modified) {
  if (size <= kMaxUstarSize) {
    return HeaderBlock(name, kRegularFile, size, modified);
  }
  const std::string record = PaxSizeRecord(size);
  const auto bytes = static_cast<int64_t>(record.size());
  // The size in the second header is what it can say; readers take that of the record.
  return absl::StrCat(HeaderBlock("pax", kPaxHeader, bytes, modified), record, TarPadding(bytes),
                      HeaderBlock(name, kRegularFile, 0, modified));
}

std::string TarPadding(int64_t size) {
  return std::string(static_cast<size_t>(PaddingBytes(size)), '\0');
}

std::string TarEnd() { return std::string(2 * kTarBlockBytes, '\0'); }

absl::StatusOr<std::optional<TarFile>> TarReader::Next() {
  std::array<char, kTarBlockBytes> skipped{};
  while (left_ > 0) {
    MERCER_RETURN_IF_ERROR(Read(skipped.data(), skipped.size()).status());
  }
  if (padding_ > 0) {
    MERCER_RETURN_IF_ERROR(ReadExactly(skipped.data(), static_cast<size_t>(padding_)));
    const std::string padding(skipped.data(), static_cast<size_t>(std::exchange(padding_, 0)));
    if (padding.find_first_not_of('\0') != std::string::npos) {
      return DamagedArchive("there are bytes between two files");
    }
    Add(padding);
  }
  std::optional<int64_t> pax_size;
  while (true) {
    MERCER_ASSIGN_OR_RETURN(const std::string block, ReadBlock());
    if (block == std::string(kTarBlockBytes, '\0')) {
      MERCER_RETURN_IF_ERROR(ExpectEnd());
      return std::nullopt;
    }
    MERCER_ASSIGN_OR_RETURN(const int64_t checksum, Octal(block, kChecksum));
    if (checksum != Checksum(block) || Text(block, kMagic) != "ustar") {
      return DamagedArchive("a header has a wrong checksum");
    }
    TarFile file;
    file.name = Text(block, kName);
    MERCER_ASSIGN_OR_RETURN(file.size, Octal(block, kSize));
    if (file.name == digest_name_ && digest_.empty()) {
      digest_ = hash_.FinishHex();
    }
    Add(block);
    const char type = block[kType.begin];
    if (type == kPaxHeader && !pax_size.has_value()) {
      MERCER_ASSIGN_OR_RETURN(pax_size, ReadPaxSize(file.size));
      continue;
    }
    if (type != kRegularFile) {
      return DamagedArchive(absl::StrCat("'", file.name, "' is no regular file"));
    }
    file.size = pax_size.value_or(file.size);
    left_ = file.size;
    padding_ = PaddingBytes(file.size);
    return file;
  }
}

absl::StatusOr<size_t> TarReader::Read(char* buffer, size_t capacity) {
  const size_t size = std::min(capacity, static_cast<size_t>(left_));
  MERCER_RETURN_IF_ERROR(ReadExactly(buffer, size));
  Add({buffer, size});
  left_ -= static_cast<int64_t>(size);
  return size;
}

absl::StatusOr<std::string> TarReader::ReadBlock() {
  std::string block(kTarBlockBytes, '\0');
  MERCER_RETURN_IF_ERROR(ReadExactly(block.data(), block.size()));
  return block;
}

absl::Status TarReader::ReadExactly(char* buffer, size_t size) {
  input_.read(buffer, static_cast<std::streamsize>(size));
  return static_cast<size_t>(input_.gcount()) == size ? absl::OkStatus()
                                                      : DamagedArchive("it is cut off");
}

void TarReader::Add(std::string_view bytes) {
  if (digest_.empty()) {
    hash_.Update(bytes);
  }
}

absl::StatusOr<int64_t> TarReader::ReadPaxSize(int64_t header_bytes) {
  if (header_bytes <= 0 || header_bytes > kMaxPaxBytes) {
    return DamagedArchive("an extended header has a strange size");
  }
  std::string text(static_cast<size_t>(header_bytes + PaddingBytes(header_bytes)), '\0');
  MERCER_RETURN_IF_ERROR(ReadExactly(text.data(), text.size()));
  Add(text);
  const size_t begin = text.find(" size=");
  const size_t end = text.find('\n');
  int64_t size = 0;
  if (begin == std::string::npos || end == std::string::npos || end < begin + 6 ||
      !absl::SimpleAtoi(text.substr(begin + 6, end - begin - 6), &size) || size < 0 ||
      text.substr(0, end + 1) != PaxSizeRecord(size)) {
    return DamagedArchive("an extended header says something else than a size");
  }
  return size;
}

absl::Status TarReader::ExpectEnd() {
  MERCER_ASSIGN_OR_RETURN(const std::string block, ReadBlock());
  if (block != std::string(kTarBlockBytes, '\0')) {
    return DamagedArchive("its end is wrong");
  }
  if (input_.peek() != std::istream::traits_type::eof()) {
    return DamagedArchive("something follows its end");
  }
  return absl::OkStatus();
}

}  // namespace mercer::server
