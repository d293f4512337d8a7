#include "core/training/targets/label_counts.h"

#include <algorithm>

#include "core/base/process/paced_check.h"
#include "core/base/status/status_macros.h"
#include "core/training/targets/label_names.h"
#include "core/training/targets/output_coding.h"

namespace mercer {

absl::StatusOr<LabelCounts> LabelCounts::Make(const RoleColumn& target, const RunContext& context) {
  constexpr Index kNumbersPerRow = 64;  // of PacedCheck
  const std::vector<Index> known = LabelledRows(target);
  MERCER_ASSIGN_OR_RETURN(const std::vector<double> labels,
                          DifferentValues(target, known, context));
  LabelCounts made;
  made.classes_ = labels.size();
  made.counts_.resize(kMissing + 1 + labels.size(), 0);
  made.code_of_row_.resize(static_cast<size_t>(target.values.size()), kMissing);
  made.counts_[kMissing] = target.values.size() - static_cast<Index>(known.size());
  PacedCheck check(context);
  for (const Index row : known) {
    MERCER_RETURN_IF_ERROR(check.After(kNumbersPerRow));
    const auto label = std::lower_bound(labels.begin(), labels.end(), target.values(row));
    const auto code = kMissing + 1 + static_cast<size_t>(label - labels.begin());
    made.code_of_row_[static_cast<size_t>(row)] = code;
    ++made.counts_[code];
  }
  return made;
}

bool LabelCounts::TrainableWithout(const std::vector<Index>& held_out) {
  for (const Index row : held_out) {
    const size_t code = code_of_row_[static_cast<size_t>(row)];
    --counts_[code];
    classes_ -= code != kMissing && counts_[code] == 0 ? 1 : 0;
  }
  const bool trainable =
      counts_[kMissing] == 0 && classes_ >= 2 && classes_ <= OutputCoding::kMaxClasses;
  for (const Index row : held_out) {
    const size_t code = code_of_row_[static_cast<size_t>(row)];
    classes_ += code != kMissing && counts_[code] == 0 ? 1 : 0;
    ++counts_[code];
  }
  return trainable;
}

}  // namespace mercer
