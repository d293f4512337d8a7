#include "core/data/row_table.h"

#include <cstdio>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/data/data_test_util.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MERCER_TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define MERCER_TEST_SANITIZED 1
#endif
#endif

namespace mercer {
namespace {

TEST(RowTableTest, KeepsEveryValueWhileItGrows) {
  RowTable table({3, 1, 7});
  const Index rows = 300'000;
  for (Index row = 0; row < rows; ++row) {
    ASSERT_TRUE(table.BeginRow().ok());
    for (Index column = 0; column < 7; ++column) {
      table.row(2)[column] = static_cast<double>(10 * row + column);
    }
    for (Index column = 0; column < 3; ++column) {
      table.row(0)[column] = static_cast<double>(-10 * row - column);
    }
    table.row(1)[0] = static_cast<double>(row);
  }
  const SharedMatrix narrow = table.TakeMatrix(0);
  const Vector column = table.TakeColumn(1);
  const SharedMatrix wide = table.TakeMatrix(2);
  ASSERT_EQ(wide.rows(), rows);
  ASSERT_EQ(column.size(), rows);
  for (Index row = 0; row < rows; row += 997) {
    EXPECT_EQ(narrow.view()(row, 2), static_cast<double>(-10 * row - 2));
    EXPECT_EQ(column(row), static_cast<double>(row));
    EXPECT_EQ(wide.view()(row, 6), static_cast<double>(10 * row + 6));
  }
  EXPECT_EQ(column(rows - 1), static_cast<double>(rows - 1));
}

TEST(RowTableTest, PageBufferRefusesAbsurdSizes) {
  PageBuffer buffer;
  EXPECT_EQ(buffer.Reserve(~size_t{0}).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(buffer.Reserve(size_t{1} << 60).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(buffer.Reserve(1).ok());
  buffer.data()[0] = 'x';
  EXPECT_TRUE(buffer.Reserve(10'000'000).ok());
  EXPECT_EQ(buffer.data()[0], 'x');
  EXPECT_EQ(buffer.data()[9'999'999], '\0');
  buffer.ShrinkToFit(1);
  EXPECT_EQ(buffer.data()[0], 'x');
}

#ifndef MERCER_TEST_SANITIZED
// Writes CSV as it is asked for it, so that the text itself takes no memory.
class GeneratedCsv : public ByteSource {
 public:
  explicit GeneratedCsv(Index rows) : rows_(rows) {}
  absl::StatusOr<size_t> Read(char* buffer, size_t capacity) override {
    if (position_ == line_.size()) {
      if (row_ > rows_) {
        return 0;
      }
      line_ = row_ == 0 ? "a,b,c,d,e,y\n" : "";
      for (int i = 0; i < 1000 && row_ > 0 && row_ + i <= rows_; ++i) {
        line_ += "1.5,22.25,-3e2,0,17," + std::string(i % 3 == 0 ? "yes\n" : "no\n");
      }
      row_ += row_ == 0 ? 1 : 1000;
      position_ = 0;
    }
    const size_t count = std::min(capacity, line_.size() - position_);
    std::memcpy(buffer, line_.data() + position_, count);
    position_ += count;
    return count;
  }

 private:
  Index rows_;
  Index row_ = 0;
  std::string line_;
  size_t position_ = 0;
};

// A line such as "VmHWM:   1234 kB" of the process's status, in bytes.
double StatusBytes(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind(name, 0) == 0) {
      return 1024 * std::stod(line.substr(name.size() + 1));
    }
  }
  return 0;
}

TEST(RowTableTest, MillionRowsNeedLittleMoreThanTheirMatrix) {
  const Index rows = 1'000'000;
  if (!(std::ofstream("/proc/self/clear_refs") << "5" << std::flush)) {
    GTEST_SKIP() << "the peak of memory cannot be reset here";
  }
  const double before = StatusBytes("VmRSS");
  GeneratedCsv source(rows);
  CsvOptions options;
  options.roles["y"] = ColumnRole::kTarget;
  const auto dataset = ReadCsv(source, options);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  ASSERT_EQ(dataset->rows, rows);
  const double peak = StatusBytes("VmHWM") - before;
  EXPECT_LE(peak, 1.3 * static_cast<double>(dataset->MemoryBytes()))
      << peak / 1e6 << " MB for " << static_cast<double>(dataset->MemoryBytes()) / 1e6
      << " MB of values";
}
#endif

}  // namespace
}  // namespace mercer
