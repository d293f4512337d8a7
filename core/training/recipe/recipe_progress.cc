#include "core/training/recipe/recipe_progress.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/training/encoding/encoding.h"
#include "core/training/run/evaluation.h"
#include "core/training/targets/label_names.h"

namespace mercer {
namespace {

constexpr char kTaskPrefix[] = "task.";  // of metrics of a single task
constexpr std::string_view kCheckpointMagic = "MRCRCKPT";
constexpr uint64_t kCheckpointVersion = 9;  // 9: tests of rankings

absl::Status OtherVersion(const std::string& written_by, const std::string& this_version) {
  return WithReason(absl::FailedPreconditionError(
                        absl::StrCat("the checkpoint was written by version '", written_by,
                                     "', this is version '", this_version, "'")),
                    "OTHER_VERSION", {{"written_by", written_by}, {"this_version", this_version}});
}

// The fields of a checkpoint. The time that was used and the state of the run are those of the
// moment when they are written.
void VisitProgress(auto& visit, auto& progress, auto& seconds_used, auto& run_state) {
  visit(progress.phase, progress.iterations, seconds_used, progress.model, progress.witness,
        progress.metrics, progress.held_out, AnyInteger(progress.best), progress.last_point,
        progress.others, progress.selection, progress.ranking_tests, run_state);
  const auto is_whole = [](const MetricLists& lists) {
    return std::all_of(lists.begin(), lists.end(),
                       [](const auto& metric) { return !metric.second.empty(); });
  };
  visit.Require([&] {
    const auto are_whole = [&](const auto& tests) {
      return std::all_of(tests.begin(), tests.end(), [&](const auto& test) {
        return !test.second.empty() && is_whole(test.second);
      });
    };
    return std::all_of(progress.metrics.begin(), progress.metrics.end(), is_whole) &&
           std::all_of(progress.ranking_tests.begin(), progress.ranking_tests.end(), are_whole);
  });
}

// The names of the metrics that are finite in all of these, the score first, then what else a choice
// goes by.
std::vector<std::string> CommonMetrics(const std::vector<const MetricLists*>& all) {
  std::vector<std::string> names;
  for (const auto& metric : *all.front()) {
    const std::string& name = metric.first;
    const bool is_common = std::all_of(all.begin(), all.end(), [&](const MetricLists* lists) {
      const auto found = lists->find(name);
      return found != lists->end() && std::isfinite(Mean(found->second));
    });
    // What the same answer for all rows scores is the same for every value; of many tasks there
    // would be many columns.
    if (is_common && !IsOfBaseline({name, 0}) && !absl::StartsWith(name, kTaskPrefix)) {
      names.push_back(name);
    }
  }
  const auto rank = [](const std::string& name) {
    return IsScore(name) ? 0 : name == "active_terms" ? 1 : name == "relative_gap" ? 2 : 3;
  };
  std::stable_sort(names.begin(), names.end(),
                   [&](const auto& left, const auto& right) { return rank(left) < rank(right); });
  return names;
}

// Fills in a row of means for each of these, and the deviation of the score where folds have one.
void AddMeans(const std::vector<const MetricLists*>& all, ModelTable& table) {
  table.column_axis = "metrics";
  table.drawing = TableDrawing::kCurve;
  const std::vector<std::string> names = CommonMetrics(all);
  const bool has_deviation = !names.empty() && IsScore(names.front()) &&
                             all.front()->at(names.front()).size() > 1 &&
                             std::all_of(all.begin(), all.end(), [&](const MetricLists* lists) {
                               return std::isfinite(Deviation(lists->at(names.front())));
                             });
  table.values.resize(static_cast<Index>(all.size()),
                      static_cast<Index>(names.size()) + (has_deviation ? 1 : 0));
  Index column = 0;
  const auto add = [&](const std::string& title, const std::string& name, const auto& of_folds) {
    table.columns.push_back(title);
    for (size_t i = 0; i < all.size(); ++i) {
      table.values(static_cast<Index>(i), column) = of_folds(all[i]->at(name));
    }
    ++column;
  };
  for (const std::string& name : names) {
    add(name, name, Mean);
    if (column == 1 && has_deviation) {
      add(absl::StrCat(name, kDeviationSuffix), name, Deviation);
    }
  }
}

}  // namespace

bool IsScore(std::string_view name) { return name == "accuracy" || name == "rmse"; }

double Mean(absl::Span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double Deviation(absl::Span<const double> values) {
  if (values.size() < 2) {
    return 0;
  }
  const double mean = Mean(values);
  double squares = 0;
  for (const double one : values) {
    squares += (one - mean) * (one - mean);
  }
  return std::sqrt(squares / (static_cast<double>(values.size()) - 1));
}

size_t RecipeProgress::FoldsSeen(size_t value) const {
  size_t most = 0;
  for (const auto& [name, of_folds] : metrics[value]) {
    most = std::max(most, of_folds.size());
  }
  return most;
}

void AddMetrics(const std::vector<Metric>& found, MetricLists& lists) {
  for (const Metric& metric : found) {
    lists[metric.name].push_back(metric.value);
  }
}

std::vector<Metric> RecipeProgress::MeanMetrics(size_t value) const {
  std::vector<Metric> means;
  for (const auto& [name, of_folds] : metrics[value]) {
    means.push_back({name, Mean(of_folds)});
  }
  std::stable_partition(means.begin(), means.end(),
                        [](const Metric& metric) { return !IsOfBaseline(metric); });
  return means;
}

void RecipeProgress::AddSpreads(size_t value, const std::string& prefix,
                                std::vector<MetricSpread>& spreads) const {
  for (const auto& [name, of_folds] : metrics[value]) {
    if (of_folds.size() < 2 || IsOfBaseline({name, 0})) {
      continue;
    }
    spreads.push_back(
        {absl::StrCat(prefix, name), Deviation(of_folds), static_cast<int64_t>(of_folds.size())});
  }
}

ModelTable PathTable(const RecipeProgress& progress, const OptionPath& path) {
  ModelTable table;
  table.name = kPathTable;
  table.title = absl::StrCat(
      "values of ", path.option, ", of which ",
      absl::StrFormat("%.6g", path.values[static_cast<size_t>(progress.best)]), " is best");
  table.row_axis = path.option;
  std::vector<const MetricLists*> tried;
  for (size_t value = 0; value < path.values.size(); ++value) {
    if (!progress.metrics[value].empty()) {
      tried.push_back(&progress.metrics[value]);
      table.rows.push_back(FormatLabel(path.values[value]));
    }
  }
  AddMeans(tried, table);
  return table;
}

// Folds that have other categories may have other numbers of columns: those that most have count.
ModelTable RankingTestTable(const std::map<int64_t, MetricLists>& tests) {
  const auto folds = [](const auto& test) { return test.second.begin()->second.size(); };
  size_t most = 0;
  for (const auto& test : tests) {
    most = std::max(most, folds(test));
  }
  ModelTable table;
  table.name = kRankingTestTable;
  table.title = "linear support vector machines on the first columns of the ranking";
  table.row_axis = "first columns";
  std::vector<const MetricLists*> tested;
  for (const auto& test : tests) {
    if (folds(test) == most) {
      tested.push_back(&test.second);
      table.rows.push_back(absl::StrCat(test.first));
    }
  }
  AddMeans(tested, table);
  return table;
}

std::string EncodeProgress(const RecipeProgress& progress, std::string_view run_state,
                           double seconds_used, const std::string& code_version) {
  ByteWriter writer;
  writer.WriteString(code_version);
  FieldWriter visit(writer);
  VisitProgress(visit, progress, seconds_used, run_state);
  return FramePayload(kCheckpointMagic, kCheckpointVersion, writer.bytes());
}

absl::StatusOr<RecipeProgress> DecodeProgress(std::string_view state,
                                              const std::string& code_version, int64_t num_phases) {
  MERCER_ASSIGN_OR_RETURN(
      const std::string_view payload,
      UnframePayload(kCheckpointMagic, std::numeric_limits<uint64_t>::max(), "checkpoint", state));
  const uint64_t format = FormatVersion(state);
  if (format != kCheckpointVersion) {
    return OtherVersion(absl::StrCat("format ", format),
                        absl::StrCat("format ", kCheckpointVersion));
  }
  ByteReader reader(payload);
  const std::string written_by = reader.ReadString();
  if (reader.ok() && written_by != code_version) {
    return OtherVersion(written_by, code_version);
  }
  RecipeProgress progress;
  FieldReader visit(reader);
  VisitProgress(visit, progress, progress.seconds_used, progress.run_state);
  if (!reader.AtEnd() || progress.phase >= num_phases) {
    return absl::DataLossError("not a readable checkpoint: its content is inconsistent");
  }
  return progress;
}

}  // namespace mercer
