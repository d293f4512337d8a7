#include "core/learners/sparse_multitask_svm/tables.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/kernels/spec/kernel_labels.h"

namespace mercer::sparse_multitask_svm {
namespace {

constexpr double kSelected = 1e-6;  // of the largest joint norm

// A name that was given, a column alone, or the kernel and its number, from 1.
std::string BlockName(const KernelSpec& kernel, size_t k) {
  if (!kernel.labels.name.empty()) {
    return kernel.labels.name;
  }
  if (kernel.type == KernelType::kLinear && kernel.columns.size() == 1) {
    return kernel.columns[0];
  }
  return absl::StrCat(std::string(KernelTypeName(kernel.type)), " ", k + 1);
}

}  // namespace

std::vector<ModelTable> TablesOf(const TrainingProblem& problem, const Matrix& norms,
                                 const Vector& joint_norms) {
  ModelTable blocks;
  blocks.name = "blocks";
  blocks.title = "blocks by the norm of their functions over all tasks";
  blocks.row_axis = "blocks";
  blocks.column_axis = "properties";
  blocks.columns = {"norm", "share", "selected"};
  for (size_t k = 0; k < problem.kernels.size(); ++k) {
    blocks.rows.push_back(BlockName(problem.kernels[k], k));
  }
  const double sum = joint_norms.sum();
  const double least = kSelected * joint_norms.maxCoeff();
  blocks.values.resize(joint_norms.size(), 3);
  for (Index k = 0; k < joint_norms.size(); ++k) {
    blocks.values.row(k) << joint_norms(k), sum > 0 ? joint_norms(k) / sum : 0.0,
        joint_norms(k) > least ? 1.0 : 0.0;
  }
  ModelTable of_tasks;
  of_tasks.name = "block_norms";
  of_tasks.title = "norms of the functions of blocks by tasks";
  of_tasks.row_axis = "blocks";
  of_tasks.rows = blocks.rows;
  of_tasks.values = norms.transpose();
  of_tasks.drawing = TableDrawing::kHeatMap;
  return {std::move(blocks), std::move(of_tasks)};
}

ByteCount TableBytes(const ProblemShape& shape) {
  constexpr size_t kWords = 2000;  // titles and columns
  constexpr size_t kRow = kMaxLabelBytes + sizeof(std::string) + 3 * sizeof(double);
  return ByteCount(kWords) +
         ByteCount(shape.kernels) *
             (ByteCount(2 * kRow) +
              ByteCount(std::max<Index>(shape.outputs, 1)) * ByteCount(sizeof(double)));
}

}  // namespace mercer::sparse_multitask_svm
