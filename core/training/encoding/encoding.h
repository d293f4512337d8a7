// Pieces that the stored forms of this folder share: sparse matrices and the frame of a file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include <Eigen/SparseCore>

#include "core/base/encoding/bytes.h"

namespace mercer {

// Writes rows, columns, the number of entries before each column, row indices, values.
void WriteSparse(const Eigen::SparseMatrix<double>& matrix, ByteWriter& writer);
// Reads what WriteSparse has written. Row indices outside the matrix or not ascending within a
// column mark the input as damaged.
Eigen::SparseMatrix<double> ReadSparse(ByteReader& reader);

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
