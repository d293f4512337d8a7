#include "core/training/recipe/recipe_progress.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/training/encoding/encoding.h"
#include "core/training/run/evaluation.h"

namespace mercer {
namespace {

constexpr std::string_view kCheckpointMagic = "MRCRCKPT";
constexpr uint64_t kCheckpointVersion = 7;  // 7: points with tables, labels, any kinds of terms

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
        progress.others, run_state);
  visit.Require([&] {
    return std::all_of(progress.metrics.begin(), progress.metrics.end(), [](const auto& of_value) {
      return std::all_of(of_value.begin(), of_value.end(),
                         [](const auto& metric) { return !metric.second.empty(); });
    });
  });
}

}  // namespace

double Mean(absl::Span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

size_t RecipeProgress::FoldsSeen(size_t value) const {
  size_t most = 0;
  for (const auto& [name, of_folds] : metrics[value]) {
    most = std::max(most, of_folds.size());
  }
  return most;
}

void RecipeProgress::AddMetrics(size_t value, const std::vector<Metric>& found) {
  for (const Metric& metric : found) {
    metrics[value][metric.name].push_back(metric.value);
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
    const double mean = Mean(of_folds);
    double squares = 0;
    for (const double one : of_folds) {
      squares += (one - mean) * (one - mean);
    }
    const auto count = static_cast<double>(of_folds.size());
    spreads.push_back({absl::StrCat(prefix, name), std::sqrt(squares / (count - 1)),
                       static_cast<int64_t>(of_folds.size())});
  }
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
