#include "core/base/encoding/crc32c.h"

#include <string>

#include <gtest/gtest.h>

namespace mercer {
namespace {

// The definition: one bit after the other.
uint32_t BitByBit(std::string_view bytes) {
  uint32_t remainder = 0xFFFFFFFF;
  for (const char byte : bytes) {
    remainder ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) {
      remainder = (remainder & 1) != 0 ? (remainder >> 1) ^ 0x82F63B78 : remainder >> 1;
    }
  }
  return ~remainder;
}

// The check value of the catalogue of CRCs, and the vectors of RFC 3720, B.4.
TEST(Crc32cTest, HasThePublishedValues) {
  EXPECT_EQ(Crc32c("123456789"), 0xE3069283u);
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8A9136AAu);
  EXPECT_EQ(Crc32c(std::string(32, '\xFF')), 0x62A8AB43u);
  std::string ascending;
  for (int i = 0; i < 32; ++i) {
    ascending.push_back(static_cast<char>(i));
  }
  EXPECT_EQ(Crc32c(ascending), 0x46DD794Eu);
  EXPECT_EQ(Crc32c(""), 0u);
}

TEST(Crc32cTest, EqualsTheDefinitionAtEveryLengthAndCut) {
  std::string bytes;
  for (uint32_t i = 0, state = 12345; i < 100; ++i) {
    state = state * 1664525 + 1013904223;
    bytes.push_back(static_cast<char>(state >> 24));
    const std::string_view all = bytes;
    EXPECT_EQ(Crc32c(all), BitByBit(all)) << all.size();
    for (size_t cut = 0; cut <= all.size(); cut += 7) {
      EXPECT_EQ(Crc32c(all.substr(cut), Crc32c(all.substr(0, cut))), BitByBit(all)) << cut;
    }
  }
}

}  // namespace
}  // namespace mercer
