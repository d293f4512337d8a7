#include "core/base/process/side_by_side.h"

#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace mercer {
namespace {

TEST(SideBySideTest, ThreadsAreSharedOutAndEachPieceIsDoneOnce) {
  for (const int threads : {1, 2, 3, 8}) {
    for (const Index count : {0, 1, 2, 5}) {
      RunContext context(CancellationToken(), threads, nullptr);
      std::vector<int> given(static_cast<size_t>(count));
      const absl::Status status = SideBySide(count, context, [&](Index i, RunContext& own) {
        given[static_cast<size_t>(i)] += own.parallel().num_threads();
        EXPECT_EQ(&own.cache(), &context.cache());
        return absl::OkStatus();
      });
      EXPECT_TRUE(status.ok()) << status;
      int all = 0;
      for (const int one : given) {
        EXPECT_GE(one, 1);
        all += one;
      }
      EXPECT_EQ(all, count == 0 ? 0 : std::max<int>(threads, static_cast<int>(count)));
    }
  }
}

TEST(SideBySideTest, TheFirstErrorByOrderThatIsNoCancellationIsReturned) {
  for (const int threads : {1, 3}) {
    RunContext context(CancellationToken(), threads, nullptr);
    std::atomic<int> ended = 0;
    const auto ends_with = [&](const std::vector<absl::Status>& results) {
      return SideBySide(static_cast<Index>(results.size()), context, [&](Index i, RunContext&) {
        ++ended;
        return results[static_cast<size_t>(i)];
      });
    };
    const absl::Status cancelled = absl::CancelledError("cancelled");
    const absl::Status first = absl::InvalidArgumentError("first");
    const absl::Status second = absl::DataLossError("second");
    EXPECT_EQ(ends_with({absl::OkStatus(), cancelled, first, second}), first);
    EXPECT_EQ(ended.load(), 4) << "an error ends no other piece";
    EXPECT_EQ(ends_with({second, first, cancelled}), second);
    EXPECT_EQ(ends_with({absl::OkStatus(), cancelled}), cancelled);
    EXPECT_EQ(ends_with({absl::OkStatus(), absl::OkStatus()}), absl::OkStatus());
  }
}

TEST(SideBySideTest, PiecesDoNotBeginAfterACancellationOrAnInterruption) {
  RunContext context;
  const Interruption at_once(-absl::InfiniteDuration(), nullptr);
  int begun = 0;
  const auto begin = [&](Index, RunContext&) {
    ++begun;
    return absl::OkStatus();
  };
  {
    const InterruptibleScope scope(context, at_once);
    EXPECT_TRUE(absl::IsCancelled(SideBySide(3, context, begin)));
  }
  EXPECT_EQ(begun, 0);
  EXPECT_TRUE(SideBySide(3, context, begin).ok());
  EXPECT_EQ(begun, 3);
  context.cancellation().Cancel();
  EXPECT_TRUE(absl::IsCancelled(SideBySide(3, context, begin)));
  EXPECT_EQ(begun, 3);
}

TEST(SideBySideTest, PiecesSeeAnInterruptionAndTellTheirStages) {
  RunContext context;
  std::vector<std::string> stages;
  context.set_stage_callback([&](std::string_view stage, std::optional<double> done) {
    stages.push_back(std::string(stage) + (done.has_value() ? " in part" : ""));
  });
  bool stop = false;
  const Interruption interruption(absl::InfiniteDuration(), [&] { return stop; });
  const InterruptibleScope scope(context, interruption);
  for (const Index count : {1, 2}) {
    stages.clear();
    stop = false;
    const absl::Status status = SideBySide(count, context, [&](Index, RunContext& own) {
      own.ReportStage("solve", 0.5);
      return own.CheckCancelled();
    });
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_EQ(stages, count == 1 ? std::vector<std::string>{"solve in part"}
                                 : std::vector<std::string>(2, "solve"));
  }
  const absl::Status status = SideBySide(2, context, [&](Index, RunContext& own) {
    stop = true;
    EXPECT_TRUE(own.cancelled());
    return own.CheckCancelled();
  });
  EXPECT_TRUE(absl::IsCancelled(status)) << status;
  EXPECT_TRUE(context.interrupted());
}

}  // namespace
}  // namespace mercer
