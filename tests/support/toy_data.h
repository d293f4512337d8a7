// Small data sets and problems for tests: Gaussian clouds with known classes, and a smooth function
// of the first columns.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/numeric/random.h"
#include "core/data/table/dataset.h"
#include "core/training/contract/problem.h"

namespace mercer {

inline RowMatrix NormalMatrix(Index rows, Index columns, uint64_t seed) {
  RowMatrix values(rows, columns);
  RandomStream random(seed, "toy-matrix");
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < columns; ++j) {
      values(i, j) = random.Normal();
    }
  }
  return values;
}

// A dense numeric block with columns x1, x2, ...
inline FeatureBlock NumericBlock(RowMatrix values, const std::string& name = "features") {
  FeatureBlock block;
  block.name = name;
  for (Index j = 0; j < values.cols(); ++j) {
    block.columns.push_back({absl::StrCat("x", j + 1), false, {}});
  }
  block.values = SharedMatrix(std::move(values));
  return block;
}

inline RoleColumn NumericColumn(ColumnRole role, const std::string& name, Vector values) {
  return {role, {name, false, {}}, std::move(values)};
}

// Classes 0, 1, ... (numeric column "label"), row i of class i modulo `classes`, each around a
// centre of its own.
inline Dataset ClassificationData(Index rows, Index columns, int classes, uint64_t seed) {
  RowMatrix values = NormalMatrix(rows, columns, seed);
  Vector labels(rows);
  for (Index i = 0; i < rows; ++i) {
    const Index c = i % classes;
    labels(i) = static_cast<double>(c);
    values(i, c % columns) += 2.0 + static_cast<double>(c / columns);
  }
  Dataset dataset;
  dataset.rows = rows;
  dataset.blocks.push_back(NumericBlock(std::move(values)));
  dataset.role_columns.push_back(NumericColumn(ColumnRole::kTarget, "label", std::move(labels)));
  return dataset;
}

// Target "y" = sin(x1) + x2 / 2 + noise of deviation 0.1.
inline Dataset RegressionData(Index rows, Index columns, uint64_t seed) {
  RowMatrix values = NormalMatrix(rows, columns, seed);
  RandomStream noise(seed, "toy-noise");
  Vector targets(rows);
  for (Index i = 0; i < rows; ++i) {
    targets(i) = std::sin(values(i, 0)) + 0.5 * values(i, std::min<Index>(1, columns - 1)) +
                 0.1 * noise.Normal();
  }
  Dataset dataset;
  dataset.rows = rows;
  dataset.blocks.push_back(NumericBlock(std::move(values)));
  dataset.role_columns.push_back(NumericColumn(ColumnRole::kTarget, "y", std::move(targets)));
  return dataset;
}

inline PreparedData Prepared(RowMatrix values) {
  PreparedData data;
  data.rows = values.rows();
  PreparedBlock block;
  block.name = "features";
  for (Index j = 0; j < values.cols(); ++j) {
    block.sources.push_back(absl::StrCat("x", j + 1));
  }
  block.values = SharedMatrix(std::move(values));
  data.blocks.push_back(std::move(block));
  return data;
}

inline KernelSpec Gaussian(double bandwidth) {
  KernelSpec spec;
  spec.bandwidth = bandwidth;
  return spec;
}

// A problem with one task over all rows of `values`, unit costs, and Gaussian kernels.
inline TrainingProblem MakeProblem(TargetKind kind, RowMatrix values, Matrix targets,
                                   const std::vector<double>& bandwidths) {
  TrainingProblem problem;
  problem.kind = kind;
  TaskData& task = problem.tasks.emplace_back();
  for (Index i = 0; i < values.rows(); ++i) {
    task.rows.push_back(i);
  }
  task.costs = Vector::Ones(values.rows());
  task.targets = std::move(targets);
  task.inputs = std::make_shared<const PreparedData>(Prepared(std::move(values)));
  for (const double bandwidth : bandwidths) {
    problem.kernels.push_back(Gaussian(bandwidth));
  }
  problem.seed = 7;
  return problem;
}

// Two overlapping clouds, or sin(x1) + x2 / 2: no learner fits them perfectly.
inline TrainingProblem ToyProblem(TargetKind kind, Index rows, Index columns,
                                  const std::vector<double>& bandwidths, uint64_t seed = 1) {
  const Dataset data = kind == TargetKind::kRegression ? RegressionData(rows, columns, seed)
                                                       : ClassificationData(rows, columns, 2, seed);
  Matrix targets = data.role_columns[0].values;
  if (kind == TargetKind::kClassification) {
    targets = (2 * targets.array() - 1).matrix();
  }
  return MakeProblem(kind, RowMatrix(data.blocks[0].values.view()), std::move(targets), bandwidths);
}

}  // namespace mercer
