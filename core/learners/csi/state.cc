// What an interrupted run needs to go on with the same bits: the pivots, from which all else of the
// choice of pivots follows, and the solver of each output.
#include <algorithm>
#include <utility>

#include "core/base/status/status_macros.h"
#include "core/learners/csi/csi.h"

namespace mercer::csi {

bool CsiLearner::Fits(const CsiState& state) const {
  const size_t pivots = state.progress.pivots.size();
  return pivots <= kept_.size() && static_cast<int64_t>(pivots) <= options_.max_pivots;
}

void CsiLearner::SaveParts(ByteWriter& writer) const {
  writer.WriteUint64(outputs_.size());
  for (const FeatureRidge& output : outputs_) {
    output.Save(writer);
  }
}

absl::Status CsiLearner::LoadParts(ByteReader& reader, RunContext& context) {
  const uint64_t count = reader.ReadUint64();
  outputs_.clear();
  factor_.reset();  // pivots are chosen anew from those that there are
  const bool known = count == 0 || (state_.progress.done &&
                                    count == static_cast<uint64_t>(problem_->num_outputs()));
  if (!known || state_.next_output >= std::max<uint64_t>(count, 1)) {
    return NotAState();
  }
  if (count == 0) {
    return absl::OkStatus();
  }
  MERCER_RETURN_IF_ERROR(Prepare(context));
  MERCER_RETURN_IF_ERROR(BuildFeatures(context));
  std::vector<FeatureRidge> outputs(count);
  for (size_t o = 0; o < outputs.size(); ++o) {
    if (!outputs[o].Load(ProblemOf(static_cast<Index>(o)), reader)) {
      return NotAState();
    }
  }
  outputs_ = std::move(outputs);
  return absl::OkStatus();
}

}  // namespace mercer::csi
