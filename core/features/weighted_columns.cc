#include "core/features/weighted_columns.h"

#include <algorithm>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/features/weighted_columns.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes this file again for each target.
#include "hwy/highway.h"

#ifndef MERCER_CORE_FEATURES_WEIGHTED_COLUMNS_TYPES
#define MERCER_CORE_FEATURES_WEIGHTED_COLUMNS_TYPES
namespace mercer {

constexpr Index kSummedOutputs = 4;  // at once

// Columns of values, `stride` apart; rows is a multiple of 16.
struct ColumnValues {
  const double* values = nullptr;
  Index stride = 0;
  Index columns = 0;
  Index rows = 0;
};

}  // namespace mercer
#endif

HWY_BEFORE_NAMESPACE();
namespace mercer {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// sums[s * stride + i] += sum_c weights[c * kSummedOutputs + s] values(i, c).
void AddFourOutputs(const ColumnValues& values, const double* weights, double* sums) {
  const hn::CappedTag<double, 8> d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  for (Index i = 0; i < values.rows; i += 2 * lanes) {
    double* const out = sums + i;
    auto a0 = hn::LoadU(d, out);
    auto b0 = hn::LoadU(d, out + lanes);
    auto a1 = hn::LoadU(d, out + values.stride);
    auto b1 = hn::LoadU(d, out + values.stride + lanes);
    auto a2 = hn::LoadU(d, out + 2 * values.stride);
    auto b2 = hn::LoadU(d, out + 2 * values.stride + lanes);
    auto a3 = hn::LoadU(d, out + 3 * values.stride);
    auto b3 = hn::LoadU(d, out + 3 * values.stride + lanes);
    for (Index c = 0; c < values.columns; ++c) {
      const auto a = hn::LoadU(d, values.values + c * values.stride + i);
      const auto b = hn::LoadU(d, values.values + c * values.stride + i + lanes);
      const double* const w = weights + c * kSummedOutputs;
      a0 = hn::MulAdd(a, hn::Set(d, w[0]), a0);
      b0 = hn::MulAdd(b, hn::Set(d, w[0]), b0);
      a1 = hn::MulAdd(a, hn::Set(d, w[1]), a1);
      b1 = hn::MulAdd(b, hn::Set(d, w[1]), b1);
      a2 = hn::MulAdd(a, hn::Set(d, w[2]), a2);
      b2 = hn::MulAdd(b, hn::Set(d, w[2]), b2);
      a3 = hn::MulAdd(a, hn::Set(d, w[3]), a3);
      b3 = hn::MulAdd(b, hn::Set(d, w[3]), b3);
    }
    hn::StoreU(a0, d, out);
    hn::StoreU(b0, d, out + lanes);
    hn::StoreU(a1, d, out + values.stride);
    hn::StoreU(b1, d, out + values.stride + lanes);
    hn::StoreU(a2, d, out + 2 * values.stride);
    hn::StoreU(b2, d, out + 2 * values.stride + lanes);
    hn::StoreU(a3, d, out + 3 * values.stride);
    hn::StoreU(b3, d, out + 3 * values.stride + lanes);
  }
}

// Does for one output what AddFourOutputs does for four, with the same bits.
void AddOneOutput(const ColumnValues& values, const double* weights, double* sums) {
  const hn::CappedTag<double, 8> d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  for (Index i = 0; i < values.rows; i += 2 * lanes) {
    auto a = hn::LoadU(d, sums + i);
    auto b = hn::LoadU(d, sums + i + lanes);
    for (Index c = 0; c < values.columns; ++c) {
      const auto w = hn::Set(d, weights[c * kSummedOutputs]);
      a = hn::MulAdd(hn::LoadU(d, values.values + c * values.stride + i), w, a);
      b = hn::MulAdd(hn::LoadU(d, values.values + c * values.stride + i + lanes), w, b);
    }
    hn::StoreU(a, d, sums + i);
    hn::StoreU(b, d, sums + i + lanes);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mercer
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mercer {
namespace {

HWY_EXPORT(AddFourOutputs);
HWY_EXPORT(AddOneOutput);

constexpr Index kBlockRows = 4096;  // per task of a thread
constexpr Index kCachedValues = Index{1}
                                << 15;  // of all columns at a time: a quarter of a megabyte
constexpr Index kFewestRows = 32;
constexpr Index kMostRows = 256;

Index Padded(Index rows) { return (rows + kFewestRows - 1) / kFewestRows * kFewestRows; }

// weights(c, t) for four outputs at a time: entry c * kSummedOutputs + s is weights(c, t + s), 0
// beyond the last.
std::vector<double> Interleaved(const ConstMatrixRef& weights, Index first) {
  std::vector<double> four(static_cast<size_t>(weights.rows() * kSummedOutputs), 0.0);
  const Index count = std::min(kSummedOutputs, weights.cols() - first);
  for (Index c = 0; c < weights.rows(); ++c) {
    for (Index s = 0; s < count; ++s) {
      four[static_cast<size_t>(c * kSummedOutputs + s)] = weights(c, first + s);
    }
  }
  return four;
}

// A map with the weights of its columns. Immutable, safe for concurrent use.
class WeightedMap {
 public:
  WeightedMap(const FeatureMap& map, const ConstMatrixRef& weights)
      : map_(map), outputs_(weights.cols()) {
    for (Index t = 0; t < outputs_; t += kSummedOutputs) {
      weights_.push_back(Interleaved(weights, t));
    }
    const Index rows = kCachedValues / std::max<Index>(1, map.num_columns()) / kFewestRows;
    chunk_rows_ = std::clamp(rows * kFewestRows, kFewestRows, kMostRows);
  }

  void Add(const ConstRowMatrixRef& rows, MatrixRef out) const {
    const Index most = std::min(chunk_rows_, Padded(rows.rows()));
    Matrix values = Matrix::Zero(most, map_.num_columns());
    Matrix sums(most, kSummedOutputs);
    for (Index begin = 0; begin < rows.rows(); begin += most) {
      const Index count = std::min(most, rows.rows() - begin);
      map_.Evaluate(rows.middleRows(begin, count), values.topRows(count));
      const ColumnValues columns = {values.data(), most, values.cols(), Padded(count)};
      for (Index t = 0; t < outputs_; t += kSummedOutputs) {
        const Index width = std::min(kSummedOutputs, outputs_ - t);
        sums.setZero();
        sums.topLeftCorner(count, width) = out.block(begin, t, count, width);
        AddOutputs(columns, t, width, sums.data());
        out.block(begin, t, count, width) = sums.topLeftCorner(count, width);
      }
    }
  }

 private:
  void AddOutputs(const ColumnValues& columns, Index first, Index width, double* sums) const {
    const double* weights = weights_[static_cast<size_t>(first / kSummedOutputs)].data();
    if (width == 1) {
      HWY_DYNAMIC_DISPATCH(AddOneOutput)(columns, weights, sums);
    } else {
      HWY_DYNAMIC_DISPATCH(AddFourOutputs)(columns, weights, sums);
    }
  }

  const FeatureMap& map_;
  Index outputs_;
  Index chunk_rows_ = kFewestRows;
  std::vector<std::vector<double>> weights_;
};

}  // namespace

void AddWeightedColumns(const FeatureMap& map, const ConstRowMatrixRef& rows,
                        const ConstMatrixRef& weights, MatrixRef out) {
  WeightedMap(map, weights).Add(rows, out);
}

absl::Status AddWeightedColumns(const FeatureMap& map, const FeatureRows& rows,
                                const ConstMatrixRef& weights, MatrixRef out,
                                const RunContext& context) {
  const WeightedMap weighted(map, weights);
  const Index chunk_rows = rows.chunk_rows();
  context.parallel().ForBlocks(rows.size(), kBlockRows, [&](Index block_begin, Index block_end) {
    RowMatrix buffer;
    for (Index begin = block_begin; begin < block_end; begin += chunk_rows) {
      if (context.cancelled()) {
        return;
      }
      const Index count = std::min(chunk_rows, block_end - begin);
      weighted.Add(rows.Read(begin, begin + count, buffer), out.middleRows(begin, count));
    }
  });
  return context.CheckCancelled();
}

}  // namespace mercer
#endif  // HWY_ONCE
