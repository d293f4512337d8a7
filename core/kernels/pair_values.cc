#include "core/kernels/pair_values.h"

#include <algorithm>
#include <vector>

#include "core/kernels/vector_math.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/pair_values.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes this file again for each target.
#include "hwy/highway.h"

#ifndef MERCER_CORE_KERNELS_PACKED_PAIRS_
#define MERCER_CORE_KERNELS_PACKED_PAIRS_
namespace mercer {

// Rows x (row-major, stride x_stride) against columns packed by coordinate: packed[k * stride + c]
// is coordinate k of z_c.
struct PackedPairs {
  const double* x;
  Index rows;
  Index x_stride;
  const double* packed;
  Index padded_columns;
  Index coordinates;
  double* out;
  Index out_stride;
};

}  // namespace mercer
#endif  // MERCER_CORE_KERNELS_PACKED_PAIRS_

HWY_BEFORE_NAMESPACE();
namespace mercer {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <typename Term>
HWY_INLINE void AddTerms(const PackedPairs& pairs, const Term& term) {
  const hn::CappedTag<double, kStripPadding> d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  for (Index c = 0; c < pairs.padded_columns; c += lanes) {
    Index r = 0;
    for (; r + 4 <= pairs.rows; r += 4) {
      const double* x = pairs.x + r * pairs.x_stride;
      double* out = pairs.out + r * pairs.out_stride + c;
      auto sum0 = hn::LoadU(d, out);
      auto sum1 = hn::LoadU(d, out + pairs.out_stride);
      auto sum2 = hn::LoadU(d, out + 2 * pairs.out_stride);
      auto sum3 = hn::LoadU(d, out + 3 * pairs.out_stride);
      for (Index k = 0; k < pairs.coordinates; ++k) {
        const auto z = hn::LoadU(d, pairs.packed + k * pairs.padded_columns + c);
        sum0 = term(hn::Set(d, x[k]), z, sum0);
        sum1 = term(hn::Set(d, x[pairs.x_stride + k]), z, sum1);
        sum2 = term(hn::Set(d, x[2 * pairs.x_stride + k]), z, sum2);
        sum3 = term(hn::Set(d, x[3 * pairs.x_stride + k]), z, sum3);
      }
      hn::StoreU(sum0, d, out);
      hn::StoreU(sum1, d, out + pairs.out_stride);
      hn::StoreU(sum2, d, out + 2 * pairs.out_stride);
      hn::StoreU(sum3, d, out + 3 * pairs.out_stride);
    }
    for (; r < pairs.rows; ++r) {
      const double* x = pairs.x + r * pairs.x_stride;
      double* out = pairs.out + r * pairs.out_stride + c;
      auto sum = hn::LoadU(d, out);
      for (Index k = 0; k < pairs.coordinates; ++k) {
        sum =
            term(hn::Set(d, x[k]), hn::LoadU(d, pairs.packed + k * pairs.padded_columns + c), sum);
      }
      hn::StoreU(sum, d, out);
    }
  }
}

void AddPairValues(PairValue value, const PackedPairs& pairs) {
  const hn::CappedTag<double, kStripPadding> d;
  using V = hn::Vec<decltype(d)>;
  switch (value) {
    case PairValue::kDotProduct:
      AddTerms(pairs, [](V x, V z, V sum) HWY_ATTR { return hn::MulAdd(x, z, sum); });
      return;
    case PairValue::kSquaredDistance:
      AddTerms(pairs, [](V x, V z, V sum) HWY_ATTR {
        const V difference = hn::Sub(x, z);
        return hn::MulAdd(difference, difference, sum);
      });
      return;
    case PairValue::kManhattan:
      AddTerms(pairs,
               [](V x, V z, V sum) HWY_ATTR { return hn::Add(sum, hn::Abs(hn::Sub(x, z))); });
      return;
    case PairValue::kChiSquare:
      AddTerms(pairs, [d](V x, V z, V sum) HWY_ATTR {
        const V difference = hn::Sub(x, z);
        const V total = hn::Add(x, z);
        const V half_square = hn::Mul(hn::Mul(difference, difference), hn::Set(d, 0.5));
        const V divisor = hn::IfThenElse(hn::Eq(total, hn::Zero(d)), hn::Set(d, 1.0), total);
        return hn::Add(sum, hn::Div(half_square, divisor));
      });
      return;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mercer
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mercer {

HWY_EXPORT(AddPairValues);

namespace {
// Coordinates packed at a time: 256 columns of them fill half a second-level cache.
constexpr Index kDepth = 256;
}  // namespace

void ComputePairValues(PairValue value, const ConstRowMatrixRef& x, const ConstRowMatrixRef& z,
                       double* out, Index out_stride, const RunContext& context) {
  const Index padded = PaddedLength(z.rows());
  std::vector<double> packed;
  for (Index r = 0; r < x.rows(); ++r) {
    std::fill_n(out + r * out_stride, padded, 0.0);
  }
  for (Index begin = 0; begin < z.cols() && !context.cancelled(); begin += kDepth) {
    const Index depth = std::min(kDepth, z.cols() - begin);
    packed.assign(static_cast<size_t>(depth * padded), 0.0);
    for (Index c = 0; c < z.rows(); ++c) {
      const double* row = z.data() + c * z.outerStride() + begin;
      for (Index k = 0; k < depth; ++k) {
        packed[static_cast<size_t>(k * padded + c)] = row[k];
      }
    }
    HWY_DYNAMIC_DISPATCH(AddPairValues)
    (value,
     {x.data() + begin, x.rows(), x.outerStride(), packed.data(), padded, depth, out, out_stride});
  }
}

}  // namespace mercer
#endif  // HWY_ONCE
