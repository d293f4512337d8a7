// Sine and cosine of one SIMD register, for every instruction set: included by files that Highway
// compiles once per target.
//
// x = q pi/2 + r, q = round(2 x / pi), |r| <= pi/4. pi/2 is cut into parts of 27, 25 and 53 bits:
// up to |x| = 1e8, q has 26, so the product with the first part is exact, and what is lost of r
// stays below 2e-16 with or without fused multiply-add. With u = r^2, sin r = r + r u S(u) and
// cos r = 1 - u/2 + u^2 C(u); S and C interpolate at Chebyshev nodes (errors 1e-17 and 5e-19 in
// double, 1e-8 and 8e-10 in single precision). Adding 1.5 * 2^52 rounds to the nearest integer and
// leaves q in the low bits. Every lane is computed by itself: the bits of a result depend on
// neither its lane nor its position.
#if defined(MERCER_CORE_FEATURES_SINE_COSINE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MERCER_CORE_FEATURES_SINE_COSINE_INL_H_
#undef MERCER_CORE_FEATURES_SINE_COSINE_INL_H_
#else
#define MERCER_CORE_FEATURES_SINE_COSINE_INL_H_
#endif

#include <cstdint>
#include <limits>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace mercer {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

inline constexpr double kLargestArgument = 1e8;
inline constexpr double kShifter = 6755399441055744.0;  // 1.5 * 2^52
inline constexpr double kTwoOverPi = 0.6366197723675814;
inline constexpr double kHalfPiHigh = 1.570796325802803;
inline constexpr double kHalfPiMiddle = 9.920935739593517e-10;
inline constexpr double kHalfPiLow = 5.721188726109832e-18;

// cosine and sine of a lane's remainder, exchanged and signed as its quadrant says.
template <class D, class DI, class V = hn::Vec<D>, class VI = hn::Vec<DI>>
HWY_INLINE void TurnByQuadrant(D d, DI di, VI quadrant, V& cosine, V& sine) {
  constexpr int kBits = 8 * static_cast<int>(sizeof(hn::TFromD<D>));
  const auto one = hn::Set(di, 1);
  const auto two = hn::Set(di, 2);
  const auto odd = hn::MaskFromVec(hn::BitCast(d, hn::Sub(hn::Zero(di), hn::And(quadrant, one))));
  const auto cosine_sign = hn::ShiftLeft<kBits - 2>(hn::And(hn::Add(quadrant, one), two));
  const auto sine_sign = hn::ShiftLeft<kBits - 2>(hn::And(quadrant, two));
  const V first = hn::IfThenElse(odd, sine, cosine);
  const V second = hn::IfThenElse(odd, cosine, sine);
  cosine = hn::Xor(first, hn::BitCast(d, cosine_sign));
  sine = hn::Xor(second, hn::BitCast(d, sine_sign));
}

// Cosine and sine of x; NaN where |x| > 1e8 or x is NaN. With q the whole number nearest to 2x / pi
// and r = x - q pi/2, subtracted in three parts so that no digit of r is lost, sin r and cos r are
// polynomials in r^2 that are fitted to |r| <= pi/4, and q modulo 4 says how to exchange them and
// change their signs.
template <class D, class V = hn::Vec<D>, hwy::EnableIf<sizeof(hn::TFromD<D>) == 8>* = nullptr>
HWY_INLINE void CosineAndSine(D d, V x, V& cosine, V& sine) {
  const hn::RebindToSigned<D> di;
  const auto valid = hn::Le(hn::Abs(x), hn::Set(d, kLargestArgument));
  const V nan = hn::Set(d, std::numeric_limits<double>::quiet_NaN());
  const V shifted = hn::MulAdd(x, hn::Set(d, kTwoOverPi), hn::Set(d, kShifter));
  const V q = hn::Sub(shifted, hn::Set(d, kShifter));
  V r = hn::NegMulAdd(q, hn::Set(d, kHalfPiHigh), x);
  r = hn::NegMulAdd(q, hn::Set(d, kHalfPiMiddle), r);
  r = hn::NegMulAdd(q, hn::Set(d, kHalfPiLow), r);
  r = hn::IfThenElse(valid, r, nan);
  const V u = hn::Mul(r, r);
  V s = hn::Set(d, 1.5918129280835e-10);
  s = hn::MulAdd(s, u, hn::Set(d, -2.5051131844808866e-08));
  s = hn::MulAdd(s, u, hn::Set(d, 2.7557316102551507e-06));
  s = hn::MulAdd(s, u, hn::Set(d, -0.00019841269836758574));
  s = hn::MulAdd(s, u, hn::Set(d, 0.008333333333330948));
  s = hn::MulAdd(s, u, hn::Set(d, -0.16666666666666666));
  sine = hn::MulAdd(hn::Mul(s, u), r, r);
  V c = hn::Set(d, -1.1382632416743667e-11);
  c = hn::MulAdd(c, u, hn::Set(d, 2.087614626828136e-09));
  c = hn::MulAdd(c, u, hn::Set(d, -2.755731727172921e-07));
  c = hn::MulAdd(c, u, hn::Set(d, 2.4801587298765686e-05));
  c = hn::MulAdd(c, u, hn::Set(d, -0.0013888888888887398));
  c = hn::MulAdd(c, u, hn::Set(d, 0.041666666666666664));
  c = hn::MulAdd(c, u, hn::Set(d, -0.5));
  cosine = hn::MulAdd(c, u, hn::Set(d, 1.0));
  TurnByQuadrant(d, di, hn::BitCast(di, shifted), cosine, sine);
}

// The remainder of x, rounded to single precision, and its quadrant. NaN where |x| > 1e8 or x is
// NaN. The lowest part of pi/2 is left out: it changes r by less than 4e-10.
template <class D, class V = hn::Vec<D>, class S = hn::Rebind<float, D>,
          class I = hn::Rebind<int32_t, D>>
HWY_INLINE void ReduceToSingle(D d, V x, hn::Vec<S>& remainder, hn::Vec<I>& quadrant) {
  const auto valid = hn::Le(hn::Abs(x), hn::Set(d, kLargestArgument));
  const V nan = hn::Set(d, std::numeric_limits<double>::quiet_NaN());
  const V shifted = hn::MulAdd(x, hn::Set(d, kTwoOverPi), hn::Set(d, kShifter));
  const V q = hn::Sub(shifted, hn::Set(d, kShifter));
  V r = hn::NegMulAdd(q, hn::Set(d, kHalfPiHigh), x);
  r = hn::NegMulAdd(q, hn::Set(d, kHalfPiMiddle), r);
  remainder = hn::DemoteTo(S(), hn::IfThenElse(valid, r, nan));
  quadrant = hn::DemoteTo(I(), hn::IfThenElseZero(valid, q));
}

// The same in single precision, of a remainder and quadrant that ReduceToSingle has made.
template <class D, class V = hn::Vec<D>, hwy::EnableIf<sizeof(hn::TFromD<D>) == 4>* = nullptr>
HWY_INLINE void CosineAndSine(D d, V r, hn::Vec<hn::RebindToSigned<D>> quadrant, V& cosine,
                              V& sine) {
  const V u = hn::Mul(r, r);
  V s = hn::Set(d, -0.0001958789085523406F);
  s = hn::MulAdd(s, u, hn::Set(d, 0.00833274827051321F));
  s = hn::MulAdd(s, u, hn::Set(d, -0.1666666466231378F));
  sine = hn::MulAdd(hn::Mul(s, u), r, r);
  V c = hn::Set(d, 2.4547942059840178e-05F);
  c = hn::MulAdd(c, u, hn::Set(d, -0.0013888303035778091F));
  c = hn::MulAdd(c, u, hn::Set(d, 0.041666664659501605F));
  c = hn::MulAdd(c, u, hn::Set(d, -0.5F));
  cosine = hn::MulAdd(c, u, hn::Set(d, 1.0F));
  TurnByQuadrant(d, hn::RebindToSigned<D>(), quadrant, cosine, sine);
}

}  // namespace HWY_NAMESPACE
}  // namespace mercer
HWY_AFTER_NAMESPACE();

#endif  // MERCER_CORE_FEATURES_SINE_COSINE_INL_H_
