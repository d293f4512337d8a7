#include "core/linalg/matrix_products.h"

#include <algorithm>

#include <cblas.h>

#include "core/linalg/blas_int.h"

namespace mercer {
namespace {

constexpr Index kPiece = 256;    // columns or rows of the first factor
constexpr Index kPanel = 64;     // of a triangular factor
constexpr Index kColumns = 256;  // of the second
constexpr Index kDepth = 8192;   // summed at a time: 10^9 operations, about 30 ms

// A piece of a product: out = before out + scale op(a) b for the rows [begin, end) of op(a).
struct Piece {
  const ConstMatrixRef& a;
  bool transposed;
  const ConstMatrixRef& b;
  double scale;
  double before;
};

void MultiplyPiece(const Piece& piece, Index begin, Index end, MatrixRef out,
                   const RunContext& context) {
  const Index depth = piece.b.rows();
  const Index stride = piece.a.outerStride();
  for (Index column = 0; column < out.cols(); column += kColumns) {
    const Index columns = std::min(kColumns, out.cols() - column);
    double* target = out.data() + column * out.outerStride() + begin;
    if (depth == 0 && piece.before == 0) {
      out.block(begin, column, end - begin, columns).setZero();
    }
    for (Index k = 0; k < depth && !context.cancelled(); k += kDepth) {
      const double* a =
          piece.a.data() + (piece.transposed ? begin * stride + k : k * stride + begin);
      cblas_dgemm(CblasColMajor, piece.transposed ? CblasTrans : CblasNoTrans, CblasNoTrans,
                  BlasInt(end - begin), BlasInt(columns), BlasInt(std::min(kDepth, depth - k)),
                  piece.scale, a, BlasInt(stride),
                  piece.b.data() + column * piece.b.outerStride() + k,
                  BlasInt(piece.b.outerStride()), k == 0 ? piece.before : 1.0, target,
                  BlasInt(out.outerStride()));
    }
  }
}

absl::Status MultiplyPieces(const Piece& piece, MatrixRef out, RunContext& context) {
  context.parallel().ForBlocks(out.rows(), kPiece, [&](Index begin, Index end) {
    MultiplyPiece(piece, begin, end, out, context);
  });
  return context.CheckCancelled();
}

// Computes out = op(a) b.
void Multiply(const ConstMatrixRef& a, bool transposed, const ConstMatrixRef& b, MatrixRef out) {
  cblas_dgemm(CblasColMajor, transposed ? CblasTrans : CblasNoTrans, CblasNoTrans,
              BlasInt(out.rows()), BlasInt(out.cols()), BlasInt(b.rows()), 1.0, a.data(),
              BlasInt(a.outerStride()), b.data(), BlasInt(b.outerStride()), 0.0, out.data(),
              BlasInt(out.outerStride()));
}

}  // namespace

absl::Status TransposedProduct(const ConstMatrixRef& a, const ConstMatrixRef& b, MatrixRef out,
                               RunContext& context) {
  return MultiplyPieces({a, true, b, 1.0, 0.0}, out, context);
}

absl::Status LowerTransposedProduct(const ConstMatrixRef& a, const ConstMatrixRef& b, MatrixRef out,
                                    RunContext& context) {
  context.parallel().ForBlocks(out.rows(), kPiece, [&](Index begin, Index end) {
    const ConstMatrixRef columns = b.leftCols(end);
    MultiplyPiece({a, true, columns, 1.0, 0.0}, begin, end, out.leftCols(end), context);
  });
  return context.CheckCancelled();
}

void TransposedProductOfTask(const ConstMatrixRef& a, const ConstMatrixRef& b, MatrixRef out,
                             const RunContext& context) {
  const Piece piece = {a, true, b, 1.0, 0.0};
  for (Index begin = 0; begin < out.rows() && !context.cancelled(); begin += kPiece) {
    MultiplyPiece(piece, begin, std::min(begin + kPiece, out.rows()), out, context);
  }
}

absl::Status AddProduct(double scale, const ConstMatrixRef& a, const ConstMatrixRef& b,
                        MatrixRef out, RunContext& context) {
  return MultiplyPieces({a, false, b, scale, 1.0}, out, context);
}

// Works by panels of columns: with the zeros of the root left out, it takes a third of the
// operations of two full products.
absl::Status TriangularCongruence(const ConstMatrixRef& middle, const ConstMatrixRef& root,
                                  MatrixRef out, RunContext& context) {
  const Index size = root.rows();
  const Matrix whole = middle.selfadjointView<Eigen::Lower>();
  Matrix half(size, size);
  context.parallel().ForBlocks(size, kPanel, [&](Index begin, Index end) {
    // Rows of the root above `begin` are zero in these columns, and rows of `half` above them are
    // not read.
    for (Index row = begin; row < size && !context.cancelled(); row += kPiece) {
      const Index rows = std::min(kPiece, size - row);
      Multiply(whole.block(row, begin, rows, size - begin), false,
               root.block(begin, begin, size - begin, end - begin),
               half.block(row, begin, rows, end - begin));
    }
    for (Index row = begin; row < size && !context.cancelled(); row += kPanel) {
      const Index rows = std::min(kPanel, size - row);
      Multiply(root.block(row, row, size - row, rows), true,
               half.block(row, begin, size - row, end - begin),
               out.block(row, begin, rows, end - begin));
    }
  });
  return context.CheckCancelled();
}

}  // namespace mercer
