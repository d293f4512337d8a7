// The terms of a model's function, ready to be evaluated.
#pragma once

#include <vector>

#include "absl/status/status.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/data/preprocess/prepared_data.h"

namespace mercer {

// Evaluates one term. Immutable, safe for concurrent use; what it says of a row depends on that row
// alone, bit for bit.
class TermValues {
 public:
  virtual ~TermValues() = default;

  // Bytes of the term and of what it is evaluated by, beyond those of its basis.
  virtual size_t MemoryBytes() const = 0;
  // Adds the term's values at `rows` to values(:, o). Errors: kInvalidArgument when the rows do not
  // fit the term, or a value cannot be computed (the row is named); kCancelled.
  virtual absl::Status Add(const PreparedData& rows, MatrixRef values,
                           RunContext& context) const = 0;
  // Does Add share by share: adds what the i-th of the term's shares contributes to
  // shares[i](:, o).
  virtual absl::Status AddByShare(const PreparedData& rows, const std::vector<Matrix*>& shares,
                                  RunContext& context) const = 0;
  // Adds to gradients(i, :) what the term contributes to the gradient of the function's output
  // `output` at row i, by the columns of all feature blocks side by side. Errors: those of Add;
  // kUnimplemented when terms of this kind have no gradients.
  virtual absl::Status AddGradients(const PreparedData& /*rows*/, int /*output*/,
                                    MatrixRef /*gradients*/, RunContext& /*context*/) const {
    return absl::UnimplementedError("terms of this kind have no gradients");
  }
};

}  // namespace mercer
