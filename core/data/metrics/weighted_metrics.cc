#include "core/data/metrics/weighted_metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "core/base/numeric/index_range.h"
#include "core/base/process/paced_check.h"
#include "core/base/process/polled_sort.h"
#include "core/base/status/status_macros.h"

namespace mercer {
namespace {

constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();
// Of PacedCheck: to find a row's value in memory takes as long as to compute so many numbers.
constexpr Index kNumbersPerRankedRow = 16;

double WeightOf(const Vector* weights, size_t row) {
  return weights == nullptr ? 1.0 : (*weights)(static_cast<Index>(row));
}

}  // namespace

double WeightedAccuracy(const std::vector<int>& predicted, const std::vector<int>& actual,
                        const Vector* weights) {
  double right = 0;
  double all = 0;
  for (size_t i = 0; i < actual.size(); ++i) {
    const double weight = WeightOf(weights, i);
    right += predicted[i] == actual[i] ? weight : 0;
    all += weight;
  }
  return actual.empty() ? kUndefined : right / all;
}

double WeightedBalancedAccuracy(const std::vector<int>& predicted, const std::vector<int>& actual,
                                const Vector* weights) {
  struct Count {
    double right = 0;
    double all = 0;
  };
  std::map<int, Count> counts;
  for (size_t i = 0; i < actual.size(); ++i) {
    const double weight = WeightOf(weights, i);
    Count& count = counts[actual[i]];
    count.right += predicted[i] == actual[i] ? weight : 0;
    count.all += weight;
  }
  double sum = 0;
  for (const auto& [code, count] : counts) {
    sum += count.right / count.all;
  }
  return counts.empty() ? kUndefined : sum / static_cast<double>(counts.size());
}

absl::StatusOr<double> WeightedAreaUnderRoc(const ConstVectorRef& values,
                                            const std::vector<bool>& positive,
                                            const Vector* weights, const RunContext& context) {
  std::vector<Index> order = IndexRange(0, static_cast<Index>(positive.size()));
  if (std::any_of(order.begin(), order.end(), [&](Index i) { return std::isnan(values(i)); })) {
    return kUndefined;
  }
  const auto less = [&](Index a, Index b) { return values(a) < values(b); };
  MERCER_RETURN_IF_ERROR(SortPolled(order, less, context));
  // Twice the number of (positive, negative) pairs in the right order, a tie counting one: without
  // weights an integer, so exact.
  double twice_right = 0;
  double num_negative = 0;  // with a smaller value than the current run of ties
  double num_positive = 0;
  PacedCheck check(context);
  for (size_t begin = 0; begin < order.size();) {
    size_t end = begin;
    double tied_positive = 0;
    double tied_negative = 0;
    for (; end < order.size() && values(order[end]) == values(order[begin]); ++end) {
      MERCER_RETURN_IF_ERROR(check.After(kNumbersPerRankedRow));
      const auto row = static_cast<size_t>(order[end]);
      (positive[row] ? tied_positive : tied_negative) += WeightOf(weights, row);
    }
    twice_right += tied_positive * (2 * num_negative + tied_negative);
    num_negative += tied_negative;
    num_positive += tied_positive;
    begin = end;
  }
  const double num_pairs = num_positive * num_negative;
  return num_pairs == 0 ? kUndefined : twice_right / (2 * num_pairs);
}

double WeightedRootMeanSquaredError(const ConstVectorRef& predicted, const ConstVectorRef& actual,
                                    const Vector* weights) {
  if (actual.size() == 0) {
    return kUndefined;
  }
  if (weights != nullptr) {
    return std::sqrt((weights->array() * (predicted - actual).array().square()).sum() /
                     weights->sum());
  }
  return std::sqrt((predicted - actual).squaredNorm() / static_cast<double>(actual.size()));
}

double WeightedRSquared(const ConstVectorRef& predicted, const ConstVectorRef& actual,
                        const Vector* weights) {
  if (actual.size() == 0) {
    return kUndefined;
  }
  if (actual.minCoeff() == actual.maxCoeff()) {
    return 0;
  }
  if (weights != nullptr) {
    const double mean = weights->dot(actual) / weights->sum();
    return 1 - (weights->array() * (actual - predicted).array().square()).sum() /
                   (weights->array() * (actual.array() - mean).square()).sum();
  }
  const double mean = actual.mean();
  return 1 - (actual - predicted).squaredNorm() / (actual.array() - mean).square().sum();
}

}  // namespace mercer
