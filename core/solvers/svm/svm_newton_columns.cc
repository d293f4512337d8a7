// Products with few columns of a kernel, and its principal submatrices, in fixed tiles.
#include <algorithm>

#include "core/base/status/status_macros.h"
#include "core/solvers/svm/svm_newton.h"

namespace mercer {
namespace {

constexpr Index kRowTile = 512;
constexpr Index kColumnTile = 64;

// Adds sum_j coefficients(j) K(begin..end, columns[j]) to out(begin..end), four columns at a time,
// so that `out` is read and written a quarter as often.
void AddTile(const Matrix& gram, const std::vector<Index>& columns, const Vector& coefficients,
             Index begin, Index end, Vector& out) {
  const Index count = static_cast<Index>(columns.size());
  auto tile = out.segment(begin, end - begin);
  const auto part = [&](Index j) {
    return gram.col(columns[static_cast<size_t>(j)]).segment(begin, end - begin) * coefficients(j);
  };
  Index j = 0;
  for (; j + 4 <= count; j += 4) {
    tile += (part(j) + part(j + 1)) + (part(j + 2) + part(j + 3));
  }
  for (; j < count; ++j) {
    tile += part(j);
  }
}

}  // namespace

absl::Status AddKernelColumns(const KernelOperator& kernel, const std::vector<Index>& columns,
                              const Vector& coefficients, Vector& out, RunContext& context) {
  if (columns.empty()) {
    return absl::OkStatus();
  }
  const Index n = kernel.size();
  if (const Matrix* gram = kernel.Dense()) {
    context.parallel().ForBlocks(n, kRowTile, [&](Index begin, Index end) {
      if (!context.cancelled()) {
        AddTile(*gram, columns, coefficients, begin, end, out);
      }
    });
    return context.CheckCancelled();
  }
  Matrix values(n, kColumnTile);
  for (size_t first = 0; first < columns.size(); first += kColumnTile) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    const size_t count = std::min<size_t>(kColumnTile, columns.size() - first);
    const Index width = static_cast<Index>(count);
    MERCER_RETURN_IF_ERROR(kernel.Columns(absl::MakeConstSpan(columns).subspan(first, count),
                                          values.leftCols(width), context));
    for (Index j = 0; j < width; ++j) {
      out += coefficients(static_cast<Index>(first) + j) * values.col(j);
    }
  }
  return absl::OkStatus();
}

absl::Status GatherKernel(const KernelOperator& kernel, const std::vector<Index>& rows, Matrix& out,
                          RunContext& context) {
  const Index count = static_cast<Index>(rows.size());
  out.resize(count, count);
  if (const Matrix* gram = kernel.Dense()) {
    context.parallel().ForBlocks(count, kColumnTile, [&](Index begin, Index end) {
      for (Index j = begin; j < end && !context.cancelled(); ++j) {
        const double* column = gram->data() + rows[static_cast<size_t>(j)] * gram->rows();
        for (Index i = j; i < count; ++i) {
          out(i, j) = column[rows[static_cast<size_t>(i)]];
        }
      }
    });
    return context.CheckCancelled();
  }
  for (Index first = 0; first < count; first += kColumnTile) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    const Index width = std::min(kColumnTile, count - first);
    const auto columns =
        absl::MakeConstSpan(rows).subspan(static_cast<size_t>(first), static_cast<size_t>(width));
    MERCER_RETURN_IF_ERROR(kernel.Block(rows, columns, out.middleCols(first, width), context));
  }
  return absl::OkStatus();
}

}  // namespace mercer
