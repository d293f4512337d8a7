// Measures of prediction quality on rows with known targets.
#pragma once

#include <string>
#include <vector>

#include "core/base/encoding/saved_fields.h"
#include "core/base/numeric/types.h"

namespace mercer {

// The share of rows with predicted(i) == actual(i).
double Accuracy(const std::vector<int>& predicted, const std::vector<int>& actual);
// Mean over the classes present in `actual` of the share of their rows predicted right.
double BalancedAccuracy(const std::vector<int>& predicted, const std::vector<int>& actual);
// Area under the ROC curve: probability that a positive row has the larger value, ties counting one
// half. NaN when one class is absent.
double AreaUnderRoc(const ConstVectorRef& values, const std::vector<bool>& positive);
double RootMeanSquaredError(const ConstVectorRef& predicted, const ConstVectorRef& actual);
// 1 - sum (actual - predicted)^2 / sum (actual - mean)^2; 0 for constant targets predicted exactly
// or not.
double RSquared(const ConstVectorRef& predicted, const ConstVectorRef& actual);

struct Metric {
  std::string name;  // accuracy, balanced_accuracy, auc, rmse, r2; verifiers name their own
  double value = 0;

  static void VisitFields(auto& visit, auto& self) { visit(self.name, self.value); }
};

}  // namespace mercer
