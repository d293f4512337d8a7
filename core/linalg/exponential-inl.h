// exp of one SIMD register, for every instruction set: included by files that Highway compiles once
// per target.
//
// exp(x) = 2^k exp(r), k = round(x / ln 2), |r| <= ln(2) / 2; exp(r) = 1 + r + r^2 q(r), q
// interpolates at Chebyshev nodes (relative error 1.6e-17 in double, 1e-8 in float). Adding 1.5 *
// 2^52 rounds to the nearest integer and leaves k in the low bits, from where a shift takes it to
// the exponent field. Every lane is computed by itself: the bits of a result depend on neither its
// lane nor its position.
#if defined(MERCER_CORE_KERNELS_EXPONENTIAL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MERCER_CORE_KERNELS_EXPONENTIAL_INL_H_
#undef MERCER_CORE_KERNELS_EXPONENTIAL_INL_H_
#else
#define MERCER_CORE_KERNELS_EXPONENTIAL_INL_H_
#endif

#include <cstdint>
#include <limits>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace mercer {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// exp(x) for x <= 709 that is not NaN. Results below the smallest normal number are 0.
template <class D, class V = hn::Vec<D>, hwy::EnableIf<sizeof(hn::TFromD<D>) == 8>* = nullptr>
HWY_INLINE V ExpBounded(D d, V x) {
  const hn::RebindToSigned<D> di;
  const V smallest = hn::Set(d, -708.3964185322641);  // ln of the smallest normal number
  const V shifter = hn::Set(d, 6755399441055744.0);   // 1.5 * 2^52
  const V clamped = hn::Max(x, smallest);
  const V shifted = hn::MulAdd(clamped, hn::Set(d, 1.4426950408889634), shifter);
  const V k = hn::Sub(shifted, shifter);
  V r = hn::NegMulAdd(k, hn::Set(d, 0.693147180559663), clamped);
  r = hn::NegMulAdd(k, hn::Set(d, 2.8235290563031577e-13), r);
  V q = hn::Set(d, 2.510038549551032e-08);
  q = hn::MulAdd(q, r, hn::Set(d, 2.7620088445409746e-07));
  q = hn::MulAdd(q, r, hn::Set(d, 2.7557268459997064e-06));
  q = hn::MulAdd(q, r, hn::Set(d, 2.4801521295954376e-05));
  q = hn::MulAdd(q, r, hn::Set(d, 0.00019841269863053618));
  q = hn::MulAdd(q, r, hn::Set(d, 0.0013888888917213717));
  q = hn::MulAdd(q, r, hn::Set(d, 0.008333333333330062));
  q = hn::MulAdd(q, r, hn::Set(d, 0.04166666666662413));
  q = hn::MulAdd(q, r, hn::Set(d, 0.16666666666666669));
  q = hn::MulAdd(q, r, hn::Set(d, 0.5));
  q = hn::MulAdd(q, r, hn::Set(d, 1.0));
  q = hn::MulAdd(q, r, hn::Set(d, 1.0));
  const auto exponent = hn::ShiftLeft<52>(hn::BitCast(di, shifted));
  const V result = hn::BitCast(d, hn::Add(hn::BitCast(di, q), exponent));
  return hn::IfThenElseZero(hn::Ge(x, smallest), result);
}

template <class D, class V = hn::Vec<D>, hwy::EnableIf<sizeof(hn::TFromD<D>) == 4>* = nullptr>
HWY_INLINE V ExpBounded(D d, V x) {
  const hn::RebindToSigned<D> di;
  const V smallest = hn::Set(d, -87.336544F);
  const V shifter = hn::Set(d, 12582912.0F);  // 1.5 * 2^23
  const V clamped = hn::Max(x, smallest);
  const V shifted = hn::MulAdd(clamped, hn::Set(d, 1.44269504F), shifter);
  const V k = hn::Sub(shifted, shifter);
  V r = hn::NegMulAdd(k, hn::Set(d, 0.693359375F), clamped);
  r = hn::NegMulAdd(k, hn::Set(d, -2.12194440e-4F), r);
  V q = hn::Set(d, 0.0013926183587713494F);
  q = hn::MulAdd(q, r, hn::Set(d, 0.008363179052722578F));
  q = hn::MulAdd(q, r, hn::Set(d, 0.041666554617204574F));
  q = hn::MulAdd(q, r, hn::Set(d, 0.16666576989698775F));
  q = hn::MulAdd(q, r, hn::Set(d, 0.5F));
  q = hn::MulAdd(q, r, hn::Set(d, 1.0F));
  q = hn::MulAdd(q, r, hn::Set(d, 1.0F));
  const auto exponent = hn::ShiftLeft<23>(hn::BitCast(di, shifted));
  const V result = hn::BitCast(d, hn::Add(hn::BitCast(di, q), exponent));
  return hn::IfThenElseZero(hn::Ge(x, smallest), result);
}

// exp(x) for every x: infinity above the largest logarithm, NaN for NaN.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V ExpAny(D d, V x) {
  using T = hn::TFromD<D>;
  const V largest =
      hn::Set(d, sizeof(T) == 8 ? static_cast<T>(709.782712893384) : static_cast<T>(88.7228317F));
  const V bounded = ExpBounded(d, hn::Min(x, largest));
  const V unbounded =
      hn::IfThenElse(hn::Gt(x, largest), hn::Set(d, std::numeric_limits<T>::infinity()), bounded);
  return hn::IfThenElse(hn::Eq(x, x), unbounded, x);
}

}  // namespace HWY_NAMESPACE
}  // namespace mercer
HWY_AFTER_NAMESPACE();

#endif  // MERCER_CORE_KERNELS_EXPONENTIAL_INL_H_
