// How often each label of a target occurs: what a fold leaves for training, at the cost of the rows
// that it holds out.
#pragma once

#include <vector>

#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/data/table/dataset.h"

namespace mercer {

class LabelCounts {
 public:
  // Errors: kCancelled.
  static absl::StatusOr<LabelCounts> Make(const RoleColumn& target, const RunContext& context);

  // True when the rows but `held_out` (each named once) have a label, all of them, and these are of
  // two classes or more, but not more than a coding takes.
  bool TrainableWithout(const std::vector<Index>& held_out);

 private:
  static constexpr size_t kMissing = 0;

  std::vector<size_t> code_of_row_;
  std::vector<Index> counts_ = {0};  // by code
  size_t classes_ = 0;               // of a count other than 0
};

}  // namespace mercer
