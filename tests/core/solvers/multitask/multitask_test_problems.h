// Problems of several tasks: from fixture files, and of random data.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/base/numeric/types.h"
#include "core/objectives/task_norm.h"
#include "core/solvers/multitask/column_kernels.h"
#include "core/solvers/multitask/multitask_problem.h"
#include "core/solvers/multitask/multitask_solver.h"

namespace mercer {

// A problem whose blocks are groups of columns, or Gram matrices.
struct MultitaskCase {
  MultitaskProblem problem;
  std::vector<Index> block_of;                  // of each column; none for Gram matrices
  std::vector<Matrix> inputs;                   // of each task
  std::vector<Matrix> tests;                    // rows to predict
  std::vector<std::vector<Matrix>> grams;       // of each task and block
  std::vector<std::vector<Matrix>> test_grams;  // test rows x training rows
};

MultitaskCase ReadMultitaskCase(const nlohmann::json& fixture);

// The problem of these columns; targets and costs as they are.
MultitaskProblem ColumnProblem(const std::vector<Matrix>& inputs,
                               const std::vector<Index>& block_of,
                               const std::vector<Vector>& targets, double cost,
                               const TaskNorm& norm);

struct ToyOptions {
  Index tasks = 3;
  Index rows = 40;
  Index columns = 20;
  Index relevant = 4;
  double separation = 0.4;
};

// Columns of which the first ones tell the classes apart, by signs of their own in each task; the
// classes alternate.
struct ToyData {
  std::vector<Matrix> inputs;
  std::vector<Vector> targets;
};
ToyData MakeToyData(uint64_t seed, const ToyOptions& options);

// Each column a block.
std::vector<Index> OwnBlocks(Index columns);

// By the working set solver, which is expected to reach the gap.
MultitaskBest SolveJointly(const MultitaskProblem& problem, double gap = 1e-9, int threads = 1);
MultitaskPoint PointOf(const MultitaskProblem& problem, const MultitaskBest& best);
// Joint norms of the blocks.
Vector NormsOf(const MultitaskProblem& problem, const MultitaskBest& best);

// f(x) + bias of a task at its test rows.
Vector TestDecision(const MultitaskCase& given, const MultitaskPoint& point, Index task);

}  // namespace mercer
