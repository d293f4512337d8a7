#include "core/kernels/gram/tile_source.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "absl/strings/str_cat.h"
#include <cblas.h>

#include "core/base/encoding/bytes.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/linalg/blas_int.h"
#include "core/linalg/huge_pages.h"

namespace mercer {
namespace {

// Up to this many columns squared distances are summed pair by pair: memory is then what bounds
// them.
constexpr Index kDirectColumns = 16;
// How many columns a matrix product takes at a time: at most 20 ms of work for one tile.
constexpr Index kProductDepth = 8192;
// A squared distance below this part of |x|^2 + |z|^2 has lost digits to cancellation and is summed
// anew.
constexpr double kCancellation = 1e-3;

// How many rows choose the origin of distances; an odd number.
constexpr Index kCentreRows = 33;

// The median of some rows, column by column. Not the mean: one large entry would move that away
// from all other rows, whose distances would then be lost to cancellation.
Eigen::RowVectorXd Centre(const RowMatrix& features) {
  Eigen::RowVectorXd centre(features.cols());
  std::vector<double> column(static_cast<size_t>(std::min(features.rows(), kCentreRows)));
  const auto count = static_cast<Index>(column.size());
  for (Index c = 0; c < features.cols(); ++c) {
    for (Index s = 0; s < count; ++s) {
      column[static_cast<size_t>(s)] = features(s * features.rows() / count, c);
    }
    const auto middle = column.begin() + count / 2;
    std::nth_element(column.begin(), middle, column.end());
    centre(c) = *middle;
  }
  return centre;
}

// Rows of a feature source where they lie in the data, as prediction reads them: not centred.
class RawRows {
 public:
  RawRows(const KernelSource& source, std::shared_ptr<const PreparedData> data,
          std::vector<Index> rows)
      : data_(std::move(data)), rows_(std::move(rows)) {
    for (const auto& [block, column] : source.columns) {
      if (runs_.empty() || runs_.back().block != block ||
          runs_.back().begin + runs_.back().size != column) {
        runs_.push_back({block, column, 0});
      }
      ++runs_.back().size;
    }
  }

  double SquaredDistance(Index i, Index j) const {
    double sum = 0;
    for (const Run& run : runs_) {
      const auto values = data_->blocks[static_cast<size_t>(run.block)].values.view();
      const double* x = values.row(Row(i)).data() + run.begin;
      const double* z = values.row(Row(j)).data() + run.begin;
      for (Index k = 0; k < run.size; ++k) {
        sum += (x[k] - z[k]) * (x[k] - z[k]);
      }
    }
    return sum;
  }

 private:
  // Neighbouring columns of a block.
  struct Run {
    Index block;
    Index begin;
    Index size;
  };

  Index Row(Index i) const { return rows_.empty() ? i : rows_[static_cast<size_t>(i)]; }

  const std::shared_ptr<const PreparedData> data_;
  const std::vector<Index> rows_;
  std::vector<Run> runs_;
};

// The error names rows of the data set; the columns of a square block have the same numbers.
absl::Status NotSymmetric(const PreparedData& data, const SquareBlock& block, Index i, Index j) {
  const auto values = block.values.view();
  const Index row = data.RowNumber(i) + 1;
  const Index column = data.RowNumber(j) + 1;
  return WithReason(
      absl::InvalidArgumentError(absl::StrCat(
          "block '", block.name, "' is not symmetric: row ", row, ", column ", column, " is ",
          values(i, j), ", row ", column, ", column ", row, " is ", values(j, i))),
      "NOT_SYMMETRIC",
      {{"block", block.name}, {"row", absl::StrCat(row)}, {"column", absl::StrCat(column)}});
}

}  // namespace

class TileSource::Producer {
 public:
  virtual ~Producer() = default;
  // Fills tile (i, j), j <= i, padding included; stops early once cancelled.
  virtual void Fill(Index i, Index j, const RunContext& context, double* out) const = 0;
  virtual double Diagonal(Index row) const = 0;
};

class TileSource::FeatureProducer : public TileSource::Producer {
 public:
  // `features` are the values of the rows `raw`.
  FeatureProducer(TileGrid grid, PairValue value, RowMatrix features, RawRows raw)
      : grid_(grid),
        value_(value),
        features_(std::move(features)),
        raw_(std::move(raw)),
        method_(ChooseMethod()) {
    if (method_ != Method::kPairs && value_ == PairValue::kSquaredDistance) {
      // Distances do not change with the origin, but their rounding does: it is small where rows
      // are near the origin.
      const Eigen::RowVectorXd centre = Centre(features_);
      features_.rowwise() -= centre;
    }
    squared_norms_.setZero(PaddedLength(features_.rows()));
    for (Index i = 0; i < features_.rows() && method_ != Method::kPairs; ++i) {
      squared_norms_(i) =
          PairValueOfRow(PairValue::kDotProduct, features_.row(i).data(), features_.cols());
    }
  }

  double Diagonal(Index row) const override {
    return PairValueOfRow(value_, features_.row(row).data(), features_.cols());
  }

  void Fill(Index i, Index j, const RunContext& context, double* out) const override {
    const auto x = features_.middleRows(grid_.Begin(i), grid_.Height(i));
    const auto z = features_.middleRows(grid_.Begin(j), grid_.Height(j));
    const Index stride = grid_.Stride(j);
    switch (method_) {
      case Method::kPairs:
        ComputePairValues(value_, x, z, out, stride, context);
        break;
      case Method::kNorms:
        FillFromNorms(i, j, out);
        break;
      case Method::kProduct:
        FillByProduct(i, j, context, out);
        break;
    }
    if (i == j) {
      // Entry by entry a tile is symmetric to the last bit.
      for (Index r = 0; r < x.rows() && method_ != Method::kPairs; ++r) {
        for (Index c = 0; c < r; ++c) {
          out[c * stride + r] = out[r * stride + c];
        }
      }
      for (Index r = 0; r < x.rows(); ++r) {
        out[r * stride + r] = Diagonal(grid_.Begin(i) + r);
      }
    }
  }

 private:
  // kPairs: entry by entry. kNorms: from dot products, entry by entry, and norms. kProduct: matrix
  // products of the library, and norms in a second pass.
  enum class Method { kPairs, kNorms, kProduct };

  Method ChooseMethod() const {
    const bool narrow = features_.cols() <= kMaxNormColumns;
    if (value_ == PairValue::kDotProduct) {
      return narrow ? Method::kPairs : Method::kProduct;
    }
    if (value_ != PairValue::kSquaredDistance || features_.cols() <= kDirectColumns) {
      return Method::kPairs;
    }
    return narrow ? Method::kNorms : Method::kProduct;
  }

  void FillFromNorms(Index i, Index j, double* out) const {
    const Index height = grid_.Height(i);
    bool small[TileGrid::kBlock] = {};
    DistancesFromNorms({features_.middleRows(grid_.Begin(i), height), Norms(i)},
                       {features_.middleRows(grid_.Begin(j), grid_.Height(j)), Norms(j)},
                       kCancellation, out, grid_.Stride(j), small);
    ZeroPadding(i, j, out);
    for (Index r = 0; r < height; ++r) {
      if (small[r]) {
        SumAnew(grid_.Begin(i) + r, j, out + r * grid_.Stride(j));
      }
    }
  }

  const double* Norms(Index block) const { return squared_norms_.data() + grid_.Begin(block); }

  void ZeroPadding(Index i, Index j, double* out) const {
    const Index stride = grid_.Stride(j);
    for (Index r = 0; r < grid_.Height(i); ++r) {
      std::fill(out + r * stride + grid_.Height(j), out + (r + 1) * stride, 0.0);
    }
  }

  void FillByProduct(Index i, Index j, const RunContext& context, double* out) const {
    const Index height = grid_.Height(i);
    const Index width = grid_.Height(j);
    const Index stride = grid_.Stride(j);
    const double* x = features_.row(grid_.Begin(i)).data();
    const double* z = features_.row(grid_.Begin(j)).data();
    const blasint leading = BlasInt(features_.cols());
    const double factor = value_ == PairValue::kSquaredDistance ? -2.0 : 1.0;
    for (Index begin = 0; begin < features_.cols(); begin += kProductDepth) {
      if (context.cancelled()) {
        return;
      }
      const Index depth = std::min(kProductDepth, features_.cols() - begin);
      cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, BlasInt(height), BlasInt(width),
                  BlasInt(depth), factor, x + begin, leading, z + begin, leading,
                  begin == 0 ? 0.0 : 1.0, out, BlasInt(stride));
    }
    ZeroPadding(i, j, out);
    if (value_ == PairValue::kSquaredDistance) {
      AddNorms(i, j, out);
    }
  }

  // out <- |x|^2 + |z|^2 + out, and pair by pair where that has lost digits.
  void AddNorms(Index i, Index j, double* out) const {
    for (Index r = 0; r < grid_.Height(i); ++r) {
      const Index row = grid_.Begin(i) + r;
      double* values = out + r * grid_.Stride(j);
      if (AddNormsToRow(squared_norms_(row), Norms(j), grid_.Height(j), kCancellation, values)) {
        SumAnew(row, j, values);
      }
    }
  }

  // The squared distances of a row with block j that have lost digits, pair by pair: none is
  // negative thereby. From the raw rows: entries far from the centre have been rounded to its
  // magnitude, which small distances would show.
  void SumAnew(Index row, Index j, double* values) const {
    const double x_norm = squared_norms_(row);
    const double* z_norms = Norms(j);
    for (Index c = 0; c < grid_.Height(j); ++c) {
      if (values[c] <= kCancellation * (x_norm + z_norms[c])) {
        values[c] = raw_.SquaredDistance(row, grid_.Begin(j) + c);
      }
    }
  }

  const TileGrid grid_;
  const PairValue value_;
  RowMatrix features_;
  const RawRows raw_;
  Vector squared_norms_;
  const Method method_;
};

class TileSource::SquareProducer : public TileSource::Producer {
 public:
  SquareProducer(TileGrid grid, std::shared_ptr<const PreparedData> data, const SquareBlock& block,
                 std::vector<Index> rows)
      : grid_(grid), data_(std::move(data)), block_(block), rows_(std::move(rows)) {}

  // Checks that the block is square and, on the rows, symmetric, and that distances are >= 0.
  absl::Status Check(RunContext& context, bool& nonnegative) const {
    MERCER_RETURN_IF_ERROR(CheckSquareShape(block_));
    std::vector<RowExtremes> extremes(static_cast<size_t>(grid_.size));
    context.parallel().ForBlocks(grid_.size, TileGrid::kBlock, [&](Index begin, Index end) {
      for (Index i = begin; i < end && !context.cancelled(); ++i) {
        extremes[static_cast<size_t>(i)] = FindExtremes(i);
      }
    });
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    double largest = 0;
    double smallest = 0;
    for (const RowExtremes& row : extremes) {
      largest = std::max(largest, row.largest);
      smallest = std::min(smallest, row.smallest);
    }
    nonnegative = is_distance() || smallest >= 0;
    for (Index i = 0; i < grid_.size; ++i) {
      const RowExtremes& row = extremes[static_cast<size_t>(i)];
      if (row.asymmetry > kSquareRounding * largest) {
        return NotSymmetric(*data_, block_, Row(row.asymmetric), Row(i));
      }
    }
    return is_distance() ? CheckDistances(extremes) : absl::OkStatus();
  }

  double Diagonal(Index row) const override {
    const double value = block_.values.view()(Row(row), Row(row));
    return is_distance() ? std::max(0.0, value) : value;
  }

  void Fill(Index i, Index j, const RunContext& /*context*/, double* out) const override {
    const auto values = block_.values.view();
    const Index stride = grid_.Stride(j);
    for (Index r = 0; r < grid_.Height(i); ++r) {
      const Index row = Row(grid_.Begin(i) + r);
      for (Index c = 0; c < grid_.Height(j); ++c) {
        const Index column = Row(grid_.Begin(j) + c);
        const double value = 0.5 * (values(row, column) + values(column, row));
        out[r * stride + c] = is_distance() ? std::max(0.0, value) : value;
      }
      std::fill(out + r * stride + grid_.Height(j), out + (r + 1) * stride, 0.0);
    }
  }

 private:
  Index Row(Index i) const { return rows_.empty() ? i : rows_[static_cast<size_t>(i)]; }
  bool is_distance() const { return block_.kind == SquareKind::kDistance; }

  struct RowExtremes {
    double largest = 0;   // magnitude of an entry
    double smallest = 0;  // entry, or 0
    double asymmetry = 0;
    Index asymmetric = 0;  // the column of that
  };

  RowExtremes FindExtremes(Index i) const {
    const auto values = block_.values.view();
    RowExtremes extremes;
    for (Index j = 0; j < grid_.size; ++j) {
      const double value = values(Row(i), Row(j));
      extremes.largest = std::max(extremes.largest, std::abs(value));
      extremes.smallest = std::min(extremes.smallest, value);
    }
    for (Index j = 0; j < i; ++j) {
      const double asymmetry = std::abs(values(Row(i), Row(j)) - values(Row(j), Row(i)));
      if (asymmetry > extremes.asymmetry) {
        extremes.asymmetry = asymmetry;
        extremes.asymmetric = j;
      }
    }
    return extremes;
  }

  // Of two rows that hold a distance below 0, the later one is named first: it completes the pair.
  absl::Status CheckDistances(const std::vector<RowExtremes>& extremes) const {
    const auto values = block_.values.view();
    const auto is_below = [&](Index i, Index j) {
      return values(Row(i), Row(j)) < -DistanceRounding(extremes[static_cast<size_t>(i)].largest);
    };
    const bool any = std::any_of(extremes.begin(), extremes.end(), [](const RowExtremes& row) {
      return row.smallest < -DistanceRounding(row.largest);
    });
    for (Index i = 0; any && i < grid_.size; ++i) {
      for (Index j = 0; j <= i; ++j) {
        if (is_below(i, j) || is_below(j, i)) {
          const Index row = Row(is_below(i, j) ? i : j);
          const Index column = Row(is_below(i, j) ? j : i);
          return NegativeDistanceError(block_, values(row, column), data_->RowNumber(row),
                                       data_->RowNumber(column));
        }
      }
    }
    return absl::OkStatus();
  }

  const TileGrid grid_;
  const std::shared_ptr<const PreparedData> data_;  // keeps block_ alive
  const SquareBlock& block_;
  const std::vector<Index> rows_;
};

absl::StatusOr<TileSource> TileSource::Make(const KernelSource& source,
                                            std::shared_ptr<const PreparedData> data,
                                            const std::vector<Index>& rows, bool store,
                                            RunContext& context) {
  TileSource result;
  result.grid_.size = rows.empty() ? data->rows : static_cast<Index>(rows.size());
  const TileGrid grid = result.grid_;
  if (source.is_square) {
    auto producer =
        std::make_shared<SquareProducer>(grid, data, *data->FindSquare(source.square), rows);
    MERCER_RETURN_IF_ERROR(producer->Check(context, result.nonnegative_));
    result.producer_ = std::move(producer);
  } else {
    MERCER_ASSIGN_OR_RETURN(RowMatrix features, GatherFeatures(source, *data, rows, context));
    result.producer_ = std::make_shared<FeatureProducer>(grid, source.value, std::move(features),
                                                         RawRows(source, data, rows));
  }
  result.diagonal_.resize(grid.size);
  for (Index i = 0; i < grid.size; ++i) {
    result.diagonal_(i) = result.producer_->Diagonal(i);
  }
  if (!store) {
    return result;
  }

  const std::shared_ptr<const Producer> producer = result.producer_;
  const auto make = [&]() -> absl::StatusOr<std::shared_ptr<const Vector>> {
    auto tiles = std::make_shared<Vector>(grid.PackedSize());
    PreferHugePages(tiles->data(), static_cast<size_t>(tiles->size()) * sizeof(double));
    context.parallel().ForBlocks(grid.num_tiles(), 1, [&](Index tile, Index) {
      if (!context.cancelled()) {
        const auto [i, j] = grid.Tile(tile);
        producer->Fill(i, j, context, tiles->data() + grid.Offset(i, j));
      }
    });
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    return std::shared_ptr<const Vector>(std::move(tiles));
  };
  std::string key;
  if (!data->cache_key.empty()) {
    ByteWriter writer;
    writer.WriteString("pair values");
    writer.WriteString(data->cache_key);
    writer.WriteString(SourceKey(source));
    writer.WriteIndices(rows);
    key = std::move(writer).Take();
  }
  const auto bytes = [](const Vector& tiles) {
    return static_cast<size_t>(tiles.size()) * sizeof(double);
  };
  MERCER_ASSIGN_OR_RETURN(result.stored_, context.cache().GetOrMake<Vector>(key, bytes, make));
  result.producer_ = nullptr;
  return result;
}

TileView TileSource::View(Index i, Index j, const RunContext& context,
                          std::vector<double>& scratch) const {
  const Index row = std::max(i, j);
  const Index column = std::min(i, j);
  const Index stride = grid_.Stride(column);
  const double* tile = nullptr;
  if (stored_ != nullptr) {
    tile = stored_->data() + grid_.Offset(row, column);
  } else {
    scratch.resize(static_cast<size_t>(grid_.Height(row) * stride));
    producer_->Fill(row, column, context, scratch.data());
    tile = scratch.data();
  }
  return i >= j ? TileView{tile, stride, 1} : TileView{tile, 1, stride};
}

}  // namespace mercer
