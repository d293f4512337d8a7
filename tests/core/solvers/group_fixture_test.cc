// Every solver of the restricted master against solutions of a cone program.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/core/solvers/group_test_problems.h"
#include "tests/support/json_fixture.h"

namespace mercer {
namespace {

const char* const kFixtures[] = {
    "01_lasso_square",
    "02_group_l2_squared_hinge",
    "03_one_against_all_logistic_rows_shared",
    "04_dirty_square_linf_unequal_tasks",
    "05_lq_squared_hinge_shared",
    "06_lambda_max_zero_solution",
    "07_duplicate_constant_zero_columns",
    "09_single_task_min_lambda",
};

struct FixtureCase {
  std::string fixture;
  GroupMethod method;
};

class GroupFixtureTest : public testing::TestWithParam<FixtureCase> {};

double RelativeToOne(double value, double expected) {
  return std::abs(value - expected) / std::max(1.0, std::abs(expected));
}

TEST_P(GroupFixtureTest, ReachesTheReference) {
  const nlohmann::json fixture =
      ReadFixtureFile("infinite-features/" + GetParam().fixture + ".json");
  const nlohmann::json& tolerance = fixture["tolerance"];
  const nlohmann::json& expected = fixture["expected"];
  const nlohmann::json& unique = fixture["unique"];
  const OwnedGroupProblem owned = FixtureGroupProblem(fixture);
  const auto solver = SolveGroupProblem(
      owned.problem, tolerance["scores_after_relative_gap"].get<double>(), GetParam().method);
  const GroupCertificate& certificate = solver->certificate();
  EXPECT_LE(RelativeToOne(certificate.primal, expected["objective"]),
            tolerance["objective_relative"].get<double>());
  EXPECT_LE(RelativeToOne(certificate.dual, expected["objective"]),
            tolerance["objective_relative"].get<double>());
  EXPECT_LE(certificate.Gap() / std::max(1.0, std::abs(certificate.primal)),
            tolerance["duality_gap_relative"].get<double>());
  const double allowed = tolerance["scores_absolute"];
  const GroupPoint& point = solver->point();
  if (unique["V_and_b"].get<bool>()) {
    EXPECT_LE((point.Weights() - JsonMatrix(expected["V"])).cwiseAbs().maxCoeff(), allowed);
    EXPECT_LE((point.bias - JsonVector(expected["b"])).cwiseAbs().maxCoeff(), allowed);
  }
  if (unique["split_W_w_shared"].get<bool>()) {
    EXPECT_LE((point.specific - JsonMatrix(expected["W"])).cwiseAbs().maxCoeff(), allowed);
    EXPECT_LE((point.shared - JsonVector(expected["w_shared"])).cwiseAbs().maxCoeff(), allowed);
  }
  for (Index t = 0; t < owned.problem.num_tasks(); ++t) {
    const auto index = static_cast<size_t>(t);
    EXPECT_LE((solver->evaluation().scores[index] - JsonVector(expected["train_scores"][index]))
                  .cwiseAbs()
                  .maxCoeff(),
              allowed);
    const Vector scores =
        (JsonMatrix(fixture["test_phi"][index]) * point.Weights().col(t)).array() + point.bias(t);
    EXPECT_LE((scores - JsonVector(expected["test_scores"][index])).cwiseAbs().maxCoeff(), allowed);
  }
}

std::vector<FixtureCase> AllCases() {
  std::vector<FixtureCase> cases;
  for (const char* fixture : kFixtures) {
    for (const GroupMethod method :
         {GroupMethod::kNewton, GroupMethod::kAdmm, GroupMethod::kFista}) {
      cases.push_back({fixture, method});
    }
  }
  return cases;
}

std::string CaseName(const testing::TestParamInfo<FixtureCase>& info) {
  std::string name = std::string(GroupMethodName(info.param.method)) + "x" + info.param.fixture;
  name.erase(std::remove(name.begin(), name.end(), '_'), name.end());
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, GroupFixtureTest, testing::ValuesIn(AllCases()), CaseName);

TEST(GroupOneClassTest, SquaredHingeNeedsNoWeights) {
  const nlohmann::json fixture = ReadFixtureFile("infinite-features/08_one_class.json");
  const OwnedGroupProblem owned = FixtureGroupProblem(fixture);
  const auto solver = SolveGroupProblem(owned.problem, 1e-12);
  EXPECT_NEAR(solver->certificate().primal, 0, fixture["tolerance"]["objective_absolute"]);
  EXPECT_TRUE(solver->point().specific.isZero(0));
  EXPECT_GE(owned.problem.task(0).targets(0) * solver->point().bias(0), 1);
}

TEST(GroupOneClassTest, LogisticLossWithBiasIsRefused) {
  OwnedGroupProblem owned =
      FixtureGroupProblem(ReadFixtureFile("infinite-features/08_one_class.json"));
  owned.problem.loss = *MakeLoss(LossKind::kLogistic);
  RunContext context;
  const auto solver = MakeGroupSolver(GroupMethod::kNewton);
  EXPECT_EQ(solver->Start(owned.problem, GroupPoint::Zero(3, 1), context).code(),
            absl::StatusCode::kInvalidArgument);
  owned.problem.bias = false;
  EXPECT_EQ(solver->Start(owned.problem, GroupPoint::Zero(3, 1), context), absl::OkStatus());
}

}  // namespace
}  // namespace mercer
