#include "core/base/encoding/crc32c.h"

#include <array>
#include <cstddef>

namespace mercer {
namespace {

constexpr uint32_t kPolynomial = 0x82F63B78;  // 0x1EDC6F41, bits reversed
constexpr size_t kStride = 8;
using Table = std::array<uint32_t, 256>;

// tables[k][b]: what the byte b does to the remainder when k bytes of zeros follow it.
constexpr std::array<Table, kStride> MakeTables() {
  std::array<Table, kStride> tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t remainder = byte;
    for (int bit = 0; bit < 8; ++bit) {
      remainder = (remainder >> 1) ^ ((remainder & 1) != 0 ? kPolynomial : 0);
    }
    tables[0][byte] = remainder;
  }
  for (size_t k = 1; k < kStride; ++k) {
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t shorter = tables[k - 1][byte];
      tables[k][byte] = (shorter >> 8) ^ tables[0][shorter & 0xff];
    }
  }
  return tables;
}

constexpr std::array<Table, kStride> kTables = MakeTables();

uint32_t ByteAt(std::string_view bytes, size_t position) {
  return static_cast<unsigned char>(bytes[position]);
}

// Eight bytes at once: their remainders are independent, so the processor looks them up side by
// side.
uint32_t TakeStride(std::string_view bytes, size_t position, uint32_t remainder) {
  uint32_t result = 0;
  for (size_t k = 0; k < kStride; ++k) {
    const uint32_t carried = k < 4 ? (remainder >> (8 * k)) & 0xff : 0;
    result ^= kTables[kStride - 1 - k][ByteAt(bytes, position + k) ^ carried];
  }
  return result;
}

}  // namespace

uint32_t Crc32c(std::string_view bytes, uint32_t before) {
  uint32_t remainder = ~before;
  size_t position = 0;
  for (; position + kStride <= bytes.size(); position += kStride) {
    remainder = TakeStride(bytes, position, remainder);
  }
  for (; position < bytes.size(); ++position) {
    remainder = (remainder >> 8) ^ kTables[0][(remainder ^ ByteAt(bytes, position)) & 0xff];
  }
  return ~remainder;
}

}  // namespace mercer
