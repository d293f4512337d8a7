// Small data sets, and kernels evaluated from their definitions in long double.
#pragma once

#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "core/base/numeric/random.h"
#include "core/data/preprocess/prepared_data.h"
#include "core/kernels/gram/kernel_family.h"
#include "core/kernels/gram/strip_coefficients.h"
#include "core/kernels/spec/kernel_spec.h"

namespace mercer {

inline RowMatrix RandomRows(Index rows, Index columns, uint64_t seed, bool positive = false) {
  RandomStream stream(seed, "kernel-tests");
  RowMatrix values(rows, columns);
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < columns; ++j) {
      values(i, j) = positive ? stream.Uniform() : stream.Normal();
    }
  }
  return values;
}

inline PreparedBlock MakeBlock(std::string name, RowMatrix values) {
  PreparedBlock block;
  block.name = std::move(name);
  for (Index c = 0; c < values.cols(); ++c) {
    block.sources.push_back(block.name + std::to_string(c));
  }
  block.values = SharedMatrix(std::move(values));
  return block;
}

// Blocks "x" (columns x0 ..), "h" (positive, with zeros), "wide" (40 columns far from the origin);
// squares "K" and "D".
inline std::shared_ptr<PreparedData> MixedData(Index rows, uint64_t seed) {
  auto data = std::make_shared<PreparedData>();
  data->rows = rows;
  data->blocks.push_back(MakeBlock("x", RandomRows(rows, 5, seed)));
  RowMatrix histograms = RandomRows(rows, 6, seed + 1, true);
  histograms = (histograms.array() < 0.3).select(0.0, histograms);
  data->blocks.push_back(MakeBlock("h", histograms));
  RowMatrix wide = RandomRows(rows, 40, seed + 2);
  wide.array() += 100.0;
  data->blocks.push_back(MakeBlock("wide", wide));
  const RowMatrix factors = RandomRows(rows, 3, seed + 3);
  RowMatrix gram = factors * factors.transpose();
  data->squares.push_back(
      {"K", SquareKind::kKernel, SharedMatrix(RowMatrix(0.5 * (gram + gram.transpose())))});
  RowMatrix distances(rows, rows);
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < rows; ++j) {
      distances(i, j) = (factors.row(std::max(i, j)) - factors.row(std::min(i, j))).norm();
    }
  }
  data->squares.push_back({"D", SquareKind::kDistance, SharedMatrix(distances)});
  return data;
}

inline KernelSpec MakeSpec(KernelType type, std::string block, double bandwidth = 1.0) {
  KernelSpec spec;
  spec.type = type;
  spec.block = std::move(block);
  spec.bandwidth = bandwidth;
  return spec;
}

// Every type, several of one source, unit diagonals and scalings.
inline std::vector<KernelSpec> MixedKernels() {
  std::vector<KernelSpec> kernels = {
      MakeSpec(KernelType::kGaussian, "x", 0.7),  MakeSpec(KernelType::kGaussian, "x", 3.0),
      MakeSpec(KernelType::kEuclidean, "x", 1.5), MakeSpec(KernelType::kLaplacian, "x", 4.0),
      MakeSpec(KernelType::kLinear, "x"),         MakeSpec(KernelType::kPolynomial, "x"),
      MakeSpec(KernelType::kChiSquare, "h", 0.5), MakeSpec(KernelType::kGaussian, "wide", 9.0),
      MakeSpec(KernelType::kLinear, "wide"),      MakeSpec(KernelType::kPrecomputed, "K"),
      MakeSpec(KernelType::kDistance, "D", 2.0),  MakeSpec(KernelType::kPolynomial, "x"),
      MakeSpec(KernelType::kGaussian, "x", 1.0),  MakeSpec(KernelType::kHellinger, "h", 0.5),
      MakeSpec(KernelType::kIntersection, "h"),
  };
  kernels[5].degree = 4;
  kernels[5].scale = 0.5;
  kernels[8].normalization = {true, KernelScaling::kMeanDiagonal};
  kernels[9].normalization.scaling = KernelScaling::kTrace;
  kernels[11].normalization = {true, KernelScaling::kVariance};
  kernels[12].columns = {"x1", "x3"};
  kernels[12].normalization.scaling = KernelScaling::kCentredTrace;
  return kernels;
}

// The raw value of a kernel between row i of `a` and row j of `b`, without normalisation.
inline long double RawKernel(const KernelSpec& spec, const PreparedData& a, Index i,
                             const PreparedData& b, Index j) {
  if (spec.type == KernelType::kPrecomputed) {
    return a.FindSquare(spec.block)->values.view()(i, j);
  }
  if (spec.type == KernelType::kDistance) {
    return std::exp(-static_cast<long double>(a.FindSquare(spec.block)->values.view()(i, j)) /
                    spec.bandwidth);
  }
  long double dot = 0;
  long double squared = 0;
  long double manhattan = 0;
  long double chi_square = 0;
  long double hellinger = 0;
  long double shared = 0;
  const PreparedBlock& block_a = *a.FindBlock(spec.block);
  for (Index c = 0; c < block_a.values.cols(); ++c) {
    const std::string& name = block_a.sources[static_cast<size_t>(c)];
    if (!spec.columns.empty() &&
        std::find(spec.columns.begin(), spec.columns.end(), name) == spec.columns.end()) {
      continue;
    }
    const long double x = block_a.values.view()(i, c);
    const long double z = b.FindBlock(spec.block)->values.view()(j, c);
    dot += x * z;
    squared += (x - z) * (x - z);
    manhattan += std::abs(x - z);
    chi_square += x + z > 0 ? 0.5L * (x - z) * (x - z) / (x + z) : 0.0L;
    hellinger += 0.5L * std::pow(std::sqrt(std::abs(x)) - std::sqrt(std::abs(z)), 2.0L);
    shared += std::min(x, z);
  }
  switch (spec.type) {
    case KernelType::kLinear:
      return dot;
    case KernelType::kPolynomial:
      return std::pow(spec.scale * dot + spec.offset, static_cast<long double>(spec.degree));
    case KernelType::kGaussian:
      return std::exp(-squared / (2.0L * spec.bandwidth * spec.bandwidth));
    case KernelType::kLaplacian:
      return std::exp(-manhattan / spec.bandwidth);
    case KernelType::kChiSquare:
      return std::exp(-chi_square / spec.bandwidth);
    case KernelType::kHellinger:
      return std::exp(-hellinger / spec.bandwidth);
    case KernelType::kIntersection:
      return shared;
    default:
      return std::exp(-std::sqrt(squared) / spec.bandwidth);
  }
}

// The normalised Gram matrix by the definitions of KernelNormalization.
inline Matrix NaiveGram(const KernelSpec& spec, const PreparedData& data,
                        const std::vector<Index>& rows) {
  const auto n = static_cast<Index>(rows.size());
  Matrix gram(n, n);
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < n; ++j) {
      gram(i, j) = static_cast<double>(
          RawKernel(spec, data, rows[static_cast<size_t>(i)], data, rows[static_cast<size_t>(j)]));
    }
  }
  if (spec.normalization.unit_diagonal) {
    const Vector self = gram.diagonal();
    for (Index i = 0; i < n; ++i) {
      for (Index j = 0; j < n; ++j) {
        gram(i, j) /= std::sqrt(self(i) * self(j));
      }
    }
  }
  const auto count = static_cast<double>(n);
  switch (spec.normalization.scaling) {
    case KernelScaling::kNone:
      return gram;
    case KernelScaling::kTrace:
      return gram / gram.trace();
    case KernelScaling::kMeanDiagonal:
      return gram * count / gram.trace();
    case KernelScaling::kVariance:
      return gram / (gram.trace() / count - gram.sum() / count / count);
    case KernelScaling::kCentredTrace:
      return gram / (gram.trace() - gram.sum() / count);
  }
  return gram;
}

inline std::vector<Index> AllRowsOf(const PreparedData& data) {
  std::vector<Index> rows(static_cast<size_t>(data.rows));
  std::iota(rows.begin(), rows.end(), Index{0});
  return rows;
}

// The weighted sum of the kernels, rows x basis: an output for each basis row.
inline absl::Status CombineKernels(const CrossKernels& cross, const PreparedData& x,
                                   const Vector& weights, Matrix& out, RunContext& context) {
  Eigen::SparseMatrix<double> identity(cross.num_basis(), cross.num_basis());
  identity.setIdentity();
  std::vector<int> outputs(static_cast<size_t>(cross.num_basis()));
  std::iota(outputs.begin(), outputs.end(), 0);
  out.setZero();
  return cross.AddProducts(x, weights, StripCoefficients(identity, outputs), out, context);
}

}  // namespace mercer
