#include "server/backup/tar.h"

#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "server/digest/sha256.h"

namespace mercer::server {
namespace {

using ::testing::HasSubstr;

constexpr absl::Time kTime = absl::FromUnixSeconds(1'700'000'000);

std::string FileBytes(const std::string& name, const std::string& content) {
  const auto size = static_cast<int64_t>(content.size());
  return absl::StrCat(TarHeader(name, size, kTime), content, TarPadding(size));
}

// What is left of the present file.
absl::StatusOr<std::string> ReadAll(TarReader& reader) {
  std::string content;
  char buffer[100];
  while (true) {
    const absl::StatusOr<size_t> size = reader.Read(buffer, sizeof(buffer));
    if (!size.ok() || *size == 0) {
      return size.ok() ? absl::StatusOr<std::string>(content) : size.status();
    }
    content.append(buffer, *size);
  }
}

// Reads to the end; names and contents, or the error.
absl::StatusOr<std::vector<std::string>> ReadArchive(const std::string& bytes) {
  std::istringstream input(bytes);
  TarReader reader(input, "DIGEST");
  std::vector<std::string> found;
  while (true) {
    const absl::StatusOr<std::optional<TarFile>> file = reader.Next();
    if (!file.ok()) {
      return file.status();
    }
    if (!file->has_value()) {
      return found;
    }
    const absl::StatusOr<std::string> content = ReadAll(reader);
    if (!content.ok()) {
      return content.status();
    }
    found.push_back(absl::StrCat((*file)->name, "=", *content));
  }
}

TEST(TarTest, HeaderIsThatOfTheStandard) {
  // The numbers, the checksum among them, are those of Python's tarfile for the same file in USTAR_FORMAT.
  const std::string header = TarHeader("a", 5, kTime);
  ASSERT_EQ(header.size(), 512u);
  EXPECT_EQ(header.substr(0, 2), std::string("a\0", 2));
  EXPECT_EQ(header.substr(100, 8), std::string("0000640\0", 8));
  EXPECT_EQ(header.substr(124, 12), std::string("00000000005\0", 12));
  EXPECT_EQ(header.substr(136, 12), std::string("14524770400\0", 12));
  EXPECT_EQ(header[156], '0');
  EXPECT_EQ(header.substr(257, 8), std::string("ustar\00000", 8));
  EXPECT_EQ(header.substr(148, 8), std::string("006141\0 ", 8));
}

TEST(TarTest, ReadsWhatItWrites) {
  const std::string large(2000, 'x');
  const std::string block(512, 'y');
  const auto found = ReadArchive(absl::StrCat(FileBytes("empty", ""), FileBytes("one", "1"),
                                              FileBytes("blobs/aa/block", block),
                                              FileBytes("large", large), TarEnd()));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(*found, ::testing::ElementsAre("empty=", "one=1", "blobs/aa/block=" + block,
                                             "large=" + large));
}

TEST(TarTest, SizesOfEightGigabytesAndMoreAreWrittenInFull) {
  for (const int64_t size : {(int64_t{1} << 33) - 1, int64_t{1} << 33, int64_t{1} << 40}) {
    std::istringstream input(TarHeader("large", size, kTime));
    TarReader reader(input, "DIGEST");
    const auto file = reader.Next();
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_EQ((*file)->name, "large");
    EXPECT_EQ((*file)->size, size);
  }
  EXPECT_EQ(TarHeader("large", (int64_t{1} << 33) - 1, kTime).size(), 512u);
  // "LENGTH size=VALUE\n", as pax(1) has it: the length counts itself.
  EXPECT_THAT(TarHeader("large", int64_t{1} << 33, kTime), HasSubstr("19 size=8589934592\n"));
}

TEST(TarTest, UnreadContentIsSkipped) {
  std::istringstream input(
      absl::StrCat(FileBytes("a", std::string(700, 'a')), FileBytes("b", "b"), TarEnd()));
  TarReader reader(input, "DIGEST");
  ASSERT_TRUE(reader.Next().ok());
  const auto second = reader.Next();
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ((*second)->name, "b");
  EXPECT_EQ(*ReadAll(reader), "b");
}

TEST(TarTest, DigestIsOfAllBytesBeforeItsFile) {
  const std::string before = FileBytes("a", std::string(700, 'a'));
  std::istringstream input(absl::StrCat(before, FileBytes("DIGEST", "text"), TarEnd()));
  TarReader reader(input, "DIGEST");
  ASSERT_TRUE(reader.Next().ok());
  EXPECT_EQ(reader.digest(), "");
  ASSERT_TRUE(reader.Next().ok());
  EXPECT_EQ(reader.digest(), Sha256Hex(before));
  const auto end = reader.Next();
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_FALSE(end->has_value());
  EXPECT_EQ(reader.digest(), Sha256Hex(before));
}

TEST(TarTest, ArchiveCutAnywhereIsDamaged) {
  const std::string whole = absl::StrCat(
      FileBytes("a", std::string(700, 'a')),
      TarHeader("large", int64_t{1} << 33, kTime).substr(0, 1024), FileBytes("b", "b"), TarEnd());
  ASSERT_TRUE(ReadArchive(absl::StrCat(FileBytes("b", "b"), TarEnd())).ok());
  for (size_t size = 0; size < whole.size(); size += 97) {
    const absl::Status status = ReadArchive(whole.substr(0, size)).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << size;
    EXPECT_EQ(GetReason(status), "BACKUP_DAMAGED") << size;
  }
}

TEST(TarTest, OtherThingsThanFilesAreRefused) {
  std::string link = TarHeader("link", 0, kTime);
  link[156] = '2';
  // Its checksum again: '2' is two more than '0'.
  const int sum = std::stoi(link.substr(148, 6), nullptr, 8) + 2;
  char text[8];
  snprintf(text, sizeof(text), "%06o", static_cast<unsigned>(sum));
  link.replace(148, 6, text);
  EXPECT_THAT(std::string(ReadArchive(link + TarEnd()).status().message()),
              HasSubstr("no regular"));
  std::string changed = FileBytes("a", "a") + TarEnd();
  changed[0] = 'b';
  EXPECT_THAT(std::string(ReadArchive(changed).status().message()), HasSubstr("checksum"));
  EXPECT_FALSE(ReadArchive(FileBytes("a", "a") + TarEnd() + "more").ok());
}

}  // namespace
}  // namespace mercer::server
