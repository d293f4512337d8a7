// What an interrupted run needs to go on with the same bits: the pivots, from which all else of the
// choice of pivots follows, and the solver of each output.
#include <cmath>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/status_macros.h"
#include "core/learners/csi/csi.h"

namespace mercer::csi {
namespace {

constexpr uint64_t kStateVersion = 1;

absl::Status Damaged() { return absl::DataLossError("not a state of csi for this problem"); }

}  // namespace

std::string CsiLearner::Serialize() const {
  ByteWriter writer;
  writer.WriteUint64(kStateVersion);
  writer.WriteIndices(progress_.pivots);
  writer.WriteInt64(progress_.look_ahead);
  writer.WriteBool(progress_.done);
  writer.WriteDouble(criterion_);
  writer.WriteDouble(goal_);
  writer.WriteBool(stuck_);
  writer.WriteUint64(next_output_);
  writer.WriteUint64(outputs_.size());
  for (const FeatureRidge& output : outputs_) {
    output.Save(writer);
  }
  return std::move(writer).Take();
}

absl::Status CsiLearner::Deserialize(std::string_view bytes, RunContext& context) {
  ByteReader reader(bytes);
  const bool known = reader.ReadUint64() == kStateVersion;
  progress_.pivots = reader.ReadIndices();
  progress_.look_ahead = reader.ReadInt64();
  progress_.done = reader.ReadBool();
  criterion_ = reader.ReadDouble();
  goal_ = reader.ReadDouble();
  stuck_ = reader.ReadBool();
  next_output_ = reader.ReadUint64();
  const uint64_t num_outputs = reader.ReadUint64();
  const auto expected = static_cast<uint64_t>(problem_->tasks[0].targets.cols());
  if (!known || !reader.ok() || progress_.look_ahead < 0 || !std::isfinite(criterion_) ||
      !(goal_ >= 0) || progress_.pivots.size() > kept_.size() ||
      static_cast<int64_t>(progress_.pivots.size()) > options_.max_pivots ||
      (num_outputs != 0 && (num_outputs != expected || !progress_.done)) ||
      next_output_ >= std::max<uint64_t>(num_outputs, 1)) {
    return Damaged();
  }
  outputs_.clear();
  factor_.reset();  // pivots are chosen anew from those that there are
  if (num_outputs == 0) {
    return reader.AtEnd() ? absl::OkStatus() : Damaged();
  }
  MERCER_RETURN_IF_ERROR(Prepare(context));
  MERCER_RETURN_IF_ERROR(BuildFeatures(context));
  std::vector<FeatureRidge> outputs(num_outputs);
  for (size_t o = 0; o < outputs.size(); ++o) {
    if (!outputs[o].Load(ProblemOf(static_cast<Index>(o)), reader)) {
      return Damaged();
    }
  }
  if (!reader.AtEnd()) {
    return Damaged();
  }
  outputs_ = std::move(outputs);
  return absl::OkStatus();
}

absl::Status CsiLearner::RestoreState(const TrainingProblem& problem, std::string_view state,
                                      RunContext& context) {
  MERCER_RETURN_IF_ERROR(Start(problem, nullptr));
  MERCER_RETURN_IF_ERROR(Deserialize(state, context));
  saved_ = std::string(state);
  return absl::OkStatus();
}

}  // namespace mercer::csi
