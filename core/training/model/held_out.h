// What models say of rows that they were not trained on, in so few numbers that a model can keep
// them and people look at them: confusion matrix, curves, residuals.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/encoding/saved_fields.h"
#include "core/base/numeric/types.h"
#include "core/data/table/dataset.h"
#include "core/training/targets/output_coding.h"

namespace mercer {

struct Prediction;

struct ConfusionMatrix {
  std::vector<std::string> classes;  // sorted; empty: there is no matrix
  std::vector<int64_t> counts;       // rows of class r that were predicted as c: [r * classes + c]

  static void VisitFields(auto& visit, auto& self) {
    visit(self.classes, self.counts);
    visit.Require([&] { return self.counts.size() == self.classes.size() * self.classes.size(); });
  }
};

// How well values tell one class, the positive one, from the others: what becomes of the rows when
// those at or above a threshold are taken for that class. Vectors have an entry for each threshold;
// the first rates above none at all, which are 0, are left out.
struct ClassCurve {
  static constexpr size_t kMaxPoints = 200;

  std::string label;
  int64_t positives = 0;           // >= 1
  int64_t negatives = 0;           // >= 1
  std::vector<double> thresholds;  // descending
  std::vector<double> true_positive_rates;
  std::vector<double> false_positive_rates;
  std::vector<double> precisions;
  double area_under_roc = 0;     // of all thresholds, not of those kept alone
  double average_precision = 0;  // sum over all thresholds of precision times gain in recall

  static void VisitFields(auto& visit, auto& self) {
    visit(self.label, self.positives, self.negatives, self.thresholds, self.true_positive_rates,
          self.false_positive_rates, self.precisions, self.area_under_roc, self.average_precision);
    visit.Require([&] {
      const size_t count = self.thresholds.size();
      return self.true_positive_rates.size() == count &&
             self.false_positive_rates.size() == count && self.precisions.size() == count;
    });
  }
};

// The curve of these values. `positive` says which rows are of the class: some, but not all. Values
// are not NaN.
ClassCurve MakeClassCurve(const std::vector<double>& values, const std::vector<bool>& positive);

// The errors of a regression: actual less predicted value, in the unit of the target.
struct Residuals {
  static constexpr size_t kMaxRows = 500;
  static constexpr size_t kIntervals = 41;

  std::vector<double> predicted;  // of at most kMaxRows rows, evenly spread
  std::vector<double> actual;     // of the same rows
  // The bounds of kIntervals intervals of equal width, symmetric around 0; empty when there are no
  // residuals.
  std::vector<double> bounds;
  std::vector<int64_t> counts;  // of all rows, in each interval

  static void VisitFields(auto& visit, auto& self) {
    visit(self.predicted, self.actual, self.bounds, self.counts);
    visit.Require([&] {
      const size_t count = self.bounds.size();
      return self.predicted.size() == self.actual.size() &&
             self.counts.size() == (count == 0 ? 0 : count - 1);
    });
  }
};

// The residuals of these rows, one entry for each; there is at least one.
Residuals MakeResiduals(const std::vector<double>& predicted, const std::vector<double>& actual);

// How a metric varies over folds.
struct MetricSpread {
  std::string name;               // "folds.accuracy"
  double standard_deviation = 0;  // of the sample: divided by one less than the number of folds
  int64_t folds = 0;              // >= 2

  static void VisitFields(auto& visit, auto& self) {
    visit(self.name, self.standard_deviation, self.folds);
  }
};

// What is kept of the predictions for rows that a model was not trained on. Each row counts once,
// as in the metrics, whatever its weight; rows without a target do not count.
struct HeldOut {
  int64_t rows = 0;          // 0: nothing is known
  int64_t folds = 0;         // whose models predicted the rows; 0: one model, of rows held out
  int64_t sampled_rows = 0;  // that curves and residuals are made of
  ConfusionMatrix confusion;
  std::vector<ClassCurve> curves;
  Residuals residuals;
  std::vector<MetricSpread> spreads;

  static void VisitFields(auto& visit, auto& self) {
    visit(self.rows, self.folds, self.sampled_rows, self.confusion, self.curves, self.residuals,
          self.spreads);
  }
};

// Predictions for rows as they are collected, fold by fold.
struct HeldOutRows {
  int64_t rows = 0;
  std::vector<int64_t> confusion;
  // The rows that are kept, one entry for each.
  std::vector<double> truth;   // the target, or the position of the class
  std::vector<double> values;  // for each of these rows one for each curve, NaN where there is none

  static void VisitFields(auto& visit, auto& self) {
    visit(self.rows, self.confusion, self.truth, self.values);
  }
};

// Which numbers of predictions are kept for which classes and rows: the same whatever the folds
// are.
class HeldOutPlan {
 public:
  static constexpr size_t kMaxConfusedClasses = 100;
  static constexpr size_t kMaxCurves = 20;
  static constexpr Index kMaxValues = Index{1} << 18;
  static constexpr size_t kMaxConfusionCells = size_t{1} << 20;

  HeldOutPlan() = default;
  // `num_collections`: how many HeldOutRows share the memory, >= 1. Errors: kCancelled.
  static absl::StatusOr<HeldOutPlan> Make(const RoleColumn& target, bool regression,
                                          size_t num_collections, const RunContext& context);

  // `labels` and `prediction` are of the rows `rows` of the data set, predicted by outputs of that
  // coding, which may know fewer classes. Errors: kCancelled, with some of the rows collected.
  absl::Status Collect(const OutputCoding& coding, const Prediction& prediction,
                       const RoleColumn& labels, const std::vector<Index>& rows,
                       const RunContext& context, HeldOutRows& collected) const;
  // Whether the sizes of what was loaded are those that Collect makes.
  bool Fits(const HeldOutRows& collected) const;
  // The summary of these rows, without folds and spreads.
  HeldOut Summarize(const HeldOutRows& collected) const;

 private:
  absl::Status ChooseClasses(const RoleColumn& target, size_t num_collections,
                             const RunContext& context);
  size_t values_per_row() const { return regression_ ? 1 : curve_classes_.size(); }
  std::vector<int> PositionsIn(const std::vector<std::string>& classes) const;

  bool regression_ = false;
  std::vector<std::string> classes_;  // of all rows of the data set
  std::vector<int> curve_classes_;    // positions in classes_, ascending
  bool has_confusion_ = false;
  Index stride_ = 1;  // one of so many rows of the data set is kept
};

}  // namespace mercer
