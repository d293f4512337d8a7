#include "core/data/metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

namespace mercer {
namespace {

constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

}  // namespace

double Accuracy(const std::vector<int>& predicted, const std::vector<int>& actual) {
  size_t num_right = 0;
  for (size_t i = 0; i < actual.size(); ++i) {
    num_right += predicted[i] == actual[i] ? 1 : 0;
  }
  return actual.empty() ? kUndefined
                        : static_cast<double>(num_right) / static_cast<double>(actual.size());
}

double BalancedAccuracy(const std::vector<int>& predicted, const std::vector<int>& actual) {
  struct Count {
    size_t right = 0;
    size_t all = 0;
  };
  std::map<int, Count> counts;
  for (size_t i = 0; i < actual.size(); ++i) {
    Count& count = counts[actual[i]];
    count.right += predicted[i] == actual[i] ? 1 : 0;
    ++count.all;
  }
  double sum = 0;
  for (const auto& [code, count] : counts) {
    sum += static_cast<double>(count.right) / static_cast<double>(count.all);
  }
  return counts.empty() ? kUndefined : sum / static_cast<double>(counts.size());
}

double AreaUnderRoc(const ConstVectorRef& values, const std::vector<bool>& positive) {
  std::vector<Index> order(positive.size());
  std::iota(order.begin(), order.end(), Index{0});
  if (std::any_of(order.begin(), order.end(), [&](Index i) { return std::isnan(values(i)); })) {
    return kUndefined;
  }
  std::sort(order.begin(), order.end(), [&](Index a, Index b) { return values(a) < values(b); });
  // Twice the number of (positive, negative) pairs in the right order, a tie counting one: an
  // integer, so exact.
  double twice_right = 0;
  double num_negative = 0;  // with a smaller value than the current run of ties
  double num_positive = 0;
  for (size_t begin = 0; begin < order.size();) {
    size_t end = begin;
    double tied_positive = 0;
    double tied_negative = 0;
    for (; end < order.size() && values(order[end]) == values(order[begin]); ++end) {
      (positive[static_cast<size_t>(order[end])] ? tied_positive : tied_negative) += 1;
    }
    twice_right += tied_positive * (2 * num_negative + tied_negative);
    num_negative += tied_negative;
    num_positive += tied_positive;
    begin = end;
  }
  const double num_pairs = num_positive * num_negative;
  return num_pairs == 0 ? kUndefined : twice_right / (2 * num_pairs);
}

double RootMeanSquaredError(const ConstVectorRef& predicted, const ConstVectorRef& actual) {
  if (actual.size() == 0) {
    return kUndefined;
  }
  return std::sqrt((predicted - actual).squaredNorm() / static_cast<double>(actual.size()));
}

double RSquared(const ConstVectorRef& predicted, const ConstVectorRef& actual) {
  if (actual.size() == 0) {
    return kUndefined;
  }
  if (actual.minCoeff() == actual.maxCoeff()) {
    return 0;
  }
  const double mean = actual.mean();
  return 1 - (actual - predicted).squaredNorm() / (actual.array() - mean).square().sum();
}

}  // namespace mercer
