// Pieces that the stored forms of this folder share: enumerations, sparse matrices, option values,
// and the frame of a file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include <Eigen/SparseCore>

#include "core/base/encoding/bytes.h"
#include "core/base/status/options.h"

namespace mercer {

template <typename Enum>
void WriteEnum(Enum value, ByteWriter& writer) {
  writer.WriteUint8(static_cast<uint8_t>(value));
}

// Reads an enumeration. A value above `last` marks the input as damaged.
template <typename Enum>
Enum ReadEnum(Enum last, ByteReader& reader) {
  const uint8_t value = reader.ReadUint8();
  if (value > static_cast<uint8_t>(last)) {
    reader.Fail();
    return Enum{};
  }
  return static_cast<Enum>(value);
}

// Writes rows, columns, the number of entries before each column, row indices, values.
void WriteSparse(const Eigen::SparseMatrix<double>& matrix, ByteWriter& writer);
// Reads what WriteSparse has written. Row indices outside the matrix or not ascending within a
// column mark the input as damaged.
Eigen::SparseMatrix<double> ReadSparse(ByteReader& reader);

void WriteOptionValues(const OptionValues& values, ByteWriter& writer);
OptionValues ReadOptionValues(ByteReader& reader);

// The frame of a stored file: 8 bytes of magic, format version, length of the payload, payload,
// CRC-32 of all bytes before. Later format versions keep the frame.
std::string FramePayload(std::string_view magic, uint64_t version, std::string_view payload);

// The format version of a file that UnframePayload has accepted.
uint64_t FormatVersion(std::string_view bytes);

// The payload of a framed file, pointing into `bytes`. `what` names the kind of file in messages
// ("model"). Errors: kDataLoss (other magic, wrong length or checksum), kFailedPrecondition with
// reason NEWER_FORMAT (version above `newest`).
absl::StatusOr<std::string_view> UnframePayload(std::string_view magic, uint64_t newest,
                                                std::string_view what, std::string_view bytes);

}  // namespace mercer
