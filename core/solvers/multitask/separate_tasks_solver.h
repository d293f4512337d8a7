// The tasks of a problem each for itself: the sum of their optima, each with the penalty of its own
// norms. What joint selection is compared with.
//
// Source       docs/mathematics/sparse_multitask_svm.md, section 1.
// Guarantees   Bounds are the sums of those of the tasks. The optima are not negative, so that the
//              relative gap of the sum is at most the largest of the tasks'.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"

#include "core/base/encoding/bytes.h"
#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/solvers/multitask/multitask_problem.h"
#include "core/solvers/multitask/multitask_solver.h"

namespace mercer {

class SeparateTasksSolver : public MultitaskSolver {
 public:
  // Makes the solver of a problem of one task, which outlives it.
  using Maker = std::function<std::unique_ptr<MultitaskSolver>(const MultitaskProblem&)>;

  SeparateTasksSolver(const MultitaskProblem& problem, const Maker& make);

  absl::Status Start(RunContext& context) override;
  // A step of the task whose bounds are furthest apart.
  absl::Status Step(RunContext& context) override;
  void SetRelativeGap(double relative_gap) override;

  MultitaskStop stop() const override;
  const MultitaskBest& best() const override { return best_; }
  int64_t iterations() const override;
  double NextCost() const override;
  const MultitaskSolver& of_task(size_t task) const { return *solvers_[task]; }

  void Save(ByteWriter& writer) const override;
  absl::Status Load(ByteReader& reader, RunContext& context) override;

 private:
  // The task whose turn it is; number of tasks: none's.
  size_t Next() const;
  // Makes the best of all from those of the tasks, or takes over that of one.
  void Gather();
  void Take(size_t task);
  void AddBounds();

  std::vector<MultitaskProblem> problems_;  // of one task each
  std::vector<std::unique_ptr<MultitaskSolver>> solvers_;
  MultitaskBest best_;
};

}  // namespace mercer
