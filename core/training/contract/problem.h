// What a learner is given: numeric inputs, targets, costs, kernels. Made by the recipe (recipe.h)
// from a data set.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/numeric/types.h"
#include "core/data/preprocess/prepared_data.h"
#include "core/kernels/spec/kernel_spec.h"
#include "core/training/contract/work.h"

namespace mercer {

enum class TargetKind : uint8_t { kClassification = 0, kRegression = 1 };

// One task: rows of one table of inputs with their targets.
struct TaskData {
  std::string name;
  std::shared_ptr<const PreparedData> inputs;
  // The rows of `inputs` in this task, ascending: the numbers that a model's basis refers to.
  std::vector<Index> rows;
  Matrix targets;  // rows x outputs; classification: -1 or +1
  Vector costs;    // one per row, >= 0: sample weight times class weight; the learner multiplies by
                   // its C
};

// What the targets of a regression were before they were standardised: y = means(task) + deviation
// target (target_unit.h).
struct TargetUnit {
  Vector means;          // one per task; empty, and all else as it is: the targets are the user's
  double deviation = 1;  // > 0

  bool IsIdentity() const { return means.size() == 0; }
};

class KernelSumCell;  // kernel_sum.h

// Single-task learners look at tasks[0] alone. Several tasks (LearnerEntry::several_tasks) share
// one table of inputs and have one output each. No row is in two of them, unless the learner takes
// the classes of a task for tasks (LearnerEntry::classes_are_tasks), which then have its rows.
struct TrainingProblem {
  TargetKind kind = TargetKind::kClassification;
  std::vector<TaskData> tasks;
  std::vector<KernelSpec> kernels;  // GroupsOf (kernel_labels.h) says their groups
  TargetUnit unit;                  // of a regression; learners need not know it
  uint64_t seed = 0;
  // The accuracy that will be asked for, from which a learner sets its inner tolerances. Stopping
  // is RunTraining's business.
  double relative_gap = 1e-3;
  // Keeps the sum of the kernels from one training on these rows to the next, and to the
  // verification. Copies and sub-problems share it. Null: each makes its own.
  std::shared_ptr<KernelSumCell> kernel_sum = nullptr;

  // The rows of all tasks together.
  Index num_rows() const {
    Index rows = 0;
    for (const TaskData& task : tasks) {
      rows += static_cast<Index>(task.rows.size());
    }
    return rows;
  }
  Index num_outputs() const {
    Index outputs = 0;
    for (const TaskData& task : tasks) {
      outputs += task.targets.cols();
    }
    return outputs;
  }
  // The rows that each output sees, of all outputs together: the target of a class is 0 at others.
  Index num_samples() const {
    Index samples = 0;
    for (const TaskData& task : tasks) {
      samples += kind == TargetKind::kRegression
                     ? task.targets.size()
                     : static_cast<Index>((task.targets.array() != 0).count());
    }
    return samples;
  }
};

// The rows at the positions `kept` of a task, ascending, with all its outputs.
TaskData Narrow(const TaskData& task, const std::vector<Index>& kept);
// The same with one of its outputs.
TaskData Narrow(const TaskData& task, const std::vector<Index>& kept, Index output);
// The sub-problem of one output and of some rows of its task: all else is that of `problem`, which
// has one task.
TrainingProblem Narrow(const TrainingProblem& problem, const std::vector<Index>& kept,
                       Index output);

// Sizes known before any row is read: what estimates of memory and time depend on.
struct ProblemShape {
  Index rows = 0;     // training rows of the largest sub-problem
  Index columns = 0;  // feature columns after preprocessing
  // Those of the columns that the run surely keeps in its scratch space: of a table that it may
  // have to keep there, those beyond what a table in memory has at the most.
  Index columns_in_files = 0;
  Index kernels = 0;
  Index sources = 0;             // distinct column sets of the kernels whose distances are kept
  Index recomputed_sources = 0;  // and those so narrow that every pass computes them anew
  Index source_columns = 0;      // columns of all sets together, after preprocessing
  Index outputs = 1;             // sub-problems: classes, pairs, tasks
  Index tasks = 1;               // that share the rows out among them
  Index classes_of_task = 1;     // that are tasks with the same rows, each counted in `rows`
  // Classes that are each told from all the others; 1 of two classes, of pairs of them, and of numbers.
  Index classes_against_rest = 1;
  // The rows of each class, where pairs of classes are learnt in one run; else empty. Of a part of
  // the rows those of the largest classes, which make the machines of pairs largest.
  std::vector<Index> rows_of_classes;
  // The columns of all sets of columns together, by the distance of a pair that they are for.
  WorkCount pair_columns;
  Index lone_kernels = 0;    // that share their distance with no other
  Index unit_diagonals = 0;  // kernels that are brought to unit diagonal, row by row
  // All kernels are linear, and no column is read by two of them.
  bool disjoint_columns = false;
  double relative_gap = 1e-3;  // asked for

  // For how many outputs a row has targets: several tasks share the rows out among them.
  Index outputs_of_row() const { return tasks < outputs ? outputs / tasks : classes_of_task; }
};

}  // namespace mercer
