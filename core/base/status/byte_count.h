// A number of bytes, or of things that take bytes, which stays at the largest value instead of
// wrapping around: an estimate is compared with a budget, so that an absurd request must look
// absurd.
#pragma once

#include <cstddef>
#include <limits>
#include <type_traits>

namespace mercer {

class ByteCount {
 public:
  // A negative number is one that has wrapped around already.
  template <typename Integer, typename = std::enable_if_t<std::is_integral_v<Integer>>>
  explicit constexpr ByteCount(Integer value) : value_(static_cast<size_t>(value)) {
    if constexpr (std::is_signed_v<Integer>) {
      value_ = value < 0 ? kMost : value_;
    }
  }

  constexpr size_t value() const { return value_; }

  friend constexpr ByteCount operator+(ByteCount a, ByteCount b) {
    size_t sum = 0;
    return ByteCount(__builtin_add_overflow(a.value_, b.value_, &sum) ? kMost : sum);
  }
  friend constexpr ByteCount operator*(ByteCount a, ByteCount b) {
    size_t product = 0;
    return ByteCount(__builtin_mul_overflow(a.value_, b.value_, &product) ? kMost : product);
  }
  friend constexpr bool operator<(ByteCount a, ByteCount b) { return a.value_ < b.value_; }

 private:
  static constexpr size_t kMost = std::numeric_limits<size_t>::max();

  size_t value_;
};

}  // namespace mercer
