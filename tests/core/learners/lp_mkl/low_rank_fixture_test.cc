// The fixtures of an independent cone solver, their factors given as blocks of features under linear kernels: with all rows as
// landmarks nothing is approximated but that values are kept in single precision.
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/kernels/lowrank/landmarks.h"
#include "core/kernels/lowrank/nystrom.h"
#include "core/training/model/predictor.h"
#include "tests/core/learners/lp_mkl/low_rank_problems.h"
#include "tests/core/learners/lp_mkl/lp_mkl_fixture_checks.h"

namespace mercer::lp_mkl {
namespace {

using nlohmann::json;

// Factors are kept in single precision, whose entries are off by up to 2^-24 = 6e-8 of themselves, and values of kernels, products of
// two of them, by twice that: so may be the objective, where the tolerance of the fixtures is 3e-9. How much it is depends on the
// processor's sums. Weights, bias and decisions are compared with the tolerances of the fixtures.
constexpr double kRounding = 1.2e-7;

PreparedData BlocksOf(const std::vector<Matrix>& factors) {
  PreparedData data;
  data.rows = factors[0].rows();
  for (size_t k = 0; k < factors.size(); ++k) {
    PreparedBlock& block = data.blocks.emplace_back();
    block.name = "V" + std::to_string(k);
    for (Index c = 0; c < factors[k].cols(); ++c) {
      block.sources.push_back(block.name + "_" + std::to_string(c));
    }
    block.values = SharedMatrix(RowMatrix(factors[k]));
  }
  return data;
}

TrainingProblem FactorProblem(const FixtureCase& given) {
  TrainingProblem problem = given.problem;
  problem.tasks[0].inputs = std::make_shared<const PreparedData>(BlocksOf(given.factors));
  problem.kernels.clear();
  for (size_t k = 0; k < given.factors.size(); ++k) {
    KernelSpec& kernel = problem.kernels.emplace_back();
    kernel.type = KernelType::kLinear;
    kernel.block = "V" + std::to_string(k);
  }
  return problem;
}

Vector WithoutBias(const Fit& fit, const PreparedData& rows) {
  RunContext context;
  const auto values = EvaluateFunction(fit.point.function, rows, context);
  EXPECT_TRUE(values.ok()) << values.status();
  return values.ok() ? Vector(values->col(0).array() - fit.bias()) : Vector();
}

void CheckFactors(const json& fixture, OptionValues more, const std::string& name) {
  const FixtureCase given = ReadCase(fixture["input"]);
  const std::string what = fixture.value("name", fixture.value("title", "")) + " " + name;
  const TrainingProblem problem = FactorProblem(given);
  OptionValues options = OnLandmarks(problem.tasks[0].inputs->rows, given.options);
  options["compression_tolerance"] = 0.0;
  options.merge(more);
  const absl::StatusOr<Fit> fit =
      Train(problem, options, fixture["tolerance"]["solve_to_gap_rel"].get<double>());
  ASSERT_TRUE(fit.ok()) << what << ": " << fit.status();
  const Vector test =
      given.test_factors.empty() ? Vector() : WithoutBias(*fit, BlocksOf(given.test_factors));
  ExpectFixture(fixture, *fit, kRounding, {WithoutBias(*fit, *problem.tasks[0].inputs), test},
                what);
}

TEST(LowRankFixtureTest, GivenFactorsMatchConeSolver) {
  for (const char* name :
       {"lowrank_p1", "lowrank_p1_1", "lowrank_p2_bigC", "lowrank_p4_imbalanced"}) {
    CheckFactors(ReadFixture(name), {}, name);
  }
}

TEST(LowRankFixtureTest, DegenerateFactorsMatchConeSolver) {
  const json fixture = ReadFixture("edge_cases");
  for (const json& edge : fixture["cases"]) {
    if (!edge["expected"].contains("error")) {
      CheckFactors(edge, {}, "");
    }
  }
}

// The approximation on the fixture's landmarks; its kernels as Gram matrices, in double precision, are solved by the learner.
TEST(LowRankFixtureTest, GaussiansOnGivenLandmarksMatchConeSolver) {
  json fixture = ReadFixture("gaussian_nystrom");
  const json& input = fixture["input"];
  fixture["expected"] = json(fixture["expected"]["nystrom"]);
  const Vector labels = FixtureVector(input["y"]);
  const TrainingProblem gaussians =
      GaussianProblem(FixtureMatrix(input["X"]), labels, input["sigma"].get<std::vector<double>>());
  const PreparedData& rows = *gaussians.tasks[0].inputs;
  RunContext context;
  const absl::StatusOr<NystromFeatures> features = NystromFeatures::Make(
      LandmarksFromRows(rows, input["landmarks"].get<std::vector<Index>>()), gaussians.kernels,
      {input["rank"].get<Index>(), input["eigen_rtol"].get<double>()}, context);
  ASSERT_TRUE(features.ok()) << features.status();
  const RowMatrix x_test = FixtureMatrix(input["X_test"]);
  const Matrix train = *features->EvaluateAll(rows, context);
  const Matrix test = *features->EvaluateAll(
      *GaussianProblem(x_test, Vector::Ones(x_test.rows()), {}).tasks[0].inputs, context);
  std::vector<Matrix> grams;
  std::vector<Matrix> test_grams;
  for (Index k = 0; k < features->num_kernels(); ++k) {
    const Index first = features->first_feature(k);
    const Index count = features->first_feature(k + 1) - first;
    grams.push_back(train.middleRows(first, count).transpose() * train.middleRows(first, count));
    test_grams.push_back(test.middleRows(first, count).transpose() *
                         train.middleRows(first, count));
  }
  const absl::StatusOr<Fit> fit =
      Train(GramProblem(grams, labels),
            {{"p", FixtureNumber(input["p"])}, {"C", input["C"].get<double>()}},
            fixture["tolerance"]["solve_to_gap_rel"].get<double>());
  ASSERT_TRUE(fit.ok()) << fit.status();
  Decisions decisions{Vector::Zero(labels.size()), Vector::Zero(x_test.rows())};
  for (size_t k = 0; k < grams.size(); ++k) {
    const double weight = fit->weights()(static_cast<Index>(k));
    decisions.train += weight * (grams[k] * fit->dual());
    decisions.test += weight * (test_grams[k] * fit->dual());
  }
  ExpectFixture(fixture, *fit, fixture["tolerance"]["objective_rel"].get<double>(), decisions,
                "gaussians on landmarks");
}

}  // namespace
}  // namespace mercer::lp_mkl
