// What an interrupted run needs to go on with the same bits.
#include <cmath>

#include "core/base/status/status_macros.h"
#include "core/learners/ikl/ikl.h"

namespace mercer::ikl {
namespace {

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

bool IklLearner::Fits(const IklState& state) const {
  const Index rows = svm_.targets.size();
  const bool left = state.last.weights.size() == state.weights.size() &&
                    state.last.dual.size() == rows &&
                    state.last.energies.size() == state.weights.size();
  const bool first = state.last.weights.size() + state.last.dual.size() == 0 &&
                     state.last.energies.size() == 0 && state.last.upper == kInfinity;
  const bool has_best = state.best.weights.size() > 0 && state.best.dual.size() == rows;
  return IsList(state.bandwidths, state.weights) &&
         IsList(state.best.bandwidths, state.best.weights) && (left || first) &&
         (has_best || !std::isfinite(state.best.primal)) &&
         !(state.solving && state.bandwidths.empty());
}

void IklLearner::SaveParts(ByteWriter& writer) const {
  writer.WriteString(state_.solving ? solver_->SaveState() : std::string());
}

absl::Status IklLearner::LoadParts(ByteReader& reader, RunContext& context) {
  const std::string of_solver = reader.ReadString();
  solver_ = nullptr;
  if (state_.bandwidths.empty()) {
    return absl::OkStatus();
  }
  MERCER_RETURN_IF_ERROR(Prepare(context));
  if (!state_.solving) {
    return absl::OkStatus();
  }
  solver_ = MakeSolver();
  return OfPart(solver_->RestoreState(svm_, of_solver));
}

}  // namespace mercer::ikl
