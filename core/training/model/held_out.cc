#include "core/training/model/held_out.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/base/status/status_macros.h"
#include "core/training/model/predictor.h"
#include "core/training/targets/label_names.h"

namespace mercer {
namespace {

// Rows whose values are prepared at a time: of all at once there would be a table more.
constexpr Index kBlockRows = 4096;
constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

// A matrix of rows x classes of `coding`: the larger a value, the more the row looks like one of
// the class.
Matrix ClassValues(const OutputCoding& coding, const ConstMatrixRef& decision_values) {
  if (coding.kind() == CodingKind::kBinary) {
    Matrix values(decision_values.rows(), 2);
    values << -decision_values.col(0), decision_values.col(0);
    return values;
  }
  if (coding.kind() != CodingKind::kOneVsOne) {
    return decision_values;
  }
  // Votes decide and sums of signed values, within (-1/3, 1/3), break ties.
  Matrix votes;
  Matrix sums;
  coding.Vote(decision_values, &votes, &sums);
  return votes.array() + sums.array() / (3 * (1 + sums.array().abs()));
}

// Whether a row is one of the 1 / stride that are kept. It is decided by a hash (the finaliser of
// SplitMix64), since classes often follow each other in the data set: of every second row one of
// them might be missing.
bool IsSampled(Index row, Index stride) {
  if (stride == 1) {
    return true;
  }
  auto hash = static_cast<uint64_t>(row) + 0x9e3779b97f4a7c15U;
  hash = (hash ^ (hash >> 30U)) * 0xbf58476d1ce4e5b9U;
  hash = (hash ^ (hash >> 27U)) * 0x94d049bb133111ebU;
  hash ^= hash >> 31U;
  return hash % static_cast<uint64_t>(stride) == 0;
}

// The classes with the most rows, in the order of the classes.
std::vector<int> MostFrequent(const std::vector<int64_t>& rows_of_class, size_t count) {
  std::vector<int> classes(rows_of_class.size());
  std::iota(classes.begin(), classes.end(), 0);
  std::stable_sort(classes.begin(), classes.end(), [&](int a, int b) {
    return rows_of_class[static_cast<size_t>(a)] > rows_of_class[static_cast<size_t>(b)];
  });
  classes.resize(std::min(count, classes.size()));
  std::sort(classes.begin(), classes.end());
  return classes;
}

}  // namespace

ClassCurve MakeClassCurve(const std::vector<double>& values, const std::vector<bool>& positive) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] > values[b]; });
  ClassCurve curve;
  curve.positives = std::count(positive.begin(), positive.end(), true);
  curve.negatives = static_cast<int64_t>(values.size()) - curve.positives;
  const auto num_positives = static_cast<double>(curve.positives);
  const auto num_negatives = static_cast<double>(curve.negatives);
  // A point is kept when the sum of both rates, which goes from 0 to 2, has grown by so much since
  // the last one.
  constexpr double kStep = 2.0 / static_cast<double>(ClassCurve::kMaxPoints - 3);
  double last_recall = 0;
  double last_fall_out = 0;
  double kept = -kStep;
  int64_t hits = 0;
  for (size_t i = 0; i < order.size();) {
    const double threshold = values[order[i]];
    for (; i < order.size() && values[order[i]] == threshold; ++i) {
      hits += positive[order[i]] ? 1 : 0;
    }
    const double recall = static_cast<double>(hits) / num_positives;
    const double fall_out = (static_cast<double>(i) - static_cast<double>(hits)) / num_negatives;
    const double precision = static_cast<double>(hits) / static_cast<double>(i);
    curve.area_under_roc += (fall_out - last_fall_out) * (recall + last_recall) / 2;
    curve.average_precision += (recall - last_recall) * precision;
    last_recall = recall;
    last_fall_out = fall_out;
    if (recall + fall_out - kept >= kStep || i == order.size()) {
      kept = recall + fall_out;
      curve.thresholds.push_back(threshold);
      curve.true_positive_rates.push_back(recall);
      curve.false_positive_rates.push_back(fall_out);
      curve.precisions.push_back(precision);
    }
  }
  return curve;
}

Residuals MakeResiduals(const std::vector<double>& predicted, const std::vector<double>& actual) {
  Residuals residuals;
  double largest = 0;
  for (size_t row = 0; row < actual.size(); ++row) {
    largest = std::max(largest, std::abs(actual[row] - predicted[row]));
  }
  largest = largest > 0 && std::isfinite(largest) ? largest : 1.0;
  constexpr auto kCount = static_cast<double>(Residuals::kIntervals);
  for (size_t bound = 0; bound <= Residuals::kIntervals; ++bound) {
    residuals.bounds.push_back(largest * (2 * static_cast<double>(bound) / kCount - 1));
  }
  residuals.counts.assign(Residuals::kIntervals, 0);
  const size_t stride = (actual.size() + Residuals::kMaxRows - 1) / Residuals::kMaxRows;
  for (size_t row = 0; row < actual.size(); ++row) {
    const double place = ((actual[row] - predicted[row]) / largest + 1) / 2 * kCount;
    if (!std::isnan(place)) {
      const double interval = std::clamp(std::floor(place), 0.0, kCount - 1);
      ++residuals.counts[static_cast<size_t>(interval)];
    }
    if (row % stride == 0) {
      residuals.predicted.push_back(predicted[row]);
      residuals.actual.push_back(actual[row]);
    }
  }
  return residuals;
}

absl::Status HeldOutPlan::ChooseClasses(const RoleColumn& target, size_t num_collections,
                                        const RunContext& context) {
  const std::vector<Index> known = LabelledRows(target);
  MERCER_ASSIGN_OR_RETURN(const std::vector<double> values,
                          DifferentValues(target, known, context));
  MERCER_ASSIGN_OR_RETURN(classes_, SortedLabels(target.schema, values, context));
  MERCER_ASSIGN_OR_RETURN(const std::vector<int> positions,
                          LabelPositions(target, classes_, context));
  std::vector<int64_t> rows_of_class(classes_.size(), 0);
  for (const int position : positions) {
    if (position >= 0) {
      ++rows_of_class[static_cast<size_t>(position)];
    }
  }
  // With two classes the curve of one says all: that of the other is its mirror image.
  curve_classes_ =
      classes_.size() == 2 ? std::vector<int>{1} : MostFrequent(rows_of_class, kMaxCurves);
  const size_t cells = classes_.size() * classes_.size();
  has_confusion_ =
      classes_.size() <= kMaxConfusedClasses && cells <= kMaxConfusionCells / num_collections;
  return absl::OkStatus();
}

absl::StatusOr<HeldOutPlan> HeldOutPlan::Make(const RoleColumn& target, bool regression,
                                              size_t num_collections, const RunContext& context) {
  HeldOutPlan plan;
  plan.regression_ = regression;
  if (!regression) {
    MERCER_RETURN_IF_ERROR(plan.ChooseClasses(target, num_collections, context));
  }
  const auto width = static_cast<Index>(std::max<size_t>(plan.values_per_row(), 1));
  const Index most = std::max<Index>(1, kMaxValues / static_cast<Index>(num_collections) / width);
  plan.stride_ = std::max<Index>(1, (target.values.size() + most - 1) / most);
  return plan;
}

// The positions of these classes among those that are kept; -1 for a class that is not.
std::vector<int> HeldOutPlan::PositionsIn(const std::vector<std::string>& classes) const {
  std::vector<int> positions;
  for (const std::string& name : classes_) {
    const auto found = std::find(classes.begin(), classes.end(), name);
    positions.push_back(found == classes.end() ? -1 : static_cast<int>(found - classes.begin()));
  }
  return positions;
}

absl::Status HeldOutPlan::Collect(const OutputCoding& coding, const Prediction& prediction,
                                  const RoleColumn& labels, const std::vector<Index>& rows,
                                  const RunContext& context, HeldOutRows& collected) const {
  if (has_confusion_) {
    collected.confusion.resize(classes_.size() * classes_.size(), 0);
  }
  std::vector<int> truth;
  if (!regression_) {
    MERCER_ASSIGN_OR_RETURN(truth, LabelPositions(labels, classes_, context));
  }
  const std::vector<int> position_in_coding = PositionsIn(coding.classes());
  std::vector<size_t> class_of_coding(coding.classes().size(), 0);
  for (size_t c = 0; c < position_in_coding.size(); ++c) {
    if (position_in_coding[c] >= 0) {
      class_of_coding[static_cast<size_t>(position_in_coding[c])] = c;
    }
  }
  Matrix class_values;  // of the current block
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto row = static_cast<Index>(i);
    const Index in_block = row % kBlockRows;
    if (in_block == 0) {
      MERCER_RETURN_IF_ERROR(context.CheckCancelled());
      const Index size = std::min(kBlockRows, prediction.decision_values.rows() - row);
      class_values = ClassValues(coding, prediction.decision_values.middleRows(row, size));
    }
    if (regression_ ? std::isnan(labels.values(row)) : truth[i] < 0) {
      continue;
    }
    ++collected.rows;
    if (has_confusion_) {
      const size_t decided = class_of_coding[static_cast<size_t>(prediction.classes[i])];
      ++collected.confusion[static_cast<size_t>(truth[i]) * classes_.size() + decided];
    }
    if (!IsSampled(rows[i], stride_)) {
      continue;
    }
    collected.truth.push_back(regression_ ? labels.values(row) : truth[i]);
    if (regression_) {
      collected.values.push_back(class_values(in_block, 0));
    }
    for (const int c : curve_classes_) {
      const int position = position_in_coding[static_cast<size_t>(c)];
      collected.values.push_back(position < 0 ? kNoValue : class_values(in_block, position));
    }
  }
  return absl::OkStatus();
}

bool HeldOutPlan::Fits(const HeldOutRows& collected) const {
  const size_t cells = has_confusion_ ? classes_.size() * classes_.size() : 0;
  const auto is_class = [this](double truth) {
    return truth >= 0 && truth < static_cast<double>(classes_.size());
  };
  return (collected.confusion.size() == cells || collected.rows == 0) &&
         collected.values.size() == collected.truth.size() * values_per_row() &&
         (regression_ || std::all_of(collected.truth.begin(), collected.truth.end(), is_class));
}

HeldOut HeldOutPlan::Summarize(const HeldOutRows& collected) const {
  HeldOut held_out;
  held_out.rows = collected.rows;
  held_out.sampled_rows = static_cast<int64_t>(collected.truth.size());
  if (has_confusion_ && collected.rows > 0) {
    held_out.confusion = {classes_, collected.confusion};
  }
  if (regression_ && !collected.truth.empty()) {
    held_out.residuals = MakeResiduals(collected.values, collected.truth);
  }
  for (size_t k = 0; k < curve_classes_.size(); ++k) {
    std::vector<double> values;
    std::vector<bool> positive;
    for (size_t row = 0; row < collected.truth.size(); ++row) {
      const double value = collected.values[row * curve_classes_.size() + k];
      if (!std::isnan(value)) {
        values.push_back(value);
        positive.push_back(collected.truth[row] == curve_classes_[k]);
      }
    }
    const auto hits = std::count(positive.begin(), positive.end(), true);
    if (hits > 0 && hits < static_cast<Index>(positive.size())) {
      held_out.curves.push_back(MakeClassCurve(values, positive));
      held_out.curves.back().label = classes_[static_cast<size_t>(curve_classes_[k])];
    }
  }
  return held_out;
}

}  // namespace mercer
