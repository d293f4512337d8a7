// The stored form of a data set: a small header with the schema, then the matrices, each at a
// multiple of 64 bytes, so that a mapped file is ready for arithmetic. Version 1; a newer version
// is refused.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/data/table/dataset.h"

namespace mercer {

// Receives the encoded bytes in order.
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual absl::Status Write(std::string_view bytes) = 0;
};

// Writes the canonical form: equal data sets give equal bytes.
absl::Status EncodeDataset(const Dataset& dataset, ByteSink& sink);

// The same bytes in pieces, for a data set whose first block is dense and whose numbers come row by
// row: EncodeBeginning; then the numbers of that block, NaN in one form (MakeMissingAlike); then
// EncodeRest. `dataset` has all shapes from the beginning; the numbers of its first block are not
// read.
absl::Status EncodeBeginning(const Dataset& dataset, ByteSink& sink);
absl::Status EncodeRest(const Dataset& dataset, ByteSink& sink);
// Gives every NaN the form that it has in the file.
void MakeMissingAlike(double* values, size_t count);

// Maps the file read-only; matrices of the result point into the mapping, which lives as long as
// they do. Errors: kNotFound, kDataLoss (not a data set, cut off, inconsistent).
absl::StatusOr<Dataset> OpenDataset(const std::string& path);
// The same from memory (copied).
absl::StatusOr<Dataset> DecodeDataset(std::string_view bytes);

}  // namespace mercer
