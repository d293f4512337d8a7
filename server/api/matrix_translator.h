// Matrices between the API and the core.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/base/types.h"
#include "mercer/v1/matrix.pb.h"

namespace mercer::server {

// Errors: kInvalidArgument with a violation of `path`: sizes that are negative or do not agree with
// the entries.
absl::StatusOr<RowMatrix> ReadMatrix(const v1::Matrix& message, const std::string& path);

void WriteMatrix(const ConstMatrixRef& matrix, v1::Matrix* message);
void WriteRowMatrix(const ConstRowMatrixRef& matrix, v1::Matrix* message);

}  // namespace mercer::server
