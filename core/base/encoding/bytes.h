// Flat binary encoding of states, models and error details: little-endian scalars, length-prefixed
// strings and arrays.
//
// ByteReader never reads past its end: the first short or absurd length sets !ok(), and every later
// read returns zero or an empty value. Callers check ok() once, at the end, before they use what
// they read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/numeric/types.h"

namespace mercer {

class ByteWriter {
 public:
  void WriteUint8(uint8_t value) { bytes_.push_back(static_cast<char>(value)); }
  void WriteBool(bool value) { WriteUint8(value ? 1 : 0); }
  void WriteUint64(uint64_t value);
  void WriteInt64(int64_t value) { WriteUint64(static_cast<uint64_t>(value)); }
  void WriteDouble(double value);
  void WriteString(std::string_view value);
  void WriteStrings(const std::vector<std::string>& values);
  void WriteIndices(const std::vector<Index>& values);
  void WriteDoubles(const std::vector<double>& values);
  void WriteVector(const ConstVectorRef& value);
  void WriteMatrix(const ConstMatrixRef& value);        // rows, columns, values column by column
  void WriteRowMatrix(const ConstRowMatrixRef& value);  // rows, columns, values row by row

  const std::string& bytes() const { return bytes_; }
  std::string Take() && { return std::move(bytes_); }

 private:
  void WriteRaw(const void* data, size_t size);

  std::string bytes_;
};

class ByteReader {
 public:
  // `bytes` must outlive the reader.
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  uint8_t ReadUint8();
  bool ReadBool() { return ReadUint8() != 0; }
  uint64_t ReadUint64();
  int64_t ReadInt64() { return static_cast<int64_t>(ReadUint64()); }
  double ReadDouble();
  std::string ReadString();
  std::vector<std::string> ReadStrings();
  std::vector<Index> ReadIndices();
  std::vector<double> ReadDoubles();
  Vector ReadVector();
  Matrix ReadMatrix();
  RowMatrix ReadRowMatrix();

  // False after any read that ran out of bytes.
  bool ok() const { return ok_; }
  // True when every byte was read and no read failed.
  bool AtEnd() const { return ok_ && rest_.empty(); }
  // Marks the input as damaged; used by decoders that find an impossible value.
  void Fail() { ok_ = false; }

 private:
  bool Take(void* out, size_t size);
  // Reads a count of elements of `element_size` bytes; fails when fewer bytes are left.
  size_t ReadCount(size_t element_size);
  bool ReadShape(Index* rows, Index* columns);

  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace mercer
