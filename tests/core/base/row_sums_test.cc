#include "core/base/process/row_sums.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/numeric/random.h"
#include "core/base/process/run_context.h"

namespace mercer {
namespace {

constexpr Index kSummedRows = 64;

Vector RandomValues(Index size, uint64_t seed) {
  RandomStream random(seed, "values of the test", 0);
  Vector values(size);
  for (Index i = 0; i < size; ++i) {
    values(i) = random.Normal() * std::exp(3.0 * random.Normal());
  }
  return values;
}

// The sum of some rows, one after the other.
double SumInOrder(const Vector& values, Index begin, Index end) {
  double sum = 0;
  for (Index i = begin; i < end; ++i) {
    sum += values(i);
  }
  return sum;
}

// The tree as the header defines it, from the top: the node of this height over the pieces from
// i 2^height on.
double NodeOfAll(const std::vector<double>& pieces, int height, size_t i) {
  if (height == 0) {
    return pieces[i];
  }
  const size_t right = (2 * i + 1) << (height - 1);
  const double left = NodeOfAll(pieces, height - 1, 2 * i);
  return right < pieces.size() ? left + NodeOfAll(pieces, height - 1, 2 * i + 1) : left;
}

double SumByTheDefinition(const Vector& values) {
  std::vector<double> pieces;
  for (Index begin = 0; begin < values.size(); begin += kSummedRows) {
    pieces.push_back(SumInOrder(values, begin, std::min(begin + kSummedRows, values.size())));
  }
  int height = 0;
  while ((size_t{1} << height) < pieces.size()) {
    ++height;
  }
  return NodeOfAll(pieces, height, 0);
}

const auto kAddRows = [](const Vector& values) {
  return [&values](Index begin, Index end, double& sum) { sum += SumInOrder(values, begin, end); };
};

// Every number of pieces up to 40, and some more, the last one whole and not.
std::vector<Index> RowCounts() {
  std::vector<Index> sizes = {0, 1, kSummedRows - 1, 1000 * kSummedRows + 17};
  for (Index pieces = 1; pieces <= 40; ++pieces) {
    sizes.push_back(pieces * kSummedRows);
    sizes.push_back(pieces * kSummedRows + 3);
  }
  return sizes;
}

TEST(RowSumsTest, AreThoseOfTheTreeForEveryNumberOfThreads) {
  for (const Index size : RowCounts()) {
    const Vector values = RandomValues(size, 1);
    const double expected = size > 0 ? SumByTheDefinition(values) : 0.0;
    EXPECT_EQ(SumOverRows(size, kSummedRows, 0.0, kAddRows(values)), expected) << size << " rows";
    for (const int threads : {1, 2, 3, 8}) {
      const RunContext context(CancellationToken(), threads, nullptr);
      const auto sum = SumOverRows(size, kSummedRows, 0.0, context, kAddRows(values));
      ASSERT_TRUE(sum.ok());
      EXPECT_EQ(*sum, expected) << size << " rows, " << threads << " threads";
    }
  }
}

// The order matters: otherwise the other tests of bits could not fail.
TEST(RowSumsTest, DifferFromSumsInTheOrderOfTheRows) {
  const Vector values = RandomValues(1000 * kSummedRows + 17, 1);
  EXPECT_NE(SumOverRows(values.size(), kSummedRows, 0.0, kAddRows(values)),
            SumInOrder(values, 0, values.size()));
}

// The nodes of a host that owns the rows of pieces [begin, end).
std::vector<PairwiseSum<double>::Node> NodesOfHost(const Vector& values, Index begin, Index end) {
  PairwiseSum<double> tree(begin);
  for (Index piece = begin; piece < end; ++piece) {
    const Index first = piece * kSummedRows;
    tree.Add(piece, SumInOrder(values, first, std::min(first + kSummedRows, values.size())));
  }
  return tree.TakeNodes();
}

TEST(RowSumsTest, AreThoseOfHostsThatOwnWholeBlocks) {
  RandomStream random(2, "hosts", 0);
  for (const Index size : RowCounts()) {
    const Vector values = RandomValues(size, 3);
    const Index pieces = CountPieces(size, kSummedRows);
    for (int repetition = 0; repetition < 10; ++repetition) {
      PairwiseSum<double> tree;
      for (Index begin = 0; begin < pieces;) {
        const Index owned = 1 + static_cast<Index>(random.Below(9));
        const Index end = std::min(begin + owned, pieces);
        auto nodes = NodesOfHost(values, begin, end);
        EXPECT_LE(nodes.size(), 6u);  // not a number for each piece
        for (auto& node : nodes) {
          tree.Add(node.number, node.sum);
        }
        begin = end;
      }
      EXPECT_EQ(tree.Total(0.0), SumOverRows(size, kSummedRows, 0.0, kAddRows(values)))
          << size << " rows";
    }
  }
}

// The tree over the pieces that are there, from the top.
std::pair<bool, double> NodeOfSome(const std::vector<std::pair<bool, double>>& pieces, int height,
                                   size_t i) {
  if (height == 0) {
    return i < pieces.size() ? pieces[i] : std::make_pair(false, 0.0);
  }
  const auto left = NodeOfSome(pieces, height - 1, 2 * i);
  const auto right = NodeOfSome(pieces, height - 1, 2 * i + 1);
  return {left.first || right.first, left.first && right.first
                                         ? left.second + right.second
                                         : (left.first ? left.second : right.second)};
}

TEST(RowSumsTest, LeaveOutPiecesThatAreNotThere) {
  RandomStream random(4, "pieces", 0);
  for (int repetition = 0; repetition < 200; ++repetition) {
    std::vector<std::pair<bool, double>> pieces(1 + random.Below(64));
    PairwiseSum<double> tree;
    for (size_t k = 0; k < pieces.size(); ++k) {
      pieces[k] = {random.Below(3) > 0, random.Normal()};
      if (pieces[k].first) {
        tree.Add(static_cast<Index>(k), pieces[k].second);
      }
    }
    EXPECT_EQ(tree.Total(0.0), NodeOfSome(pieces, 6, 0).second);
  }
}

// Sums of doubles of very different sizes, against a sum in higher precision.
TEST(RowSumsTest, AreAsExactAsTheHeightOfTheTree) {
  const Index size = 4'000'000;
  Vector values(size);
  RandomStream random(5, "exactness", 0);
  long double exact = 0;
  for (Index i = 0; i < size; ++i) {
    values(i) = random.Uniform();
    exact += values(i);
  }
  const double sum = SumOverRows(size, kSummedRows, 0.0, kAddRows(values));
  // Half a unit in the last place for each addition on the way: 64 in a piece, 16 in the tree.
  EXPECT_LE(std::abs(static_cast<double>(sum - exact)), 80 * 0x1p-53 * sum);
  // One after the other the sum has a larger error than most trees could have.
  EXPECT_GT(std::abs(static_cast<double>(SumInOrder(values, 0, size) - exact)),
            std::abs(static_cast<double>(sum - exact)));
}

TEST(RowSumsTest, KeepFewPartialSums) {
  PairwiseSum<Vector> tree;
  size_t most = 0;
  for (Index piece = 0; piece < 1000; ++piece) {
    tree.Add(piece, Vector::Ones(3));
    auto nodes = tree.TakeNodes();
    most = std::max(most, nodes.size());
    for (auto& node : nodes) {
      tree.Add(node.number, std::move(node.sum));
    }
  }
  EXPECT_EQ(tree.Total(Vector()), Vector::Constant(3, 1000.0));
  EXPECT_LE(most, 11u);
}

TEST(RowSumsTest, EndWithTheirPieceWhenTheRunIsCancelled) {
  for (const int threads : {1, 2, 3}) {
    const CancellationToken token;
    const RunContext context(token, threads, nullptr);
    std::atomic<Index> begun = 0;
    const auto sum = SumOverRows(1000 * kSummedRows, kSummedRows, 0.0, context,
                                 [&](Index /*begin*/, Index /*end*/, double& /*sum*/) {
                                   if (++begun == 5) {
                                     token.Cancel();
                                   }
                                 });
    EXPECT_TRUE(absl::IsCancelled(sum.status()));
    EXPECT_LE(begun, 5 + threads);
  }
  const CancellationToken token;
  token.Cancel();
  const RunContext context(token, 1, nullptr);
  EXPECT_TRUE(absl::IsCancelled(
      SumOverRows(0, kSummedRows, 0.0, context, [](Index, Index, double&) {}).status()));
}

TEST(PiecesOfListTest, DependOnTheRowsOfTheirBlockAlone) {
  RandomStream random(6, "lists", 0);
  std::vector<std::vector<Index>> of_blocks;
  std::vector<Index> rows;
  for (Index block = 0; block < 6; ++block) {
    std::vector<Index> listed;
    for (Index row = block * kRowBlock; row < (block + 1) * kRowBlock; ++row) {
      // Block 3 has no row, block 0 all of them.
      if (block == 0 || (block != 3 && random.Below(static_cast<uint64_t>(block) + 1) == 0)) {
        listed.push_back(row);
      }
    }
    rows.insert(rows.end(), listed.begin(), listed.end());
    of_blocks.push_back(std::move(listed));
  }
  Index place = 0;
  size_t at = 0;
  const std::vector<RowPiece> pieces = PiecesOfList(rows);
  for (const std::vector<Index>& listed : of_blocks) {
    for (const RowPiece& alone : PiecesOfList(listed)) {
      ASSERT_LT(at, pieces.size());
      EXPECT_EQ(pieces[at].number, alone.number);
      EXPECT_EQ(pieces[at].begin, place);
      EXPECT_EQ(pieces[at].count, alone.count);
      EXPECT_LE(alone.count, kRowPiece);
      place += alone.count;
      ++at;
    }
  }
  EXPECT_EQ(at, pieces.size());
  EXPECT_EQ(place, static_cast<Index>(rows.size()));
}

TEST(PiecesOfListTest, AreThoseOfAllRowsWhenAllAreListed) {
  std::vector<Index> rows(static_cast<size_t>(2 * kRowBlock + kRowPiece + 5));
  std::iota(rows.begin(), rows.end(), 0);
  const std::vector<RowPiece> listed = PiecesOfList(rows);
  const std::vector<RowPiece> all = PiecesOfRows(static_cast<Index>(rows.size()));
  ASSERT_EQ(listed.size(), all.size());
  ASSERT_EQ(all.size(), 10u);
  for (size_t k = 0; k < all.size(); ++k) {
    for (const RowPiece& piece : {listed[k], all[k]}) {
      EXPECT_EQ(piece.number, static_cast<Index>(k));
      EXPECT_EQ(piece.begin, static_cast<Index>(k) * kRowPiece);
      EXPECT_EQ(piece.count, k == 9 ? 5 : kRowPiece);
    }
  }
}

}  // namespace
}  // namespace mercer
