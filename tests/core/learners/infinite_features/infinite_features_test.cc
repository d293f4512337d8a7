#include "core/learners/infinite_features/infinite_features.h"

#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "core/features/feature_family_spec.h"
#include "core/learners/infinite_features/problem.h"
#include "tests/core/learners/infinite_features/feature_problems.h"
#include "tests/support/json_fixture.h"
#include "tests/support/model_terms.h"

namespace mercer::infinite_features {
namespace {

TEST(InfiniteFeaturesTest, FindsTheOptimumOverAFiniteListOfDirections) {
  const nlohmann::json fixture =
      ReadFixtureFile("infinite-features/12_column_generation_finite_dictionary.json");
  const Matrix targets = JsonMatrix(fixture["y"]).transpose();
  TrainingProblem problem =
      MakeProblem(TargetKind::kClassification, RowMatrix(JsonMatrix(fixture["X"])), targets, {});
  problem.relative_gap = 1e-9;
  std::vector<FeatureParameters> groups;
  const Matrix directions = JsonMatrix(fixture["directions"]);
  for (Index g = 0; g < directions.rows(); ++g) {
    groups.push_back({1.0, directions(g, 0), directions(g, 1)});
  }
  InfiniteFeaturesOptions options;
  options.lambda = fixture["lambda_p"];
  options.lambda_shared = fixture["lambda_s"];
  options.lambda_unit = LambdaUnit::kAbsolute;
  options.bandwidths = {1.0};
  const auto family = MakeDictionary(*MakeFeatureFamily(FeatureFamilySpec(), 2), groups);
  ASSERT_TRUE(family.ok()) << family.status();
  InfiniteFeaturesLearner learner(options, *family);
  const OptionValues values = {{"lambda", options.lambda},
                               {"lambda_shared", options.lambda_shared},
                               {"lambda_unit", "absolute"},
                               {"bandwidths", options.bandwidths}};
  const absl::StatusOr<TrainingOutcome> outcome = RunToGap(Entry(), values, learner, problem);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  const double expected = fixture["expected"]["objective"];
  EXPECT_NEAR(outcome->certificate.primal, expected,
              fixture["tolerance"]["objective_relative"].get<double>() * expected);
  EXPECT_GE(outcome->certificate.primal, expected * (1 - 1e-9));
  EXPECT_LE(outcome->certificate.accuracy, 1e-9);
  const Matrix scores = ValuesAt(*outcome, RowMatrix(JsonMatrix(fixture["X_test"])));
  const Matrix expected_scores = JsonMatrix(fixture["expected"]["test_scores"]);
  EXPECT_LE((scores - expected_scores).cwiseAbs().maxCoeff(),
            fixture["tolerance"]["scores_absolute"].get<double>());
}

TEST(InfiniteFeaturesTest, SeparatesWhatNoLineSeparates) {
  const TrainingProblem problem = RingProblem(600, 3);
  const TrainingOutcome outcome = MustTrain({{"max_groups", int64_t{30}}}, problem);
  EXPECT_EQ(outcome.stop_reason, StopReason::kConverged);
  EXPECT_EQ(outcome.certificate.scope, CertificateScope::kListedFeatures);
  const Matrix values = ValuesAt(outcome, problem.tasks[0].inputs->blocks[0].values.view());
  const auto right = (values.array() * problem.tasks[0].targets.array() > 0).count();
  EXPECT_GT(right, 500);
  ASSERT_EQ(TermsOf<FeatureTerm>(outcome.point.function.terms).size(), 1u);
  EXPECT_LE(TermAt<FeatureTerm>(outcome.point.function).groups.size(), 30u);
  EXPECT_TRUE(TermsOf<KernelTerm>(outcome.point.function.terms).empty());
}

// The objective of the model may only fall from step to step, whatever the loss and the penalty.
TEST(InfiniteFeaturesTest, TheObjectiveNeverRises) {
  for (const OptionValues& options :
       {OptionValues{}, OptionValues{{"loss", "logistic"}}, OptionValues{{"loss", "square"}},
        OptionValues{{"penalty_q", 1.0}, {"penalty_shape", "flat"}},
        OptionValues{{"penalty_q", kInfinity}}, OptionValues{{"groups_per_round", int64_t{4}}},
        OptionValues{{"normalization", "none"}}, OptionValues{{"normalization", "group"}},
        OptionValues{{"ascent_steps", int64_t{10}}, {"groups_per_round", int64_t{2}}},
        OptionValues{{"selection", "selected"}, {"dictionary_size", int64_t{200}}}}) {
    const TrainingProblem problem = ThreeClassProblem(150, 5);
    const auto learner =
        Entry().create(Merge(options, {{"max_groups", int64_t{12}}, {"lambda", 0.02}}));
    ASSERT_TRUE(learner.ok()) << learner.status();
    ASSERT_TRUE((*learner)->Start(problem, nullptr).ok());
    RunContext context;
    double last = kInfinity;
    for (int step = 0; step < 60; ++step) {
      const absl::StatusOr<StepReport> report = (*learner)->Step(context, problem.relative_gap);
      ASSERT_TRUE(report.ok()) << report.status();
      EXPECT_LE(report->primal, last * (1 + 1e-12));
      EXPECT_LE(report->dual, report->primal + 1e-9 * std::abs(report->primal));
      last = report->primal;
      if (report->accuracy <= 1e-4 || report->stop.has_value()) {
        break;
      }
    }
    EXPECT_LT(last, kInfinity);
  }
}

TEST(InfiniteFeaturesTest, FromTheMaximumOnTheModelIsConstant) {
  const TrainingProblem problem = RingProblem(200, 4);
  const TrainingOutcome below = MustTrain({{"lambda", 0.99}, {"patience", int64_t{1}}}, problem);
  EXPECT_GE(TermsOf<FeatureTerm>(below.point.function.terms).size(), 1u);
  const double largest = MetricOf(below, "features.lambda_max");
  const TrainingOutcome above = MustTrain(
      {{"lambda", 1.0001 * largest}, {"lambda_unit", "absolute"}, {"patience", int64_t{1}}},
      problem);
  EXPECT_TRUE(TermsOf<FeatureTerm>(above.point.function.terms).empty());
  EXPECT_EQ(MetricOf(above, "features.listed"), 0);
  EXPECT_EQ(MetricOf(above, "features.search_end"), static_cast<double>(SearchEnd::kNoViolation));
  EXPECT_EQ(above.stop_reason, StopReason::kConverged);
  EXPECT_TRUE(std::isfinite(above.point.function.bias(0)));
}

TEST(InfiniteFeaturesTest, AShareOfTheMaximumMeansTheSameForEveryNormalization) {
  const TrainingProblem problem = RingProblem(200, 6);
  for (const char* normalization : {"column", "group", "none"}) {
    const TrainingOutcome outcome =
        MustTrain({{"lambda", 0.5}, {"normalization", normalization}}, problem);
    EXPECT_NEAR(MetricOf(outcome, "features.lambda"),
                0.5 * MetricOf(outcome, "features.lambda_max"),
                1e-12 * MetricOf(outcome, "features.lambda_max"));
  }
}

TEST(InfiniteFeaturesTest, TheBudgetOfGroupsIsKept) {
  const TrainingProblem problem = RingProblem(300, 7);
  for (const int64_t budget : {1, 2, 7}) {
    for (const int64_t per_round : {1, 3}) {
      const TrainingOutcome outcome = MustTrain(
          {{"max_groups", budget}, {"groups_per_round", per_round}, {"lambda", 1e-4}}, problem);
      EXPECT_EQ(MetricOf(outcome, "features.listed"), static_cast<double>(budget));
      EXPECT_EQ(MetricOf(outcome, "features.search_end"),
                static_cast<double>(SearchEnd::kMaxGroups));
    }
  }
}

// One by one at first, then more at once; columns that may all enter come in large batches.
TEST(InfiniteFeaturesTest, RoundsAdmitMoreAsTheModelGrows) {
  InfiniteFeaturesOptions options;
  const auto of_round = [&options](Index groups) { return GroupsOfRound(options, 40, groups); };
  EXPECT_EQ(of_round(0), 1);
  EXPECT_EQ(of_round(49), 1);
  EXPECT_EQ(of_round(50), 2);
  EXPECT_EQ(of_round(500), 11);
  EXPECT_EQ(RoundsOfGrowth(options, 40), 75);  // of 100 groups
  options.groups_per_round = 7;
  EXPECT_EQ(of_round(500), 7);
  options.groups_per_round = 0;
  options.ascent_steps = 1;
  EXPECT_EQ(of_round(500), 1);
  options.ascent_steps = 0;
  options.bandwidth_rule = BandwidthChoice::kLinear;
  EXPECT_EQ(of_round(500), 1);
  options.family = FamilyChoice::kColumns;
  options.max_groups = 39;
  EXPECT_EQ(of_round(30), 1);

  RowMatrix values = NormalMatrix(300, 40, 7);
  Matrix signs = (values.rowwise().sum().array() > 0).select(Matrix::Ones(300, 1), -1.0);
  const TrainingOutcome of_columns =
      MustTrain({{"family", "columns"}, {"lambda", 1e-4}},
                MakeProblem(TargetKind::kClassification, std::move(values), std::move(signs), {}));
  EXPECT_EQ(MetricOf(of_columns, "features.listed"), 40);
  EXPECT_LE(MetricOf(of_columns, "features.rounds"), 4);  // 16, 16, 8, and none
}

TEST(InfiniteFeaturesTest, TheNumberOfRoundsIsKept) {
  const TrainingOutcome outcome =
      MustTrain({{"max_rounds", int64_t{3}}, {"lambda", 1e-3}}, RingProblem(300, 7));
  EXPECT_EQ(MetricOf(outcome, "features.rounds"), 3);
  EXPECT_EQ(MetricOf(outcome, "features.listed"), 3);
  EXPECT_EQ(MetricOf(outcome, "features.search_end"), static_cast<double>(SearchEnd::kMaxRounds));
  EXPECT_EQ(MetricOf(outcome, "limit_reached.max_rounds"), 3);
  EXPECT_EQ(outcome.stop_reason, StopReason::kConverged);
}

// The groups of the last round brought less than the share, those of each before it more.
TEST(InfiniteFeaturesTest, TheSearchEndsWhereARoundBringsTooLittle) {
  constexpr double kShare = 0.02;
  const TrainingProblem problem = RingProblem(300, 7);
  const TrainingOutcome outcome = MustTrain({{"min_decrease", kShare}, {"lambda", 1e-3}}, problem);
  EXPECT_EQ(MetricOf(outcome, "features.search_end"), static_cast<double>(SearchEnd::kMinDecrease));
  const auto rounds = static_cast<int64_t>(MetricOf(outcome, "features.rounds"));
  ASSERT_GE(rounds, 3);
  double last = kInfinity;
  for (int64_t round = 1; round <= rounds; ++round) {
    const double objective =
        MustTrain({{"max_rounds", round}, {"lambda", 1e-3}}, problem).certificate.primal;
    if (round > 1) {
      EXPECT_EQ(last - objective >= kShare * last, round < rounds) << "round " << round;
    }
    last = objective;
  }
}

// Between two rounds the objective of the hinge loss may rise: that is no reason to end the search
// where no least decrease was asked for.
TEST(InfiniteFeaturesTest, WithoutALeastDecreaseNoRoundEndsTheSearch) {
  for (const uint64_t seed : {1, 2, 3, 4}) {
    const TrainingOutcome outcome = MustTrain(
        {{"loss", "hinge"}, {"master_gap", 0.1}, {"lambda", 0.01}}, RingProblem(120, seed));
    EXPECT_THAT(MetricOf(outcome, "features.search_end"),
                testing::AnyOf(static_cast<double>(SearchEnd::kNoViolation),
                               static_cast<double>(SearchEnd::kMaxGroups)))
        << seed;
  }
}

TEST(InfiniteFeaturesTest, MastersThatAreSolvedLooselyEndAtTheSameGap) {
  const TrainingProblem problem = RingProblem(300, 8);
  const auto iterations_with = [&](double master_gap) {
    const auto learner = Entry().create({{"master_gap", master_gap}, {"lambda", 1e-3}});
    EXPECT_TRUE(learner.ok() && (*learner)->Start(problem, nullptr).ok());
    RunContext context;
    StepReport report;
    while (!(report.accuracy <= problem.relative_gap)) {
      report = (*learner)->Step(context, problem.relative_gap).value();
    }
    return report.inner_iterations;
  };
  EXPECT_LT(iterations_with(0.1), iterations_with(1e-10));
}

// With the square loss the columns of the data are the Lasso; l1 of one column is its own norm.
TEST(InfiniteFeaturesTest, ColumnsOfTheDataSatisfyTheConditionsOfTheLasso) {
  const RowMatrix x = NormalMatrix(120, 8, 9);
  const Vector y = x.col(1) * 2 - x.col(4) + 0.1 * NormalMatrix(120, 1, 10).col(0);
  TrainingProblem problem = MakeProblem(TargetKind::kRegression, x, y, {});
  problem.relative_gap = 1e-10;
  const double lambda = 20;
  const TrainingOutcome outcome = MustTrain({{"family", "columns"},
                                             {"lambda", lambda},
                                             {"lambda_unit", "absolute"},
                                             {"normalization", "none"},
                                             {"violation", 0.0}},
                                            problem);
  ASSERT_EQ(TermsOf<FeatureTerm>(outcome.point.function.terms).size(), 1u);
  const FeatureTerm& term = TermAt<FeatureTerm>(outcome.point.function);
  Vector weights = Vector::Zero(8);
  for (size_t g = 0; g < term.groups.size(); ++g) {
    weights(static_cast<Index>(term.groups[g][0])) = term.coefficients(static_cast<Index>(g), 0);
  }
  const Vector residual = y - x * weights - Vector::Constant(120, outcome.point.function.bias(0));
  EXPECT_NEAR(residual.sum(), 0, 1e-6);
  for (Index j = 0; j < 8; ++j) {
    const double slope = 2 * x.col(j).dot(residual);
    if (weights(j) != 0) {
      EXPECT_NEAR(slope, lambda * (weights(j) > 0 ? 1 : -1), 1e-4) << j;
    } else {
      EXPECT_LE(std::abs(slope), lambda + 1e-4) << j;
    }
  }
  EXPECT_EQ(outcome.point.summary.feature_names.size(), term.groups.size());
  EXPECT_NE(outcome.point.summary.feature_names[0].find("column 'x"), std::string::npos);
}

// One-against-all with the square loss: labels add up to a constant, so weights of all classes add
// up to 0.
TEST(InfiniteFeaturesTest, WeightsOfAllClassesAddUpToZeroForTheSquareLoss) {
  TrainingProblem problem = ThreeClassProblem(150, 11);
  problem.relative_gap = 1e-9;
  const TrainingOutcome outcome = MustTrain(
      {{"loss", "square"}, {"max_groups", int64_t{10}}, {"lambda_shared", 0.1}, {"lambda", 0.1}},
      problem);
  ASSERT_EQ(TermsOf<FeatureTerm>(outcome.point.function.terms).size(), 1u);
  const Matrix& coefficients = TermAt<FeatureTerm>(outcome.point.function).coefficients;
  EXPECT_LE(coefficients.rowwise().sum().cwiseAbs().maxCoeff(),
            1e-6 * coefficients.cwiseAbs().maxCoeff());
  EXPECT_EQ(*outcome.point.witness.FindArray("shared"), Matrix::Zero(20, 1));
}

TEST(InfiniteFeaturesTest, ConstantRowsHaveNoUsableFeature) {
  Matrix targets(20, 1);
  for (Index i = 0; i < 20; ++i) {
    targets(i, 0) = i % 3 == 0 ? 1 : -1;
  }
  const TrainingProblem problem =
      MakeProblem(TargetKind::kClassification, RowMatrix::Zero(20, 2), targets, {});
  const TrainingOutcome outcome = MustTrain({{"bandwidths", std::vector<double>{1.0}}}, problem);
  EXPECT_TRUE(TermsOf<FeatureTerm>(outcome.point.function.terms).empty());
  EXPECT_EQ(MetricOf(outcome, "features.search_end"), static_cast<double>(SearchEnd::kNoViolation));
  // There is no distance to take a bandwidth from.
  const TrainingOutcome without = MustTrain({}, problem);
  EXPECT_EQ(without.certificate.primal, outcome.certificate.primal);
}

// A range that was not given goes from a quarter of the median distance to four times it.
TEST(InfiniteFeaturesTest, BandwidthsAreDrawnAroundTheMedianDistance) {
  const TrainingProblem problem = RingProblem(200, 12);
  const auto bandwidths = [&](const OptionValues& options) {
    std::vector<double> found;
    const TrainingOutcome outcome =
        MustTrain(Merge(options, {{"max_groups", int64_t{20}}, {"lambda", 1e-4}}), problem);
    for (const FeatureParameters& group : TermAt<FeatureTerm>(outcome.point.function).groups) {
      found.push_back(group[0]);
    }
    return found;
  };
  const double median = bandwidths({}).front();
  const std::vector<double> drawn = bandwidths({{"bandwidth_rule", "logarithmic"}});
  EXPECT_GE(*std::min_element(drawn.begin(), drawn.end()), median / 4);
  EXPECT_LE(*std::max_element(drawn.begin(), drawn.end()), median * 4);
  EXPECT_GT(*std::max_element(drawn.begin(), drawn.end()),
            1.5 * *std::min_element(drawn.begin(), drawn.end()));
}

TEST(InfiniteFeaturesTest, ContradictingOptionsAreRefusedByName) {
  const auto fields_of = [](const OptionValues& options) {
    std::vector<std::string> fields;
    for (const FieldViolation& violation : GetFieldViolations(Entry().create(options).status())) {
      fields.push_back(violation.field);
    }
    return fields;
  };
  const auto field_of = [&](const OptionValues& options) {
    const std::vector<std::string> fields = fields_of(options);
    return fields.empty() ? std::string("none") : fields[0];
  };
  EXPECT_EQ(field_of({{"lambda", 0.0}}), "lambda");
  EXPECT_EQ(field_of({{"lambda", -1.0}}), "lambda");
  EXPECT_EQ(field_of({{"lambda", kInfinity}}), "lambda");
  EXPECT_EQ(field_of({{"penalty_q", 1.005}}), "penalty_q");
  EXPECT_EQ(field_of({{"penalty_q", 101.0}}), "penalty_q");
  EXPECT_EQ(field_of({{"bandwidth_rule", "linear"}, {"bandwidths", std::vector<double>{1}}}),
            "bandwidths");
  EXPECT_EQ(field_of({{"bandwidth_rule", "linear"}, {"bandwidths", std::vector<double>{2, 1}}}),
            "bandwidths");
  EXPECT_EQ(field_of({{"bandwidths", std::vector<double>{0.0}}}), "bandwidths");
  EXPECT_EQ(
      field_of({{"candidates", int64_t{10'000}}, {"bandwidths", std::vector<double>(11, 1.0)}}),
      "candidates");
  EXPECT_THAT(fields_of({{"bandwidths", std::vector<double>(10'000, 1.0)}}),
              testing::ElementsAre("candidates", "bandwidths"))
      << "the one that was given, too";
  EXPECT_THAT(fields_of({{"candidates", int64_t{10'000}}, {"bandwidth_rule", "linear"}}),
              testing::ElementsAre("candidates", "bandwidths_per_round"));
  EXPECT_EQ(field_of({{"max_groups", int64_t{0}}}), "max_groups");
}

}  // namespace
}  // namespace mercer::infinite_features
