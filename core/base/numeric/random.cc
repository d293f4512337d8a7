#include "core/base/numeric/random.h"

#include <cmath>
#include <numbers>

namespace mercer {
namespace {

// FNV-1a of the purpose, then the finaliser of SplitMix64: distinct purposes and indices give
// distant streams.
uint64_t HashPurpose(std::string_view purpose, uint64_t index) {
  uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : purpose) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  }
  hash += 0x9e3779b97f4a7c15ULL * (index + 1);
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9ULL;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebULL;
  return hash ^ (hash >> 31);
}

constexpr uint32_t Low(uint64_t value) { return static_cast<uint32_t>(value); }
constexpr uint32_t High(uint64_t value) { return static_cast<uint32_t>(value >> 32); }

}  // namespace

std::array<uint32_t, 4> Philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  constexpr uint64_t kMultiplier0 = 0xD2511F53;
  constexpr uint64_t kMultiplier1 = 0xCD9E8D57;
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = kMultiplier0 * counter[0];
    const uint64_t product1 = kMultiplier1 * counter[2];
    counter = {High(product1) ^ counter[1] ^ key[0], Low(product1),
               High(product0) ^ counter[3] ^ key[1], Low(product0)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

RandomStream::RandomStream(uint64_t seed, std::string_view purpose, uint64_t index)
    : key_{Low(seed), High(seed)}, stream_(HashPurpose(purpose, index)) {}

uint64_t RandomStream::NextUint64() {
  const uint64_t half = position_ % 2;
  if (half == 0) {
    const uint64_t counter = position_ / 2;
    block_ = Philox4x32({Low(counter), High(counter), Low(stream_), High(stream_)}, key_);
  }
  ++position_;
  return uint64_t{block_[2 * half]} | (uint64_t{block_[2 * half + 1]} << 32);
}

double RandomStream::Uniform() { return static_cast<double>(NextUint64() >> 11) * 0x1.0p-53; }

uint64_t RandomStream::Below(uint64_t bound) {
  // Rejects the values below 2^64 mod bound, so that every residue has the same number of
  // preimages.
  const uint64_t threshold = (~bound + 1) % bound;
  uint64_t value = NextUint64();
  while (value < threshold) {
    value = NextUint64();
  }
  return value % bound;
}

double RandomStream::Normal() {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - Uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * Uniform());
}

}  // namespace mercer
