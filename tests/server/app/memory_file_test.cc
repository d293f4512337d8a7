#include "server/app/access/memory_file.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace mercer::server {
namespace {

std::string Read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(MemoryFileTest, KeepsItsPathAndChangesTextAndTime) {
  MemoryFile file;
  EXPECT_EQ(file.path(), "");
  ASSERT_TRUE(file.Replace("one").ok());
  const std::string path = file.path();
  EXPECT_EQ(Read(path), "one");
  const auto time = std::filesystem::last_write_time(path);
  ASSERT_TRUE(file.Replace("two").ok());
  EXPECT_EQ(file.path(), path);
  EXPECT_EQ(Read(path), "two");
  EXPECT_NE(std::filesystem::last_write_time(path), time);
}

TEST(MemoryFileTest, ReadersSeeOneTextOrTheOther) {
  const std::string old_text(100'000, 'a');
  const std::string new_text(90'000, 'b');
  MemoryFile file;
  ASSERT_TRUE(file.Replace(old_text).ok());
  const std::string path = file.path();
  std::atomic<bool> done{false};
  std::thread writer([&] {
    for (int i = 0; i < 200; ++i) {
      EXPECT_TRUE(file.Replace(i % 2 == 0 ? new_text : old_text).ok());
    }
    done = true;
  });
  while (!done) {
    const std::string text = Read(path);
    EXPECT_TRUE(text == old_text || text == new_text) << text.size();
  }
  writer.join();
}

}  // namespace
}  // namespace mercer::server
