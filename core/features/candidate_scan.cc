#include "core/features/candidate_scan.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/base/numeric/row_blocks.h"
#include "core/base/status/status_macros.h"

namespace mercer {
namespace {

constexpr Index kPieceRows = 4096;  // per partial sum
// Values of a tile over a chunk of rows: they stay in the second cache.
constexpr Index kTileValues = Index{1} << 16;
// Multiplications of a tile, at most: some tens of milliseconds.
constexpr Index kTileWork = Index{1} << 28;
// The least number of tiles, so that all threads have work when there are few rows.
constexpr Index kFewestTiles = 8;
// Multiplications between two looks at cancellation: about a millisecond.
constexpr Index kPollWork = Index{1} << 22;
// The most partial sums that are kept at a time: 32 MB.
constexpr Index kPartialValues = Index{1} << 22;
constexpr Index kGroupsAtOnce = 16;  // of a task that evaluates or reads stored columns

Index CeilDivide(Index value, Index divisor) { return (value + divisor - 1) / divisor; }

// Looks at cancellation after so much work.
class Poll {
 public:
  Poll(const RunContext& context, Index work_per_row)
      : context_(context), work_per_row_(work_per_row) {}

  bool Cancelled(Index rows) {
    work_ += rows * work_per_row_;
    if (work_ < kPollWork) {
      return false;
    }
    work_ = 0;
    return context_.cancelled();
  }

 private:
  const RunContext& context_;
  Index work_per_row_;
  Index work_ = 0;
};

// Sums over some rows for the columns of one tile of groups.
struct PartialSums {
  PartialSums& operator+=(const PartialSums& other) {
    products += other.products;
    for (size_t c = 0; c < columns.size(); ++c) {
      const ColumnSums& from = other.columns[c];
      ColumnSums& to = columns[c];
      to.sum += from.sum;
      to.squares += from.squares;
      to.largest = std::max(to.largest, from.largest);
      to.finite = to.finite && from.finite;
    }
    return *this;
  }

  Matrix products;  // slopes x columns
  std::vector<ColumnSums> columns;
};

// The place for the sums of all rows, and what they are when there are no rows.
CandidateSums NoSums(Index columns, Index slopes) {
  CandidateSums sums;
  sums.products = Matrix::Zero(columns, slopes);
  sums.columns.resize(static_cast<size_t>(columns));
  return sums;
}

// Writes the sums of all rows for the columns from `first` on.
void Write(PartialSums sums, Index first, CandidateSums& total) {
  std::move(sums.columns.begin(), sums.columns.end(), total.columns.begin() + first);
  total.products.middleRows(first, sums.products.cols()) = sums.products.transpose();
}

class Scan {
 public:
  Scan(const FeatureFamily& family, const FeatureRows& rows,
       absl::Span<const FeatureParameters> candidates, ConstMatrixRef slopes)
      : family_(family),
        rows_(rows),
        candidates_(candidates),
        slopes_(slopes),
        columns_per_group_(family.columns_per_group()),
        work_per_group_(family.work_per_row() + columns_per_group_ * (slopes.cols() + 4)) {
    const auto count = static_cast<Index>(candidates.size());
    const Index blocks = std::max<Index>(1, CountPieces(rows.size(), kPieceRows));
    const Index most = std::max<Index>(1, kTileValues / rows.chunk_rows() / columns_per_group_);
    const Index groups = std::min(kTileWork / kPieceRows / work_per_group_,
                                  CeilDivide(count, CeilDivide(kFewestTiles, blocks)));
    groups_per_tile_ = std::clamp(CeilDivide(groups, 4) * 4, Index{1}, most);
    tiles_ = CeilDivide(count, groups_per_tile_);
    num_columns_ = count * columns_per_group_;
  }

  template <typename Values>
  absl::StatusOr<CandidateSums> Run(const RunContext& context) const {
    const Index pieces = CountPieces(rows_.size(), kPieceRows);
    const Index per_piece = std::max<Index>(1, num_columns_ * (slopes_.cols() + 4));
    const Index wave = std::max<Index>(1, kPartialValues / per_piece);
    std::vector<PairwiseSum<PartialSums>> trees(static_cast<size_t>(tiles_));
    std::vector<PartialSums> parts;
    for (Index piece = 0; piece < pieces && tiles_ > 0; piece += wave) {
      const Index count = std::min(wave, pieces - piece);
      parts.assign(static_cast<size_t>(count * tiles_), PartialSums());
      context.parallel().ForBlocks(count * tiles_, 1, [&](Index item, Index /*end*/) {
        parts[static_cast<size_t>(item)] =
            SumTile<Values>(piece + item / tiles_, item % tiles_, context);
      });
      MERCER_RETURN_IF_ERROR(context.CheckCancelled());
      for (Index item = 0; item < count * tiles_; ++item) {
        trees[static_cast<size_t>(item % tiles_)].Add(piece + item / tiles_,
                                                      std::move(parts[static_cast<size_t>(item)]));
      }
    }
    CandidateSums total = NoSums(num_columns_, slopes_.cols());
    for (Index tile = 0; tile < tiles_ && pieces > 0; ++tile) {
      Write(trees[static_cast<size_t>(tile)].Total({}),
            tile * groups_per_tile_ * columns_per_group_, total);
    }
    return total;
  }

 private:
  template <typename Values>
  PartialSums SumTile(Index piece, Index tile, const RunContext& context) const {
    // Bound for each piece of rows anew: the filters of many candidates would be too many to keep.
    const std::unique_ptr<const FeatureMap> map = family_.Bind(candidates_.subspan(
        static_cast<size_t>(tile * groups_per_tile_), static_cast<size_t>(groups_per_tile_)));
    const Index columns = map->num_columns();
    PartialSums part;
    part.products = Matrix::Zero(slopes_.cols(), columns);
    part.columns.resize(static_cast<size_t>(columns));
    const Index chunk_rows = rows_.chunk_rows();
    Values values(chunk_rows, columns);
    RowMatrix buffer;
    Poll poll(context, columns / columns_per_group_ * work_per_group_);
    const Index last = std::min((piece + 1) * kPieceRows, rows_.size());
    for (Index begin = piece * kPieceRows; begin < last; begin += chunk_rows) {
      const Index count = std::min(chunk_rows, last - begin);
      if (poll.Cancelled(count)) {
        break;
      }
      map->Evaluate(rows_.Read(begin, begin + count, buffer), values.topRows(count));
      for (Index c = 0; c < columns; ++c) {
        AddColumnSums({values.col(c).data(), slopes_.data() + begin, slopes_.outerStride(),
                       slopes_.cols(), count},
                      part.columns[static_cast<size_t>(c)], part.products.col(c).data());
      }
    }
    return part;
  }

  const FeatureFamily& family_;
  const FeatureRows& rows_;
  absl::Span<const FeatureParameters> candidates_;
  ConstMatrixRef slopes_;
  Index columns_per_group_;
  Index work_per_group_;
  Index groups_per_tile_ = 1;
  Index tiles_ = 0;
  Index num_columns_ = 0;
};

}  // namespace

absl::StatusOr<CandidateSums> ScanCandidates(const FeatureFamily& family, const FeatureRows& rows,
                                             absl::Span<const FeatureParameters> candidates,
                                             ConstMatrixRef slopes, FeaturePrecision precision,
                                             const RunContext& context) {
  const Scan scan(family, rows, candidates, slopes);
  return precision == FeaturePrecision::kDouble ? scan.Run<Matrix>(context)
                                                : scan.Run<SingleMatrix>(context);
}

absl::StatusOr<SingleMatrix> EvaluateCandidates(const FeatureFamily& family,
                                                const FeatureRows& rows,
                                                absl::Span<const FeatureParameters> candidates,
                                                const RunContext& context) {
  const Index columns = family.columns_per_group();
  const auto count = static_cast<Index>(candidates.size());
  SingleMatrix values(rows.size(), count * columns);
  context.parallel().ForBlocks(count, kGroupsAtOnce, [&](Index begin, Index end) {
    const std::unique_ptr<const FeatureMap> map = family.Bind(
        candidates.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin)));
    RowMatrix buffer;
    Poll poll(context, family.work_per_row() * (end - begin));
    for (Index row = 0; row < rows.size(); row += rows.chunk_rows()) {
      const Index height = std::min(rows.chunk_rows(), rows.size() - row);
      if (poll.Cancelled(height)) {
        return;
      }
      map->Evaluate(rows.Read(row, row + height, buffer),
                    values.block(row, begin * columns, height, (end - begin) * columns));
    }
  });
  MERCER_RETURN_IF_ERROR(context.CheckCancelled());
  return values;
}

absl::StatusOr<CandidateSums> ScanColumns(const SingleMatrix& columns, const FeatureRows& rows,
                                          ConstMatrixRef slopes, const RunContext& context) {
  CandidateSums total = NoSums(columns.cols(), slopes.cols());
  context.parallel().ForBlocks(columns.cols(), kGroupsAtOnce, [&](Index first, Index last) {
    Poll poll(context, slopes.cols() + 4);
    for (Index c = first; c < last; ++c) {
      PairwiseSum<PartialSums> tree;
      const PartialSums none{Matrix::Zero(slopes.cols(), 1), std::vector<ColumnSums>(1)};
      for (Index piece = 0; piece < rows.size(); piece += kPieceRows) {
        // Chunk by chunk into sums of the piece, as Scan has them: the same bits.
        PartialSums part = none;
        const Index end = std::min(piece + kPieceRows, rows.size());
        for (Index begin = piece; begin < end; begin += rows.chunk_rows()) {
          AddColumnSums({columns.col(c).data() + begin, slopes.data() + begin, slopes.outerStride(),
                         slopes.cols(), std::min(rows.chunk_rows(), end - begin)},
                        part.columns[0], part.products.data());
        }
        tree.Add(piece / kPieceRows, std::move(part));
        if (poll.Cancelled(end - piece)) {
          return;
        }
      }
      Write(tree.Total(none), c, total);
    }
  });
  MERCER_RETURN_IF_ERROR(context.CheckCancelled());
  return total;
}

absl::Status EvaluateColumns(const FeatureFamily& family, const FeatureRows& rows,
                             absl::Span<const FeatureParameters> groups, MatrixRef out,
                             const RunContext& context) {
  // The groups are bound one by one, so that a group's values cannot depend on the groups beside
  // it.
  std::vector<std::unique_ptr<const FeatureMap>> maps;
  for (const FeatureParameters& group : groups) {
    maps.push_back(family.Bind({group}));
  }
  const Index columns = family.columns_per_group();
  const Index chunk_rows = rows.chunk_rows();
  context.parallel().ForBlocks(rows.size(), kPieceRows, [&](Index block_begin, Index block_end) {
    RowMatrix buffer;
    Poll poll(context, family.work_per_row() * static_cast<Index>(groups.size()));
    for (Index begin = block_begin; begin < block_end; begin += chunk_rows) {
      const Index count = std::min(chunk_rows, block_end - begin);
      if (poll.Cancelled(count)) {
        return;
      }
      const FeatureRows::Chunk chunk = rows.Read(begin, begin + count, buffer);
      for (size_t g = 0; g < maps.size(); ++g) {
        maps[g]->Evaluate(chunk, out.block(begin, static_cast<Index>(g) * columns, count, columns));
      }
    }
  });
  return context.CheckCancelled();
}

}  // namespace mercer
