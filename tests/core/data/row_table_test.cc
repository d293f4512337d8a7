#include "core/data/table/row_table.h"

#include <cstdio>
#include <fstream>
#include <functional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/data/data_test_util.h"

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

#ifndef MERCER_SANITIZED
// Writes a header and two lines in turn as it is asked for them, so that the text itself takes no
// memory.
class GeneratedText : public ByteSource {
 public:
  GeneratedText(std::string header, std::string even, std::string odd, Index rows)
      : rows_(rows), even_(std::move(even)), odd_(std::move(odd)), text_(std::move(header)) {}
  absl::StatusOr<size_t> Read(char* buffer, size_t capacity) override {
    if (position_ == text_.size()) {
      text_.clear();
      position_ = 0;
      for (int i = 0; i < 1000 && row_ < rows_; ++i, ++row_) {
        text_ += row_ % 2 == 0 ? even_ : odd_;
      }
    }
    const size_t count = std::min(capacity, text_.size() - position_);
    std::memcpy(buffer, text_.data() + position_, count);
    position_ += count;
    return count;
  }

 private:
  Index rows_;
  std::string even_;
  std::string odd_;
  std::string text_;
  Index row_ = 0;
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

// The peak of memory while `read` runs is at most 1.3 times the values that it returns.
void ExpectLittleMoreThanTheValues(const std::function<absl::StatusOr<Dataset>()>& read) {
  if (!(std::ofstream("/proc/self/clear_refs") << "5" << std::flush)) {
    GTEST_SKIP() << "the peak of memory cannot be reset here";
  }
  const double before = StatusBytes("VmRSS");
  const absl::StatusOr<Dataset> dataset = read();
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  const double peak = StatusBytes("VmHWM") - before;
  const auto values = static_cast<double>(dataset->MemoryBytes());
  EXPECT_LE(peak, 1.3 * values) << peak / 1e6 << " MB for " << values / 1e6 << " MB of values";
}

TEST(RowTableTest, MillionRowsNeedLittleMoreThanTheirMatrix) {
  ExpectLittleMoreThanTheValues([] {
    GeneratedText source("a,b,c,d,e,y\n", "1.5,22.25,-3e2,0,17,yes\n", "1.5,22.25,-3e2,0,17,no\n",
                         1'000'000);
    CsvOptions options;
    options.roles["y"] = ColumnRole::kTarget;
    return ReadCsv(source, options);
  });
}

TEST(RowTableTest, SvmlightNeedsLittleMoreThanItsMatrixHoweverFull) {
  const std::string full = " 1:1.5 2:2 3:-3 4:4 5:5 6:6 7:7 8:8 9:9 10:10";
  for (const std::string& even : {full, std::string(" 3:1.5 10:2"), std::string(" 200:1")}) {
    ExpectLittleMoreThanTheValues([&] {
      GeneratedText source("", "1" + even + "\n", "0" + full + "\n", 300'000);
      return ReadSvmlight(source, {});
    });
  }
}
#endif

}  // namespace
}  // namespace mercer
