// How sums over training rows are cut and put together, whoever computes them.
//
// Training rows have global numbers 0, 1, 2, ..., and belong to blocks of kRowBlock: block b holds
// the rows [b kRowBlock, (b + 1) kRowBlock). A sum over rows is cut into pieces, each of a fixed
// power of two of rows that divides kRowBlock, so that no piece reaches into two blocks. The sums
// of the pieces are added in a binary tree over their numbers: a node of height h covers the pieces
// [i 2^h, (i + 1) 2^h) and is the left half plus the right half; pieces that are not there, behind
// the last row or without any row that counts, are left out.
//
// Neither the pieces nor the tree depend on how many rows there are, on threads, or on who owns
// which blocks: a host that owns whole blocks forms the nodes that lie within them, and whoever adds
// the nodes of all hosts gets the bits of one host that owns all rows. The error of a sum of n rows
// grows with the logarithm of the number of pieces, not with n.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"

#include "core/base/numeric/types.h"

namespace mercer {

// The rows of a block, which one host owns as a whole. Long enough that sums over a few per cent of
// its rows, such as Gram matrices of support vectors, are mostly products and not additions of
// partial sums.
inline constexpr Index kRowBlock = 8192;
// The rows of a piece where there are operations enough for each: four in a block, so that a few
// ten thousand rows keep some threads busy.
inline constexpr Index kRowPiece = 2048;

// How many pieces there are of so many rows.
constexpr Index CountPieces(Index rows, Index piece) { return (rows + piece - 1) / piece; }

// Adds the sums of pieces in the tree over their numbers. Keeps about as many sums as the tree is
// high: where a partial sum is a large matrix, its memory grows with the logarithm of the rows.
//
// `Partial` is default constructible, movable, and has operator+=. Not safe for concurrent use.
template <typename Partial>
class PairwiseSum {
 public:
  // A sum over some pieces that follow each other, told by the number of one of them.
  struct Node {
    Index number;
    Partial sum;
  };

  // `first`: the first piece of a host that does not own those before it, whether or not that piece
  // is there.
  explicit PairwiseSum(Index first = 0) : first_(first) {}

  // Numbers come in ascending order: those of pieces, or the nodes of hosts in the order of their
  // blocks.
  void Add(Index number, Partial sum) {
    while (nodes_.size() >= 2 && LastMeetBefore(number)) {
      MergeLast();
    }
    nodes_.push_back({number, std::move(sum)});
  }

  // The sum of all, or `none` when nothing was added. Nothing is left.
  Partial Total(Partial none) {
    if (nodes_.empty()) {
      return none;
    }
    while (nodes_.size() > 1) {
      MergeLast();
    }
    Partial total = std::move(nodes_.back().sum);
    nodes_.clear();
    return total;
  }

  // What a host that owns some blocks tells the others. Nothing is left.
  std::vector<Node> TakeNodes() { return std::exchange(nodes_, {}); }

 private:
  // The height of the lowest node above two pieces.
  static int Height(Index a, Index b) {
    return static_cast<int>(std::bit_width(static_cast<uint64_t>(a ^ b)));
  }

  // Whether the node above the last two is complete: it lies below where the next piece joins it,
  // and no piece of another host is in it.
  bool LastMeetBefore(Index number) const {
    const Index last = nodes_.back().number;
    const int height = Height(nodes_[nodes_.size() - 2].number, last);
    return height < Height(last, number) && (last >> height) << height >= first_;
  }

  void MergeLast() {
    nodes_[nodes_.size() - 2].sum += nodes_.back().sum;
    nodes_.pop_back();
  }

  Index first_;
  std::vector<Node> nodes_;
};

// A piece of a sum over all rows, or over those of a list.
struct RowPiece {
  Index number = 0;  // in the tree of pieces of kRowPiece rows
  Index begin = 0;   // its first row, or the place of that in the list
  Index count = 0;   // at most kRowPiece
};

// The pieces of all rows [0, rows).
std::vector<RowPiece> PiecesOfRows(Index rows);

// The pieces of a sum over the rows of an ascending list: those of each block, kRowPiece at a time.
// So the pieces of a block depend on which of its own rows are listed, and few rows of a block are
// one piece. The pieces of a list of all rows are those of PiecesOfRows.
std::vector<RowPiece> PiecesOfList(absl::Span<const Index> rows);

}  // namespace mercer
