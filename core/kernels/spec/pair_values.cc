#include "core/kernels/spec/pair_values.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "core/linalg/vector_math.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/spec/pair_values.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes this file again for each target.
#include "hwy/highway.h"

#ifndef MERCER_CORE_KERNELS_PAIRS_
#define MERCER_CORE_KERNELS_PAIRS_
namespace mercer {

// How many coordinates are summed in one pass: two vectors of rows z with that many fill half a
// first-level cache.
inline constexpr Index kPairDepth = kMaxNormColumns;

// All pairs of rows x with rows z, both row by row from their first coordinate of this pass.
struct Pairs {
  const double* x;
  Index rows;
  Index x_stride;
  const double* z;
  Index columns;  // rows z
  Index z_stride;
  Index coordinates;  // at most kPairDepth
  bool add;           // to what `out` holds
  double* out;
  Index out_stride;
};

// What squared distances from dot products need besides the dot products.
struct PairNorms {
  const double* x;
  const double* z;  // padded
  double fraction;
  bool* small;  // of each row x
};

}  // namespace mercer
#endif  // MERCER_CORE_KERNELS_PAIRS_

HWY_BEFORE_NAMESPACE();
namespace mercer {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<double, kStripPadding>;
using V = hn::Vec<Tag>;

// packed[k * width + c] = coordinate k of row z[begin + c]; zeros beyond the last row.
HWY_INLINE void PackPanel(const Pairs& pairs, Index begin, Index width, double* packed) {
  const Index count = std::min(width, pairs.columns - begin);
  for (Index c = 0; c < count; ++c) {
    const double* row = pairs.z + (begin + c) * pairs.z_stride;
    for (Index k = 0; k < pairs.coordinates; ++k) {
      packed[k * width + c] = row[k];
    }
  }
  for (Index c = std::max<Index>(count, 0); c < width; ++c) {
    for (Index k = 0; k < pairs.coordinates; ++k) {
      packed[k * width + c] = 0;
    }
  }
}

// term(x, z, sum) adds one coordinate; finish(sum, r, c) takes the sums of row r and the columns
// from c on. Two vectors of rows z stay in the first-level cache while all rows x pass, four at a
// time: eight sums, each in the order of the coordinates.
template <typename Term, typename Finish>
HWY_INLINE void ForPanels(const Pairs& pairs, const Term& term, const Finish& finish) {
  const Tag d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  const Index padded = PaddedLength(pairs.columns);
  const Index width = 2 * lanes;
  HWY_ALIGN double packed[2 * kStripPadding * kPairDepth];
  const auto start = [&](Index r, Index c) HWY_ATTR {
    return pairs.add && c < padded ? hn::LoadU(d, pairs.out + r * pairs.out_stride + c)
                                   : hn::Zero(d);
  };
  for (Index c = 0; c < padded; c += width) {
    PackPanel(pairs, c, width, packed);
    Index r = 0;
    for (; r + 4 <= pairs.rows; r += 4) {
      const double* x0 = pairs.x + r * pairs.x_stride;
      const double* x1 = x0 + pairs.x_stride;
      const double* x2 = x1 + pairs.x_stride;
      const double* x3 = x2 + pairs.x_stride;
      V a0 = start(r, c);
      V b0 = start(r, c + lanes);
      V a1 = start(r + 1, c);
      V b1 = start(r + 1, c + lanes);
      V a2 = start(r + 2, c);
      V b2 = start(r + 2, c + lanes);
      V a3 = start(r + 3, c);
      V b3 = start(r + 3, c + lanes);
      for (Index k = 0; k < pairs.coordinates; ++k) {
        const V za = hn::Load(d, packed + k * width);
        const V zb = hn::Load(d, packed + k * width + lanes);
        const V x0k = hn::Set(d, x0[k]);
        a0 = term(x0k, za, a0);
        b0 = term(x0k, zb, b0);
        const V x1k = hn::Set(d, x1[k]);
        a1 = term(x1k, za, a1);
        b1 = term(x1k, zb, b1);
        const V x2k = hn::Set(d, x2[k]);
        a2 = term(x2k, za, a2);
        b2 = term(x2k, zb, b2);
        const V x3k = hn::Set(d, x3[k]);
        a3 = term(x3k, za, a3);
        b3 = term(x3k, zb, b3);
      }
      finish(a0, r, c);
      finish(b0, r, c + lanes);
      finish(a1, r + 1, c);
      finish(b1, r + 1, c + lanes);
      finish(a2, r + 2, c);
      finish(b2, r + 2, c + lanes);
      finish(a3, r + 3, c);
      finish(b3, r + 3, c + lanes);
    }
    for (; r < pairs.rows; ++r) {
      const double* x = pairs.x + r * pairs.x_stride;
      V a = start(r, c);
      V b = start(r, c + lanes);
      for (Index k = 0; k < pairs.coordinates; ++k) {
        const V xk = hn::Set(d, x[k]);
        a = term(xk, hn::Load(d, packed + k * width), a);
        b = term(xk, hn::Load(d, packed + k * width + lanes), b);
      }
      finish(a, r, c);
      finish(b, r, c + lanes);
    }
  }
}

template <typename Term>
HWY_INLINE void AddTerms(const Pairs& pairs, const Term& term) {
  const Index padded = PaddedLength(pairs.columns);
  ForPanels(pairs, term, [&](V sum, Index r, Index c) HWY_ATTR {
    if (c < padded) {
      hn::StoreU(sum, Tag(), pairs.out + r * pairs.out_stride + c);
    }
  });
}

void AddPairValues(PairValue value, const Pairs& pairs) {
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
      AddTerms(pairs, [](V x, V z, V sum) HWY_ATTR {
        const Tag d;
        const V difference = hn::Sub(x, z);
        const V total = hn::Add(x, z);
        const V half_square = hn::Mul(hn::Mul(difference, difference), hn::Set(d, 0.5));
        const V divisor = hn::IfThenElse(hn::Eq(total, hn::Zero(d)), hn::Set(d, 1.0), total);
        return hn::Add(sum, hn::Div(half_square, divisor));
      });
      return;
    case PairValue::kHellinger:
      AddTerms(pairs, [](V x, V z, V sum) HWY_ATTR {
        const V difference = hn::Sub(hn::Sqrt(x), hn::Sqrt(z));
        const V half = hn::Mul(difference, hn::Set(Tag(), 0.5));
        return hn::MulAdd(half, difference, sum);
      });
      return;
    case PairValue::kMinimum:
      AddTerms(pairs, [](V x, V z, V sum) HWY_ATTR { return hn::Add(sum, hn::Min(x, z)); });
      return;
  }
}

void DistancesFromNorms(const Pairs& pairs, const PairNorms& norms) {
  const Index padded = PaddedLength(pairs.columns);
  const auto term = [](V x, V z, V sum) HWY_ATTR { return hn::MulAdd(x, z, sum); };
  ForPanels(pairs, term, [&](V dot, Index r, Index c) HWY_ATTR {
    const Tag d;
    if (c < padded) {
      const V scale = hn::Add(hn::Set(d, norms.x[r]), hn::LoadU(d, norms.z + c));
      const V value = hn::NegMulAdd(hn::Set(d, 2.0), dot, scale);
      const auto small = hn::Le(value, hn::Mul(scale, hn::Set(d, norms.fraction)));
      norms.small[r] = norms.small[r] || !hn::AllFalse(d, small);
      hn::StoreU(value, d, pairs.out + r * pairs.out_stride + c);
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace mercer
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mercer {

HWY_EXPORT(AddPairValues);
HWY_EXPORT(DistancesFromNorms);

double PairValueOfRow(PairValue value, const double* row, Index columns) {
  switch (value) {
    case PairValue::kDotProduct:
      return Dot(row, row, columns);
    case PairValue::kMinimum:
      return std::accumulate(row, row + columns, 0.0);
    case PairValue::kSquaredDistance:
    case PairValue::kManhattan:
    case PairValue::kChiSquare:
    case PairValue::kHellinger:
      return 0;
  }
  return 0;
}

bool NeedsNonNegative(PairValue value) {
  switch (value) {
    case PairValue::kChiSquare:
    case PairValue::kHellinger:
    case PairValue::kMinimum:
      return true;
    case PairValue::kDotProduct:
    case PairValue::kSquaredDistance:
    case PairValue::kManhattan:
      return false;
  }
  return false;
}

void ComputePairValues(PairValue value, const ConstRowMatrixRef& x, const ConstRowMatrixRef& z,
                       double* out, Index out_stride, const RunContext& context) {
  const Index padded = PaddedLength(z.rows());
  for (Index r = 0; r < x.rows() && z.cols() == 0; ++r) {
    std::fill_n(out + r * out_stride, padded, 0.0);
  }
  for (Index begin = 0; begin < z.cols() && !context.cancelled(); begin += kPairDepth) {
    const Index depth = std::min(kPairDepth, z.cols() - begin);
    HWY_DYNAMIC_DISPATCH(AddPairValues)
    (value, {x.data() + begin, x.rows(), x.outerStride(), z.data() + begin, z.rows(),
             z.outerStride(), depth, begin > 0, out, out_stride});
  }
}

void DistancesFromNorms(const NormedRows& x, const NormedRows& z, double fraction, double* out,
                        Index out_stride, bool* small) {
  HWY_DYNAMIC_DISPATCH(DistancesFromNorms)
  ({x.rows.data(), x.rows.rows(), x.rows.outerStride(), z.rows.data(), z.rows.rows(),
    z.rows.outerStride(), z.rows.cols(), false, out, out_stride},
   {x.squared_norms, z.squared_norms, fraction, small});
}

}  // namespace mercer
#endif  // HWY_ONCE
