// What a run of a recipe has come to: the content of its checkpoints.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "core/base/encoding/saved_fields.h"
#include "core/data/metrics/metrics.h"
#include "core/training/model/held_out.h"
#include "core/training/recipe/recipe.h"
#include "core/training/tables/model_table.h"

namespace mercer {

// A model that a path keeps, with its witness, both encoded.
struct ModelOfValue {
  int64_t value = 0;  // from 0
  std::string model;
  std::string witness;

  static void VisitFields(auto& visit, auto& self) { visit(self.value, self.model, self.witness); }
};

// Metrics by name, each with its values of the folds.
using MetricLists = std::map<std::string, std::vector<double>>;

struct RecipeProgress {
  int64_t phase = 0;        // that is to be trained, or is being trained
  int64_t iterations = 0;   // of the phases before
  double seconds_used = 0;  // of a limited time
  std::string model;        // encoded, as soon as there is one
  std::string witness;
  // The metrics of the folds before, for each value of a path; not every fold need have each.
  std::vector<MetricLists> metrics;
  std::vector<HeldOutRows> held_out;  // of the folds before, as `metrics`; empty: none
  // The value of the path that is best by what is known, 0 without a path; -1: nothing is known.
  int64_t best = -1;
  std::string last_point;  // of a path, encoded: what the next value begins with; empty: nothing
  std::vector<ModelOfValue> others;  // of a path that keeps all: those that are not the best
  SelectionCounts selection;         // of parts of the model's rows
  // Of a test of the ranking: as `metrics`, for each number of columns.
  std::vector<std::map<int64_t, MetricLists>> ranking_tests;
  std::string run_state;  // of the current phase; empty: at its start

  // The means over the folds by name, those of the baseline last.
  std::vector<Metric> MeanMetrics(size_t value) const;
  // The number of folds that have metrics of that value.
  size_t FoldsSeen(size_t value) const;
  // Adds how the metrics vary over the folds, where two have them, with that before their names.
  void AddSpreads(size_t value, const std::string& prefix,
                  std::vector<MetricSpread>& spreads) const;
};

// Adds the metrics of one fold.
void AddMetrics(const std::vector<Metric>& found, MetricLists& lists);

// The mean of at least one value.
double Mean(absl::Span<const double> values);
// Their standard deviation, of a sample; 0 of fewer than two.
double Deviation(absl::Span<const double> values);

// Whether values of a path are compared by that metric.
bool IsScore(std::string_view name);
// The table kPathTable: what the values of a path have come to that the run has tried, of which
// there must be one. A metric stands in it that is finite for all of them.
ModelTable PathTable(const RecipeProgress& progress, const OptionPath& path);
// The table kRankingTestTable: what machines on so many first columns have come to, of which there
// must be one.
ModelTable RankingTestTable(const std::map<int64_t, MetricLists>& tests);

// Encodes a checkpoint, with `run_state` and `seconds_used` in the place of its own.
std::string EncodeProgress(const RecipeProgress& progress, std::string_view run_state,
                           double seconds_used, const std::string& code_version);
// Reads a checkpoint. Errors: kFailedPrecondition with reason OTHER_VERSION; kDataLoss when it is
// damaged, or of a run with fewer phases.
absl::StatusOr<RecipeProgress> DecodeProgress(std::string_view state,
                                              const std::string& code_version, int64_t num_phases);

}  // namespace mercer
