// What an interrupted run needs to go on with the same bits: the pivots, from which all else of the
// choice of pivots follows, what is known of each output, and the solver of the one under way.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "core/base/status/status_macros.h"
#include "core/learners/csi/csi.h"

namespace mercer::csi {

bool CsiLearner::Fits(const CsiState& state) const {
  const size_t pivots = state.progress.pivots.size();
  const size_t outputs = state.outputs.size();
  const bool solving =
      state.progress.done && outputs == static_cast<size_t>(problem_->num_outputs());
  const auto has_weights = [&](const CsiOutput& output) {
    return output.weights.size() == static_cast<Index>(pivots);
  };
  return std::all_of(state.outputs.begin(), state.outputs.end(), has_weights) &&
         pivots <= kept_.size() && static_cast<int64_t>(pivots) <= options_.max_pivots &&
         (outputs == 0 || solving) && state.next_output < std::max<size_t>(1, outputs);
}

void CsiLearner::SaveParts(ByteWriter& writer) const {
  writer.WriteBool(solver_ != nullptr);
  if (solver_ != nullptr) {
    writer.WriteDouble(solver_gap_);
    writer.WriteString(solver_->SaveState());
  }
}

absl::Status CsiLearner::LoadParts(ByteReader& reader, RunContext& context) {
  solver_ = nullptr;
  factor_.reset();  // pivots are chosen anew from those that there are
  const bool begun = reader.ReadBool();
  if (state_.outputs.empty()) {
    return begun ? NotAState() : absl::OkStatus();
  }
  MERCER_RETURN_IF_ERROR(Prepare(context));
  MERCER_RETURN_IF_ERROR(BuildFeatures(context));
  if (!begun) {
    return absl::OkStatus();
  }
  solver_gap_ = reader.ReadDouble();
  const std::string state = reader.ReadString();
  std::unique_ptr<CurvedSvmSolver> solver = MakeSolver();
  MERCER_RETURN_IF_ERROR(OfPart(
      solver->RestoreState(ProblemOf(static_cast<Index>(state_.next_output)), state, context)));
  solver_ = std::move(solver);
  return absl::OkStatus();
}

}  // namespace mercer::csi
