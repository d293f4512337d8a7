#include "core/training/run/merged_outputs.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

namespace mercer {
namespace {

// Parts that were given a list have the same kernels; those that search for theirs, which are in no
// groups, have a row for each kernel that one of them has found.
void AppendKernels(const ModelSummary& part, ModelSummary& merged) {
  std::vector<Index> rows;
  const bool first = merged.kernel_weights.cols() == 0;
  const bool equal = first || part.kernel_names == merged.kernel_names;
  if (first) {
    merged.kernel_names = part.kernel_names;
    merged.kernel_groups = part.kernel_groups;
  }
  for (Index k = 0; k < part.kernel_weights.rows(); ++k) {
    const std::string& name = part.kernel_names[static_cast<size_t>(k)];
    const auto found = std::find(merged.kernel_names.begin(), merged.kernel_names.end(), name);
    rows.push_back(equal ? k : found - merged.kernel_names.begin());
    if (!equal && found == merged.kernel_names.end()) {
      merged.kernel_names.push_back(name);
    }
  }
  const Matrix before = merged.kernel_weights;
  merged.kernel_weights = Matrix::Zero(static_cast<Index>(merged.kernel_names.size()),
                                       before.cols() + part.kernel_weights.cols());
  merged.kernel_weights.topLeftCorner(before.rows(), before.cols()) = before;
  for (size_t k = 0; k < rows.size(); ++k) {
    merged.kernel_weights.row(rows[k]).tail(part.kernel_weights.cols()) =
        part.kernel_weights.row(static_cast<Index>(k));
  }
}

// Each part has features of its own: its weights stand below and to the right of those before.
void AppendFeatures(const ModelSummary& part, ModelSummary& merged) {
  const Index rows = merged.feature_weights.rows();
  const Index columns = merged.feature_weights.cols();
  Matrix weights = Matrix::Zero(rows + part.feature_weights.rows(), columns + 1);
  weights.topLeftCorner(rows, columns) = merged.feature_weights;
  weights.bottomRightCorner(part.feature_weights.rows(), part.feature_weights.cols()) =
      part.feature_weights;
  merged.feature_weights = std::move(weights);
  merged.feature_names.insert(merged.feature_names.end(), part.feature_names.begin(),
                              part.feature_names.end());
}

Index CountSupportVectors(const ModelFunction& function) {
  std::vector<std::vector<bool>> used;
  for (const Basis& basis : function.bases) {
    used.emplace_back(static_cast<size_t>(basis.data->rows), false);
  }
  for (const std::shared_ptr<const Term>& term : function.terms) {
    term->MarkRows(used);
  }
  Index count = 0;
  for (const std::vector<bool>& rows : used) {
    count += std::count(rows.begin(), rows.end(), true);
  }
  return count;
}

}  // namespace

TrainedPoint MergePoints(std::vector<TrainedPoint> points, const PreparedData& inputs) {
  std::vector<ModelFunction> functions;
  std::vector<std::vector<ModelTable>> tables;
  TrainedPoint merged;
  for (TrainedPoint& point : points) {
    AppendKernels(point.summary, merged.summary);
    AppendFeatures(point.summary, merged.summary);
    merged.witness.children.push_back(std::move(point.witness));
    functions.push_back(std::move(point.function));
    tables.push_back(std::move(point.summary.tables));
    if (!merged.limit_reached.has_value()) {
      merged.limit_reached = std::move(point.limit_reached);
    }
  }
  merged.function = MergeOutputs(functions, inputs);
  merged.summary.num_support_vectors = CountSupportVectors(merged.function);
  merged.summary.tables = MergeTables(tables);
  return merged;
}

}  // namespace mercer
