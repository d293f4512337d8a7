#include "core/training/encoding/encoding.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include <zlib.h>

#include "core/base/status/errors.h"

namespace mercer {
namespace {

constexpr size_t kMagicSize = 8;
constexpr size_t kHeaderSize = kMagicSize + 2 * sizeof(uint64_t);
constexpr size_t kChecksumSize = sizeof(uint64_t);

uint64_t Checksum(std::string_view bytes) {
  return crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
}

uint64_t ReadUint64At(std::string_view bytes, size_t offset) {
  ByteReader reader(bytes.substr(offset, sizeof(uint64_t)));
  return reader.ReadUint64();
}

absl::Status Damaged(std::string_view what, std::string_view how) {
  return absl::DataLossError(
      absl::StrCat("not a readable ", std::string(what), ": ", std::string(how)));
}

}  // namespace

void WriteSparse(const Eigen::SparseMatrix<double>& matrix, ByteWriter& writer) {
  writer.WriteInt64(matrix.rows());
  writer.WriteInt64(matrix.cols());
  std::vector<Index> starts = {0};
  std::vector<Index> rows;
  std::vector<double> values;
  for (Index column = 0; column < matrix.cols(); ++column) {
    for (Eigen::SparseMatrix<double>::InnerIterator entry(matrix, column); entry; ++entry) {
      rows.push_back(entry.row());
      values.push_back(entry.value());
    }
    starts.push_back(static_cast<Index>(rows.size()));
  }
  writer.WriteIndices(starts);
  writer.WriteIndices(rows);
  writer.WriteDoubles(values);
}

Eigen::SparseMatrix<double> ReadSparse(ByteReader& reader) {
  const Index num_rows = reader.ReadInt64();
  const Index num_columns = reader.ReadInt64();
  const std::vector<Index> starts = reader.ReadIndices();
  const std::vector<Index> rows = reader.ReadIndices();
  const std::vector<double> values = reader.ReadDoubles();
  const Index count = static_cast<Index>(rows.size());
  bool sane = reader.ok() && num_rows >= 0 && num_rows <= std::numeric_limits<int>::max() &&
              !starts.empty() && static_cast<Index>(starts.size()) - 1 == num_columns &&
              values.size() == rows.size() && starts.front() == 0 && starts.back() == count;
  for (size_t i = 0; sane && i + 1 < starts.size(); ++i) {
    sane = starts[i] <= starts[i + 1] && starts[i + 1] <= count;
    for (Index j = starts[i]; sane && j < starts[i + 1]; ++j) {
      const Index row = rows[static_cast<size_t>(j)];
      const Index below = j > starts[i] ? rows[static_cast<size_t>(j - 1)] : -1;
      sane = row > below && row < num_rows;
    }
  }
  if (!sane) {
    reader.Fail();
    return {};
  }
  Eigen::SparseMatrix<double> matrix(num_rows, num_columns);
  matrix.reserve(count);
  for (size_t column = 0; column + 1 < starts.size(); ++column) {
    matrix.startVec(static_cast<Index>(column));
    for (auto j = static_cast<size_t>(starts[column]); j < static_cast<size_t>(starts[column + 1]);
         ++j) {
      matrix.insertBack(rows[j], static_cast<Index>(column)) = values[j];
    }
  }
  matrix.finalize();
  return matrix;
}

std::string FramePayload(std::string_view magic, uint64_t version, std::string_view payload) {
  std::string bytes(magic.substr(0, kMagicSize));
  bytes.resize(kMagicSize, ' ');
  ByteWriter header;
  header.WriteUint64(version);
  header.WriteUint64(payload.size());
  bytes += header.bytes();
  bytes += payload;
  ByteWriter checksum;
  checksum.WriteUint64(Checksum(bytes));
  bytes += checksum.bytes();
  return bytes;
}

uint64_t FormatVersion(std::string_view bytes) { return ReadUint64At(bytes, kMagicSize); }

absl::StatusOr<std::string_view> UnframePayload(std::string_view magic, uint64_t newest,
                                                std::string_view what, std::string_view bytes) {
  if (bytes.size() < kHeaderSize + kChecksumSize || bytes.substr(0, magic.size()) != magic) {
    return Damaged(what, "it does not begin like one");
  }
  const uint64_t length = ReadUint64At(bytes, kMagicSize + sizeof(uint64_t));
  if (length != bytes.size() - kHeaderSize - kChecksumSize) {
    return Damaged(what, "it is cut off or too long");
  }
  const std::string_view content = bytes.substr(0, bytes.size() - kChecksumSize);
  if (ReadUint64At(bytes, content.size()) != Checksum(content)) {
    return Damaged(what, "its checksum is wrong");
  }
  const uint64_t version = FormatVersion(bytes);
  if (version > newest) {
    return WithReason(absl::FailedPreconditionError(
                          absl::StrCat("this ", std::string(what), " has format version ", version,
                                       "; this program reads versions up to ", newest)),
                      "NEWER_FORMAT",
                      {{"version", absl::StrCat(version)}, {"newest", absl::StrCat(newest)}});
  }
  return content.substr(kHeaderSize);
}

}  // namespace mercer
