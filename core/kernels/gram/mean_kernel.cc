#include "core/kernels/gram/mean_kernel.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "core/base/numeric/hash_table.h"
#include "core/base/process/paced_check.h"
#include "core/base/process/row_vectors.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/kernels/spec/kernel_errors.h"
#include "core/kernels/spec/kernel_formula.h"
#include "core/kernels/spec/normalization.h"
#include "core/kernels/spec/pair_values.h"
#include "core/linalg/vector_math.h"

namespace mercer {
namespace {

constexpr Index kColumnsOfStrip = 64;
constexpr Index kStripNumbers = Index{1} << 15;  // values of pairs in the hands of a thread
constexpr Index kLeastStripRows = 512;
constexpr Index kMostStripRows = 4096;
constexpr Index kGatheredNumbers = Index{1} << 20;  // of rows whose columns are not a whole block

// How many rows of a source a thread has at a time, `most` if they have few columns; a multiple of
// the padding.
Index StripRows(Index most, Index columns) {
  return std::clamp(kGatheredNumbers / std::max<Index>(columns, 1) / kStripPadding * kStripPadding,
                    kStripPadding, most);
}

}  // namespace

absl::StatusOr<MeanKernel> MeanKernel::Make(const PreparedData& data,
                                            const std::vector<KernelSpec>& kernels,
                                            RunContext& context) {
  MeanKernel mean(data, kernels);
  MERCER_RETURN_IF_ERROR(mean.FindSources(data, context));
  MERCER_RETURN_IF_ERROR(mean.SetDiagonals(data, context));
  return mean;
}

absl::Status MeanKernel::FindSources(const PreparedData& data, RunContext& context) {
  const SourceFinder finder(data);
  HashMap<std::string, size_t> source_of_key;
  PacedCheck check(context);
  for (size_t k = 0; k < kernels_.size(); ++k) {
    MERCER_RETURN_IF_ERROR(check.After(kSourceWork));
    FieldViolations violations;
    violations.AddAll(KernelField(k), ValidateKernelSpec(kernels_[k]));
    MERCER_RETURN_IF_ERROR(violations.ToStatus());
    const absl::StatusOr<KernelSource> source = finder.Find(kernels_[k]);
    violations.AddAll(KernelField(k), source.status());
    MERCER_RETURN_IF_ERROR(violations.ToStatus());
    if (source->is_square) {
      violations.Add(KernelField(k), "reads a square block");
      return violations.ToStatus();
    }
    const auto [place, is_new] = source_of_key.try_emplace(SourceKey(*source), sources_.size());
    if (is_new) {
      MERCER_ASSIGN_OR_RETURN(SourceRows rows, SourceRows::Make(*source, data, context));
      sources_.push_back(
          {source->value, static_cast<Index>(source->columns.size()), std::move(rows), {}});
    }
    sources_[place->second].kernels.push_back(k);
  }
  return absl::OkStatus();
}

// The values of a kernel of each row with itself, before it is brought to unit diagonal.
absl::StatusOr<Vector> MeanKernel::KernelDiagonal(const Source& source, size_t kernel,
                                                  RunContext& context) const {
  const Index padded = PaddedLength(rows_);
  Vector values = Vector::Zero(padded);
  context.parallel().ForBlocks(
      rows_, StripRows(kMostStripRows, source.columns), [&](Index begin, Index end) {
        if (context.cancelled()) {
          return;
        }
        RowMatrix gathered;
        const auto rows = source.rows.Rows(begin, end, gathered);
        for (Index i = begin; i < end; ++i) {
          values(i) = PairValueOfRow(source.value, rows.row(i - begin).data(), rows.cols());
        }
        const Index stride = PaddedLength(end - begin);
        KernelValuesOfRead(kernels_[kernel], {values.data() + begin, 1, end - begin, stride},
                           values.data() + begin);
      });
  MERCER_RETURN_IF_ERROR(context.CheckCancelled());
  values.conservativeResize(rows_);
  return values;
}

absl::Status MeanKernel::SetDiagonals(const PreparedData& data, RunContext& context) {
  const auto count = static_cast<Index>(kernels_.size());
  unit_factors_.resize(kernels_.size());
  mean_diagonals_ = Vector::Zero(count);
  weights_ = Vector::Zero(count);
  diagonal_ = Vector::Zero(rows_);
  for (const Source& source : sources_) {
    for (const size_t k : source.kernels) {
      MERCER_ASSIGN_OR_RETURN(Vector values, KernelDiagonal(source, k, context));
      if (kernels_[k].normalization.unit_diagonal && !IsExponential(kernels_[k].type)) {
        for (Index i = 0; i < rows_; ++i) {
          if (!(values(i) > 0)) {
            return ZeroDiagonalError("row", data.RowNumber(i), values(i));
          }
        }
        unit_factors_[k] = values.cwiseSqrt().cwiseInverse();
        values.setOnes();
      }
      const auto place = static_cast<Index>(k);
      mean_diagonals_(place) = SumOfRows(values) / static_cast<double>(rows_);
      const double weight = 1 / mean_diagonals_(place) / static_cast<double>(count);
      if (mean_diagonals_(place) > 0 && std::isfinite(weight)) {
        weights_(place) = weight;
        diagonal_ += weight * values;
      }
    }
  }
  return absl::OkStatus();
}

// Adds the kernels of one source between some rows and columns to `out`.
void MeanKernel::AddValues(const Source& source, const SourcePart& rows, const SourcePart& columns,
                           MatrixRef out, const RunContext& context) const {
  const Index stride = PaddedLength(out.rows());
  std::vector<double> pairs(static_cast<size_t>(std::min(kColumnsOfStrip, out.cols()) * stride));
  std::vector<double> values(pairs.size());
  for (Index first = 0; first < out.cols(); first += kColumnsOfStrip) {
    const Index width = std::min(kColumnsOfStrip, out.cols() - first);
    auto strip = out.middleCols(first, width);
    ComputePairValues(source.value, columns.values.middleRows(first, width), rows.values,
                      pairs.data(), stride, context);
    for (const size_t k : source.kernels) {
      const double weight = weights_(static_cast<Index>(k));
      if (context.cancelled()) {
        return;
      }
      if (weight == 0) {
        continue;
      }
      KernelValuesOfRead(kernels_[k], {pairs.data(), width, out.rows(), stride}, values.data());
      const Eigen::Map<const Matrix, 0, Eigen::OuterStride<>> of_kernel(
          values.data(), out.rows(), width, Eigen::OuterStride<>(stride));
      if (unit_factors_[k].size() > 0) {
        const Vector of_columns = columns.pick(unit_factors_[k]).segment(first, width);
        strip += rows.pick(unit_factors_[k]).asDiagonal() * of_kernel *
                 (weight * of_columns).asDiagonal();
      } else {
        strip += weight * of_kernel;
      }
    }
  }
}

// What each source has of the rows.
absl::StatusOr<std::vector<RowMatrix>> MeanKernel::Gather(absl::Span<const Index> rows,
                                                          const RunContext& context) const {
  std::vector<RowMatrix> gathered;
  PacedCheck check(context);
  for (const Source& source : sources_) {
    RowMatrix one;
    RowMatrix values(static_cast<Index>(rows.size()), source.columns);
    for (size_t j = 0; j < rows.size(); ++j) {
      MERCER_RETURN_IF_ERROR(check.After(values.cols()));
      values.row(static_cast<Index>(j)) = source.rows.Rows(rows[j], rows[j] + 1, one);
    }
    gathered.push_back(std::move(values));
  }
  return gathered;
}

absl::Status MeanKernel::Square(absl::Span<const Index> rows, MatrixRef out,
                                RunContext& context) const {
  MERCER_ASSIGN_OR_RETURN(const std::vector<RowMatrix> values, Gather(rows, context));
  const auto all = [rows](const Vector& numbers) { return Vector(numbers(rows)); };
  context.parallel().ForBlocks(out.rows(), kLeastStripRows, [&](Index begin, Index end) {
    auto block = out.middleRows(begin, end - begin);
    block.setZero();
    const auto some = [&](const Vector& numbers) {
      return Vector(all(numbers).segment(begin, end - begin));
    };
    for (size_t s = 0; s < sources_.size() && !context.cancelled(); ++s) {
      AddValues(sources_[s], {values[s].middleRows(begin, end - begin), some}, {values[s], all},
                block, context);
    }
  });
  return context.CheckCancelled();
}

absl::Status MeanKernel::Values(absl::Span<const Index> columns, Index begin, Index end,
                                MatrixRef out, RunContext& context) const {
  MERCER_ASSIGN_OR_RETURN(const std::vector<RowMatrix> values, Gather(columns, context));
  const auto all = [columns](const Vector& numbers) { return Vector(numbers(columns)); };
  const Index of_strip = std::clamp<Index>(out.cols(), 1, kColumnsOfStrip);
  Index most = std::clamp(kStripNumbers / of_strip, kLeastStripRows, kMostStripRows);
  for (const Source& source : sources_) {
    most = StripRows(most, source.columns);
  }
  context.parallel().ForBlocks(end - begin, most, [&](Index first, Index last) {
    const Index count = last - first;
    auto block = out.middleRows(first, count);
    block.setZero();
    const auto some = [&](const Vector& numbers) {
      return Vector(numbers.segment(begin + first, count));
    };
    RowMatrix gathered;
    for (size_t s = 0; s < sources_.size() && !context.cancelled(); ++s) {
      AddValues(sources_[s], {sources_[s].rows.Rows(begin + first, begin + last, gathered), some},
                {values[s], all}, block, context);
    }
  });
  return context.CheckCancelled();
}

}  // namespace mercer
