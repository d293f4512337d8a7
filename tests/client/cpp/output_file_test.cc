#include "client/cpp/output_file.h"

#include <filesystem>
#include <unistd.h>

#include <gtest/gtest.h>

namespace mercer::client {
namespace {

namespace fs = std::filesystem;

class OutputFileTest : public ::testing::Test {
 protected:
  OutputFileTest()
      : folder_(fs::path(::testing::TempDir()) / ("output_file_test." + std::to_string(getpid()))) {
    fs::remove_all(folder_);
    fs::create_directory(folder_);
  }
  ~OutputFileTest() override { fs::remove_all(folder_); }

  std::string Path(const std::string& name) const { return folder_ / name; }
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(Path(name)) << text;
  }
  std::string Read(const std::string& name) const {
    std::ifstream file(Path(name));
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  size_t CountFiles() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), {}));
  }

  fs::path folder_;
};

TEST_F(OutputFileTest, AppearsWhenItIsComplete) {
  auto file = OutputFile::Create(Path("a"));
  ASSERT_TRUE(file.ok()) << file.status();
  (*file)->stream() << "all";
  EXPECT_FALSE(fs::exists(Path("a")));
  ASSERT_TRUE((*file)->Commit().ok());
  EXPECT_EQ(Read("a"), "all");
  EXPECT_EQ(CountFiles(), 1u);
}

TEST_F(OutputFileTest, WhatIsNotCompletedChangesNothing) {
  Write("a", "old");
  {
    auto file = OutputFile::Create(Path("a"));
    ASSERT_TRUE(file.ok()) << file.status();
    (*file)->stream() << "half" << std::flush;
    EXPECT_EQ(Read("a"), "old");
  }
  EXPECT_EQ(Read("a"), "old");
  EXPECT_EQ(CountFiles(), 1u);
}

TEST_F(OutputFileTest, KeepsPermissionsAndLinks) {
  Write("a", "old");
  fs::permissions(Path("a"), fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("a", Path("link"));
  auto file = OutputFile::Create(Path("link"));
  ASSERT_TRUE(file.ok()) << file.status();
  (*file)->stream() << "new";
  ASSERT_TRUE((*file)->Commit().ok());
  EXPECT_TRUE(fs::is_symlink(Path("link")));
  EXPECT_EQ(Read("a"), "new");
  EXPECT_EQ(fs::status(Path("a")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(OutputFileTest, ANewFileMayBeOfItsOwnerAlone) {
  auto file = OutputFile::Create(Path("a"), OutputFile::kOwnerOnly);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_FALSE((*file)->in_place());
  for (const auto& part : fs::directory_iterator(folder_)) {
    EXPECT_EQ(part.status().permissions() & ~fs::perms::owner_all, fs::perms::none);
  }
  ASSERT_TRUE((*file)->Commit().ok());
  EXPECT_EQ(fs::status(Path("a")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(OutputFileTest, WritesToDevicesAtOnce) {
  auto file = OutputFile::Create("/dev/null");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE((*file)->in_place());
  (*file)->stream() << "gone";
  EXPECT_TRUE((*file)->Commit().ok());
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(OutputFileTest, SaysWhatItCannotWrite) {
  EXPECT_EQ(OutputFile::Create(Path("none/a")).status().message(),
            "cannot write the file '" + Path("none/a") + "'");
  EXPECT_FALSE(OutputFile::Create(folder_).ok());
  auto full = OutputFile::Create("/dev/full");
  ASSERT_TRUE(full.ok()) << full.status();
  (*full)->stream() << "no room";
  EXPECT_EQ((*full)->Commit().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace mercer::client
