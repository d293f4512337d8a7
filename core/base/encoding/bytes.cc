#include "core/base/encoding/bytes.h"

#include <bit>
#include <cstring>

namespace mercer {

static_assert(std::endian::native == std::endian::little,
              "the encoding is the memory layout of a little-endian machine");

void ByteWriter::WriteRaw(const void* data, size_t size) {
  if (size > 0) {
    bytes_.append(static_cast<const char*>(data), size);
  }
}

void ByteWriter::WriteUint64(uint64_t value) { WriteRaw(&value, sizeof(value)); }

void ByteWriter::WriteDouble(double value) { WriteRaw(&value, sizeof(value)); }

void ByteWriter::WriteString(std::string_view value) {
  WriteUint64(value.size());
  WriteRaw(value.data(), value.size());
}

void ByteWriter::WriteStrings(const std::vector<std::string>& values) {
  WriteUint64(values.size());
  for (const std::string& value : values) {
    WriteString(value);
  }
}

void ByteWriter::WriteIndices(const std::vector<Index>& values) {
  WriteUint64(values.size());
  for (const Index value : values) {
    WriteInt64(value);
  }
}

void ByteWriter::WriteDoubles(const std::vector<double>& values) {
  WriteUint64(values.size());
  WriteRaw(values.data(), values.size() * sizeof(double));
}

void ByteWriter::WriteVector(const ConstVectorRef& value) {
  WriteUint64(static_cast<uint64_t>(value.size()));
  WriteRaw(value.data(), static_cast<size_t>(value.size()) * sizeof(double));
}

void ByteWriter::WriteMatrix(const ConstMatrixRef& value) {
  WriteInt64(value.rows());
  WriteInt64(value.cols());
  bytes_.reserve(bytes_.size() + static_cast<size_t>(value.size()) * sizeof(double));
  for (Index column = 0; column < value.cols(); ++column) {
    WriteRaw(value.col(column).data(), static_cast<size_t>(value.rows()) * sizeof(double));
  }
}

void ByteWriter::WriteRowMatrix(const ConstRowMatrixRef& value) {
  WriteInt64(value.rows());
  WriteInt64(value.cols());
  for (Index row = 0; row < value.rows(); ++row) {
    WriteRaw(value.row(row).data(), static_cast<size_t>(value.cols()) * sizeof(double));
  }
}

bool ByteReader::Take(void* out, size_t size) {
  if (!ok_ || rest_.size() < size) {
    ok_ = false;
    return false;
  }
  if (size > 0) {
    std::memcpy(out, rest_.data(), size);
    rest_.remove_prefix(size);
  }
  return true;
}

uint8_t ByteReader::ReadUint8() {
  uint8_t value = 0;
  Take(&value, sizeof(value));
  return value;
}

uint64_t ByteReader::ReadUint64() {
  uint64_t value = 0;
  Take(&value, sizeof(value));
  return value;
}

double ByteReader::ReadDouble() {
  double value = 0;
  Take(&value, sizeof(value));
  return value;
}

size_t ByteReader::ReadCount(size_t element_size) {
  const uint64_t count = ReadUint64();
  if (!ok_ || count > rest_.size() / element_size) {
    ok_ = false;
    return 0;
  }
  return static_cast<size_t>(count);
}

bool ByteReader::ReadShape(Index* rows, Index* columns) {
  *rows = ReadInt64();
  *columns = ReadInt64();
  constexpr Index kMaxSide = Index{1} << 31;
  const bool sane = ok_ && *rows >= 0 && *columns >= 0 && *rows <= kMaxSide && *columns <= kMaxSide;
  const auto available = static_cast<Index>(rest_.size() / sizeof(double));
  if (!sane || (*columns > 0 && *rows > available / *columns)) {
    ok_ = false;
    *rows = 0;
    *columns = 0;
  }
  return ok_;
}

std::string ByteReader::ReadString() {
  std::string value(ReadCount(1), '\0');
  Take(value.data(), value.size());
  return value;
}

std::vector<std::string> ByteReader::ReadStrings() {
  std::vector<std::string> values(ReadCount(sizeof(uint64_t)));
  for (std::string& value : values) {
    value = ReadString();
  }
  return values;
}

std::vector<Index> ByteReader::ReadIndices() {
  std::vector<Index> values(ReadCount(sizeof(int64_t)));
  for (Index& value : values) {
    value = ReadInt64();
  }
  return values;
}

std::vector<double> ByteReader::ReadDoubles() {
  std::vector<double> values(ReadCount(sizeof(double)));
  Take(values.data(), values.size() * sizeof(double));
  return values;
}

Vector ByteReader::ReadVector() {
  Vector value(static_cast<Index>(ReadCount(sizeof(double))));
  Take(value.data(), static_cast<size_t>(value.size()) * sizeof(double));
  return value;
}

Matrix ByteReader::ReadMatrix() {
  Index rows = 0;
  Index columns = 0;
  if (!ReadShape(&rows, &columns)) {
    return {};
  }
  Matrix value(rows, columns);
  Take(value.data(), static_cast<size_t>(value.size()) * sizeof(double));
  return value;
}

RowMatrix ByteReader::ReadRowMatrix() {
  Index rows = 0;
  Index columns = 0;
  if (!ReadShape(&rows, &columns)) {
    return {};
  }
  RowMatrix value(rows, columns);
  Take(value.data(), static_cast<size_t>(value.size()) * sizeof(double));
  return value;
}

}  // namespace mercer
