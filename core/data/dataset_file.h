// The stored form of a data set: a small header with the schema, then the matrices, each at a
// multiple of 64 bytes, so that a mapped file is ready for arithmetic. Version 1; a newer version
// is refused.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/data/dataset.h"

namespace mercer {

// Receives the encoded bytes in order.
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual absl::Status Write(std::string_view bytes) = 0;
};

// Writes the canonical form: equal data sets give equal bytes.
absl::Status EncodeDataset(const Dataset& dataset, ByteSink& sink);

// Maps the file read-only; matrices of the result point into the mapping, which lives as long as
// they do. Errors: kNotFound, kDataLoss (not a data set, cut off, inconsistent).
absl::StatusOr<Dataset> OpenDataset(const std::string& path);
// The same from memory (copied).
absl::StatusOr<Dataset> DecodeDataset(std::string_view bytes);

}  // namespace mercer
