#include "core/io/quality/dense_scan.h"

#include <algorithm>
#include <array>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/io/quality/dense_scan.cc"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set

#include "hwy/highway.h"

#ifndef MERCER_DENSE_SCAN_PIECE
#define MERCER_DENSE_SCAN_PIECE
namespace mercer::quality {

// At once: they stay in the first cache while their columns are visited.
constexpr Index kScannedRows = 64;

struct ScannedPiece {
  const double* values = nullptr;
  Index first_row = 0;
  Index rows = 0;  // at most kScannedRows
  Index stride = 0;
  std::array<PlaceKey, kScannedRows> row_keys = {};
  uint64_t key_products = 0;  // of the rows' keys, all together
  std::array<uint64_t, kScannedRows> row_hashes = {};
};

}  // namespace mercer::quality
#endif

HWY_BEFORE_NAMESPACE();
namespace mercer::quality::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Doubles = hn::ScalableTag<double>;
using Words = hn::RebindToUnsigned<Doubles>;  // of 64 bits
using DoubleVector = hn::Vec<Doubles>;
using WordVector = hn::Vec<Words>;
constexpr size_t kMaxLanes = HWY_MAX_BYTES / sizeof(double);

// Loads the figure that `get` selects from as many columns as there are lanes.
template <typename Get>
HWY_INLINE DoubleVector LoadFigure(const ColumnScan* columns, const Get& get) {
  HWY_ALIGN double lanes[kMaxLanes];
  for (size_t lane = 0; lane < hn::Lanes(Doubles()); ++lane) {
    lanes[lane] = static_cast<double>(get(columns[lane]));
  }
  return hn::Load(Doubles(), lanes);
}

template <typename Set>
HWY_INLINE void StoreFigure(DoubleVector figure, ColumnScan* columns, const Set& set) {
  HWY_ALIGN double lanes[kMaxLanes];
  hn::Store(figure, Doubles(), lanes);
  for (size_t lane = 0; lane < hn::Lanes(Doubles()); ++lane) {
    set(columns[lane], lanes[lane]);
  }
}

// The product of CellHash, without the share of a zero.
HWY_INLINE WordVector KeyedProduct(WordVector low, WordVector high, WordVector low_key,
                                   WordVector high_key) {
#if HWY_TARGET == HWY_SCALAR
  const auto half = [](WordVector value, WordVector key) {
    return uint64_t{static_cast<uint32_t>(hn::GetLane(value) + hn::GetLane(key))};
  };
  return hn::Set(Words(), half(low, low_key) * half(high, high_key));
#else
  const hn::Repartition<uint32_t, Words> h;
  return hn::MulEven(hn::Add(hn::BitCast(h, low), hn::BitCast(h, low_key)),
                     hn::Add(hn::BitCast(h, high), hn::BitCast(h, high_key)));
#endif
}

// A key for each lane, in the lower half of its word.
HWY_INLINE WordVector LoadKeys(const uint32_t* keys) {
  HWY_ALIGN uint64_t lanes[kMaxLanes];
  for (size_t lane = 0; lane < hn::Lanes(Words()); ++lane) {
    lanes[lane] = keys[lane];
  }
  return hn::Load(Words(), lanes);
}

void ListMissing(DoubleVector values, Index row, ColumnScan* columns) {
  HWY_ALIGN double lanes[kMaxLanes];
  hn::Store(values, Doubles(), lanes);
  for (size_t lane = 0; lane < hn::Lanes(Doubles()); ++lane) {
    if (std::isnan(lanes[lane])) {
      columns[lane].VisitMissing(row);
    }
  }
}

// Does what ColumnScan::Visit and CellHash do, for as many columns as there are lanes. `hashes`
// receives the columns' shares of the rows' hashes, lane by lane.
void ScanLanes(const ScannedPiece& piece, const double* values, const uint32_t* low_keys,
               const uint32_t* high_keys, ColumnScan* columns, uint64_t* hashes) {
  const Doubles d;
  const Words w;
  const DoubleVector zero = hn::Zero(d);
  const DoubleVector one = hn::Set(d, 1.0);
  DoubleVector min = LoadFigure(columns, [](const ColumnScan& c) { return c.min; });
  DoubleVector max = LoadFigure(columns, [](const ColumnScan& c) { return c.max; });
  DoubleVector sum = LoadFigure(columns, [](const ColumnScan& c) { return c.sum; });
  DoubleVector nonzeros = LoadFigure(columns, [](const ColumnScan& c) { return c.nonzeros; });
  DoubleVector votes = LoadFigure(columns, [](const ColumnScan& c) { return c.votes; });
  DoubleVector candidate = LoadFigure(columns, [](const ColumnScan& c) { return c.candidate; });
  const WordVector low_key = LoadKeys(low_keys);
  const WordVector high_key = LoadKeys(high_keys);
  WordVector column_hash = hn::Zero(w);
  for (Index row = 0; row < piece.rows; ++row) {
    const DoubleVector raw = hn::LoadU(d, values + row * piece.stride);
    const auto known = hn::Eq(raw, raw);
    DoubleVector number = hn::Add(raw, zero);  // -0 is 0
    DoubleVector low_bound = number;
    DoubleVector high_bound = number;
    WordVector bits = hn::BitCast(w, number);
    if (!hn::AllTrue(d, known)) {
      ListMissing(raw, piece.first_row + row, columns);
      number = hn::IfThenElseZero(known, number);
      low_bound = hn::IfThenElse(known, number, hn::Set(d, kInfinity));
      high_bound = hn::IfThenElse(known, number, hn::Set(d, -kInfinity));
      bits =
          hn::BitCast(w, hn::IfThenElse(known, number, hn::BitCast(d, hn::Set(w, kMissingBits))));
    }
    min = hn::Min(min, low_bound);
    max = hn::Max(max, high_bound);
    sum = hn::Add(sum, number);
    const auto is_set = hn::Ne(number, zero);
    nonzeros = hn::Add(nonzeros, hn::IfThenElseZero(is_set, one));
    candidate = hn::IfThenElse(hn::And(is_set, hn::Eq(votes, zero)), number, candidate);
    const DoubleVector vote = hn::IfThenElse(hn::Eq(number, candidate), one, hn::Neg(one));
    votes = hn::Add(votes, hn::IfThenElseZero(is_set, vote));
    const WordVector high = hn::ShiftRight<32>(bits);
    const PlaceKey& row_key = piece.row_keys[static_cast<size_t>(row)];
    column_hash = hn::Add(
        column_hash, KeyedProduct(bits, high, hn::Set(w, row_key.low), hn::Set(w, row_key.high)));
    uint64_t* row_hash = hashes + row * static_cast<Index>(kMaxLanes);
    hn::Store(hn::Add(hn::Load(w, row_hash), KeyedProduct(bits, high, low_key, high_key)), w,
              row_hash);
  }
  StoreFigure(min, columns, [](ColumnScan& c, double v) { c.min = v; });
  StoreFigure(max, columns, [](ColumnScan& c, double v) { c.max = v; });
  StoreFigure(sum, columns, [](ColumnScan& c, double v) { c.sum = v; });
  StoreFigure(nonzeros, columns,
              [](ColumnScan& c, double v) { c.nonzeros = static_cast<int64_t>(v); });
  StoreFigure(votes, columns, [](ColumnScan& c, double v) { c.votes = static_cast<int64_t>(v); });
  StoreFigure(candidate, columns, [](ColumnScan& c, double v) { c.candidate = v; });
  HWY_ALIGN uint64_t lanes[kMaxLanes];
  hn::Store(column_hash, w, lanes);
  for (size_t lane = 0; lane < hn::Lanes(w); ++lane) {
    columns[lane].hash += lanes[lane] - piece.key_products;
  }
}

// Visits the columns that fill whole vectors; answers how many they are.
Index ScanPiece(ScannedPiece& piece, const uint32_t* low_keys, const uint32_t* high_keys,
                ColumnScan* columns, Index width) {
  const auto lanes = static_cast<Index>(hn::Lanes(Doubles()));
  HWY_ALIGN uint64_t hashes[static_cast<size_t>(kScannedRows) * kMaxLanes] = {};
  Index column = 0;
  uint64_t key_products = 0;
  for (; column + lanes <= width; column += lanes) {
    for (Index c = column; c < column + lanes; ++c) {
      key_products += uint64_t{low_keys[c]} * high_keys[c];
    }
    ScanLanes(piece, piece.values + column, low_keys + column, high_keys + column, columns + column,
              hashes);
  }
  for (Index row = 0; row < piece.rows; ++row) {
    uint64_t& row_hash = piece.row_hashes[static_cast<size_t>(row)];
    row_hash = 0 - key_products;
    for (Index lane = 0; lane < lanes; ++lane) {
      row_hash += hashes[row * static_cast<Index>(kMaxLanes) + lane];
    }
  }
  return column;
}

void AddSquaresImpl(const double* rows, Index count, Index stride, const std::vector<double>& means,
                    std::vector<double>& squares) {
  const Doubles d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  const auto width = static_cast<Index>(means.size());
  for (Index row = 0; row < count; ++row) {
    const double* values = rows + row * stride;
    Index column = 0;
    for (; column + lanes <= width; column += lanes) {
      const DoubleVector value = hn::LoadU(d, values + column);
      const DoubleVector distance = hn::Sub(value, hn::LoadU(d, means.data() + column));
      const DoubleVector square =
          hn::IfThenElseZero(hn::Eq(value, value), hn::Mul(distance, distance));
      double* sum = squares.data() + column;
      hn::StoreU(hn::Add(hn::LoadU(d, sum), square), d, sum);
    }
    for (; column < width; ++column) {
      if (!std::isnan(values[column])) {
        const auto c = static_cast<size_t>(column);
        const double distance = values[column] - means[c];
        squares[c] += distance * distance;
      }
    }
  }
}

}  // namespace mercer::quality::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mercer::quality {

HWY_EXPORT(ScanPiece);
HWY_EXPORT(AddSquaresImpl);

DenseScan::DenseScan(Index width, Index first_place) : columns_(static_cast<size_t>(width)) {
  for (Index column = 0; column < width; ++column) {
    const PlaceKey key = KeyOfPlace(first_place + column);
    low_keys_.push_back(key.low);
    high_keys_.push_back(key.high);
  }
}

void DenseScan::Add(const double* rows, Index count, Index stride, uint64_t* row_hashes) {
  const auto width = static_cast<Index>(columns_.size());
  ScannedPiece piece;
  piece.stride = stride;
  for (Index begin = 0; begin < count; begin += kScannedRows) {
    piece.values = rows + begin * stride;
    piece.first_row = next_row_ + begin;
    piece.rows = std::min(kScannedRows, count - begin);
    piece.key_products = 0;
    for (Index row = 0; row < piece.rows; ++row) {
      PlaceKey& key = piece.row_keys[static_cast<size_t>(row)];
      key = KeyOfPlace(piece.first_row + row);
      piece.key_products += key.product();
    }
    const Index done = HWY_DYNAMIC_DISPATCH(ScanPiece)(piece, low_keys_.data(), high_keys_.data(),
                                                       columns_.data(), width);
    ScanRest(piece, done);
    for (Index row = 0; row < piece.rows && row_hashes != nullptr; ++row) {
      row_hashes[begin + row] += piece.row_hashes[static_cast<size_t>(row)];
    }
  }
  next_row_ += count;
}

void DenseScan::ScanRest(ScannedPiece& piece, Index first) {
  for (Index row = 0; row < piece.rows; ++row) {
    const auto r = static_cast<size_t>(row);
    const double* values = piece.values + row * piece.stride;
    for (auto c = static_cast<size_t>(first); c < columns_.size(); ++c) {
      columns_[c].Visit(piece.first_row + row, values[c]);
      columns_[c].hash += CellHash(values[c], piece.row_keys[r]);
      piece.row_hashes[r] += CellHash(values[c], {low_keys_[c], high_keys_[c]});
    }
  }
}

void AddSquares(const double* rows, Index count, Index stride, const std::vector<double>& means,
                std::vector<double>& squares) {
  HWY_DYNAMIC_DISPATCH(AddSquaresImpl)(rows, count, stride, means, squares);
}

}  // namespace mercer::quality
#endif  // HWY_ONCE
