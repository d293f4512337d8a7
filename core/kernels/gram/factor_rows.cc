#include "core/kernels/gram/factor_rows.h"

#include <algorithm>
#include <cmath>

#include <cblas.h>

#include "core/base/process/row_sums.h"
#include "core/base/status/status_macros.h"
#include "core/linalg/blas_int.h"
#include "core/linalg/row_operations.h"
#include "core/linalg/row_products.h"

namespace mercer {
namespace {

constexpr Index kTaskRows = 512;                  // about 0.1 ms for 700 columns
constexpr Index kGramTile = 128;                  // a tile's update takes about 2 ms
constexpr Index kTriangularValues = 200'000'000;  // products per task with a triangular root

}  // namespace

// Passes over the rows are cut into tasks of kTaskRows. Rows become doubles before they are
// multiplied.
FactorRows::FactorRows(Index rows, Index cols)
    : rows_(rows), cols_(cols), stride_(PaddedStride(cols)), values_(rows * stride_) {}

void FactorRows::SetRow(Index i, ConstVectorRef values) {
  auto row = values_.segment(i * stride_, stride_);
  row.head(cols_) = values.cast<float>();
  row.tail(stride_ - cols_).setZero();
}

absl::StatusOr<FactorRows> FactorRows::Select(absl::Span<const Index> rows,
                                              RunContext& context) const {
  FactorRows selected(static_cast<Index>(rows.size()), cols_);
  context.parallel().ForBlocks(selected.rows(), kTaskRows, [&](Index begin, Index end) {
    for (Index i = begin; i < end && !context.cancelled(); ++i) {
      std::copy_n(row(rows[static_cast<size_t>(i)]), stride_,
                  selected.values_.data() + i * stride_);
    }
  });
  MERCER_RETURN_IF_ERROR(context.CheckCancelled());
  return selected;
}

size_t FactorRows::Bytes(Index rows, Index cols) {
  return static_cast<size_t>(rows) * static_cast<size_t>(PaddedStride(cols)) * sizeof(float);
}

Vector FactorRows::Padded(ConstVectorRef x) const {
  Vector padded = Vector::Zero(stride_);
  padded.head(cols_) = x;
  return padded;
}

absl::Status FactorRows::Multiply(ConstVectorRef x, VectorRef out, RunContext& context) const {
  const Vector padded = Padded(x);
  context.parallel().ForBlocks(rows_, kTaskRows, [&](Index begin, Index end) {
    for (Index i = begin; i < end && !context.cancelled(); ++i) {
      out(i) = mercer::DotRow(row(i), padded.data(), stride_);
    }
  });
  return context.CheckCancelled();
}

absl::Status FactorRows::MultiplyRows(absl::Span<const Index> rows, ConstVectorRef x, VectorRef out,
                                      RunContext& context) const {
  const Vector padded = Padded(x);
  const auto count = static_cast<Index>(rows.size());
  context.parallel().ForBlocks(count, kTaskRows, [&](Index begin, Index end) {
    for (Index j = begin; j < end && !context.cancelled(); ++j) {
      out(j) = mercer::DotRow(row(rows[static_cast<size_t>(j)]), padded.data(), stride_);
    }
  });
  return context.CheckCancelled();
}

absl::Status FactorRows::MultiplyTransposed(ConstVectorRef a, VectorRef out,
                                            RunContext& context) const {
  const Vector zero = Vector::Zero(stride_);
  MERCER_ASSIGN_OR_RETURN(
      const Vector sum,
      SumOverRows(rows_, kRowPiece, zero, context, [&](Index begin, Index end, Vector& sum) {
        AddRowsWhere(
            RowSpan<float>{row(begin), stride_, stride_}, a.segment(begin, end - begin),
            [](double value) { return value != 0; }, sum.data());
      }));
  out = sum.head(cols_);
  return absl::OkStatus();
}

double FactorRows::DotRow(Index i, const double* x) const {
  return mercer::DotRow(row(i), x, stride_);
}

void FactorRows::AddRow(Index i, double a, double* out) const {
  AddScaledRow(row(i), a, stride_, out);
}

Matrix FactorRows::Widened(Index begin, Index end) const {
  Matrix widened(stride_, end - begin);
  for (Index i = begin; i < end; ++i) {
    ScaleRow(row(i), 1.0, stride_, widened.col(i - begin).data());
  }
  return widened;
}

absl::Status FactorRows::MultiplyMatrix(ConstMatrixRef x, MatrixRef out,
                                        RunContext& context) const {
  if (x.cols() == 1) {
    return Multiply(x.col(0), out.col(0), context);
  }
  if (cols_ == 0 || x.cols() == 0) {
    out.setZero();
    return context.CheckCancelled();
  }
  context.parallel().ForBlocks(rows_, kTaskRows, [&](Index begin, Index end) {
    if (context.cancelled()) {
      return;
    }
    const Matrix widened = Widened(begin, end);
    cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, BlasInt(end - begin), BlasInt(x.cols()),
                BlasInt(cols_), 1.0, widened.data(), BlasInt(stride_), x.data(),
                BlasInt(x.outerStride()), 0.0, out.data() + begin, BlasInt(out.outerStride()));
  });
  return context.CheckCancelled();
}

absl::Status FactorRows::MultiplyTransposedMatrix(ConstMatrixRef a, MatrixRef out,
                                                  RunContext& context) const {
  if (a.cols() == 1) {
    return MultiplyTransposed(a.col(0), out.col(0), context);
  }
  if (cols_ == 0 || a.cols() == 0) {
    out.setZero();
    return context.CheckCancelled();
  }
  const Matrix zero = Matrix::Zero(cols_, a.cols());
  const auto add = [&](Index begin, Index end, Matrix& sum) {
    for (Index first = begin; first < end && !context.cancelled(); first += kTaskRows) {
      const Index last = std::min(end, first + kTaskRows);
      const Matrix widened = Widened(first, last);
      cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, BlasInt(cols_), BlasInt(a.cols()),
                  BlasInt(last - first), 1.0, widened.data(), BlasInt(stride_), a.data() + first,
                  BlasInt(a.outerStride()), 1.0, sum.data(), BlasInt(cols_));
    }
  };
  MERCER_ASSIGN_OR_RETURN(out, SumOverRows(rows_, kRowPiece, zero, context, add));
  return absl::OkStatus();
}

// The explicit features X = rows root, for solvers that visit single rows again and again.
absl::StatusOr<FactorRows> FactorRows::TimesTriangular(ConstMatrixRef root,
                                                       RunContext& context) const {
  FactorRows product(rows_, root.cols());
  const Matrix upper = root.transpose();
  const Index block = std::clamp<Index>(kTriangularValues / std::max<Index>(1, cols_ * cols_),
                                        kTaskRows / 32, kTaskRows / 2);
  context.parallel().ForBlocks(rows_, block, [&](Index begin, Index end) {
    if (context.cancelled()) {
      return;
    }
    const Matrix widened = Widened(begin, end);
    const Matrix transformed = upper.triangularView<Eigen::Upper>() * widened.topRows(cols_);
    for (Index i = begin; i < end; ++i) {
      product.SetRow(i, transformed.col(i - begin));
    }
  });
  MERCER_RETURN_IF_ERROR(context.CheckCancelled());
  return product;
}

// Rows are gathered as doubles, times the roots of their weights.
absl::Status FactorRows::AddGram(absl::Span<const Index> rows, ConstVectorRef weights, double scale,
                                 MatrixRef out, RunContext& context) const {
  const auto write = [&](Index j, double* gathered) {
    ScaleRow(row(rows[static_cast<size_t>(j)]), std::sqrt(weights(j)), stride_, gathered);
  };
  return AddGramOfRows({rows, cols_, stride_, write}, kGramTile, scale, out, context);
}

}  // namespace mercer
