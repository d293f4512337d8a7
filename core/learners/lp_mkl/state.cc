// What an interrupted run needs to go on with the same bits.
#include <cmath>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/status_macros.h"
#include "core/base/step_count.h"
#include "core/learners/lp_mkl/lp_mkl.h"

namespace mercer::lp_mkl {
namespace {

// The version of the state. States of solvers for kernels of low rank are in terms of factors that
// are made anew: 4 since these have other bits.
uint64_t StateVersion(const LpMklOptions& options) {
  return options.approximation == Approximation::kNystrom ? 4 : 3;
}

bool IsEmptyOr(const Vector& vector, Index size) {
  return vector.size() == 0 || vector.size() == size;
}

}  // namespace

std::string LpMklLearner::Serialize() const {
  ByteWriter writer;
  writer.WriteUint64(StateVersion(options_));
  writer.WriteBool(state_.solving);
  writer.WriteVector(state_.weights);
  writer.WriteVector(state_.dual);
  writer.WriteDouble(state_.inner_gap);
  writer.WriteDouble(state_.goal);
  writer.WriteInt64(state_.outer);
  writer.WriteInt64(state_.fruitless);
  writer.WriteInt64(state_.newton_from);
  writer.WriteVector(state_.last.weights);
  writer.WriteVector(state_.last.dual);
  writer.WriteVector(state_.last.energies);
  writer.WriteDouble(state_.last.upper);
  writer.WriteBool(state_.last.newton);
  writer.WriteInt64(state_.last.reductions);
  writer.WriteVector(state_.best.weights);
  writer.WriteVector(state_.best.dual);
  for (const double value :
       {state_.best.bias, state_.best.gap, state_.best.primal, state_.best.lower}) {
    writer.WriteDouble(value);
  }
  writer.WriteBool(state_.stop.has_value());
  writer.WriteUint8(static_cast<uint8_t>(state_.stop.value_or(StopReason::kConverged)));
  inner_->Save(writer);
  return std::move(writer).Take();
}

absl::Status LpMklLearner::Deserialize(std::string_view bytes, RunContext& context) {
  const absl::Status damaged = absl::DataLossError("not a state of lp_mkl for this problem");
  ByteReader reader(bytes);
  State state;
  const bool known = reader.ReadUint64() == StateVersion(options_);
  state.solving = reader.ReadBool();
  state.weights = reader.ReadVector();
  state.dual = reader.ReadVector();
  state.inner_gap = reader.ReadDouble();
  state.goal = reader.ReadDouble();
  state.outer = reader.ReadInt64();
  state.fruitless = reader.ReadInt64();
  state.newton_from = reader.ReadInt64();
  state.last.weights = reader.ReadVector();
  state.last.dual = reader.ReadVector();
  state.last.energies = reader.ReadVector();
  state.last.upper = reader.ReadDouble();
  state.last.newton = reader.ReadBool();
  state.last.reductions = reader.ReadInt64();
  state.best.weights = reader.ReadVector();
  state.best.dual = reader.ReadVector();
  for (double* value : {&state.best.bias, &state.best.gap, &state.best.primal, &state.best.lower}) {
    *value = reader.ReadDouble();
  }
  const bool stopped = reader.ReadBool();
  const uint8_t reason = reader.ReadUint8();
  const Index kernels = static_cast<Index>(problem_->kernels.size());
  const Index rows = svm_.targets.size();
  // The weights that were left must be whole, or there must be none, and then no bound of an
  // optimum.
  const bool left = state.last.weights.size() == kernels && state.last.dual.size() == rows &&
                    state.last.energies.size() == kernels;
  const bool first = state.last.weights.size() + state.last.dual.size() == 0 &&
                     state.last.energies.size() == 0 && state.last.upper == kInfinity;
  const bool has_best = state.best.weights.size() == kernels && state.best.dual.size() == rows;
  if (!reader.ok() || !known || state.weights.size() != kernels || state.dual.size() != rows ||
      !(left || first) || !IsEmptyOr(state.best.weights, kernels) ||
      !IsEmptyOr(state.best.dual, rows) || (std::isfinite(state.best.gap) && !has_best) ||
      !IsStepCount(state.outer) || !IsStepCount(state.fruitless) ||
      !IsStepCount(state.newton_from) || !IsStepCount(state.last.reductions) ||
      reason > static_cast<uint8_t>(StopReason::kObjectiveZero)) {
    return damaged;
  }
  if (stopped) {
    state.stop = static_cast<StopReason>(reason);
  }
  state_ = std::move(state);
  MERCER_RETURN_IF_ERROR(Prepare(context));
  const absl::Status inner = inner_->Load(reader, kernel_.get());
  const bool solver_fits = !state_.solving || inner_->has_point();
  return inner.ok() && reader.AtEnd() && solver_fits ? absl::OkStatus() : damaged;
}

absl::Status LpMklLearner::RestoreState(const TrainingProblem& problem, std::string_view state,
                                        RunContext& context) {
  MERCER_RETURN_IF_ERROR(Start(problem, nullptr));
  interrupted_ = true;  // a restore that is cut short is no state to go on from
  MERCER_RETURN_IF_ERROR(Deserialize(state, context));
  interrupted_ = false;
  saved_ = std::string(state);
  return absl::OkStatus();
}

}  // namespace mercer::lp_mkl
