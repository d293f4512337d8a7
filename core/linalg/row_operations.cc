#include "core/linalg/row_operations.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/linalg/row_operations.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes this file again for each target.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace mercer {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Vectors of at most 8 lanes, the padding of rows, so that loops need no tails.
using Tag = hn::CappedTag<double, 8>;
using Register = hn::Vec<Tag>;
using SingleTag = hn::Rebind<float, Tag>;

HWY_INLINE Register Load(const float* values) {
  return hn::PromoteTo(Tag(), hn::LoadU(SingleTag(), values));
}
HWY_INLINE Register Load(const double* values) { return hn::LoadU(Tag(), values); }

// Two sums side by side, for even and odd registers: a chain of additions to one would wait for
// each.
template <typename Value>
HWY_INLINE double Dot(const Value* row, const double* x, Index stride) {
  const Tag d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  Register even = hn::Zero(d);
  Register odd = hn::Zero(d);
  for (Index c = 0; c < stride; c += 2 * lanes) {
    even = hn::MulAdd(Load(row + c), hn::LoadU(d, x + c), even);
    odd = hn::MulAdd(Load(row + c + lanes), hn::LoadU(d, x + c + lanes), odd);
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd)));
}

// Four rows at a time, so that `out` is read and written once for four products.
template <typename Value>
HWY_INLINE void AddFour(const Value* const* rows, const double* a, Index stride, double* out) {
  const Tag d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  const Register a0 = hn::Set(d, a[0]);
  const Register a1 = hn::Set(d, a[1]);
  const Register a2 = hn::Set(d, a[2]);
  const Register a3 = hn::Set(d, a[3]);
  for (Index c = 0; c < stride; c += lanes) {
    Register sum = hn::LoadU(d, out + c);
    sum = hn::MulAdd(a0, Load(rows[0] + c), sum);
    sum = hn::MulAdd(a1, Load(rows[1] + c), sum);
    sum = hn::MulAdd(a2, Load(rows[2] + c), sum);
    sum = hn::MulAdd(a3, Load(rows[3] + c), sum);
    hn::StoreU(sum, d, out + c);
  }
}

template <typename Value>
HWY_INLINE void AddScaled(const Value* row, double factor, Index stride, double* out) {
  const Tag d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  const Register scale = hn::Set(d, factor);
  for (Index c = 0; c < stride; c += lanes) {
    hn::StoreU(hn::MulAdd(scale, Load(row + c), hn::LoadU(d, out + c)), d, out + c);
  }
}

template <typename Value>
HWY_INLINE void Scale(const Value* row, double factor, Index stride, double* out) {
  const Tag d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  const Register scale = hn::Set(d, factor);
  for (Index c = 0; c < stride; c += lanes) {
    hn::StoreU(hn::Mul(scale, Load(row + c)), d, out + c);
  }
}

double DotSingle(const float* row, const double* x, Index stride) { return Dot(row, x, stride); }
double DotDouble(const double* row, const double* x, Index stride) { return Dot(row, x, stride); }
void AddFourSingle(const float* const* rows, const double* a, Index stride, double* out) {
  AddFour(rows, a, stride, out);
}
void AddFourDouble(const double* const* rows, const double* a, Index stride, double* out) {
  AddFour(rows, a, stride, out);
}
void AddScaledSingle(const float* row, double factor, Index stride, double* out) {
  AddScaled(row, factor, stride, out);
}
void AddScaledDouble(const double* row, double factor, Index stride, double* out) {
  AddScaled(row, factor, stride, out);
}
void ScaleSingle(const float* row, double factor, Index stride, double* out) {
  Scale(row, factor, stride, out);
}
void ScaleDouble(const double* row, double factor, Index stride, double* out) {
  Scale(row, factor, stride, out);
}

}  // namespace HWY_NAMESPACE
}  // namespace mercer
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace mercer {

HWY_EXPORT(DotSingle);
HWY_EXPORT(DotDouble);
HWY_EXPORT(AddFourSingle);
HWY_EXPORT(AddFourDouble);
HWY_EXPORT(AddScaledSingle);
HWY_EXPORT(AddScaledDouble);
HWY_EXPORT(ScaleSingle);
HWY_EXPORT(ScaleDouble);

double DotRow(const float* row, const double* x, Index stride) {
  return HWY_DYNAMIC_DISPATCH(DotSingle)(row, x, stride);
}

double DotRow(const double* row, const double* x, Index stride) {
  return HWY_DYNAMIC_DISPATCH(DotDouble)(row, x, stride);
}

void AddFourRows(const float* const* rows, const double* a, Index stride, double* out) {
  HWY_DYNAMIC_DISPATCH(AddFourSingle)(rows, a, stride, out);
}

void AddFourRows(const double* const* rows, const double* a, Index stride, double* out) {
  HWY_DYNAMIC_DISPATCH(AddFourDouble)(rows, a, stride, out);
}

void AddScaledRow(const float* row, double factor, Index stride, double* out) {
  HWY_DYNAMIC_DISPATCH(AddScaledSingle)(row, factor, stride, out);
}

void AddScaledRow(const double* row, double factor, Index stride, double* out) {
  HWY_DYNAMIC_DISPATCH(AddScaledDouble)(row, factor, stride, out);
}

void ScaleRow(const float* row, double factor, Index stride, double* out) {
  HWY_DYNAMIC_DISPATCH(ScaleSingle)(row, factor, stride, out);
}

void ScaleRow(const double* row, double factor, Index stride, double* out) {
  HWY_DYNAMIC_DISPATCH(ScaleDouble)(row, factor, stride, out);
}

}  // namespace mercer
#endif  // HWY_ONCE
