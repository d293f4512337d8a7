// Counter-based random numbers: the value at (seed, purpose, index) is a pure function of the
// three, so draws do not depend on threads, on order, or on an interruption.
//
//   RandomStream rows(seed, "holdout-split");
//   rows.Shuffle(permutation);
//
// Source: Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3. SC 2011
// (Philox4x32-10).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/numeric/types.h"

namespace mercer {

// Ten rounds of Philox4x32 on one 128-bit counter under a 64-bit key.
std::array<uint32_t, 4> Philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

// A stream of numbers. Copying copies the position. Not thread-safe; give each task its own stream
// (other `purpose` or `index`).
class RandomStream {
 public:
  RandomStream(uint64_t seed, std::string_view purpose, uint64_t index = 0);

  uint64_t NextUint64();
  // Uniform in [0, 1) with 53 random bits.
  double Uniform();
  // Uniform in {0, ..., bound - 1}, without bias. Requires bound >= 1.
  uint64_t Below(uint64_t bound);
  // Standard normal (Box-Muller; two uniforms per value, so that position and value stay in step).
  double Normal();

  // Puts the values into random order, each order with the same probability (Fisher and Yates).
  template <typename T>
  void Shuffle(std::vector<T>& values) {
    for (size_t i = values.size(); i > 1; --i) {
      std::swap(values[i - 1], values[Below(i)]);
    }
  }

 private:
  std::array<uint32_t, 2> key_;
  uint64_t stream_;
  uint64_t position_ = 0;
  std::array<uint32_t, 4> block_ = {};
};

}  // namespace mercer
