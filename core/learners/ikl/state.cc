// What an interrupted run needs to go on with the same bits.
#include <cmath>
#include <optional>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/status_macros.h"
#include "core/base/step_count.h"
#include "core/learners/ikl/ikl.h"

namespace mercer::ikl {
namespace {

constexpr uint64_t kStateVersion = 1;

bool IsList(const std::vector<double>& bandwidths, const Vector& weights) {
  if (static_cast<Index>(bandwidths.size()) != weights.size() || !weights.allFinite()) {
    return false;
  }
  for (const double bandwidth : bandwidths) {
    if (!(bandwidth > 0) || !std::isfinite(bandwidth)) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::string IklLearner::Serialize() const {
  ByteWriter writer;
  writer.WriteUint64(kStateVersion);
  writer.WriteDoubles(state_.bandwidths);
  writer.WriteVector(state_.weights);
  writer.WriteVector(state_.dual);
  writer.WriteBool(state_.solving);
  writer.WriteDouble(state_.inner_gap);
  writer.WriteDouble(state_.goal);
  for (const int64_t count : {state_.outer, state_.fruitless, state_.iterations, state_.searches,
                              state_.last.reductions}) {
    writer.WriteInt64(count);
  }
  writer.WriteVector(state_.last.weights);
  writer.WriteVector(state_.last.dual);
  writer.WriteVector(state_.last.energies);
  writer.WriteDouble(state_.last.upper);
  writer.WriteDoubles(state_.best.bandwidths);
  writer.WriteVector(state_.best.weights);
  writer.WriteVector(state_.best.dual);
  for (const double value :
       {state_.best.bias, state_.best.primal, state_.best.lower, state_.best.gap}) {
    writer.WriteDouble(value);
  }
  writer.WriteUint8(static_cast<uint8_t>(state_.end));
  writer.WriteBool(state_.stop.has_value());
  writer.WriteUint8(static_cast<uint8_t>(state_.stop.value_or(StopReason::kConverged)));
  writer.WriteString(state_.solving ? solver_->SaveState() : std::string());
  return std::move(writer).Take();
}

std::optional<IklLearner::SavedState> IklLearner::ReadSaved(std::string_view bytes) {
  ByteReader reader(bytes);
  SavedState saved;
  State& state = saved.state;
  const bool known = reader.ReadUint64() == kStateVersion;
  state.bandwidths = reader.ReadDoubles();
  state.weights = reader.ReadVector();
  state.dual = reader.ReadVector();
  state.solving = reader.ReadBool();
  state.inner_gap = reader.ReadDouble();
  state.goal = reader.ReadDouble();
  bool counts = true;
  for (int64_t* count : {&state.outer, &state.fruitless, &state.iterations, &state.searches,
                         &state.last.reductions}) {
    *count = reader.ReadInt64();
    counts = counts && IsStepCount(*count);
  }
  state.last.weights = reader.ReadVector();
  state.last.dual = reader.ReadVector();
  state.last.energies = reader.ReadVector();
  state.last.upper = reader.ReadDouble();
  state.best.bandwidths = reader.ReadDoubles();
  state.best.weights = reader.ReadVector();
  state.best.dual = reader.ReadVector();
  for (double* value : {&state.best.bias, &state.best.primal, &state.best.lower, &state.best.gap}) {
    *value = reader.ReadDouble();
  }
  const uint8_t end = reader.ReadUint8();
  const bool stopped = reader.ReadBool();
  const uint8_t reason = reader.ReadUint8();
  saved.solver = reader.ReadString();
  if (!reader.AtEnd() || !known || !counts || end > static_cast<uint8_t>(SearchEnd::kNoProgress) ||
      reason > static_cast<uint8_t>(StopReason::kObjectiveZero)) {
    return std::nullopt;
  }
  state.end = static_cast<SearchEnd>(end);
  if (stopped) {
    state.stop = static_cast<StopReason>(reason);
  }
  return saved;
}

bool IklLearner::Fits(const State& state) const {
  const Index rows = svm_.targets.size();
  const bool left = state.last.weights.size() == state.weights.size() &&
                    state.last.dual.size() == rows &&
                    state.last.energies.size() == state.weights.size();
  const bool first = state.last.weights.size() + state.last.dual.size() == 0 &&
                     state.last.energies.size() == 0 && state.last.upper == kInfinity;
  const bool has_best = state.best.weights.size() > 0 && state.best.dual.size() == rows;
  return IsList(state.bandwidths, state.weights) &&
         IsList(state.best.bandwidths, state.best.weights) && state.dual.size() == rows &&
         (left || first) && (has_best || !std::isfinite(state.best.primal)) &&
         !(state.solving && state.bandwidths.empty());
}

absl::Status IklLearner::Deserialize(std::string_view bytes, RunContext& context) {
  const absl::Status damaged = absl::DataLossError("not a state of ikl for this problem");
  std::optional<SavedState> saved = ReadSaved(bytes);
  if (!saved.has_value() || !Fits(saved->state)) {
    return damaged;
  }
  state_ = std::move(saved->state);
  solver_ = nullptr;
  if (state_.bandwidths.empty()) {
    return absl::OkStatus();
  }
  MERCER_RETURN_IF_ERROR(Prepare(context));
  if (!state_.solving) {
    return absl::OkStatus();
  }
  SmoOptions options;
  options.relative_gap = state_.inner_gap;
  solver_ = std::make_unique<SmoSolver>(*kernel_, options);
  const absl::Status restored = solver_->RestoreState(svm_, saved->solver);
  return restored.ok() || absl::IsCancelled(restored) ? restored : damaged;
}

absl::Status IklLearner::RestoreState(const TrainingProblem& problem, std::string_view state,
                                      RunContext& context) {
  MERCER_RETURN_IF_ERROR(Start(problem, nullptr));
  interrupted_ = true;  // a restore that is cut short is no state to go on from
  MERCER_RETURN_IF_ERROR(Deserialize(state, context));
  interrupted_ = false;
  saved_ = std::string(state);
  return absl::OkStatus();
}

}  // namespace mercer::ikl
