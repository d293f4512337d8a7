// The terms of a model's function, ready to be evaluated.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/data/preprocess/prepared_data.h"

namespace mercer {

// What a part of a term contributes to the values: a kernel, a group of features.
struct TermShare {
  std::string name;
  // Whether it is the same thing as a share of that name in another term: a kernel, whose outputs
  // may be in several terms.
  bool joins_its_name = false;
};

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
  // The shares of the term. Of `rows` the names of the columns are read.
  virtual std::vector<TermShare> Shares(const PreparedData& rows) const = 0;
  // Does Add share by share: adds what the i-th of the shares contributes to shares[i](:, o).
  virtual absl::Status AddByShare(const PreparedData& rows, const std::vector<Matrix*>& shares,
                                  RunContext& context) const = 0;
};

}  // namespace mercer
