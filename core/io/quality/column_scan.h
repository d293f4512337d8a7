// What one pass over the cells says of a column, one cell at a time.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/numeric/types.h"
#include "core/io/quality/quality.h"

namespace mercer::quality {

inline bool SameValue(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// 64 well mixed bits (the finaliser of SplitMix64).
inline uint64_t Mix(uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9u;
  bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBu;
  return bits ^ (bits >> 31);
}

// What a cell's place in its row or column makes of its value in their hashes.
struct PlaceKey {
  uint32_t low = 0;
  uint32_t high = 0;

  uint64_t product() const { return uint64_t{low} * high; }
};
inline PlaceKey KeyOfPlace(Index place) {
  const uint64_t bits = Mix(static_cast<uint64_t>(place) + 1);
  return {static_cast<uint32_t>(bits), static_cast<uint32_t>(bits >> 32)};
}

inline constexpr uint64_t kMissingBits = 0x7FF8000000000000u;

// The halves of the number's bits, each shifted by its key (modulo 2^32), multiplied; less the same
// of a zero, so that stored and implied zeros are alike. The hash of a row or column is the sum
// (the construction is NH of Black, Halevi, Krawczyk, Krovetz, Rogaway: UMAC, 1999: two rows have
// the same with a probability of about 2^-32).
inline uint64_t CellHash(double value, const PlaceKey& key) {
  const uint64_t bits = std::isnan(value) ? kMissingBits : std::bit_cast<uint64_t>(value + 0.0);
  return uint64_t{static_cast<uint32_t>(bits) + key.low} *
             (static_cast<uint32_t>(bits >> 32) + key.high) -
         key.product();
}

struct ColumnScan {
  int64_t missing = 0;
  std::vector<int64_t> missing_rows;
  int64_t nonzeros = 0;  // known ones
  // Boyer and Moore's majority vote among the known values that are not zero: if one value has more
  // than half of them, it is the candidate, with at least as many votes as its surplus.
  double candidate = 0;
  int64_t votes = 0;
  double min = kInfinity;  // of the values visited
  double max = -kInfinity;
  double sum = 0;     // of the known values, in the order of the rows
  uint64_t hash = 0;  // equal columns have equal ones

  void Visit(Index row, double value) {
    if (std::isnan(value)) {
      VisitMissing(row);
      return;
    }
    value += 0.0;  // -0 is 0
    min = std::min(min, value);
    max = std::max(max, value);
    sum += value;
    if (value != 0) {
      ++nonzeros;
      if (votes == 0) {
        candidate = value;
      }
      votes += value == candidate ? 1 : -1;
    }
  }
  void VisitMissing(Index row) {
    ++missing;
    if (missing_rows.size() < DataQuality::kMaxListedRows) {
      missing_rows.push_back(row + 1);
    }
  }
  // The values that a sparse block does not store.
  void AddZeros() {
    min = std::min(min, 0.0);
    max = std::max(max, 0.0);
  }
  bool constant() const { return min >= max; }
};

}  // namespace mercer::quality
