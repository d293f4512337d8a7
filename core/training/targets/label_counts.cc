#include "core/training/targets/label_counts.h"

#include <cmath>
#include <map>

#include "core/training/targets/output_coding.h"

namespace mercer {

LabelCounts::LabelCounts(const RoleColumn& target) {
  std::map<double, size_t> codes;  // 0 and -0 are one label
  for (const double label : target.values) {
    size_t code = kMissing;
    if (!std::isnan(label)) {
      const auto [known, inserted] = codes.try_emplace(label, counts_.size());
      code = known->second;
      if (inserted) {
        counts_.push_back(0);
      }
    }
    code_of_row_.push_back(code);
    ++counts_[code];
  }
  classes_ = codes.size();
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
