#include "server/prediction/prediction_statistics.h"

#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

namespace mercer::server {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1'000'000);

TEST(LatencyHistogramTest, QuantilesBoundTheTrueOnes) {
  LatencyHistogram histogram;
  EXPECT_EQ(histogram.Quantile(0.5), absl::ZeroDuration());
  for (int i = 1; i <= 1000; ++i) {
    histogram.Add(absl::Microseconds(37 * i));
  }
  EXPECT_EQ(histogram.count(), 1000);
  EXPECT_EQ(histogram.sum(), absl::Microseconds(37 * 500'500));
  for (const int rank : {10, 500, 900, 990, 1000}) {
    const absl::Duration exact = absl::Microseconds(37 * rank);
    const absl::Duration bound = histogram.Quantile(rank / 1000.0);
    EXPECT_GE(bound, exact) << rank;
    EXPECT_LE(bound, exact * 1.42) << rank;
  }
}

TEST(LatencyHistogramTest, ExtremeDurationsFindAClass) {
  LatencyHistogram histogram;
  histogram.Add(absl::Seconds(-1));  // a clock that was set back
  EXPECT_EQ(histogram.Quantile(1), absl::Microseconds(10));
  EXPECT_EQ(histogram.sum(), absl::ZeroDuration());
  histogram.Add(absl::Hours(24 * 365));
  EXPECT_EQ(histogram.count(), 2);
  EXPECT_GT(histogram.Quantile(1), absl::Minutes(7));
}

TEST(PredictionStatisticsTest, FailedCallsHaveNoLatency) {
  PredictionStatistics statistics("models/m/versions/1");
  statistics.RecordCall(absl::StatusCode::kOk, 3, absl::Milliseconds(1), kNow);
  statistics.RecordCall(absl::StatusCode::kInvalidArgument, 0, absl::Seconds(9), kNow);
  statistics.RecordBatch(1);
  statistics.RecordBatch(4);
  EXPECT_EQ(statistics.succeeded(), 1);
  EXPECT_EQ(statistics.failed(), 1);
  EXPECT_EQ(statistics.rows(), 3);
  EXPECT_EQ(statistics.batches(), 2);
  EXPECT_EQ(statistics.coalesced(), 4);
  EXPECT_EQ(statistics.last_call(), kNow);
  EXPECT_EQ(statistics.latency().count(), 1);
}

TEST(PredictionStatisticsTest, NoCallIsLostAmongThreads) {
  PredictionStatistics statistics("models/m/versions/1");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        statistics.RecordCall(absl::StatusCode::kOk, 2, absl::Microseconds(i), kNow);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(statistics.succeeded(), 4000);
  EXPECT_EQ(statistics.rows(), 8000);
  EXPECT_EQ(statistics.latency().count(), 4000);
}

TEST(PredictionStatisticsTableTest, AllStayUntilTheyAreRemoved) {
  PredictionStatisticsTable table;
  constexpr int kVersions = 3000;
  for (int i = 1; i <= kVersions; ++i) {
    table.Of(absl::StrCat("models/m/versions/", i))
        ->RecordCall(absl::StatusCode::kOk, 1, absl::Seconds(1), kNow + absl::Seconds(i));
  }
  table.Of("models/m2/versions/1");
  EXPECT_EQ(table.All().size(), kVersions + 1U);
  EXPECT_EQ(table.Of("models/m/versions/1")->succeeded(), 1);
  const auto held = table.Of("models/m/versions/1");
  table.Remove("models/m/versions/1");
  EXPECT_EQ(table.All().size(), kVersions + 0U) << "not versions/10";
  held->RecordCall(absl::StatusCode::kOk, 1, absl::Seconds(1), kNow);
  EXPECT_EQ(table.Of("models/m/versions/1")->succeeded(), 0) << "another one";
  table.Remove("models/m");
  ASSERT_EQ(table.All().size(), 1U);
  EXPECT_EQ(table.All().front()->model(), "models/m2/versions/1");
}

}  // namespace
}  // namespace mercer::server
