// What a scan promises besides its sums: no columns kept, an early end, no dependence on the phase of a pair.
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/time/time.h"
#include <gtest/gtest.h>

#include "core/base/process/interruption.h"
#include "core/features/candidate_scan.h"
#include "core/features/normalization.h"
#include "tests/core/features/feature_test_data.h"
#include "tests/support/peak_growth.h"

namespace mercer {
namespace {

TEST(ScanLimitsTest, ColumnsOfCandidatesAreNeverKept) {
  if (!kGrowthIsMemoryHeld) {
    GTEST_SKIP() << "freed memory is kept";
  }
  const FeatureRows rows = AllRows(NormalRows(60000, 4, 1));
  FeatureFamilySpec spec;
  spec.candidates_per_bandwidth = 2000;
  const auto family = Family(spec, 4);
  const auto candidates = Drawn(*family, 1, 0);
  const Matrix slopes = Matrix::Ones(60000, 1);
  const int64_t grown = PeakGrowth([&] {
    return ScanCandidates(*family, rows, candidates, slopes, FeaturePrecision::kSingle,
                          RunContext())
        .ok();
  });
  // All columns would take 960 MB, the partial sums of 15 blocks take 3 MB.
  EXPECT_GT(grown, 0);
  EXPECT_LT(grown, int64_t{24} << 20);
}

// How often work asks whether it must end, when it is never told so; and the status when it is told the first time.
struct Polls {
  int64_t count = 0;
  absl::Status interrupted;
};

Polls CountPolls(const std::function<absl::Status(RunContext&)>& work) {
  Polls polls;
  RunContext context;
  const Interruption counter(absl::InfiniteDuration(), [&polls] {
    ++polls.count;
    return false;
  });
  {
    const InterruptibleScope scope(context, counter);
    EXPECT_TRUE(work(context).ok());
  }
  const int64_t calls = polls.count / 2;
  int64_t until_stop = calls;
  const Interruption stop(absl::InfiniteDuration(), [&until_stop] { return --until_stop <= 0; });
  const InterruptibleScope scope(context, stop);
  polls.interrupted = work(context);
  return polls;
}

TEST(ScanLimitsTest, LongWorkAsksWhetherItMustEnd) {
  constexpr int64_t kWorkPerPoll = 1 << 24;  // multiplications: a few milliseconds
  const FeatureRows rows = AllRows(NormalRows(20000, 100, 2));
  const auto family = Fourier(100);
  const auto candidates = Drawn(*family, 1, 0);
  const int64_t work = rows.size() * 100 * static_cast<int64_t>(candidates.size());
  const Polls scan = CountPolls([&](RunContext& context) {
    return ScanCandidates(*family, rows, candidates, Matrix::Ones(20000, 1),
                          FeaturePrecision::kSingle, context)
        .status();
  });
  EXPECT_GE(scan.count, work / kWorkPerPoll);
  EXPECT_EQ(scan.interrupted.code(), absl::StatusCode::kCancelled);

  FeatureFamilySpec spec;
  spec.kind = FeatureFamilyKind::kGabor;
  const auto gabor = Family(spec, 100);
  const auto filters = Drawn(*gabor, 1, 0);
  const Polls filtered = CountPolls([&](RunContext& context) {
    return ScanCandidates(*gabor, rows, absl::MakeConstSpan(filters).first(10),
                          Matrix::Ones(20000, 1), FeaturePrecision::kSingle, context)
        .status();
  });
  EXPECT_GE(filtered.count, rows.size() * 100 * 16 * 10 / kWorkPerPoll);
  EXPECT_EQ(filtered.interrupted.code(), absl::StatusCode::kCancelled);
}

// The norm of a pair's normalised products with the slopes.
double NormOfProducts(const CandidateSums& sums, Index group, FeatureNormalization rule,
                      Index rows) {
  const auto columns = absl::MakeConstSpan(sums.columns).subspan(static_cast<size_t>(2 * group), 2);
  const auto scales = GroupScales(rule, ScaleScope::kPerTask, {{columns, rows}});
  EXPECT_TRUE(scales.has_value());
  return sums.products.middleRows(2 * group, 2)
      .cwiseQuotient(scales->replicate(1, sums.products.cols()))
      .norm();
}

TEST(ScanLimitsTest, OneScalePerGroupMakesThePhaseIrrelevant) {
  // The last input is 1: its frequency shifts the phase.
  RowMatrix values = NormalRows(500, 3, 3);
  values.col(2).setOnes();
  const FeatureRows rows = AllRows(values);
  const auto family = Fourier(3);
  const std::vector<FeatureParameters> candidates = {
      {1.0, 0.4, -0.3, 0.0}, {1.0, 0.4, -0.3, 0.7}, {1.0, 0.4, -0.3, 2.9}};
  const auto sums = ScanCandidates(*family, rows, candidates, NormalRows(500, 2, 4),
                                   FeaturePrecision::kDouble, RunContext());
  ASSERT_TRUE(sums.ok());
  const double group = NormOfProducts(*sums, 0, FeatureNormalization::kGroup, 500);
  const double column = NormOfProducts(*sums, 0, FeatureNormalization::kColumn, 500);
  for (const Index g : {1, 2}) {
    EXPECT_NEAR(NormOfProducts(*sums, g, FeatureNormalization::kGroup, 500), group, 1e-12 * group);
    EXPECT_GT(std::abs(NormOfProducts(*sums, g, FeatureNormalization::kColumn, 500) - column),
              1e-3 * column);
  }
  const double squares = sums->columns[0].squares + sums->columns[1].squares;
  EXPECT_NEAR(squares, 500, 1e-11) << "so the scale is sqrt(rows / 2) for every frequency";
}

}  // namespace
}  // namespace mercer
