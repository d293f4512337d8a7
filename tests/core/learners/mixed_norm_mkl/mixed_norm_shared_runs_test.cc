// Machines that share one combination of kernels: curved losses, costs of rows, units of C, warm
// starts, runs that are stopped, and what the verifier refuses.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "core/learners/mixed_norm_mkl/mixed_norm_mkl.h"
#include "core/learners/registry.h"
#include "core/training/recipe/recipe.h"
#include "tests/core/learners/mixed_norm_mkl/mixed_norm_shared_problems.h"
#include "tests/core/training/trained_models.h"
#include "tests/support/learner_runs.h"

namespace mercer::mixed_norm_mkl {
namespace {

OptionValues SharedWith(const std::string& loss, OptionValues more = {}) {
  more["loss"] = loss;
  return Shared(std::move(more));
}

// l(y, f) and -l*(-a) of a row of the cost c, by the definitions.
double LossAt(const std::string& loss, double margin) {
  if (loss == "logistic") {
    return std::log1p(std::exp(-margin));
  }
  const double hinge = std::max(0.0, 1 - margin);
  return loss == "hinge" ? hinge : hinge * hinge;
}
double ConjugateAt(const std::string& loss, double cost, double dual) {
  if (loss == "hinge") {
    return dual;
  }
  if (loss == "squared_hinge") {
    return dual - dual * dual / (4 * cost);
  }
  const double share = dual / cost;
  const auto entropy = [](double p) { return p > 0 ? p * std::log(p) : 0.0; };
  return -cost * (entropy(share) + entropy(1 - share));
}

struct Bounds {
  double primal = 0;
  double dual = 0;
};

// Both bounds of a fit by the definition.
Bounds BoundsOf(const std::string& loss, const ThreeClasses& given, const TrainingProblem& problem,
                double C, const Fit& fit) {
  const TaskWitness& witness = fit.point.witness.tasks[0];
  const Matrix& lower = *fit.point.witness.FindArray("lower_dual");
  Vector sums = Vector::Zero(2);
  Vector largest = Vector::Zero(2);
  Matrix values = witness.bias.transpose().replicate(45, 1);
  for (size_t k = 0; k < given.kernels.grams.size(); ++k) {
    const Matrix& gram = given.kernels.grams[k];
    const int group = given.kernels.groups[k];
    const double weight = fit.weights()(static_cast<Index>(k));
    const Matrix products = gram * witness.dual;
    sums(group) += weight * std::sqrt(std::max(0.0, witness.dual.cwiseProduct(products).sum()));
    values += weight * products;
    largest(group) = std::max(largest(group), lower.cwiseProduct(gram * lower).sum());
  }
  Bounds bounds{0.5 * std::pow(sums.maxCoeff(), 2), -0.5 * std::pow(largest.cwiseSqrt().sum(), 2)};
  const TaskData& task = problem.tasks[0];
  for (Index o = 0; o < task.targets.cols(); ++o) {
    EXPECT_NEAR(lower.col(o).sum(), 0, 1e-9);
    for (Index i = 0; i < task.targets.rows(); ++i) {
      const double y = task.targets(i, o);
      const double cost = C * task.costs(i);
      if (y != 0 && cost > 0) {
        bounds.primal += cost * LossAt(loss, y * values(i, o));
        bounds.dual += ConjugateAt(loss, cost, y * lower(i, o));
      }
    }
  }
  return bounds;
}

class SharedLossTest : public ::testing::TestWithParam<std::tuple<std::string, bool>> {
 protected:
  const std::string loss_ = std::get<0>(GetParam());
  const ThreeClasses given_;
  TrainingProblem problem_ = given_.Problem(std::get<1>(GetParam()));

  void ExpectBoundsOfTheDefinition(double C, const Fit& fit) const {
    EXPECT_EQ(fit.stop_reason, StopReason::kConverged);
    const Bounds bounds = BoundsOf(loss_, given_, problem_, C, fit);
    EXPECT_NEAR(bounds.primal, fit.certificate.primal, 1e-8 * bounds.primal);
    EXPECT_NEAR(bounds.dual, fit.certificate.dual, 1e-8 * bounds.primal);
  }
};

TEST_P(SharedLossTest, CertificateIsThatOfTheDefinition) {
  for (const char* regularization : {"mixed_norm", "l1"}) {
    const OptionValues options =
        SharedWith(loss_, {{"regularization", std::string(regularization)}});
    const Fit fit = MustTrain(problem_, options, kSharedGap);
    ASSERT_EQ(fit.stop_reason, StopReason::kConverged) << regularization;
    if (std::string(regularization) == "mixed_norm") {
      ExpectBoundsOfTheDefinition(kSharedCost, fit);
    }
    OptionValues closed = options;
    closed["method"] = std::string("closed_form");
    EXPECT_NEAR(MustTrain(problem_, closed, 1e-4).objective(), fit.objective(),
                1e-4 * fit.objective());
  }
}

// Rows of one class count twice, one row not at all.
TEST_P(SharedLossTest, CostsOfRowsAreThoseOfTheDefinition) {
  for (Index i = 0; i < 45; ++i) {
    problem_.tasks[0].costs(i) = given_.labels[static_cast<size_t>(i)] == 1 ? 2 : 0.5;
  }
  problem_.tasks[0].costs(3) = 0;
  const Fit fit = MustTrain(problem_, SharedWith(loss_), kSharedGap);
  ExpectBoundsOfTheDefinition(kSharedCost, fit);
  EXPECT_EQ(fit.point.witness.tasks[0].dual.row(3).cwiseAbs().maxCoeff(), 0);
}

// The unit is one of all rows, whatever the rows of a pair: n over the trace of the first weights.
TEST_P(SharedLossTest, ComparableCostIsInTheUnitOfAllRows) {
  double trace = 0;
  for (const Matrix& gram : given_.kernels.grams) {
    trace += 2.0 / 3 * gram.trace();  // two groups of three kernels
  }
  const OptionValues comparable = SharedWith(loss_, {{"cost_scale", std::string("comparable")}});
  OptionValues with_cost = comparable;
  with_cost["C"] = 3.0;
  const Fit fit = MustTrain(problem_, with_cost, kSharedGap);
  ExpectBoundsOfTheDefinition(3.0 * 45 / trace, fit);
}

INSTANTIATE_TEST_SUITE_P(Losses, SharedLossTest,
                         ::testing::Combine(::testing::Values("hinge", "squared_hinge", "logistic"),
                                            ::testing::Bool()),
                         [](const auto& given) {
                           return std::get<0>(given.param) +
                                  (std::get<1>(given.param) ? "Pairs" : "All");
                         });

int64_t StepsOf(const TrainingProblem& problem, const OptionValues& options,
                const WarmStart* warm_start, TrainedPoint& point, double& accuracy) {
  RunContext context;
  absl::StatusOr<std::unique_ptr<Learner>> learner = Entry().create(options);
  EXPECT_TRUE(learner.ok()) << learner.status();
  EXPECT_TRUE((*learner)->Start(problem, warm_start).ok());
  for (int64_t step = 1; step < 300; ++step) {
    const absl::StatusOr<StepReport> report = (*learner)->Step(context, problem.relative_gap);
    EXPECT_TRUE(report.ok()) << report.status();
    if (!report.ok() || report->stop.has_value() || report->accuracy <= problem.relative_gap) {
      accuracy = report.ok() ? report->accuracy : 1;
      absl::StatusOr<TrainedPoint> found = (*learner)->CurrentModel(context);
      EXPECT_TRUE(found.ok()) << found.status();
      point = found.ok() ? *std::move(found) : TrainedPoint();
      return step;
    }
  }
  return 300;
}

TEST(SharedWarmStartTest, BeginsAtTheWeightsOfTheOtherCost) {
  const ThreeClasses given;
  TrainingProblem problem = given.Problem(true);
  problem.relative_gap = 1e-4;
  OptionValues options = Shared();
  TrainedPoint first;
  double accuracy = 1;
  StepsOf(problem, options, nullptr, first, accuracy);
  EXPECT_LE(accuracy, 1e-4);
  options["C"] = 1.3 * kSharedCost;
  TrainedPoint cold;
  const int64_t cold_steps = StepsOf(problem, options, nullptr, cold, accuracy);
  TrainedPoint warm;
  const WarmStart start{&first, &problem};
  const int64_t warm_steps = StepsOf(problem, options, &start, warm, accuracy);
  EXPECT_LE(accuracy, 1e-4);
  EXPECT_LE(warm_steps, cold_steps);
  EXPECT_LE((warm.summary.kernel_weights - cold.summary.kernel_weights).cwiseAbs().maxCoeff(),
            0.05 * cold.summary.kernel_weights.maxCoeff());
}

class StoppingObserver : public QuietObserver {
 public:
  explicit StoppingObserver(int64_t calls) : left_(calls) {}
  bool StopRequested() override { return --left_ < 0; }

 private:
  std::atomic<int64_t> left_;
};

// Wherever a run is stopped, what it has is a model of its own certificate, or there is none yet.
TEST(SharedStopTest, LeavesAModelThatIsVerifiedOrNone) {
  const ThreeClasses given;
  for (const bool pairs : {false, true}) {
    const TrainingProblem problem = given.Problem(pairs);
    int models = 0;
    for (int64_t calls = 0; calls < 400; calls = calls < 40 ? calls + 1 : calls + 37) {
      const OptionValues options = Shared();
      const auto learner = Entry().create(options);
      ASSERT_TRUE(learner.ok());
      RunContext context(CancellationToken(), calls % 2 == 0 ? 1 : 3, nullptr);
      StoppingObserver observer(calls);
      RunLimits limits;
      limits.relative_gap = 1e-6;
      limits.constant_if_none = calls % 3 == 0;
      const absl::StatusOr<TrainingOutcome> outcome =
          RunTraining(Entry(), options, **learner, problem, limits, {}, context, observer);
      if (!outcome.ok()) {
        EXPECT_EQ(GetReason(outcome.status()), "NO_MODEL") << outcome.status();
        EXPECT_FALSE(limits.constant_if_none);
        continue;
      }
      ++models;
      EXPECT_EQ(outcome->point.function.bias.size(), 3) << calls;
      EXPECT_GE(outcome->certificate.primal, outcome->certificate.dual) << calls;
      EXPECT_TRUE(std::isfinite(outcome->certificate.primal)) << calls;
    }
    EXPECT_GT(models, 10);
  }
}

// Models of recipes, of four classes with weights of their own.
class SharedModelTest : public ::testing::Test {
 protected:
  SharedModelTest() {
    recipe_ = ExampleRecipe();
    recipe_.learner = "mixed_norm_mkl";
    recipe_.coding = CodingChoice::kOneVsOne;
    recipe_.options = {{"C", 2.0}, {"shared_weights", true}};
    recipe_.limits.relative_gap = 1e-4;
    recipe_.class_weighting = ClassWeighting::kBalanced;
  }

  RecipeRun Run() const { return {&entry_, &recipe_, &data_, "digest", "test"}; }
  absl::StatusOr<TrainedModel> Train() const {
    RunContext context;
    RecordingObserver observer;
    return RunRecipe(Run(), {}, context, observer);
  }
  absl::StatusOr<Certificate> VerifyAgain(const Model& model, const Witness& witness) const {
    RunContext context;
    return VerifyModel(Run(), model, witness, context);
  }

  const LearnerEntry& entry_ = *FindLearner("mixed_norm_mkl");
  TrainingRecipe recipe_;
  Dataset data_ = ClassificationData(80, 3, 4, 1);
};

TEST_F(SharedModelTest, ClassesWeighAsTheRecipeSays) {
  const absl::StatusOr<TrainedModel> balanced = Train();
  ASSERT_TRUE(balanced.ok()) << balanced.status();
  std::vector<double> counts(4, 0.0);
  for (const double label : data_.role_columns[0].values) {
    counts[static_cast<size_t>(label)] += 1;
  }
  recipe_.class_weighting = ClassWeighting::kExplicit;
  for (int c = 0; c < 4; ++c) {
    recipe_.class_weights[balanced->model.coding.classes()[static_cast<size_t>(c)]] =
        80 / (4 * counts[static_cast<size_t>(c)]);
  }
  const absl::StatusOr<TrainedModel> explicitly = Train();
  ASSERT_TRUE(explicitly.ok()) << explicitly.status();
  EXPECT_EQ(explicitly->model.certificate.primal, balanced->model.certificate.primal);
  EXPECT_EQ(explicitly->model.certificate.dual, balanced->model.certificate.dual);
  recipe_.class_weighting = ClassWeighting::kNone;
  const absl::StatusOr<TrainedModel> none = Train();
  ASSERT_TRUE(none.ok()) << none.status();
}

TEST_F(SharedModelTest, AModelThatWasChangedIsRefused) {
  const absl::StatusOr<TrainedModel> trained = Train();
  ASSERT_TRUE(trained.ok()) << trained.status();
  const Witness& witness = trained->witness;
  const absl::StatusOr<Certificate> same = VerifyAgain(trained->model, witness);
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_EQ(same->primal, trained->model.certificate.primal);
  EXPECT_EQ(same->dual, trained->model.certificate.dual);

  const auto expect_refused = [&](const char* what,
                                  const std::function<void(Model&, Witness&)>& change) {
    Model model = trained->model;
    Witness changed = witness;
    change(model, changed);
    const absl::StatusOr<Certificate> found = VerifyAgain(model, changed);
    EXPECT_TRUE(absl::IsFailedPrecondition(found.status())) << what << ": " << found.status();
  };
  expect_refused("bias of the model",
                 [](Model& model, Witness&) { model.function.bias(2) += 0.1; });
  expect_refused("bias of the witness",
                 [](Model&, Witness& changed) { changed.tasks[0].bias(2) += 0.1; });
  expect_refused("dual of an output", [](Model&, Witness& changed) {
    Matrix& dual = changed.tasks[0].dual;
    Index row = 0;
    dual.col(1).cwiseAbs().maxCoeff(&row);
    dual(row, 1) *= 1.5;
  });
  expect_refused("dual at a row that the pair does not see", [](Model&, Witness& changed) {
    Matrix& dual = changed.tasks[0].dual;
    for (Index i = 0; i < dual.rows(); ++i) {
      if (dual(i, 0) == 0) {
        dual(i, 0) = 0.01;
        return;
      }
    }
  });
  expect_refused("weight of a kernel", [](Model&, Witness& changed) {
    for (auto& [name, values] : changed.arrays) {
      if (name == "weights") {
        values(0, 0) = values(0, 0) * 1.1 + 0.1;
      }
    }
  });
  expect_refused("lower dual of too few outputs", [](Model&, Witness& changed) {
    for (auto& [name, values] : changed.arrays) {
      if (name == "lower_dual") {
        values = Matrix(values.leftCols(2));
      }
    }
  });
}

// A dual that is no better may be given: what is bounded is bounded from it.
TEST_F(SharedModelTest, ASmallerDualGivesASmallerBound) {
  const absl::StatusOr<TrainedModel> trained = Train();
  ASSERT_TRUE(trained.ok()) << trained.status();
  Witness changed = trained->witness;
  for (auto& [name, values] : changed.arrays) {
    if (name == "lower_dual") {
      values.col(0).setZero();
    }
  }
  const absl::StatusOr<Certificate> found = VerifyAgain(trained->model, changed);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->primal, trained->model.certificate.primal);
  EXPECT_LT(found->dual, trained->model.certificate.dual);
}

TEST_F(SharedModelTest, APathKeepsWhatIsBestOfItsValues) {
  recipe_.options.erase("C");
  recipe_.path = OptionPath{"C", {0.1, 1.0, 10.0}};
  recipe_.validation = {ValidationKind::kFolds, std::nullopt, 3};
  const absl::StatusOr<TrainedModel> of_path = Train();
  ASSERT_TRUE(of_path.ok()) << of_path.status();
  const double best = std::get<double>(of_path->model.options.at("C"));
  recipe_.path.reset();
  recipe_.validation = {};
  recipe_.options["C"] = best;
  const absl::StatusOr<TrainedModel> alone = Train();
  ASSERT_TRUE(alone.ok()) << alone.status();
  EXPECT_NEAR(of_path->model.certificate.primal, alone->model.certificate.primal,
              2e-4 * alone->model.certificate.primal);
  EXPECT_LE(of_path->model.certificate.accuracy, 1e-4);
}

}  // namespace
}  // namespace mercer::mixed_norm_mkl
