#include "core/kernels/gram/kernel_columns.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/numeric/index_range.h"
#include "core/base/process/paced_check.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/kernels/gram/kernel_family.h"
#include "core/kernels/gram/kernel_source.h"
#include "core/kernels/gram/tile_source.h"
#include "core/kernels/spec/kernel_errors.h"
#include "core/kernels/spec/normalization.h"

namespace mercer {
namespace {

constexpr Index kBlockRows = 64;               // of diagonals and sums
constexpr Index kTaskValues = Index{1} << 16;  // of all kernels, in the hands of a thread
constexpr Index kLeastTaskRows = 8;

bool IsAllRows(const std::vector<Index>& rows, const PreparedData& data) {
  if (static_cast<Index>(rows.size()) != data.rows) {
    return false;
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] != static_cast<Index>(i)) {
      return false;
    }
  }
  return true;
}

absl::Status CheckDiagonal(const Vector& diagonal, const PreparedData& data) {
  for (Index i = 0; i < diagonal.size(); ++i) {
    if (!(diagonal(i) >= 0) || !std::isfinite(diagonal(i))) {
      const Index row = data.RowNumber(i) + 1;
      return WithReason(absl::InvalidArgumentError(
                            absl::StrCat("row ", row, ": the kernel of the row with itself is ",
                                         diagonal(i), ": not positive semidefinite")),
                        "NOT_PSD", {{"row", absl::StrCat(row)}});
    }
  }
  return absl::OkStatus();
}

// Computes out = sum_k weights(k) k_k(x, basis).
absl::Status WeightedValues(const CrossKernels& cross, const PreparedData& x,
                            ConstVectorRef weights, MatrixRef out, RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(const BoundCrossKernels bound, cross.Bind(x, context));
  // Rows are evaluated in blocks: values do not depend on the rows beside them.
  const Index rows =
      std::max(kLeastTaskRows, kTaskValues / std::max<Index>(1, weights.size() * bound.stride()));
  context.parallel().ForBlocks(x.rows, rows, [&](Index begin, Index end) {
    if (context.cancelled()) {
      return;
    }
    const Index count = end - begin;
    std::vector<double> values(static_cast<size_t>(weights.size() * count * bound.stride()));
    bound.Values(begin, end, values.data(), context);
    auto block = out.middleRows(begin, count);
    block.setZero();
    for (Index k = 0; k < weights.size(); ++k) {
      const Eigen::Map<const RowMatrix> one(values.data() + k * count * bound.stride(), count,
                                            bound.stride());
      block += weights(k) * one.leftCols(out.cols());
    }
  });
  return context.CheckCancelled();
}

}  // namespace

absl::Status DenseKernelColumns::Columns(absl::Span<const Index> columns, MatrixRef out,
                                         RunContext& context) const {
  for (size_t j = 0; j < columns.size(); ++j) {
    out.col(static_cast<Index>(j)) = gram_.col(columns[j]);
  }
  return context.CheckCancelled();
}

absl::Status SelectedKernelColumns::Columns(absl::Span<const Index> columns, MatrixRef out,
                                            RunContext& context) const {
  std::vector<Index> of_kernel;
  for (const Index column : columns) {
    of_kernel.push_back(rows_[static_cast<size_t>(column)]);
  }
  Matrix all(kernel_.size(), out.cols());
  MERCER_RETURN_IF_ERROR(kernel_.Columns(of_kernel, all, context));
  out = all(rows_, Eigen::all);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<KernelSumColumns>> KernelSumColumns::Make(
    std::shared_ptr<const PreparedData> data, std::vector<Index> rows,
    std::vector<KernelSpec> kernels, RunContext& context) {
  std::unique_ptr<KernelSumColumns> sum(new KernelSumColumns(std::move(rows), std::move(kernels)));
  MERCER_RETURN_IF_ERROR(sum->CheckSources(data, context));
  if (IsAllRows(sum->rows_, *data)) {
    sum->data_ = std::move(data);
  } else {
    MERCER_ASSIGN_OR_RETURN(PreparedData selected, SelectRows(*data, sum->rows_, context));
    sum->data_ = std::make_shared<const PreparedData>(std::move(selected));
  }
  MERCER_RETURN_IF_ERROR(sum->Normalize(context));
  return sum;
}

// Parameters and sources of all kernels; symmetry and signs of square blocks, by those that read
// them tile by tile.
absl::Status KernelSumColumns::CheckSources(const std::shared_ptr<const PreparedData>& data,
                                            RunContext& context) const {
  FieldViolations violations;
  std::vector<KernelSource> sources;
  const SourceFinder finder(*data);
  PacedCheck check(context);
  for (size_t k = 0; k < kernels_.size(); ++k) {
    MERCER_RETURN_IF_ERROR(check.After(kSourceWork));
    const absl::Status valid = ValidateKernelSpec(kernels_[k]);
    absl::StatusOr<KernelSource> source = finder.Find(kernels_[k]);
    if (!valid.ok() || !source.ok()) {
      violations.AddAll(KernelField(k), valid.ok() ? source.status() : valid);
    } else if (source->is_square && data->FindSquare(source->square) == nullptr) {
      violations.Add(absl::StrCat(KernelField(k), ".block"),
                     "the data has no square block of that name");
    }
    sources.push_back(source.ok() ? *std::move(source) : KernelSource());
  }
  MERCER_RETURN_IF_ERROR(violations.ToStatus());
  for (size_t k = 0; k < sources.size(); ++k) {
    if (sources[k].is_square) {
      const absl::Status read =
          TileSource::Make(sources[k], data, rows_, /*store=*/false, context).status();
      if (!read.ok()) {
        return NameKernel(k, kernels_[k], read);
      }
    }
  }
  return absl::OkStatus();
}

// Each kernel's factor, from sums over its Gram matrix of which only blocks of columns are ever
// stored, and the diagonal of the sum of all.
absl::Status KernelSumColumns::Normalize(RunContext& context) {
  const Index n = data_->rows;
  scales_ = Vector::Ones(static_cast<Index>(kernels_.size()));
  diagonal_ = Vector::Zero(n);
  for (Index k = 0; k < scales_.size(); ++k) {
    const auto place = static_cast<size_t>(k);
    const absl::StatusOr<Vector> diagonal = KernelDiagonal(k, context);
    const absl::Status checked =
        diagonal.ok() ? CheckDiagonal(*diagonal, *data_) : diagonal.status();
    if (!checked.ok()) {
      return NameKernel(place, kernels_[place], checked);
    }
    const KernelScaling scaling = kernels_[place].normalization.scaling;
    GramSums sums{n, diagonal->sum(), 0.0};
    if (scaling == KernelScaling::kVariance || scaling == KernelScaling::kCentredTrace) {
      MERCER_ASSIGN_OR_RETURN(sums.total, SumOfEntries(k, context));
    }
    if (scaling != KernelScaling::kNone) {
      const absl::StatusOr<double> factor = ScalingFactor(scaling, sums);
      if (!factor.ok()) {
        return NameKernel(place, kernels_[place], factor.status());
      }
      scales_(k) = *factor;
    }
    diagonal_ += scales_(k) * *diagonal;
  }
  return absl::OkStatus();
}

// Kernels between any rows and those of `columns`. A precomputed kernel is read at the places that
// the columns have in its matrix, which is that of all rows of the data.
absl::StatusOr<CrossKernels> KernelSumColumns::Against(absl::Span<const Index> columns,
                                                       std::vector<KernelSpec> kernels,
                                                       const RunContext& context) const {
  const std::vector<Index> chosen(columns.begin(), columns.end());
  std::vector<Index> square_columns;
  for (const Index i : chosen) {
    square_columns.push_back(rows_[static_cast<size_t>(i)]);
  }
  return CrossKernels::Make(std::make_shared<const PreparedData>(SelectRows(*data_, chosen)),
                            std::move(kernels), std::move(square_columns), context);
}

// An exponential of a distance is 1 where the distance is 0.
absl::StatusOr<Vector> KernelSumColumns::KernelDiagonal(Index kernel, RunContext& context) const {
  const KernelSpec& spec = kernels_[static_cast<size_t>(kernel)];
  const Index n = data_->rows;
  if (IsExponential(spec.type) && !IsSquareType(spec.type)) {
    return Vector(Vector::Ones(n));
  }
  Vector diagonal(n);
  for (Index begin = 0; begin < n; begin += kBlockRows) {
    const std::vector<Index> block = IndexRange(begin, std::min(begin + kBlockRows, n));
    MERCER_ASSIGN_OR_RETURN(const CrossKernels cross, Against(block, {spec}, context));
    Matrix values(static_cast<Index>(block.size()), static_cast<Index>(block.size()));
    MERCER_RETURN_IF_ERROR(
        WeightedValues(cross, SelectRows(*data_, block), Vector::Ones(1), values, context));
    diagonal.segment(begin, values.rows()) = values.diagonal();
  }
  return diagonal;
}

absl::StatusOr<double> KernelSumColumns::SumOfEntries(Index kernel, RunContext& context) const {
  const KernelSpec& spec = kernels_[static_cast<size_t>(kernel)];
  const Index n = data_->rows;
  Matrix columns(n, std::min(n, kBlockRows));
  double sum = 0;
  for (Index begin = 0; begin < n; begin += kBlockRows) {
    const std::vector<Index> block = IndexRange(begin, std::min(begin + kBlockRows, n));
    MERCER_ASSIGN_OR_RETURN(const CrossKernels cross, Against(block, {spec}, context));
    auto values = columns.leftCols(static_cast<Index>(block.size()));
    MERCER_RETURN_IF_ERROR(WeightedValues(cross, *data_, Vector::Ones(1), values, context));
    sum += values.sum();
  }
  return sum;
}

absl::Status KernelSumColumns::Columns(absl::Span<const Index> columns, MatrixRef out,
                                       RunContext& context) const {
  MERCER_ASSIGN_OR_RETURN(const CrossKernels cross, Against(columns, kernels_, context));
  return WeightedValues(cross, *data_, scales_, out, context);
}

}  // namespace mercer
