// SmoSolver and CertifySvm against solutions of independent solvers: a cone program for the plain
// SVM, LIBSVM for decision values.
#include <fstream>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/solvers/svm/smo.h"
#include "core/solvers/svm/svm_certificate.h"
#include "tests/core/solvers/svm_test_problems.h"
#include "tests/support/source_folder.h"

namespace mercer {
namespace {

nlohmann::json ReadFixture(const std::string& name) {
  std::ifstream file(SourceFolder() / "tests/fixtures" / name);
  EXPECT_TRUE(file.good()) << name;
  return nlohmann::json::parse(file);
}

Vector ToVector(const nlohmann::json& values) {
  Vector vector(static_cast<Index>(values.size()));
  for (Index i = 0; i < vector.size(); ++i) {
    vector(i) = values[static_cast<size_t>(i)].get<double>();
  }
  return vector;
}

Matrix ToMatrix(const nlohmann::json& rows) {
  Matrix matrix(static_cast<Index>(rows.size()), static_cast<Index>(rows[0].size()));
  for (Index i = 0; i < matrix.rows(); ++i) {
    matrix.row(i) = ToVector(rows[static_cast<size_t>(i)]).transpose();
  }
  return matrix;
}

SvmProblem ProblemOf(const nlohmann::json& item) {
  return {SharedLoss(LossKind::kHinge), ToVector(item["y"]), ToVector(item["C_i"])};
}

// The reference writes decision = f - b; ours is f + bias.
TEST(SvmFixtureTest, SmoSolvesEveryCase) {
  const nlohmann::json fixture = ReadFixture("mixed-norm-mkl/svm-cases.json");
  const double objective_rel = fixture["tolerance"]["objective_rel"];
  const double decision_abs = fixture["tolerance"]["decision_abs"];
  const double beta_rel = fixture["tolerance"]["beta_rel_to_C"];
  for (const nlohmann::json& item : fixture["cases"]) {
    SCOPED_TRACE(item["name"].get<std::string>());
    const DenseKernelOperator kernel(std::make_shared<const Matrix>(ToMatrix(item["gram"])));
    const SvmProblem problem = ProblemOf(item);
    SmoSolver solver(kernel, {.relative_gap = 1e-13});
    RunContext context;
    ASSERT_EQ(solver.Start(problem, {}, context), absl::OkStatus());
    ASSERT_EQ(solver.Run(context), absl::OkStatus());
    const double objective = item["objective"];
    EXPECT_NEAR(solver.certificate().dual, objective, objective_rel * objective);
    EXPECT_NEAR(solver.certificate().primal, objective, objective_rel * objective);
    EXPECT_GE(solver.certificate().primal, objective * (1 - 1e-9));
    EXPECT_LE(solver.certificate().dual, objective * (1 + 1e-9));
    const double b = item["b"];
    const Vector scores = ToVector(item["decision_train"]).array() + b;
    EXPECT_LE((solver.scores() - scores).lpNorm<Eigen::Infinity>(), decision_abs);
    const BiasInterval bias = solver.certificate().bias;
    EXPECT_GE(-bias.chosen, item["b_interval"][0].get<double>() - decision_abs);
    EXPECT_LE(-bias.chosen, item["b_interval"][1].get<double>() + decision_abs);
    if (item["b_unique"]) {
      EXPECT_NEAR(-bias.chosen, b, decision_abs);
    }
    if (item["beta_unique"]) {
      EXPECT_LE((solver.dual() - ToVector(item["beta"])).lpNorm<Eigen::Infinity>(),
                beta_rel * problem.costs.maxCoeff());
    }
    if (item.contains("gram_test")) {
      const Vector decision = (ToMatrix(item["gram_test"]) * solver.dual()).array() + bias.chosen;
      EXPECT_LE((decision - ToVector(item["decision_test"])).lpNorm<Eigen::Infinity>(),
                decision_abs);
    }
  }
}

TEST(SvmFixtureTest, CertificateOfEveryReferenceSolutionClosesTheGap) {
  const nlohmann::json fixture = ReadFixture("mixed-norm-mkl/svm-cases.json");
  for (const nlohmann::json& item : fixture["cases"]) {
    SCOPED_TRACE(item["name"].get<std::string>());
    const SvmProblem problem = ProblemOf(item);
    Vector dual = ToVector(item["beta"]);
    problem.loss->RepairDual(problem.targets, problem.costs, true, dual);
    const auto certificate = CertifySvm(*problem.loss, problem.targets, problem.costs, dual,
                                        ToMatrix(item["gram"]) * dual);
    ASSERT_TRUE(certificate.ok()) << certificate.status();
    const double objective = item["objective"];
    EXPECT_NEAR(certificate->primal, objective, 1e-9 * objective);
    EXPECT_NEAR(certificate->dual, objective, 1e-9 * objective);
    EXPECT_NEAR(-certificate->bias.low, item["b_interval"][1].get<double>(), 1e-6);
    EXPECT_NEAR(-certificate->bias.high, item["b_interval"][0].get<double>(), 1e-6);
  }
}

TEST(SvmFixtureTest, DecisionValuesAgreeWithLibsvm) {
  const nlohmann::json fixture = ReadFixture("svm/libsvm-agreement.json");
  const Matrix gram = GaussianGram(ToMatrix(fixture["features"]), fixture["gamma"]);
  const DenseKernelOperator kernel(std::make_shared<const Matrix>(gram));
  const Vector ones = Vector::Ones(gram.rows());
  const std::vector<std::pair<SvmProblem, Vector>> tasks = {
      {{SharedLoss(LossKind::kHinge), ToVector(fixture["labels"]),
        fixture["classification_c"].get<double>() * ones},
       ToVector(fixture["classification_decision"])},
      {{SharedLoss(LossKind::kEpsilonInsensitive, fixture["epsilon"]), ToVector(fixture["targets"]),
        fixture["regression_c"].get<double>() * ones},
       ToVector(fixture["regression_decision"])}};
  for (const auto& [problem, expected] : tasks) {
    SmoSolver solver(kernel, {.relative_gap = 1e-10});
    RunContext context;
    ASSERT_EQ(solver.Start(problem, {}, context), absl::OkStatus());
    ASSERT_EQ(solver.Run(context), absl::OkStatus());
    const Vector decision = solver.scores().array() + solver.certificate().bias.chosen;
    EXPECT_LE((decision - expected).lpNorm<Eigen::Infinity>(), 1e-4) << problem.loss->name();
  }
}

}  // namespace
}  // namespace mercer
