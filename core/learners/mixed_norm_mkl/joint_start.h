// The joint interior point as the beginning of a run: for the hinge loss the whole problem is one
// of a single task whose blocks are the kernels (solvers/multitask), so that weights and dual are
// found together. Machines of fixed weights see only the kernels that have one, and a model of
// second order says little where few rows are free: among thousands of kernels of one group
// Newton's steps stall where this does not.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/base/encoding/bytes.h"
#include "core/base/process/run_context.h"
#include "core/kernels/gram/kernel_family.h"
#include "core/objectives/mixed_norm.h"
#include "core/solvers/mkl/best_point.h"
#include "core/solvers/multitask/multitask_problem.h"
#include "core/solvers/multitask/working_set_solver.h"
#include "core/solvers/svm/svm_problem.h"

namespace mercer::mixed_norm_mkl {

// From so many kernels of a single group on a run begins with it (tests/bench/mixed_norm_bench.cc);
// for at most so many rows, whose square and cube it takes, and with several groups so many of them
// and of kernels.
inline constexpr Index kManyOfGroup = 300;
inline constexpr Index kMostJointRows = 5000;
inline constexpr Index kMostJointGroups = 100;
inline constexpr Index kMostInGroups = 2000;

// Not thread-safe.
class JointStart {
 public:
  // Of the machine of all rows, whose loss is the hinge. Begins with the kernels of weight > 0 in
  // `first_weights`, unless that is empty.
  JointStart(const SvmProblem& svm, std::shared_ptr<const KernelFamily> family,
             std::shared_ptr<const MixedNorm> norm, const Vector& first_weights);

  // Errors: kCancelled, after which Load must follow, or a new one.
  absl::Status Step(double relative_gap, RunContext& context);
  // At the gap, or where nothing more can be gained.
  bool done() const { return started_ && solver_->done(); }

  // The best function and the best dual so far, which there are after the first step.
  const MultitaskBest& best() const { return solver_->best(); }
  // With the function's bias. Errors: kCancelled.
  absl::StatusOr<BestPair> Pair(RunContext& context) const;
  int64_t iterations() const { return started_ ? solver_->iterations() : 0; }

  void Save(ByteWriter& writer) const;
  // Errors: kInvalidArgument, kCancelled.
  absl::Status Load(ByteReader& reader, RunContext& context);

 private:
  MultitaskProblem problem_;
  std::unique_ptr<WorkingSetSolver> solver_;  // of problem_
  bool started_ = false;
};

}  // namespace mercer::mixed_norm_mkl
