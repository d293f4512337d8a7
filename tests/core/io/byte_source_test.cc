#include <cstdio>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/data/data_test_util.h"

namespace mercer {
namespace {

constexpr size_t kNoLimit = size_t{1} << 40;

absl::StatusOr<std::string> ReadAll(ByteSource& source, size_t step = 1000) {
  std::string all;
  std::string buffer(step, '\0');
  while (true) {
    const auto count = source.Read(buffer.data(), buffer.size());
    if (!count.ok()) {
      return count.status();
    }
    if (*count == 0) {
      return all;
    }
    all.append(buffer, 0, *count);
  }
}

absl::StatusOr<std::string> InflateAll(const std::string& bytes, size_t max_bytes = kNoLimit,
                                       size_t step = 1000) {
  const auto source = MakeInflatingSource(std::make_unique<SlowSource>(bytes, step), max_bytes);
  return ReadAll(*source, step);
}

std::string LongText() {
  std::string text;
  for (int i = 0; i < 30'000; ++i) {
    text += std::to_string(i * 7919 % 10'007) + ",";
  }
  return text;
}

TEST(ByteSourceTest, MemoryGivesItsBytes) {
  EXPECT_EQ(*ReadAll(*MakeMemorySource("hello world"), 3), "hello world");
  EXPECT_EQ(*ReadAll(*MakeMemorySource("")), "");
}

TEST(ByteSourceTest, FileGivesItsBytes) {
  const std::string path = testing::TempDir() + "mercer_byte_source_test.txt";
  std::ofstream(path, std::ios::binary) << LongText();
  const auto source = OpenFileSource(path);
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_EQ(*ReadAll(**source), LongText());
  std::filesystem::remove(path);
}

TEST(ByteSourceTest, MissingFileAndFolderAreRefused) {
  EXPECT_EQ(OpenFileSource(testing::TempDir() + "mercer_no_such_file").status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(OpenFileSource(testing::TempDir()).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(ByteSourceTest, InflatesOneMemberAndSeveral) {
  const std::string text = LongText();
  for (const size_t step : {size_t{1}, size_t{100}, size_t{1} << 20}) {
    EXPECT_EQ(*InflateAll(Gzip(text), kNoLimit, step), text) << step;
    EXPECT_EQ(*InflateAll(Gzip("one,") + Gzip("") + Gzip("two"), kNoLimit, step), "one,two")
        << step;
  }
}

TEST(ByteSourceTest, PassesOtherBytesThrough) {
  const std::string text = LongText();
  EXPECT_EQ(*InflateAll(text), text);
  EXPECT_EQ(*InflateAll(text, 10), text) << "the limit is one of inflated bytes";
  EXPECT_EQ(*InflateAll(""), "");
  EXPECT_EQ(*InflateAll("x"), "x");
}

TEST(ByteSourceTest, EveryCutIsFound) {
  const std::string whole = Gzip("a,b\n1,2\n3,4\n");
  for (size_t size = 1; size < whole.size(); ++size) {
    EXPECT_EQ(Describe(InflateAll(whole.substr(0, size)).status()), "BAD_GZIP")
        << size << " of " << whole.size();
    const std::string second = Gzip("a,b\n") + whole.substr(0, size);
    EXPECT_EQ(Describe(InflateAll(second).status()), "BAD_GZIP") << size << " of the second member";
  }
}

TEST(ByteSourceTest, EveryFlippedByteIsFoundOrHarmless) {
  const std::string text = "a,b\n1,2\n3,4\n";
  const std::string whole = Gzip(text);
  for (size_t i = 2; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    const auto read = InflateAll(damaged);
    if (read.ok()) {
      EXPECT_EQ(*read, text) << "byte " << i;  // such as the time in the header
    } else {
      EXPECT_EQ(Describe(read.status()), "BAD_GZIP") << "byte " << i;
    }
  }
}

TEST(ByteSourceTest, RubbishBehindAMemberIsRefused) {
  EXPECT_EQ(Describe(InflateAll(Gzip("abc") + "rubbish").status()), "BAD_GZIP");
}

TEST(ByteSourceTest, LimitsInflatedBytes) {
  const std::string zeros(1'000'000, '0');
  EXPECT_EQ(InflateAll(Gzip(zeros), 999'999).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(InflateAll(Gzip(zeros), 1'000'000)->size(), zeros.size());
  EXPECT_EQ(InflateAll(Gzip(zeros) + Gzip(zeros), 1'500'000).status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST(ByteSourceTest, ReadersSeeCutStreams) {
  std::string text = "a,b\n";
  for (int row = 0; row < 20'000; ++row) {
    text += std::to_string(row) + ",1\n";
  }
  std::string bytes = Gzip(text);
  const auto whole = MakeInflatingSource(MakeMemorySource(bytes), kNoLimit);
  EXPECT_EQ(ReadCsv(*whole, {})->rows, 20'000);
  bytes.resize(bytes.size() / 2);
  const auto cut = MakeInflatingSource(MakeMemorySource(bytes), kNoLimit);
  EXPECT_EQ(Describe(ReadCsv(*cut, {}).status()), "BAD_GZIP");
}

}  // namespace
}  // namespace mercer
