#include "core/solvers/multitask/separate_tasks_solver.h"

#include <algorithm>

#include "core/base/status/status_macros.h"

namespace mercer {

SeparateTasksSolver::SeparateTasksSolver(const MultitaskProblem& problem, const Maker& make) {
  for (const MultitaskTask& task : problem.tasks) {
    problems_.push_back({problem.loss, {task}, problem.norm});
  }
  for (const MultitaskProblem& of_task : problems_) {
    solvers_.push_back(make(of_task));
  }
}

absl::Status SeparateTasksSolver::Start(RunContext& context) {
  for (const auto& solver : solvers_) {
    MERCER_RETURN_IF_ERROR(solver->Start(context));
  }
  Gather();
  return absl::OkStatus();
}

absl::Status SeparateTasksSolver::Step(RunContext& context) {
  if (const size_t next = Next(); next < solvers_.size()) {
    MERCER_RETURN_IF_ERROR(solvers_[next]->Step(context));
    Take(next);
    AddBounds();
  }
  return absl::OkStatus();
}

void SeparateTasksSolver::SetRelativeGap(double relative_gap) {
  for (const auto& solver : solvers_) {
    solver->SetRelativeGap(relative_gap);
  }
}

MultitaskStop SeparateTasksSolver::stop() const {
  if (Next() < solvers_.size()) {
    return MultitaskStop::kRunning;
  }
  MultitaskStop stop = MultitaskStop::kRelativeGap;
  for (const auto& solver : solvers_) {
    stop = std::max(stop, solver->stop());
  }
  return stop;
}

int64_t SeparateTasksSolver::iterations() const {
  int64_t sum = 0;
  for (const auto& solver : solvers_) {
    sum += solver->iterations();
  }
  return sum;
}

double SeparateTasksSolver::NextCost() const {
  const size_t next = Next();
  return next < solvers_.size() ? solvers_[next]->NextCost() : 0;
}

size_t SeparateTasksSolver::Next() const {
  size_t next = solvers_.size();
  double widest = -kInfinity;
  for (size_t t = 0; t < solvers_.size(); ++t) {
    const MultitaskBest& best = solvers_[t]->best();
    if (!solvers_[t]->done() && best.primal - best.lower > widest) {
      widest = best.primal - best.lower;
      next = t;
    }
  }
  return next;
}

void SeparateTasksSolver::Gather() {
  best_ = {};
  best_.dual.resize(solvers_.size());
  best_.lower_dual.resize(solvers_.size());
  best_.weights.resize(static_cast<Index>(solvers_.size()), problems_[0].num_blocks());
  best_.norms.resize(best_.weights.rows(), best_.weights.cols());
  best_.biases.resize(best_.weights.rows());
  for (size_t t = 0; t < solvers_.size(); ++t) {
    Take(t);
  }
  AddBounds();
}

void SeparateTasksSolver::Take(size_t task) {
  const MultitaskBest& own = solvers_[task]->best();
  best_.dual[task] = own.dual[0];
  best_.lower_dual[task] = own.lower_dual[0];
  const auto row = static_cast<Index>(task);
  best_.weights.row(row) = own.weights.row(0);
  best_.norms.row(row) = own.norms.row(0);
  best_.biases(row) = own.biases(0);
}

void SeparateTasksSolver::AddBounds() {
  best_.primal = 0;
  best_.lower = 0;
  for (const auto& solver : solvers_) {
    best_.primal += solver->best().primal;
    best_.lower += solver->best().lower;
  }
}

void SeparateTasksSolver::Save(ByteWriter& writer) const {
  for (const auto& solver : solvers_) {
    solver->Save(writer);
  }
}

absl::Status SeparateTasksSolver::Load(ByteReader& reader, RunContext& context) {
  for (const auto& solver : solvers_) {
    MERCER_RETURN_IF_ERROR(solver->Load(reader, context));
  }
  Gather();
  return absl::OkStatus();
}

}  // namespace mercer
