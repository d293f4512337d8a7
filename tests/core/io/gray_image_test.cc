#include "core/io/images/gray_image.h"

#include <array>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "tests/support/image_bytes.h"
#include "tests/support/peak_growth.h"

namespace mercer {
namespace {

// The pixel at (row, column) of all test images of 8 bits.
uint16_t Value(Index row, Index column) {
  return static_cast<uint16_t>((7 * row + 13 * column) % 256);
}

std::string Scanlines(Index rows, Index columns) {
  std::string lines;
  for (Index row = 0; row < rows; ++row) {
    lines.push_back('\0');
    for (Index column = 0; column < columns; ++column) {
      lines.push_back(static_cast<char>(Value(row, column)));
    }
  }
  return lines;
}

// Adam7: seven smaller images, one after the other.
std::string InterlacedScanlines(Index rows, Index columns) {
  constexpr std::array<std::array<Index, 4>, 7> kPasses = {{{0, 0, 8, 8},
                                                            {0, 4, 8, 8},
                                                            {4, 0, 8, 4},
                                                            {0, 2, 4, 4},
                                                            {2, 0, 4, 2},
                                                            {0, 1, 2, 2},
                                                            {1, 0, 2, 1}}};
  std::string lines;
  for (const auto& [first_row, first_column, row_step, column_step] : kPasses) {
    for (Index row = first_row; row < rows && first_column < columns; row += row_step) {
      lines.push_back('\0');
      for (Index column = first_column; column < columns; column += column_step) {
        lines.push_back(static_cast<char>(Value(row, column)));
      }
    }
  }
  return lines;
}

void ExpectValues(const absl::StatusOr<GrayImage>& image, Index rows, Index columns) {
  ASSERT_TRUE(image.ok()) << image.status();
  ASSERT_EQ(image->rows, rows);
  ASSERT_EQ(image->columns, columns);
  ASSERT_EQ(image->pixels.size(), static_cast<size_t>(rows * columns));
  EXPECT_EQ(image->maximum, 255);
  for (Index row = 0; row < rows; ++row) {
    for (Index column = 0; column < columns; ++column) {
      ASSERT_EQ(image->pixel(row, column), Value(row, column)) << row << " " << column;
    }
  }
}

void ExpectBadImage(const absl::StatusOr<GrayImage>& image) {
  EXPECT_EQ(image.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(GetReason(image.status()), "BAD_IMAGE") << image.status();
}

std::string BinaryPgm(Index rows, Index columns) {
  std::string bytes =
      "P5\n# a texture\n" + std::to_string(columns) + " " + std::to_string(rows) + "\n255\n";
  for (Index row = 0; row < rows; ++row) {
    for (Index column = 0; column < columns; ++column) {
      bytes.push_back(static_cast<char>(Value(row, column)));
    }
  }
  return bytes;
}

TEST(GrayImageTest, ReadsBinaryPgm) {
  ExpectValues(ReadGrayImage(BinaryPgm(5, 9)), 5, 9);
  ExpectValues(ReadGrayImage(BinaryPgm(1, 1)), 1, 1);
}

TEST(GrayImageTest, ReadsPlainPgmWithComments) {
  const auto image = ReadGrayImage("P2 # kind\n3 # columns\n2\n10\n0 1 2\n#no more\n3 10 5\n");
  ASSERT_TRUE(image.ok()) << image.status();
  EXPECT_EQ(image->rows, 2);
  EXPECT_EQ(image->columns, 3);
  EXPECT_EQ(image->maximum, 10);
  EXPECT_EQ(image->pixels, (std::vector<uint16_t>{0, 1, 2, 3, 10, 5}));
}

TEST(GrayImageTest, ReadsPgmOfTwoBytes) {
  const auto image = ReadGrayImage(std::string("P5 2 1 1000\n\x01\x02\x03\xe8", 16));
  ASSERT_TRUE(image.ok()) << image.status();
  EXPECT_EQ(image->pixels, (std::vector<uint16_t>{258, 1000}));
  ExpectBadImage(ReadGrayImage(std::string("P5 2 1 1000\n\x01\x02\x03\xe9", 16)));
}

TEST(GrayImageTest, ReadsPngAsItIs) {
  for (const auto& [rows, columns] : {std::pair<Index, Index>{5, 9}, {9, 5}, {1, 1}, {33, 2}}) {
    PngParts parts;
    parts.rows = static_cast<uint32_t>(rows);
    parts.columns = static_cast<uint32_t>(columns);
    parts.scanlines = Scanlines(rows, columns);
    ExpectValues(ReadGrayImage(Png(parts)), rows, columns);
    parts.interlaced = true;
    parts.scanlines = InterlacedScanlines(rows, columns);
    ExpectValues(ReadGrayImage(Png(parts)), rows, columns);
  }
}

TEST(GrayImageTest, ReadsPngOfEveryDepth) {
  // Three pixels of 1, 2 and 4 bits, the first in the high bits; of 16 bits, the high byte first.
  const std::vector<std::tuple<int, std::string, std::vector<uint16_t>>> cases = {
      {1, std::string("\0\xa0", 2), {1, 0, 1}},
      {2, std::string("\0\xe4", 2), {3, 2, 1}},
      {4, std::string("\0\x1f\x70", 3), {1, 15, 7}},
      {16, std::string("\0\x01\x02\xff\xff\x00\x05", 7), {258, 65535, 5}}};
  for (const auto& [depth, line, expected] : cases) {
    PngParts parts;
    parts.rows = 1;
    parts.columns = 3;
    parts.depth = depth;
    parts.scanlines = line;
    const auto image = ReadGrayImage(Png(parts));
    ASSERT_TRUE(image.ok()) << depth << " " << image.status();
    EXPECT_EQ(image->pixels, expected) << depth;
    EXPECT_EQ(image->maximum, (1 << depth) - 1);
  }
}

TEST(GrayImageTest, AppliesNoGamma) {
  PngParts parts;
  parts.rows = 4;
  parts.columns = 4;
  parts.scanlines = Scanlines(4, 4);
  std::string bytes = Png(parts);
  bytes.insert(kPngMagic.size() + 25, PngChunk("gAMA", BigEndian(100000)));
  ExpectValues(ReadGrayImage(bytes), 4, 4);
}

TEST(GrayImageTest, CutOffFilesAreRefused) {
  PngParts parts;
  parts.rows = 6;
  parts.columns = 7;
  parts.scanlines = Scanlines(6, 7);
  for (const std::string& whole :
       {Png(parts), BinaryPgm(6, 7), std::string("P2\n2 2\n100\n10 20 30 4")}) {
    // The plain file without its last digit is cut off within the last pixel, which is still a number only before it.
    for (size_t size = 0; size < whole.size(); ++size) {
      ExpectBadImage(ReadGrayImage(std::string_view(whole).substr(0, size)));
    }
    EXPECT_TRUE(ReadGrayImage(whole).ok());
  }
}

TEST(GrayImageTest, DamagedFilesAreRefused) {
  PngParts parts;
  parts.rows = 6;
  parts.columns = 7;
  parts.scanlines = Scanlines(6, 7);
  const std::string whole = Png(parts);
  for (size_t i = kPngMagic.size(); i + 12 < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    ExpectBadImage(ReadGrayImage(damaged));
  }
  ExpectBadImage(ReadGrayImage(whole + "x"));
  ExpectBadImage(ReadGrayImage(BinaryPgm(6, 7) + "x"));
  parts.scanlines.resize(20);
  ExpectBadImage(ReadGrayImage(Png(parts)));
}

TEST(GrayImageTest, SizesThatTheFileCannotHoldAreRefusedBeforeMemoryIsTaken) {
  PngParts parts;
  parts.rows = 10000;
  parts.columns = 10000;
  parts.scanlines = Scanlines(1, 1);
  ExpectBadImage(ReadGrayImage(Png(parts)));
  parts.rows = 0x7fffffff;
  parts.columns = 0x7fffffff;
  ExpectBadImage(ReadGrayImage(Png(parts)));
  parts.rows = 0;
  ExpectBadImage(ReadGrayImage(Png(parts)));
  for (const std::string text :
       {"P5 10000 10000 255\nx", "P2 10000 10000 255\n1 2 3", "P5 0 4 255\n", "P5 4 0 255\n",
        "P5 99999999999999999999 1 255\n", "P5 100000 100000 255\n", "P5 1 1 0\nx",
        "P5 1 1 65536\nxx", "P5 -1 1 255\nx", "P5", "P2", "P5 1 1 255"}) {
    ExpectBadImage(ReadGrayImage(text));
  }
}

TEST(GrayImageTest, HeadersTellTheSize) {
  PngParts parts;
  parts.rows = 5;
  parts.columns = 9;
  parts.scanlines = Scanlines(5, 9);
  for (const std::string& bytes :
       {Png(parts), BinaryPgm(5, 9), std::string("P2 9 5 1 ") + std::string(90, '1')}) {
    const auto size = ReadGrayImageSize(bytes);
    ASSERT_TRUE(size.ok()) << size.status();
    EXPECT_EQ(size->rows, 5);
    EXPECT_EQ(size->columns, 9);
  }
  parts.rows = 10000;
  parts.columns = 10000;
  for (const std::string& bytes :
       {Png(parts), Png(parts).substr(0, 30), std::string("P5 10000 10000 255\nx"),
        std::string("P2 10000 10000 255\n1 2"), std::string("GIF89a"), std::string()}) {
    EXPECT_EQ(GetReason(ReadGrayImageSize(bytes).status()), "BAD_IMAGE");
  }
}

// Each of a hundred texts has 16 KiB in the file, and inflates to 8 MB.
TEST(GrayImageTest, TextsBesideThePixelsTakeNoMemory) {
  if (!kGrowthIsMemoryHeld) {
    GTEST_SKIP();
  }
  PngParts parts;
  parts.rows = 4;
  parts.columns = 4;
  parts.scanlines = Scanlines(4, 4);
  std::string bytes = Png(parts);
  const std::string text =
      PngChunk("zTXt", std::string("k\0\0", 3) + Deflated(std::string(7'900'000, ' ')));
  for (int i = 0; i < 100; ++i) {
    bytes.insert(kPngMagic.size() + 25, text);
  }
  ExpectValues(ReadGrayImage(bytes), 4, 4);
  EXPECT_LE(PeakGrowth([&] { return ReadGrayImage(bytes).ok(); }), kCodeAndStacks);
}

TEST(GrayImageTest, TakesNoMoreMemoryThanItSays) {
  if (!kGrowthIsMemoryHeld) {
    GTEST_SKIP();
  }
  constexpr Index kSide = 4000;
  PngParts parts;
  parts.rows = kSide;
  parts.columns = kSide;
  parts.depth = 16;
  parts.scanlines = std::string((2 * kSide + 1) * kSide, '\0');
  const std::string deep = Png(parts);  // 32 KiB
  parts.depth = 1;
  parts.scanlines = std::string((kSide / 8 + 1) * kSide, '\0');
  const std::string flat = Png(parts);
  for (const std::string& bytes : {deep, flat, BinaryPgm(kSide, kSide)}) {
    const int64_t growth = PeakGrowth([&] { return ReadGrayImage(bytes).ok(); });
    // Half of its pixels' bytes: the kernel counts resident pages in batches.
    ASSERT_GE(growth, kSide * kSide) << "it was read";
    EXPECT_LE(growth, ImageReadingBytes({kSide, kSide}) + kCodeAndStacks);
  }
}

TEST(GrayImageTest, PlainPixelsMustBeNumbersUpToTheLargest) {
  for (const std::string text : {"P2 2 1 9\n1 10", "P2 2 1 9\n1 x", "P2 2 1 9\n1 -2",
                                 "P2 2 1 9\n1 2 3", "P2 2 1 9\n1 2 x"}) {
    ExpectBadImage(ReadGrayImage(text));
  }
  EXPECT_TRUE(ReadGrayImage("P2 2 1 9\n1 2 \n# the end").ok());
}

TEST(GrayImageTest, ColoursTransparencyAndOtherKindsAreRefused) {
  PngParts parts;
  parts.rows = 1;
  parts.columns = 1;
  parts.color = 2;
  parts.scanlines = std::string(4, '\0');
  const auto colour = ReadGrayImage(Png(parts));
  ExpectBadImage(colour);
  EXPECT_NE(colour.status().message().find("colour"), absl::string_view::npos);
  parts.color = 4;
  parts.scanlines = std::string(3, '\0');
  ExpectBadImage(ReadGrayImage(Png(parts)));
  for (const std::string text : {"", "P", "P6 1 1 255\nxxx", "\xff\xd8\xff\xe0", "GIF89a"}) {
    ExpectBadImage(ReadGrayImage(text));
  }
}

}  // namespace
}  // namespace mercer
