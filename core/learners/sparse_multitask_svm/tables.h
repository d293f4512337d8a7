// What a model tells of the blocks: which are selected, and by how much each task uses them.
#pragma once

#include <vector>

#include "core/base/numeric/types.h"
#include "core/base/status/byte_count.h"
#include "core/training/contract/problem.h"
#include "core/training/tables/model_table.h"

namespace mercer::sparse_multitask_svm {

// `blocks`: joint norm, share of their sum and selection of each; `block_norms`: the norm of each
// block on each task.
std::vector<ModelTable> TablesOf(const TrainingProblem& problem, const Matrix& norms,
                                 const Vector& joint_norms);

ByteCount TableBytes(const ProblemShape& shape);

}  // namespace mercer::sparse_multitask_svm
