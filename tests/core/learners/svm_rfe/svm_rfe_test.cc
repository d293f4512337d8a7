// Recursive feature elimination against one that is written out with the learner `svm`, which has
// neither its solver nor bookkeeping; and what is known of odd columns.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/numeric/index_range.h"
#include "core/base/status/errors.h"
#include "core/learners/registry.h"
#include "core/learners/svm_rfe/elimination.h"
#include "core/learners/svm_rfe/options.h"
#include "tests/support/learner_runs.h"
#include "tests/support/toy_data.h"

namespace mercer::svm_rfe {
namespace {

using testing::ElementsAre;

// Rows of classes that some columns tell apart, a few of them better than others; `outputs` have
// labels of their own.
TrainingProblem Problem(Index rows, Index columns, Index outputs = 1, uint64_t seed = 7) {
  const RowMatrix values = NormalMatrix(rows, columns, seed);
  const RowMatrix noise = NormalMatrix(rows, outputs, seed + 1);
  Matrix targets(rows, outputs);
  for (Index o = 0; o < outputs; ++o) {
    for (Index i = 0; i < rows; ++i) {
      double score = 0.3 * noise(i, o);
      for (Index c = o; c < columns; c += 3) {
        score += values(i, c) / static_cast<double>(1 + c);
      }
      targets(i, o) = score > 0 ? 1 : -1;
    }
  }
  return MakeProblem(TargetKind::kClassification, values, targets, {});
}

TrainingOutcome MustTrain(TrainingProblem problem, const OptionValues& options,
                          double relative_gap = 1e-9) {
  problem.relative_gap = relative_gap;
  const absl::StatusOr<TrainingOutcome> outcome =
      RunToGap(*FindLearner("svm_rfe"), options, problem);
  EXPECT_TRUE(outcome.ok()) << outcome.status();
  return outcome.ok() ? *outcome : TrainingOutcome();
}

absl::Status Refusal(const TrainingProblem& problem, const OptionValues& options) {
  return RunToGap(*FindLearner("svm_rfe"), options, problem).status();
}

// Columns from 0, the best first.
std::vector<Index> RankingOf(const TrainingOutcome& outcome) {
  std::vector<Index> ranking;
  for (const double column : outcome.point.summary.tables.at(0).values.col(2)) {
    ranking.push_back(static_cast<Index>(column) - 1);
  }
  return ranking;
}

std::vector<Index> KeptOf(const TrainingOutcome& outcome) {
  std::vector<Index> kept;
  for (const double column : outcome.point.witness.FindArray("columns")->reshaped()) {
    kept.push_back(static_cast<Index>(column));
  }
  return kept;
}

// The weights of the learner `svm` on these columns, columns x outputs.
Matrix WeightsBySvm(const TrainingProblem& problem, const std::vector<Index>& columns, double C) {
  const auto all = problem.tasks[0].inputs->blocks[0].values.view();
  const Matrix values = all(Eigen::all, columns);
  const Matrix& targets = problem.tasks[0].targets;
  Matrix weights(values.cols(), targets.cols());
  for (Index o = 0; o < targets.cols(); ++o) {
    TrainingProblem one = PrecomputedProblem(TargetKind::kClassification,
                                             {values * values.transpose()}, targets.col(o));
    one.relative_gap = 1e-10;
    const absl::StatusOr<TrainingOutcome> outcome = RunToGap(*FindLearner("svm"), {{"C", C}}, one);
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    weights.col(o) = values.transpose() * outcome->point.witness.tasks[0].dual.col(0);
  }
  return weights;
}

std::vector<Index> RankedBySvm(const TrainingProblem& problem, const std::vector<Index>& counts,
                               double C) {
  std::vector<Index> left = IndexRange(0, counts[0]);
  std::vector<Index> ranking;
  for (size_t round = 1; round <= counts.size(); ++round) {
    const Vector criterion = WeightsBySvm(problem, left, C).rowwise().squaredNorm();
    const Index next = round < counts.size() ? counts[round] : 0;
    std::vector<std::pair<double, Index>> order;
    for (size_t c = 0; c < left.size(); ++c) {
      order.emplace_back(criterion(static_cast<Index>(c)), left[c]);
    }
    std::sort(order.begin(), order.end());
    while (static_cast<Index>(left.size()) > next) {
      ranking.push_back(order.front().second);
      left.erase(std::find(left.begin(), left.end(), order.front().second));
      order.erase(order.begin());
    }
  }
  std::reverse(ranking.begin(), ranking.end());
  return ranking;
}

TEST(SvmRfeTest, SchedulesLeaveTheNumbersOfColumnsThatTheySay) {
  SvmRfeOptions options;
  EXPECT_THAT(CountsOf(options, 22), ElementsAre(22, 16, 8, 4, 2, 1));
  EXPECT_THAT(CountsOf(options, 16), ElementsAre(16, 8, 4, 2, 1));
  EXPECT_THAT(CountsOf(options, 1), ElementsAre(1));
  options.schedule = Schedule::kHalfUp;
  EXPECT_THAT(CountsOf(options, 197), ElementsAre(197, 99, 50, 25, 13, 7, 4, 2, 1));
  options.schedule = Schedule::kOne;
  EXPECT_THAT(CountsOf(options, 4), ElementsAre(4, 3, 2, 1));
  options.counts = {9, 5};
  EXPECT_THAT(CountsOf(options, 12), ElementsAre(12, 9, 5, 1));
}

TEST(SvmRfeTest, RankingIsThatOfAnEliminationWithTheSvmLearner) {
  const TrainingProblem problem = Problem(40, 30);
  for (const double C : {0.05, 100.0}) {
    for (const OptionValues& of_rounds :
         {OptionValues{}, OptionValues{{"schedule", std::string("half_up")}},
          OptionValues{{"schedule", std::string("one")}},
          OptionValues{{"counts", std::vector<double>{25, 7}}}}) {
      OptionValues options = of_rounds;
      options["C"] = C;
      const SvmRfeOptions parsed = *SvmRfeOptions::Fields().Parse(options);
      EXPECT_EQ(RankingOf(MustTrain(problem, options)),
                RankedBySvm(problem, CountsOf(parsed, 30), C))
          << C;
    }
  }
}

TEST(SvmRfeTest, SeveralOutputsAreRankedTogether) {
  const TrainingProblem problem = Problem(50, 18, 3);
  const TrainingOutcome outcome = MustTrain(problem, {{"C", 1.0}});
  EXPECT_EQ(RankingOf(outcome), RankedBySvm(problem, CountsOf(SvmRfeOptions(), 18), 1.0));
  const Matrix expected = WeightsBySvm(problem, KeptOf(outcome), 1.0);
  const Matrix& weights = *outcome.point.witness.FindArray("weights");
  EXPECT_LT((weights - expected).cwiseAbs().maxCoeff(), 1e-4 * expected.cwiseAbs().maxCoeff());
}

TEST(SvmRfeTest, RowsThatAnOutputDoesNotSeeDoNotMatterToIt) {
  TrainingProblem problem = Problem(40, 8, 2);
  problem.tasks[0].targets.col(1).tail(15).setZero();
  TrainingProblem without = problem;
  without.tasks[0].targets = problem.tasks[0].targets.col(1).head(25).eval();
  without.tasks[0].rows.resize(25);
  without.tasks[0].costs = Vector::Ones(25);
  const OptionValues options = {{"C", 1.0}, {"columns", int64_t{8}}};
  const Matrix both = *MustTrain(problem, options).point.witness.FindArray("weights");
  const Matrix one = *MustTrain(without, options).point.witness.FindArray("weights");
  EXPECT_LT((both.col(1) - one.col(0)).cwiseAbs().maxCoeff(), 1e-6 * one.cwiseAbs().maxCoeff());
}

TEST(SvmRfeTest, KeepsTheBestColumnsAndHalfOfThemByDefault) {
  const TrainingProblem problem = Problem(40, 11);
  for (const int64_t columns : {0, 1, 5, 11}) {
    const TrainingOutcome outcome = MustTrain(problem, {{"columns", columns}});
    const std::vector<Index> ranking = RankingOf(outcome);
    std::vector<Index> best(ranking.begin(), ranking.begin() + (columns == 0 ? 5 : columns));
    std::sort(best.begin(), best.end());
    EXPECT_EQ(KeptOf(outcome), best);
    EXPECT_LE(outcome.certificate.accuracy, 1e-9);
    const Vector selected = outcome.point.summary.tables.at(0).values.col(3);
    EXPECT_EQ(selected.sum(), static_cast<double>(best.size()));
    EXPECT_EQ(selected.head(static_cast<Index>(best.size())).minCoeff(), 1.0);
  }
}

TEST(SvmRfeTest, ConstantColumnsLeaveFirstAndOfEqualOnesTheFirst) {
  TrainingProblem problem = Problem(30, 12);
  PreparedData inputs = *problem.tasks[0].inputs;
  RowMatrix values = inputs.blocks[0].values.view();
  values.col(4).setZero();
  values.col(9).setZero();
  values.col(6) = values.col(3);
  inputs.blocks[0].values = SharedMatrix(std::move(values));
  problem.tasks[0].inputs = std::make_shared<const PreparedData>(std::move(inputs));
  const std::vector<Index> ranking = RankingOf(MustTrain(problem, {}));
  EXPECT_EQ(ranking[10], 9);
  EXPECT_EQ(ranking[11], 4);
  const auto place = [&](Index column) {
    return std::find(ranking.begin(), ranking.end(), column) - ranking.begin();
  };
  EXPECT_LT(place(6), place(3));
}

TEST(SvmRfeTest, ColumnsOfVeryDifferentSizeDoNotSpoilTheGramMatrix) {
  TrainingProblem problem = Problem(30, 10);
  PreparedData inputs = *problem.tasks[0].inputs;
  RowMatrix values = inputs.blocks[0].values.view();
  values.col(5) *= 1e7;
  inputs.blocks[0].values = SharedMatrix(std::move(values));
  problem.tasks[0].inputs = std::make_shared<const PreparedData>(std::move(inputs));
  const OptionValues options = {{"C", 0.1}, {"schedule", std::string("one")}};
  EXPECT_EQ(RankingOf(MustTrain(problem, options)),
            RankedBySvm(problem, CountsOf(*SvmRfeOptions::Fields().Parse(options), 10), 0.1));
}

TEST(SvmRfeTest, TwoRowsAndOneColumnTrain) {
  const TrainingProblem problem =
      MakeProblem(TargetKind::kClassification, RowMatrix{{1.0}, {3.0}}, Vector{{-1, 1}}, {});
  const TrainingOutcome outcome = MustTrain(problem, {});
  EXPECT_NEAR((*outcome.point.witness.FindArray("weights"))(0, 0), 1.0, 1e-9);
  EXPECT_NEAR(outcome.point.function.bias(0), -2.0, 1e-9);
}

TEST(SvmRfeTest, BadOptionsAndTargetsAreNamed) {
  const TrainingProblem problem = Problem(20, 6);
  const auto field = [&](const OptionValues& options) {
    const std::vector<FieldViolation> found = GetFieldViolations(Refusal(problem, options));
    return found.size() == 1 ? found[0].field : "";
  };
  EXPECT_EQ(field({{"columns", int64_t{7}}}), "columns");
  EXPECT_EQ(field({{"counts", std::vector<double>{6}}}), "counts");
  EXPECT_EQ(field({{"counts", std::vector<double>{3, 3}}}), "counts");
  EXPECT_EQ(field({{"counts", std::vector<double>{2.5}}}), "counts");
  EXPECT_EQ(field({{"C", 1e200}}), "C");
  TrainingProblem one_class = problem;
  one_class.tasks[0].targets.setOnes();
  EXPECT_EQ(GetReason(Refusal(one_class, {})), "ONE_CLASS");
}

// A run of many steps, which is gone on with from the state of each of them, by other threads.
TEST(SvmRfeTest, ARestoredRunHasTheSameBits) {
  const TrainingProblem problem = Problem(200, 80, 2);
  const LearnerEntry& entry = *FindLearner("svm_rfe");
  const OptionValues options = {{"C", 0.1}, {"schedule", std::string("one")}};
  const auto run_on = [](Learner& learner, int threads, std::vector<std::string>* states) {
    RunContext context(CancellationToken(), threads, nullptr);
    absl::StatusOr<StepReport> report = StepReport();
    while (report.ok() && !report->has_model) {
      report = learner.Step(context, 1e-6);
      if (states != nullptr) {
        states->push_back(learner.SaveState());
      }
    }
    EXPECT_TRUE(report.ok()) << report.status();
    return learner.SaveState();
  };
  std::vector<std::string> states;
  const auto learner = *entry.create(options);
  ASSERT_TRUE(learner->Start(problem, nullptr).ok());
  const std::string end = run_on(*learner, 1, &states);
  EXPECT_GT(states.size(), 2u);
  states.pop_back();
  for (const std::string& state : states) {
    const auto restored = *entry.create(options);
    RunContext context;
    ASSERT_TRUE(restored->RestoreState(problem, state, context).ok());
    EXPECT_EQ(run_on(*restored, 2, nullptr), end);
    const auto damaged = *entry.create(options);
    EXPECT_FALSE(damaged->RestoreState(problem, state.substr(0, state.size() / 2), context).ok());
  }
}

// Machines of other columns have other bounds.
TEST(SvmRfeTest, ThereIsNoModelBeforeTheEnd) {
  const TrainingProblem problem = Problem(30, 12);
  const auto learner = *FindLearner("svm_rfe")->create({});
  ASSERT_TRUE(learner->Start(problem, nullptr).ok());
  RunContext context;
  EXPECT_TRUE(absl::IsFailedPrecondition(learner->CurrentModel(context).status()));
}

// Systems are of rows, even where columns are few.
TEST(SvmRfeEstimateTest, GrowsWithTheCubeOfTheRows) {
  const LearnerEntry& entry = *FindLearner("svm_rfe");
  ProblemShape shape;
  shape.columns = 50;
  const auto operations = [&](Index rows) {
    shape.rows = rows;
    return entry.estimate_work({}, shape)->training[WorkKind::kFactorOperations];
  };
  EXPECT_GT(operations(4000), 7.9 * operations(2000));
}

}  // namespace
}  // namespace mercer::svm_rfe
