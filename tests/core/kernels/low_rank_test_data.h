// What the tests of low-rank kernels share: factors of given values, kernels against landmarks from their definition, comparisons.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <Eigen/Eigenvalues>
#include <gtest/gtest.h>

#include "core/kernels/gram/factor_rows.h"
#include "core/kernels/lowrank/landmarks.h"
#include "core/kernels/lowrank/nystrom.h"
#include "tests/core/kernels/kernel_test_data.h"

namespace mercer {

inline RunContext ContextOfThreads(int num_threads) {
  return RunContext(CancellationToken(), num_threads, nullptr);
}

inline RunContext CancelledContext() {
  const CancellationToken token;
  token.Cancel();
  return RunContext(token, 1, nullptr);
}

inline Matrix UniformMatrix(Index rows, Index columns, uint64_t seed) {
  RandomStream stream(seed, "uniform-matrix");
  Matrix values(rows, columns);
  for (Index i = 0; i < values.size(); ++i) {
    values.data()[i] = 2 * stream.Uniform() - 1;
  }
  return values;
}

inline std::shared_ptr<FactorRows> RandomFactor(Index rows, Index columns, uint64_t seed) {
  auto factor = std::make_shared<FactorRows>(rows, columns);
  const Matrix values = UniformMatrix(columns, rows, seed);
  for (Index i = 0; i < rows; ++i) {
    factor->SetRow(i, values.col(i));
  }
  return factor;
}

// The stored values.
inline Matrix DenseFactor(const FactorRows& factor) {
  Matrix values(factor.rows(), factor.cols());
  for (Index i = 0; i < factor.rows(); ++i) {
    for (Index c = 0; c < factor.cols(); ++c) {
      values(i, c) = factor.row(i)[c];
    }
  }
  return values;
}

// `actual` equals `expected` up to `tolerance` of the largest |expected|.
inline void ExpectMatrixNear(const Matrix& actual, const Matrix& expected, double tolerance,
                             const std::string& what) {
  ASSERT_EQ(actual.rows(), expected.rows()) << what;
  ASSERT_EQ(actual.cols(), expected.cols()) << what;
  if (expected.size() == 0) {
    return;
  }
  const double error = (actual - expected).cwiseAbs().maxCoeff();
  EXPECT_LE(error, tolerance * expected.cwiseAbs().maxCoeff())
      << what << ": largest difference " << error;
}

inline void ExpectEqualBits(const Matrix& actual, const Matrix& expected, const std::string& what) {
  ASSERT_EQ(actual.rows(), expected.rows()) << what;
  ASSERT_EQ(actual.cols(), expected.cols()) << what;
  EXPECT_TRUE((actual.array() == expected.array()).all()) << what;
}

// One block "x".
inline std::shared_ptr<PreparedData> BlockOf(const RowMatrix& values) {
  auto data = std::make_shared<PreparedData>();
  data->rows = values.rows();
  data->blocks.push_back(MakeBlock("x", values));
  return data;
}

inline std::vector<KernelSpec> GaussiansOfX(const std::vector<double>& bandwidths) {
  std::vector<KernelSpec> kernels;
  for (const double bandwidth : bandwidths) {
    kernels.push_back(MakeSpec(KernelType::kGaussian, "x", bandwidth));
  }
  return kernels;
}

// k(x_i, z_j) by its definition, unit diagonal included, scaling not. Square blocks of `x` have the columns `square_columns`.
inline Matrix NaiveCross(const KernelSpec& spec, const PreparedData& x, const PreparedData& z,
                         const std::vector<Index>& square_columns) {
  Matrix values(x.rows, z.rows);
  for (Index j = 0; j < z.rows; ++j) {
    const bool square = spec.type == KernelType::kPrecomputed || spec.type == KernelType::kDistance;
    const Index column = square ? square_columns[static_cast<size_t>(j)] : j;
    for (Index i = 0; i < x.rows; ++i) {
      long double value = RawKernel(spec, x, i, z, column);
      if (spec.normalization.unit_diagonal) {
        value /= std::sqrt(RawKernel(spec, x, i, x, i) * RawKernel(spec, z, j, z, j));
      }
      values(i, j) = static_cast<double>(value);
    }
  }
  return values;
}

// The kernel of the rows of `x` approximated on the landmarks: C W^+ C' over the eigenvalues of W that `options` keep.
inline Matrix NaiveNystrom(const KernelSpec& spec, const PreparedData& x,
                           const Landmarks& landmarks, const NystromOptions& options) {
  const Matrix cross = NaiveCross(spec, x, *landmarks.data, landmarks.rows);
  const Matrix inner = NaiveCross(spec, *landmarks.data, *landmarks.data, landmarks.rows);
  const Eigen::SelfAdjointEigenSolver<Matrix> solver(0.5 * (inner + inner.transpose()));
  const Index count = inner.rows();
  const double largest = solver.eigenvalues()(count - 1);
  Matrix result = Matrix::Zero(x.rows, x.rows);
  for (Index j = 0; j < count; ++j) {
    const Index from_last = count - 1 - j;
    const double value = solver.eigenvalues()(from_last);
    const bool capped = options.max_rank > 0 && j >= options.max_rank;
    if (!capped && value > options.eigenvalue_threshold * static_cast<double>(count) * largest) {
      const Vector column = cross * solver.eigenvectors().col(from_last);
      result += column * column.transpose() / value;
    }
  }
  return result;
}

// v(x_i) of all kernels one below the other in column i.
inline Matrix AllFeatures(const NystromFeatures& features, const PreparedData& x,
                          RunContext& context) {
  const auto bound = features.Bind(x, context);
  EXPECT_TRUE(bound.ok()) << bound.status();
  Matrix values(features.num_features(), x.rows);
  if (bound.ok()) {
    features.Evaluate(*bound, 0, x.rows, values, context);
  }
  return values;
}

inline Matrix FeaturesOf(const NystromFeatures& features, const Matrix& all, Index k) {
  return all.middleRows(features.first_feature(k),
                        features.first_feature(k + 1) - features.first_feature(k));
}

}  // namespace mercer
