#include "core/linalg/vector_math.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/linalg/vector_math.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes this file again for each target.
#include "hwy/highway.h"

#include "core/linalg/exponential-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mercer {
namespace HWY_NAMESPACE {

using Tag = hn::CappedTag<double, kStripPadding>;
using Register = hn::Vec<Tag>;

// The rest of an array goes through a full register, so that an element has the same bits at its
// end.
template <typename T>
void ExpArray(const T* x, T* y, size_t size) {
  const hn::ScalableTag<T> d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= size; i += lanes) {
    hn::StoreU(ExpAny(d, hn::LoadU(d, x + i)), d, y + i);
  }
  if (i < size) {
    HWY_ALIGN T rest[HWY_LANES(T)] = {};
    for (size_t j = i; j < size; ++j) {
      rest[j - i] = x[j];
    }
    hn::Store(ExpAny(d, hn::Load(d, rest)), d, rest);
    for (size_t j = i; j < size; ++j) {
      y[j] = rest[j - i];
    }
  }
}

void ExpDoubleArray(const double* x, double* y, size_t size) { ExpArray(x, y, size); }
void ExpFloatArray(const float* x, float* y, size_t size) { ExpArray(x, y, size); }

// Four sums side by side: a chain of additions to a single one would wait for each.
double DotArray(const double* x, const double* y, Index size) {
  const Tag d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  Register sum0 = hn::Zero(d);
  Register sum1 = hn::Zero(d);
  Register sum2 = hn::Zero(d);
  Register sum3 = hn::Zero(d);
  Index i = 0;
  for (; i + 4 * lanes <= size; i += 4 * lanes) {
    sum0 = hn::MulAdd(hn::LoadU(d, x + i), hn::LoadU(d, y + i), sum0);
    sum1 = hn::MulAdd(hn::LoadU(d, x + i + lanes), hn::LoadU(d, y + i + lanes), sum1);
    sum2 = hn::MulAdd(hn::LoadU(d, x + i + 2 * lanes), hn::LoadU(d, y + i + 2 * lanes), sum2);
    sum3 = hn::MulAdd(hn::LoadU(d, x + i + 3 * lanes), hn::LoadU(d, y + i + 3 * lanes), sum3);
  }
  for (; i + lanes <= size; i += lanes) {
    sum0 = hn::MulAdd(hn::LoadU(d, x + i), hn::LoadU(d, y + i), sum0);
  }
  double sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3))));
  for (; i < size; ++i) {
    sum += x[i] * y[i];
  }
  return sum;
}

// From -2 x'z in `values` to |x|^2 + |z|^2 - 2 x'z = |x - z|^2. Where that is a small fraction of
// the norms, cancellation has taken its digits, and the caller computes it from the differences.
bool AddNorms(double x_norm, const double* z_norms, Index size, double fraction, double* values) {
  const Tag d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  auto small = hn::MaskFromVec(hn::Zero(d));
  Index c = 0;
  for (; c + lanes <= size; c += lanes) {
    const Register scale = hn::Add(hn::Set(d, x_norm), hn::LoadU(d, z_norms + c));
    const Register value = hn::Add(hn::LoadU(d, values + c), scale);
    small = hn::Or(small, hn::Le(value, hn::Mul(scale, hn::Set(d, fraction))));
    hn::StoreU(value, d, values + c);
  }
  bool any = !hn::AllFalse(d, small);
  for (; c < size; ++c) {
    const double scale = x_norm + z_norms[c];
    values[c] += scale;
    any = any || values[c] <= fraction * scale;
  }
  return any;
}

// Sets out(r, c) = map(values, old out, r, c) over the padded strip.
template <typename Map>
HWY_INLINE void MapStrip(const Strip& strip, double* out, const Map& map) {
  const Tag d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  const Index padded = PaddedLength(strip.cols);
  for (Index r = 0; r < strip.rows; ++r) {
    const double* values = strip.values + r * strip.stride;
    double* target = out + r * strip.stride;
    for (Index c = 0; c < padded; c += lanes) {
      hn::StoreU(map(hn::LoadU(d, values + c), target + c, r, c), d, target + c);
    }
  }
}

void ExponentialValuesStrip(const Strip& strip, double rate, double* out) {
  const Tag d;
  const Register negative_rate = hn::Set(d, -rate);
  MapStrip(strip, out, [&](Register t, double*, Index, Index) HWY_ATTR {
    return ExpBounded(d, hn::Mul(t, negative_rate));
  });
}

void AddExponentialsStrip(const Strip& strip, const double* rates, const double* weights,
                          size_t count, double* out) {
  const Tag d;
  MapStrip(strip, out, [&](Register t, double* old, Index, Index) HWY_ATTR {
    const Register negative = hn::Neg(t);
    Register sum = hn::LoadU(d, old);
    for (size_t k = 0; k < count; ++k) {
      sum = hn::MulAdd(hn::Set(d, weights[k]),
                       ExpBounded(d, hn::Mul(negative, hn::Set(d, rates[k]))), sum);
    }
    return sum;
  });
}

// The power by repeated squaring: the bits of `degree` say which squares it is the product of.
void PolynomialStrip(const Strip& strip, double scale, double offset, int degree, double* out) {
  const Tag d;
  MapStrip(strip, out, [&](Register t, double*, Index, Index) HWY_ATTR {
    Register base = hn::MulAdd(t, hn::Set(d, scale), hn::Set(d, offset));
    Register power = hn::Set(d, 1.0);
    for (int rest = degree; rest > 0; rest >>= 1) {
      if ((rest & 1) != 0) {
        power = hn::Mul(power, base);
      }
      base = hn::Mul(base, base);
    }
    return power;
  });
}

void SquareRootStrip(const Strip& strip, double* out) {
  MapStrip(strip, out, [&](Register t, double*, Index, Index) HWY_ATTR { return hn::Sqrt(t); });
}

void AddScaledStrip(const Strip& strip, double weight, double* out) {
  const Tag d;
  MapStrip(strip, out, [&](Register t, double* old, Index, Index) HWY_ATTR {
    return hn::MulAdd(t, hn::Set(d, weight), hn::LoadU(d, old));
  });
}

void ScaleStrip(const Strip& strip, const double* row_factors, const double* column_factors,
                double* out) {
  const Tag d;
  MapStrip(strip, out, [&](Register t, double*, Index r, Index c) HWY_ATTR {
    return hn::Mul(t, hn::Mul(hn::Set(d, row_factors[r]), hn::LoadU(d, column_factors + c)));
  });
}

// The sum over c < length of map(values[c]) b[c], in one order: lane by lane, then over the lanes.
template <typename Map>
HWY_INLINE double RowProduct(const double* values, const double* b, Index length, const Map& map) {
  const Tag d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  Register sum = hn::Zero(d);
  Index c = 0;
  for (; c + lanes <= length; c += lanes) {
    sum = hn::MulAdd(map(hn::LoadU(d, values + c)), hn::LoadU(d, b + c), sum);
  }
  if (c < length) {
    const auto mask = hn::FirstN(d, static_cast<size_t>(length - c));
    sum = hn::MulAdd(map(hn::LoadU(d, values + c)), hn::IfThenElseZero(mask, hn::LoadU(d, b + c)),
                     sum);
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

// No kernel value is stored: each exponential is multiplied by b where it is formed.
void ExponentialProductsStrip(const Strip& strip, RowLengths lengths, const double* rates,
                              size_t count, const double* b, double* products) {
  const Tag d;
  for (Index r = 0; r < strip.rows; ++r) {
    const Index length = lengths.Length(r, strip.cols);
    const double* values = strip.values + r * strip.stride;
    double* row_products = products + r * static_cast<Index>(count);
    for (size_t k = 0; k < count; ++k) {
      const Register negative_rate = hn::Set(d, -rates[k]);
      row_products[k] = RowProduct(values, b, length, [&](Register t) HWY_ATTR {
        return ExpBounded(d, hn::Mul(t, negative_rate));
      });
    }
  }
}

// Four columns of b at a time, so that each register of the strip's values is loaded once for four
// sums. Values beyond the length of a row are set to zero, for b is not zero there in a triangle.
void StripProductsStrip(const Strip& strip, RowLengths lengths, const double* b, Index b_stride,
                        Index columns, double* products) {
  const Tag d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  const auto identity = [](Register t) HWY_ATTR { return t; };
  for (Index r = 0; r < strip.rows; ++r) {
    const Index length = lengths.Length(r, strip.cols);
    const double* values = strip.values + r * strip.stride;
    double* row_products = products + r * columns;
    Index j = 0;
    for (; j + 4 <= columns; j += 4) {
      const double* first = b + j * b_stride;
      Register sum0 = hn::Zero(d);
      Register sum1 = hn::Zero(d);
      Register sum2 = hn::Zero(d);
      Register sum3 = hn::Zero(d);
      for (Index c = 0; c < length; c += lanes) {
        const auto mask =
            hn::FirstN(d, static_cast<size_t>(length - c < lanes ? length - c : lanes));
        const Register t = hn::IfThenElseZero(mask, hn::LoadU(d, values + c));
        sum0 = hn::MulAdd(t, hn::LoadU(d, first + c), sum0);
        sum1 = hn::MulAdd(t, hn::LoadU(d, first + b_stride + c), sum1);
        sum2 = hn::MulAdd(t, hn::LoadU(d, first + 2 * b_stride + c), sum2);
        sum3 = hn::MulAdd(t, hn::LoadU(d, first + 3 * b_stride + c), sum3);
      }
      row_products[j] = hn::GetLane(hn::SumOfLanes(d, sum0));
      row_products[j + 1] = hn::GetLane(hn::SumOfLanes(d, sum1));
      row_products[j + 2] = hn::GetLane(hn::SumOfLanes(d, sum2));
      row_products[j + 3] = hn::GetLane(hn::SumOfLanes(d, sum3));
    }
    for (; j < columns; ++j) {
      row_products[j] = RowProduct(values, b + j * b_stride, length, identity);
    }
  }
}

// sums[r] += sum_k columns[k][r] weights[k] for four columns. The rest of the rows goes through a
// full register, for the bits.
void AddFourColumns(const double* const columns[4], const double weights[4], Index rows,
                    double* sums) {
  const Tag d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  const auto add = [&](Register sum, const double* const at[4], Index r) HWY_ATTR {
    for (int k = 0; k < 4; ++k) {
      sum = hn::MulAdd(hn::LoadU(d, at[k] + r), hn::Set(d, weights[k]), sum);
    }
    return sum;
  };
  Index r = 0;
  for (; r + lanes <= rows; r += lanes) {
    hn::StoreU(add(hn::LoadU(d, sums + r), columns, r), d, sums + r);
  }
  if (r < rows) {
    HWY_ALIGN double rests[5][kStripPadding] = {};
    for (int k = 0; k < 4; ++k) {
      std::copy(columns[k] + r, columns[k] + rows, rests[k]);
    }
    std::copy(sums + r, sums + rows, rests[4]);
    const double* const at[4] = {rests[0], rests[1], rests[2], rests[3]};
    hn::Store(add(hn::Load(d, rests[4]), at, 0), d, rests[4]);
    std::copy_n(rests[4], rows - r, sums + r);
  }
}

// A register of RowProduct sums every lanes-th value of a row. Here each of its lanes has an array,
// an element for each row, to which the columns are added whose values that lane would sum.
void ColumnProductsStrip(const double* const* columns, Index count, Index rows, const double* b,
                         double* sums, double* products) {
  const Tag d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  std::fill_n(sums, rows * lanes, 0.0);
  for (Index lane = 0; lane < lanes; ++lane) {
    for (Index c = lane; c < count; c += 4 * lanes) {
      const double* four[4];
      double weights[4];
      for (Index k = 0; k < 4; ++k) {
        const bool in_range = c + k * lanes < count;
        four[k] = columns[in_range ? c + k * lanes : c];
        weights[k] = in_range ? b[c + k * lanes] : 0.0;
      }
      AddFourColumns(four, weights, rows, sums + lane * rows);
    }
  }
  HWY_ALIGN double row[kStripPadding];
  for (Index r = 0; r < rows; ++r) {
    for (Index lane = 0; lane < lanes; ++lane) {
      row[lane] = sums[lane * rows + r];
    }
    products[r] = hn::GetLane(hn::SumOfLanes(d, hn::Load(d, row)));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mercer
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mercer {

HWY_EXPORT(ExpDoubleArray);
HWY_EXPORT(ExpFloatArray);
HWY_EXPORT(DotArray);
HWY_EXPORT(AddNorms);
HWY_EXPORT(ExponentialValuesStrip);
HWY_EXPORT(AddExponentialsStrip);
HWY_EXPORT(PolynomialStrip);
HWY_EXPORT(SquareRootStrip);
HWY_EXPORT(AddScaledStrip);
HWY_EXPORT(ScaleStrip);
HWY_EXPORT(ExponentialProductsStrip);
HWY_EXPORT(StripProductsStrip);
HWY_EXPORT(ColumnProductsStrip);

void Exp(absl::Span<const double> x, absl::Span<double> y) {
  HWY_DYNAMIC_DISPATCH(ExpDoubleArray)(x.data(), y.data(), x.size());
}

void Exp(absl::Span<const float> x, absl::Span<float> y) {
  HWY_DYNAMIC_DISPATCH(ExpFloatArray)(x.data(), y.data(), x.size());
}

double Dot(const double* x, const double* y, Index size) {
  return HWY_DYNAMIC_DISPATCH(DotArray)(x, y, size);
}

bool AddNormsToRow(double x_norm, const double* z_norms, Index size, double fraction,
                   double* values) {
  return HWY_DYNAMIC_DISPATCH(AddNorms)(x_norm, z_norms, size, fraction, values);
}

void ExponentialValues(const Strip& strip, double rate, double* out) {
  HWY_DYNAMIC_DISPATCH(ExponentialValuesStrip)(strip, rate, out);
}

void AddExponentials(const Strip& strip, absl::Span<const double> rates,
                     absl::Span<const double> weights, double* out) {
  HWY_DYNAMIC_DISPATCH(AddExponentialsStrip)
  (strip, rates.data(), weights.data(), rates.size(), out);
}

void PolynomialValues(const Strip& strip, double scale, double offset, int degree, double* out) {
  HWY_DYNAMIC_DISPATCH(PolynomialStrip)(strip, scale, offset, degree, out);
}

void SquareRoots(const Strip& strip, double* out) {
  HWY_DYNAMIC_DISPATCH(SquareRootStrip)(strip, out);
}

void AddScaled(const Strip& strip, double weight, double* out) {
  HWY_DYNAMIC_DISPATCH(AddScaledStrip)(strip, weight, out);
}

void ScaleRowsAndColumns(const Strip& strip, const double* row_factors,
                         const double* column_factors, double* out) {
  HWY_DYNAMIC_DISPATCH(ScaleStrip)(strip, row_factors, column_factors, out);
}

void ExponentialProducts(const Strip& strip, RowLengths lengths, absl::Span<const double> rates,
                         const double* b, double* products) {
  HWY_DYNAMIC_DISPATCH(ExponentialProductsStrip)
  (strip, lengths, rates.data(), rates.size(), b, products);
}

void StripProducts(const Strip& strip, RowLengths lengths, const double* b, Index b_stride,
                   Index columns, double* products) {
  HWY_DYNAMIC_DISPATCH(StripProductsStrip)(strip, lengths, b, b_stride, columns, products);
}

void ColumnProducts(absl::Span<const double* const> columns, Index rows, const double* b,
                    std::vector<double>& scratch, double* products) {
  scratch.resize(static_cast<size_t>(rows * kStripPadding));
  HWY_DYNAMIC_DISPATCH(ColumnProductsStrip)
  (columns.data(), static_cast<Index>(columns.size()), rows, b, scratch.data(), products);
}

}  // namespace mercer
#endif  // HWY_ONCE
