// Matrices between the API and the core.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "mercer/v1/matrix.pb.h"

namespace mercer::server {

// Errors: kInvalidArgument with a violation of `path`: sizes that are negative or do not agree with
// the entries.
absl::StatusOr<RowMatrix> ReadMatrix(const v1::Matrix& message, const std::string& path);

// Protobuf counts the entries of a field in 31 bits.
inline constexpr int64_t kMaxMatrixEntries = std::numeric_limits<int32_t>::max() / 8;

// Errors: kResourceExhausted with reason RESPONSE_TOO_LARGE when there are more than
// kMaxMatrixEntries, which no message can hold; nothing is written then.
absl::Status WriteMatrix(const ConstMatrixRef& matrix, v1::Matrix* message);
absl::Status WriteRowMatrix(const ConstRowMatrixRef& matrix, v1::Matrix* message);

}  // namespace mercer::server
