// The one way to sum over training rows: pieces of a fixed size by the rows' global numbers, added
// in a fixed tree (row_blocks.h says which). The result has the same bits for every number of
// threads, with and without a context, and for any number of hosts that own whole blocks of rows
// and add their nodes in the same tree.
//
// What this asks of a caller: the sum of a piece depends on the piece's rows alone. It does not
// depend on the rows beside it, on the number of rows, or on where the rows lie in memory; Eigen's
// sum() and dot() begin at the first aligned address, so that they may be used for vectors that are
// allocated on their own and cut at multiples of a piece, and not for columns of a matrix
// (row_vectors.h has sums and products that may).
//
// Inside the guarantee are the sums of what trains and certifies functions of explicit features,
// since these trainings grow beyond one host first: losses and their duals, line searches, products
// and Gram matrices of factors and feature columns, the statistics of candidates, and what looks at
// all rows once before a training begins. A product with a formed kernel matrix is a sum over
// training rows too, of a matrix whose rows and columns both are training rows; what solves and
// searches on such matrices (SMO, Newton's method on entries, kernel ridge) is made for one host
// and outside for good. tests/lint/check_row_sums.py finds all other sums and says of each file why
// they may be there.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/base/numeric/row_blocks.h"
#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"

namespace mercer {

// Sums over the rows [0, rows). `piece` is a power of two of at most kRowBlock, the same for every
// number of rows; add(begin, end, sum) adds the rows [begin, end) of one piece to `sum`, which
// begins as a copy of `zero`, concurrently for different pieces. Looks at cancellation before each
// piece and keeps only some of their sums at a time. Errors: kCancelled.
template <typename Partial, typename AddPiece>
absl::StatusOr<Partial> SumOverRows(Index rows, Index piece, const Partial& zero,
                                    const RunContext& context, const AddPiece& add) {
  constexpr Index kPiecesOfAThread = 32;  // at a time; threads wait for each other after that
  const Index pieces = CountPieces(rows, piece);
  const Index most = kPiecesOfAThread * context.parallel().num_threads();
  PairwiseSum<Partial> tree;
  for (Index first = 0; first < pieces; first += most) {
    std::vector<Partial> sums(static_cast<size_t>(std::min(most, pieces - first)));
    context.parallel().ForBlocks(static_cast<Index>(sums.size()), 1, [&](Index k, Index /*end*/) {
      if (context.cancelled()) {
        return;
      }
      const Index begin = (first + k) * piece;
      Partial sum = zero;  // threads do not write side by side
      add(begin, std::min(begin + piece, rows), sum);
      sums[static_cast<size_t>(k)] = std::move(sum);
    });
    if (context.cancelled()) {
      return context.CheckCancelled();
    }
    for (size_t k = 0; k < sums.size(); ++k) {
      tree.Add(first + static_cast<Index>(k), std::move(sums[k]));
    }
  }
  if (context.cancelled()) {
    return context.CheckCancelled();
  }
  return tree.Total(zero);
}

// The same bits on the calling thread, for sums that take no longer than some milliseconds.
template <typename Partial, typename AddPiece>
Partial SumOverRows(Index rows, Index piece, const Partial& zero, const AddPiece& add) {
  PairwiseSum<Partial> tree;
  for (Index begin = 0; begin < rows; begin += piece) {
    Partial sum = zero;
    add(begin, std::min(begin + piece, rows), sum);
    tree.Add(begin / piece, std::move(sum));
  }
  return tree.Total(zero);
}

}  // namespace mercer
