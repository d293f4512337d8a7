#include "server/jobs/data/checked_sink.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace mercer::server {
namespace {

constexpr size_t kPiece = size_t{16} << 20;

TEST(CheckedSinkTest, AsksBeforeTheFirstBytesAndWithinALargeColumn) {
  std::vector<size_t> events;  // sizes of pieces; 0: a question
  CheckedSink sink(
      [&](std::string_view piece) {
        events.push_back(piece.size());
        return absl::OkStatus();
      },
      [&] {
        events.push_back(0);
        return absl::OkStatus();
      });
  const std::string column(2 * kPiece, 'x');
  ASSERT_TRUE(sink.Write("").ok());
  ASSERT_TRUE(sink.Write("abc").ok());
  ASSERT_TRUE(sink.Write(column).ok());
  EXPECT_EQ(events, (std::vector<size_t>{0, 3, kPiece - 3, 0, kPiece, 0, 3}));
}

TEST(CheckedSinkTest, StopsAtTheFirstError) {
  int appended = 0;
  bool goes_on = true;
  CheckedSink sink(
      [&](std::string_view /*piece*/) {
        ++appended;
        return absl::OkStatus();
      },
      [&] { return goes_on ? absl::OkStatus() : absl::CancelledError(""); });
  ASSERT_TRUE(sink.Write(std::string(kPiece, 'x')).ok());
  goes_on = false;
  EXPECT_TRUE(absl::IsCancelled(sink.Write("abc")));
  EXPECT_EQ(appended, 1);

  CheckedSink full([](std::string_view /*piece*/) { return absl::ResourceExhaustedError(""); },
                   [] { return absl::OkStatus(); });
  EXPECT_TRUE(absl::IsResourceExhausted(full.Write("abc")));
}

}  // namespace
}  // namespace mercer::server
