// The fixtures of independent solvers, by whole runs of the learner.
#include <string>

#include <gtest/gtest.h>

#include "tests/core/learners/sparse_multitask_svm/sparse_multitask_problems.h"
#include "tests/support/json_fixture.h"

namespace mercer::sparse_multitask_svm {
namespace {

using nlohmann::json;

void ExpectClose(const Vector& actual, const json& expected, double allowed,
                 const std::string& what) {
  const Vector wanted = JsonVector(expected);
  ASSERT_EQ(actual.size(), wanted.size()) << what;
  EXPECT_LE((actual - wanted).cwiseAbs().maxCoeff(), allowed)
      << what << ": " << actual.transpose() << " instead of " << wanted.transpose();
}

void ExpectTestRows(const json& fixture, const FixtureProblem& given,
                    const TrainingOutcome& outcome) {
  const json& close = fixture["tolerance"]["decision_abs"];
  for (size_t t = 0; t < given.tests.size() && close.is_number(); ++t) {
    ExpectClose(ValuesOf(outcome.point.function, given.tests[t]).col(static_cast<Index>(t)),
                fixture["expected"]["decision_test"][t], close, "test rows");
  }
}

void ExpectObjective(const json& fixture, const Certificate& certificate) {
  const double objective = fixture["expected"]["objective"];
  const double allowed = fixture["tolerance"]["objective_rel"].get<double>() * objective;
  EXPECT_NEAR(certificate.primal, objective, allowed);
  EXPECT_NEAR(certificate.dual, objective, allowed);
}

class SparseMultitaskFixture : public testing::TestWithParam<const char*> {};

TEST_P(SparseMultitaskFixture, MatchesConeSolver) {
  const json fixture = ReadSparseFixture(GetParam());
  FixtureProblem given = ReadSparseProblem(fixture);
  given.options["allow_one_class"] = true;
  const TrainingOutcome outcome =
      MustTrain(given.problem, given.options, fixture["tolerance"]["gap_rel"]);
  EXPECT_EQ(outcome.stop_reason, StopReason::kConverged);
  EXPECT_EQ(outcome.certificate.kind, CertificateKind::kGap);
  ExpectObjective(fixture, outcome.certificate);
  ExpectTestRows(fixture, given, outcome);
  if (std::string(GetParam()) != "degenerate_columns") {  // two columns are the same
    ExpectClose(BlockNorms(outcome.point.summary), fixture["expected"]["block_norms"],
                fixture["tolerance"]["block_norms_abs"], "norms");
  }
}

INSTANTIATE_TEST_SUITE_P(Fixtures, SparseMultitaskFixture,
                         testing::Values("squared_linear", "plain_weighted", "squared_kernel",
                                         "grouped", "degenerate_columns", "plain_dead_zone",
                                         "squared_small_C", "squared_large_C", "one_class_task"),
                         [](const auto& fixture) { return std::string(fixture.param); });

TEST(SparseMultitaskFixtureTest, GeneralExponentsMatchIndependentDuals) {
  for (const std::string name :
       {"lplq_below2", "lplq_above2", "lplq_mixed", "lplq_p2q2_separable"}) {
    SCOPED_TRACE(name);
    const json fixture = ReadSparseFixture(name);
    const FixtureProblem given = ReadSparseProblem(fixture);
    const TrainingOutcome outcome =
        MustTrain(given.problem, given.options, fixture["tolerance"]["gap_rel"]);
    EXPECT_EQ(outcome.stop_reason, StopReason::kConverged);
    ExpectObjective(fixture, outcome.certificate);
    ExpectTestRows(fixture, given, outcome);
    const Matrix norms = JsonMatrix(fixture["expected"]["norms"]);
    EXPECT_LE((outcome.point.summary.tables.at(1).values.transpose() - norms).cwiseAbs().maxCoeff(),
              fixture["tolerance"]["norms_abs"].get<double>());
  }
}

TEST(SparseMultitaskFixtureTest, CoordinateDescentEnclosesTheOptimum) {
  for (const std::string name :
       {"squared_linear", "squared_kernel", "grouped", "one_class_task", "lplq_below2"}) {
    SCOPED_TRACE(name);
    const json fixture = ReadSparseFixture(name);
    FixtureProblem given = ReadSparseProblem(fixture);
    given.options["allow_one_class"] = true;
    given.options["method"] = std::string("coordinate_descent");
    const TrainingOutcome outcome = MustTrain(given.problem, given.options, 1e-3);
    EXPECT_EQ(outcome.stop_reason, StopReason::kConverged);
    EXPECT_EQ(outcome.certificate.kind, CertificateKind::kGap);
    const double objective = fixture["expected"]["objective"];
    EXPECT_GE(outcome.certificate.primal, objective * (1 - 1e-9));
    EXPECT_LE(outcome.certificate.primal, objective * (1 + 1e-3));
    EXPECT_LE(outcome.certificate.dual, objective * (1 + 1e-9));
  }
}

TEST(SparseMultitaskFixtureTest, ConcavePenaltiesEndAtTheReferencesStationaryPoint) {
  for (const std::string name : {"mm_plain_half", "mm_squared_half"}) {
    SCOPED_TRACE(name);
    const json fixture = ReadSparseFixture(name);
    const json& expected = fixture["expected"];
    const json& tolerance = fixture["tolerance"];
    FixtureProblem given = ReadSparseProblem(fixture);
    given.options["smoothing"] = fixture["epsilon"].get<double>() /
                                 JsonVector(expected["path"][0]["block_norms"]).maxCoeff();
    const TrainingOutcome outcome = MustTrain(given.problem, given.options, 1e-10);
    EXPECT_EQ(outcome.certificate.kind, CertificateKind::kStationarity);
    EXPECT_LE(outcome.certificate.accuracy, 1e-10);
    EXPECT_EQ(outcome.stop_reason, StopReason::kConverged);
    const double objective = expected["objective"];
    EXPECT_NEAR(outcome.certificate.primal, objective,
                tolerance["objective_rel"].get<double>() * objective);
    ExpectClose(BlockNorms(outcome.point.summary), expected["block_norms"],
                tolerance["block_norms_abs"], "norms");
    ExpectTestRows(fixture, given, outcome);
  }
}

}  // namespace
}  // namespace mercer::sparse_multitask_svm
