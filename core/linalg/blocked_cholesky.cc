#include "core/linalg/blocked_cholesky.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include <Eigen/Cholesky>
#include <cblas.h>

#include "core/base/status/status_macros.h"
#include "core/linalg/blas_int.h"

namespace mercer {
namespace {

constexpr Index kCholeskyPanel = 256;
constexpr Index kTileRows = 2048;    // a tile update of 2048 x 256 x 256 is about 10 ms
constexpr Index kRightColumns = 64;  // right-hand sides per task
constexpr Index kRightRows = 128;    // that are rows

// Subtracts the products of the panel's columns [k, k + width) from the columns [begin, end) of the
// rest, lower triangle.
void UpdateColumns(MatrixRef a, Index k, Index width, Index begin, Index end,
                   const RunContext& context) {
  const Index stride = a.outerStride();
  const double* panel = a.data() + k * stride;
  cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, BlasInt(end - begin), BlasInt(width), -1.0,
              panel + begin, BlasInt(stride), 1.0, a.data() + begin * stride + begin,
              BlasInt(stride));
  for (Index row = end; row < a.rows() && !context.cancelled(); row += kTileRows) {
    const Index rows = std::min(kTileRows, a.rows() - row);
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, BlasInt(rows), BlasInt(end - begin),
                BlasInt(width), -1.0, panel + row, BlasInt(stride), panel + begin, BlasInt(stride),
                1.0, a.data() + begin * stride + row, BlasInt(stride));
  }
}

// Makes x <- L^{-1} x or L^{-T} x, panel by panel, for some of the right-hand sides.
void Substitute(const ConstMatrixRef& factor, bool transposed, MatrixRef x,
                const RunContext& context) {
  const Index n = factor.rows();
  const Index panels = (n + kCholeskyPanel - 1) / kCholeskyPanel;
  const blasint stride = BlasInt(factor.outerStride());
  const blasint x_stride = BlasInt(x.outerStride());
  const blasint columns = BlasInt(x.cols());
  for (Index p = 0; p < panels && !context.cancelled(); ++p) {
    const Index k = (transposed ? panels - 1 - p : p) * kCholeskyPanel;
    const Index width = std::min(kCholeskyPanel, n - k);
    const double* diagonal = factor.data() + k * factor.outerStride() + k;
    const Index below = n - k - width;
    if (transposed && below > 0) {
      cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, BlasInt(width), columns, BlasInt(below),
                  -1.0, diagonal + width, stride, x.data() + k + width, x_stride, 1.0, x.data() + k,
                  x_stride);
    }
    cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, transposed ? CblasTrans : CblasNoTrans,
                CblasNonUnit, BlasInt(width), columns, 1.0, diagonal, stride, x.data() + k,
                x_stride);
    if (!transposed && below > 0) {
      cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, BlasInt(below), columns,
                  BlasInt(width), -1.0, diagonal + width, stride, x.data() + k, x_stride, 1.0,
                  x.data() + k + width, x_stride);
    }
  }
}

}  // namespace

absl::Status FactorCholesky(MatrixRef a, RunContext& context) {
  const Index n = a.rows();
  for (Index k = 0; k < n; k += kCholeskyPanel) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    const Index width = std::min(kCholeskyPanel, n - k);
    Matrix diagonal = a.block(k, k, width, width);
    const Eigen::LLT<Eigen::Ref<Matrix>> llt(diagonal);
    // The comparison of pivots does not see a NaN; it reaches the factor's diagonal all the same,
    // and is looked for there.
    if (llt.info() != Eigen::Success || !diagonal.diagonal().allFinite()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the matrix is not positive definite: a pivot among rows ", k + 1, " to ",
                       k + width, " is not positive and finite"));
    }
    a.block(k, k, width, width).triangularView<Eigen::Lower>() = diagonal;
    const Index rest = k + width;
    const auto stride = BlasInt(a.outerStride());
    context.parallel().ForBlocks(n - rest, kTileRows, [&](Index begin, Index end) {
      if (!context.cancelled()) {
        cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit,
                    BlasInt(end - begin), BlasInt(width), 1.0, a.data() + k * a.outerStride() + k,
                    stride, a.data() + k * a.outerStride() + rest + begin, stride);
      }
    });
    context.parallel().ForBlocks(n - rest, kCholeskyPanel, [&](Index begin, Index end) {
      if (!context.cancelled()) {
        UpdateColumns(a, k, width, rest + begin, rest + end, context);
      }
    });
  }
  return context.CheckCancelled();
}

absl::Status SolveCholesky(const ConstMatrixRef& factor, MatrixRef x, RunContext& context) {
  context.parallel().ForBlocks(x.cols(), kRightColumns, [&](Index begin, Index end) {
    Substitute(factor, false, x.middleCols(begin, end - begin), context);
    Substitute(factor, true, x.middleCols(begin, end - begin), context);
  });
  return context.CheckCancelled();
}

absl::Status SubstituteRows(const ConstMatrixRef& factor, MatrixRef x, RunContext& context) {
  const Index n = factor.rows();
  const blasint stride = BlasInt(factor.outerStride());
  const blasint x_stride = BlasInt(x.outerStride());
  context.parallel().ForBlocks(x.rows(), kRightRows, [&](Index begin, Index end) {
    const blasint rows = BlasInt(end - begin);
    for (Index k = 0; k < n && !context.cancelled(); k += kCholeskyPanel) {
      const Index width = std::min(kCholeskyPanel, n - k);
      const double* diagonal = factor.data() + k * factor.outerStride() + k;
      double* of_panel = x.data() + k * x.outerStride() + begin;
      cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, rows,
                  BlasInt(width), 1.0, diagonal, stride, of_panel, x_stride);
      if (k + width < n) {
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, rows, BlasInt(n - k - width),
                    BlasInt(width), -1.0, of_panel, x_stride, diagonal + width, stride, 1.0,
                    of_panel + width * x.outerStride(), x_stride);
      }
    }
  });
  return context.CheckCancelled();
}

}  // namespace mercer
