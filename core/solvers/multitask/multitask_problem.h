// Problem      min over functions f_t = sum_k f_tk + b_t, one for each task t, of
//                sum_t sum_i costs_t(i) max(0, 1 - y_ti f_t(x_ti))  +  penalty(|f_tk|)
//              with a penalty that blocks k share over tasks (objectives/task_norm.h).
// Dual         max sum_t y_t'a_t - 1/2 R^2 (plain form: subject to R <= 1) over signed dual
//              variables a_t in the boxes of the hinge loss and of sum 0 in each task; R is the
//              dual norm of the energies a_t'K_tk a_t of all blocks.
// Source       docs/mathematics/sparse_multitask_svm.md.
//
// A task whose rows are all of one class has the dual 0, the function 0 and its class as its bias;
// neither asks for a rule of its own here.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/kernels/gram/kernel_family.h"
#include "core/objectives/loss.h"
#include "core/objectives/task_norm.h"

namespace mercer {

struct MultitaskTask {
  std::shared_ptr<const KernelFamily> blocks;  // a kernel for each block
  Vector targets;                              // -1 or +1
  Vector costs;                                // >= 0; rows of cost 0 keep dual 0
};

struct MultitaskProblem {
  std::shared_ptr<const Loss> loss;  // the hinge
  std::vector<MultitaskTask> tasks;
  TaskNorm norm;

  Index num_tasks() const { return static_cast<Index>(tasks.size()); }
  Index num_blocks() const { return tasks[0].blocks->num_kernels(); }
};

// Errors: kInvalidArgument when there are no tasks, sizes differ, a target is none, a cost is
// negative or not finite, the loss is not the hinge.
absl::Status CheckMultitaskProblem(const MultitaskProblem& problem);

// Whether both classes have a row of cost > 0.
bool HasBothClasses(const MultitaskTask& task);

// Dual variables for which the functions 0 with their best biases are optimal if their energies are
// 0: rows of the rarer class at their bound, those of the other at one share of it.
std::vector<Vector> DualOfConstants(const MultitaskProblem& problem);

// A function, f_tk = weights(t, k) K_tk dual_t, and bounds of the optimum.
struct MultitaskPoint {
  std::vector<Vector> dual;    // of each task, signed and feasible
  Matrix weights;              // tasks x blocks
  Matrix energies;             // tasks x blocks, of all blocks
  std::vector<Vector> scores;  // at the rows of each task, without bias
  std::vector<BiasInterval> biases;
  double risk = kInfinity;
  double primal = kInfinity;       // of this function
  double linear = 0;               // sum_t y_t'dual_t
  double dual_value = -kInfinity;  // of the best multiple of the dual

  // 0 where a weight is, also of energies out of range.
  Matrix Norms() const {
    const Matrix norms = weights.cwiseProduct(energies.cwiseMax(0.0).cwiseSqrt());
    return (weights.array() > 0).select(norms, 0.0);
  }
};

double MultitaskGap(double primal, double dual_value);

// The point of any duals, which are made feasible, and any weights >= 0. One pass over all blocks.
// Shares nothing with any solver. Errors: kCancelled.
absl::StatusOr<MultitaskPoint> EvaluateMultitask(const MultitaskProblem& problem,
                                                 std::vector<Vector> duals, Matrix weights,
                                                 RunContext& context);
// The function alone, by the blocks that have a weight: energies of all others are 0, and the dual
// value is that of none.
absl::StatusOr<MultitaskPoint> EvaluateFunction(const MultitaskProblem& problem,
                                                std::vector<Vector> duals, Matrix weights,
                                                RunContext& context);

// Multiplies all weights by the number about 1 at which the primal is least: what a margin misses 1
// by costs as much as its row does, what the function grows by costs little. Errors: kCancelled.
absl::Status ScaleMultitask(const MultitaskProblem& problem, MultitaskPoint& point,
                            RunContext& context);

}  // namespace mercer
