// Products of tall matrices that are sums over their rows, and passes over blocks of rows. Sums are
// cut and added as row_blocks.h says, so that they have the same bits for every number of threads
// and for hosts that own whole blocks of rows. Many columns against many columns:
// matrix_products.h.
#pragma once

#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"

namespace mercer {

// How many rows a block has where there are few operations for each entry of a row.
inline constexpr Index kPassRows = 2048;

// Calls body(begin, count) for blocks of `block` of the rows [0, rows), concurrently. Errors:
// kCancelled, when some were left out.
absl::Status ForRowBlocks(Index rows, Index block, RunContext& context,
                          const std::function<void(Index begin, Index count)>& body);

// The product a b in one call of the library: for the rows of a block.
Matrix ProductOfBlock(const ConstMatrixRef& a, const ConstMatrixRef& b);

// The product a'b, a sum over rows. Errors: kCancelled.
absl::StatusOr<Matrix> ProductOverRows(const ConstMatrixRef& a, const ConstMatrixRef& b,
                                       RunContext& context);

// The lower triangle of sum_k weights(rows[k])^2 a(rows[k], :)' a(rows[k], :), the rows ascending;
// the strict upper one is arbitrary. Errors: kCancelled.
absl::StatusOr<Matrix> GramOverRows(const ConstMatrixRef& a, const std::vector<Index>& rows,
                                    const Vector& weights, RunContext& context);
// The same of all rows with weights of 1: a'a.
absl::StatusOr<Matrix> GramOverRows(const ConstMatrixRef& a, RunContext& context);

// Upper bound on what GramOverRows takes, its result included.
size_t GramOverRowsBytes(Index rows, Index columns);

// Rows of a matrix that is stored in another form.
struct GatheredRows {
  absl::Span<const Index> rows;  // their numbers, ascending
  Index cols = 0;
  Index stride = 0;  // entries of each, those that only pad it included
  std::function<void(Index j, double* out)> write;  // row rows[j]; concurrently
};
// out += scale sum_j row(j)' row(j): the lower triangle, in squares of `tile`; the upper one is
// arbitrary. Gathers some rows at a time, so that the sum is one of products of a matrix with
// itself; keeps a triangle of sums for each level of their tree. Errors: kCancelled.
absl::Status AddGramOfRows(const GatheredRows& rows, Index tile, double scale, MatrixRef out,
                           RunContext& context);

// Upper bound on what the sums of AddGramOfRows take, besides its result and the rows at hand.
size_t GramOfRowsBytes(Index rows, Index columns);

}  // namespace mercer
