#include "core/learners/mixed_norm_mkl/tables.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/kernels/spec/kernel_labels.h"

namespace mercer::mixed_norm_mkl {
namespace {

std::string GroupName(const std::string& group) { return group.empty() ? "without group" : group; }

// Descriptions may name thousands of columns: kernels without names have numbers, from 1.
std::string RowName(const KernelSpec& kernel, size_t k) {
  return kernel.labels.name.empty()
             ? absl::StrCat(std::string(KernelTypeName(kernel.type)), " ", k + 1)
             : kernel.labels.name;
}

}  // namespace

std::vector<ModelTable> TablesOf(const TrainingProblem& problem, const Vector& weights,
                                 const Vector& energies) {
  const std::vector<KernelSpec>& kernels = problem.kernels;
  const Vector norms =
      problem.unit.deviation * weights.cwiseProduct(energies.cwiseMax(0.0).cwiseSqrt());
  const KernelGroups groups = GroupsOf(kernels);
  ModelTable of_groups;
  of_groups.name = "kernel_groups";
  of_groups.title = "groups of kernels by their weights and norms";
  of_groups.row_axis = "groups";
  of_groups.column_axis = "properties";
  of_groups.columns = {"weight", "norm", "kernels", "selected"};
  of_groups.values = Matrix::Zero(groups.num_groups(), 4);
  for (const std::string& group : groups.names) {
    of_groups.rows.push_back(GroupName(group));
  }
  for (Index k = 0; k < weights.size(); ++k) {
    auto row = of_groups.values.row(groups.group_of[static_cast<size_t>(k)]);
    row(0) += weights(k);
    row(1) += norms(k);
    row(2) += 1;
    row(3) += weights(k) > 0 ? 1 : 0;
  }
  ModelTable of_kernels;
  of_kernels.name = "kernels_in_groups";
  of_kernels.title = "kernels by their weights and norms in their groups";
  of_kernels.row_axis = "kernels";
  of_kernels.column_axis = "properties";
  of_kernels.columns = {"group", "weight", "share of the group", "norm", "selected"};
  of_kernels.values = Matrix::Zero(weights.size(), 5);
  for (Index k = 0; k < weights.size(); ++k) {
    const Index group = groups.group_of[static_cast<size_t>(k)];
    const double of_group = of_groups.values(group, 0);
    of_kernels.rows.push_back(RowName(kernels[static_cast<size_t>(k)], static_cast<size_t>(k)));
    of_kernels.values.row(k) << static_cast<double>(group + 1), weights(k),
        of_group > 0 ? weights(k) / of_group : 0.0, norms(k), weights(k) > 0 ? 1.0 : 0.0;
  }
  return {std::move(of_groups), std::move(of_kernels)};
}

Index CountActiveGroups(const std::vector<KernelSpec>& kernels, const Vector& weights) {
  const KernelGroups groups = GroupsOf(kernels);
  if (groups.num_groups() == 1 && groups.names[0].empty()) {
    return 0;
  }
  std::vector<bool> active(groups.names.size(), false);
  for (Index k = 0; k < weights.size(); ++k) {
    const auto group = static_cast<size_t>(groups.group_of[static_cast<size_t>(k)]);
    active[group] = active[group] || weights(k) > 0;
  }
  return std::count(active.begin(), active.end(), true);
}

ByteCount TableBytes(const ProblemShape& shape) {
  constexpr size_t kWords = 2000;  // titles and columns
  constexpr size_t kRow = kMaxLabelBytes + 2 * sizeof(std::string) + 5 * sizeof(double);
  return ByteCount(std::max<Index>(shape.outputs, 1)) *
         (ByteCount(kWords) + ByteCount(2) * ByteCount(shape.kernels) * ByteCount(kRow));
}

}  // namespace mercer::mixed_norm_mkl
