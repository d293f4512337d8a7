#include "core/learners/mixed_norm_mkl/joint_start.h"

#include <utility>

#include "core/base/status/status_macros.h"

namespace mercer::mixed_norm_mkl {

JointStart::JointStart(const SvmProblem& svm, std::shared_ptr<const KernelFamily> family,
                       std::shared_ptr<const MixedNorm> norm, const Vector& first_weights)
    : problem_{svm.loss,
               {{std::move(family), svm.targets, svm.costs}},
               TaskNorm::OfGroups(std::move(norm))} {
  std::vector<Index> first;
  for (Index k = 0; k < first_weights.size(); ++k) {
    if (first_weights(k) > 0) {
      first.push_back(k);
    }
  }
  solver_ = std::make_unique<WorkingSetSolver>(problem_, 1.0, std::move(first));
}

absl::Status JointStart::Step(double relative_gap, RunContext& context) {
  solver_->SetRelativeGap(relative_gap);
  if (started_) {
    return solver_->Step(context);
  }
  MERCER_RETURN_IF_ERROR(solver_->Start(context));
  started_ = true;
  return absl::OkStatus();
}

absl::StatusOr<BestPair> JointStart::Pair(RunContext& context) const {
  MERCER_ASSIGN_OR_RETURN(const MultitaskPoint point,
                          EvaluateFunction(problem_, best().dual, best().weights, context));
  BestPair pair;
  pair.weights = best().weights.row(0);
  pair.dual = best().dual[0];
  pair.biases = Vector::Constant(1, point.biases[0].chosen);
  pair.primal = best().primal;
  pair.upper = best().primal;
  pair.lower_dual = best().lower_dual[0];
  pair.lower = best().lower;
  return pair;
}

void JointStart::Save(ByteWriter& writer) const {
  writer.WriteBool(started_);
  if (started_) {
    solver_->Save(writer);
  }
}

absl::Status JointStart::Load(ByteReader& reader, RunContext& context) {
  started_ = reader.ReadBool();
  if (!started_) {
    return absl::InvalidArgumentError(
        "not a state of a joint start, which begins with its first step");
  }
  return solver_->Load(reader, context);
}

}  // namespace mercer::mixed_norm_mkl
