#include "core/data/metrics/metrics.h"

#include "core/data/metrics/weighted_metrics.h"

namespace mercer {

double Accuracy(const std::vector<int>& predicted, const std::vector<int>& actual) {
  return WeightedAccuracy(predicted, actual, nullptr);
}

double BalancedAccuracy(const std::vector<int>& predicted, const std::vector<int>& actual) {
  return WeightedBalancedAccuracy(predicted, actual, nullptr);
}

double AreaUnderRoc(const ConstVectorRef& values, const std::vector<bool>& positive) {
  return *WeightedAreaUnderRoc(values, positive, nullptr, RunContext());
}

double RootMeanSquaredError(const ConstVectorRef& predicted, const ConstVectorRef& actual) {
  return WeightedRootMeanSquaredError(predicted, actual, nullptr);
}

double RSquared(const ConstVectorRef& predicted, const ConstVectorRef& actual) {
  return WeightedRSquared(predicted, actual, nullptr);
}

}  // namespace mercer
