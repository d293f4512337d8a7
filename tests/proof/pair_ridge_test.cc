// The learner of the proof where the conformance suites, which know no such learner, do not look:
// its solution, tasks, groups, witness, term and table.
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <Eigen/LU>
#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "core/learners/registry.h"
#include "core/training/model/point_encoding.h"
#include "core/training/model/predictor.h"
#include "core/training/recipe/recipe.h"
#include "core/training/run/verification.h"
#include "core/training/terms/term_kinds.h"
#include "tests/conformance/learner_conformance.h"
#include "tests/support/learner_runs.h"
#include "tests/support/model_terms.h"
#include "tests/support/proof/pairs.h"
#include "tests/support/proof/plane_term.h"

namespace mercer::pair_ridge {
namespace {

const LearnerEntry& PairRidgeEntry() { return *FindLearner("pair_ridge"); }

// Two tasks that have every third row and the others, with a row of weight 0 and kernels in groups.
TrainingProblem TwoTasks(TargetKind kind = TargetKind::kRegression) {
  TrainingProblem problem = ToyProblem(kind, 45, 3, {0.7, 2.0, 6.0});
  problem.relative_gap = 1e-10;
  problem.kernels[1].labels.group = "wide";
  problem.kernels[2].labels.group = "wide";
  const TaskData all = problem.tasks[0];
  problem.tasks.clear();
  for (size_t t = 0; t < 2; ++t) {
    std::vector<Index> kept;
    for (Index i = 0; i < 45; ++i) {
      if ((i % 3 == 0) == (t == 0)) {
        kept.push_back(i);
      }
    }
    problem.tasks.push_back(Narrow(all, kept));
    problem.tasks[t].name = t == 0 ? "few" : "many";
  }
  problem.tasks[1].targets *= kind == TargetKind::kRegression ? -2 : 1;
  problem.tasks[1].costs(7) = 0;
  return problem;
}

absl::StatusOr<TrainingOutcome> Train(const TrainingProblem& problem,
                                      const OptionValues& options = {}) {
  return RunToGap(PairRidgeEntry(), options, problem);
}

// The values of the rows of one task after those of the other, each for its own task.
Vector OwnValues(const ModelFunction& function, const TrainingProblem& problem) {
  RunContext context;
  const auto values = EvaluateFunction(function, *problem.tasks[0].inputs, context);
  EXPECT_TRUE(values.ok()) << values.status();
  std::vector<double> own;
  for (size_t t = 0; values.ok() && t < problem.tasks.size(); ++t) {
    for (const Index row : problem.tasks[t].rows) {
      own.push_back((*values)(row, static_cast<Index>(t)));
    }
  }
  return Eigen::Map<const Vector>(own.data(), static_cast<Index>(own.size()));
}

// The solution of a + 2 C c (K a + B b) = 2 C c y, B'a = 0, by elimination, with kernels entry by
// entry.
Vector DirectValues(const TrainingProblem& problem, double C, double sharing) {
  const std::vector<double> weights = {1.5, 0.75, 0.75};  // three kernels in groups of one and two
  const auto x = problem.tasks[0].inputs->blocks[0].values.view();
  struct Row {
    Index number;
    size_t task;
    double target;
    double cost;
  };
  std::vector<Row> rows;
  for (size_t t = 0; t < problem.tasks.size(); ++t) {
    const TaskData& task = problem.tasks[t];
    for (size_t i = 0; i < task.rows.size(); ++i) {
      const auto place = static_cast<Index>(i);
      rows.push_back({task.rows[i], t, task.targets(place, 0), task.costs(place)});
    }
  }
  const auto n = static_cast<Index>(rows.size());
  const auto tasks = static_cast<Index>(problem.tasks.size());
  Matrix values = Matrix::Zero(n, n + tasks);  // of a and b
  Matrix system = Matrix::Zero(n + tasks, n + tasks);
  Vector right = Vector::Zero(n + tasks);
  for (Index i = 0; i < n; ++i) {
    const Row& left = rows[static_cast<size_t>(i)];
    for (Index j = 0; j < n; ++j) {
      const Row& other = rows[static_cast<size_t>(j)];
      const auto difference = x.row(left.number) - x.row(other.number);
      double kernel =
          3 * x.row(left.number).dot(x.row(other.number)) / static_cast<double>(x.cols());
      for (size_t k = 0; k < weights.size(); ++k) {
        const double width = problem.kernels[k].bandwidth;
        kernel += weights[k] * std::exp(-difference.squaredNorm() / (2 * width * width));
      }
      values(i, j) = (sharing + (left.task == other.task ? 1.0 : 0.0)) * kernel;
    }
    const Index bias = n + static_cast<Index>(left.task);
    values(i, bias) = 1;
    system.row(i) = 2 * C * left.cost * values.row(i);
    system(i, i) += 1;
    system(bias, i) = 1;
    right(i) = 2 * C * left.cost * left.target;
  }
  return values * system.fullPivLu().solve(right);
}

// The shares of "kernels", "wide" and the plane in the squared values that the dual variables of
// each task give at all rows, entry by entry.
Matrix DirectShares(const TrainingProblem& problem, const Witness& witness) {
  const AllRows all(problem);
  const Vector dual = DualOfPairs(MakePairs(all), witness.FindArray("pairs")->col(0), all.size());
  const auto x = problem.tasks[0].inputs->blocks[0].values.view();
  Matrix shares = Matrix::Zero(3, 2);
  for (Index t = 0; t < 2; ++t) {
    for (const Index row : all.rows) {
      Vector values = Vector::Zero(3);
      for (const Index place : all.places[static_cast<size_t>(t)]) {
        const Index other = all.rows[static_cast<size_t>(place)];
        const double distance = (x.row(row) - x.row(other)).squaredNorm();
        const auto kernel = [&](size_t k) {
          const double width = problem.kernels[k].bandwidth;
          return std::exp(-distance / (2 * width * width));
        };
        values(0) += dual(place) * 1.5 * kernel(0);
        values(1) += dual(place) * 0.75 * (kernel(1) + kernel(2));
        values(2) += dual(place) * 3 * x.row(row).dot(x.row(other)) / static_cast<double>(x.cols());
      }
      shares.col(t) += values.cwiseAbs2();
    }
    shares.col(t) /= shares.col(t).sum();
  }
  return shares;
}

TEST(PairRidgeTest, SolvesItsProblemForSeveralTasks) {
  const TrainingProblem problem = TwoTasks();
  for (const auto& [C, sharing] : {std::pair(1.0, 0.5), {20.0, 0.0}, {0.1, 3.0}}) {
    const auto outcome = Train(problem, {{"C", C}, {"sharing", sharing}});
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    EXPECT_LE(outcome->certificate.accuracy, 1e-10);
    const Vector expected = DirectValues(problem, C, sharing);
    EXPECT_LE((OwnValues(outcome->point.function, problem) - expected).cwiseAbs().maxCoeff(), 1e-3)
        << C << ", " << sharing;
  }
}

TEST(PairRidgeTest, GroupsOfKernelsCount) {
  TrainingProblem problem = TwoTasks();
  const auto grouped = Train(problem);
  for (KernelSpec& kernel : problem.kernels) {
    kernel.labels.group.clear();
  }
  const auto without = Train(problem);
  ASSERT_TRUE(grouped.ok() && without.ok()) << grouped.status() << without.status();
  EXPECT_GT(
      (OwnValues(grouped->point.function, problem) - OwnValues(without->point.function, problem))
          .cwiseAbs()
          .maxCoeff(),
      1e-3);
}

TEST(PairRidgeTest, EveryCoefficientOfAPairIsVerified) {
  const TrainingProblem problem = TwoTasks();
  const auto outcome = Train(problem);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_TRUE(outcome->point.witness.tasks.empty());
  const auto verify = [&](const std::function<void(Witness&)>& change) {
    Witness witness = outcome->point.witness;
    change(witness);
    RunContext context;
    return GetReason(
        VerifyFunction(PairRidgeEntry(), {}, problem, outcome->point.function, witness, context)
            .status());
  };
  EXPECT_EQ(verify([](Witness&) {}), "");
  // 15 + 30 rows, one of them of weight 0.
  ASSERT_EQ(outcome->point.witness.arrays[0].second.rows(), 14 + 28);
  for (const Index pair : {0, 13, 14, 41}) {
    EXPECT_EQ(verify([&](Witness& witness) { witness.arrays[0].second(pair, 0) += 1e-4; }),
              "WITNESS_MISMATCH")
        << pair;
  }
  EXPECT_EQ(verify([](Witness& witness) { witness.arrays[0].second.conservativeResize(41, 1); }),
            "WITNESS_MISMATCH");
  EXPECT_EQ(verify([](Witness& witness) { witness.arrays.clear(); }), "WITNESS_MISMATCH");
}

TEST(PairRidgeTest, ThePlaneHasTheGradientOfItsValues) {
  const TrainingProblem problem = TwoTasks();
  const auto outcome = Train(problem);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  ModelFunction planes;
  planes.bias = outcome->point.function.bias;
  for (size_t t = 0; t < 2; ++t) {
    AddTerm(TermAt<PlaneTerm>(outcome->point.function, t), planes);
  }
  RowMatrix at = NormalMatrix(4, 3, 9);
  RunContext context;
  for (int output = 0; output < 2; ++output) {
    const auto gradients = EvaluateGradients(planes, output, Prepared(at), context);
    ASSERT_TRUE(gradients.ok()) << gradients.status();
    EXPECT_GT(gradients->norm(), 0.1);
    for (Index j = 0; j < 3; ++j) {
      RowMatrix moved = at;
      moved.col(j).array() += 1.0;
      const Vector difference = EvaluateFunction(planes, Prepared(moved), context)->col(output) -
                                EvaluateFunction(planes, Prepared(at), context)->col(output);
      EXPECT_LE((difference - gradients->col(j)).cwiseAbs().maxCoeff(), 1e-12);
    }
  }
}

TEST(PairRidgeTest, GroupsAndPlaneShareTheValuesOfEachTask) {
  const auto outcome = Train(TwoTasks());
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  ASSERT_EQ(outcome->point.summary.tables.size(), 1U);
  const ModelTable& table = outcome->point.summary.tables[0];
  EXPECT_EQ(table.name, "group_shares");
  EXPECT_EQ(table.rows, (std::vector<std::string>{"kernels", "wide", "plane"}));
  ASSERT_EQ(table.values.cols(), 2);
  EXPECT_LE((table.values - DirectShares(TwoTasks(), outcome->point.witness)).cwiseAbs().maxCoeff(),
            1e-6);
}

std::string BitsOf(const TrainingOutcome& outcome) {
  ByteWriter writer;
  WritePoint(outcome.point, writer);
  return std::move(writer).Take();
}

TEST(PairRidgeTest, SeveralTasksGoOnFromEveryCheckpoint) {
  for (const TargetKind kind : {TargetKind::kRegression, TargetKind::kClassification}) {
    const TrainingProblem problem = TwoTasks(kind);
    const auto run = [&](const std::string& state, ConformanceObserver& observer) {
      const std::unique_ptr<Learner> learner = *PairRidgeEntry().create({});
      RunContext context;
      RunLimits limits;
      limits.relative_gap = problem.relative_gap;
      return RunTraining(PairRidgeEntry(), {}, *learner, problem, limits, state, context, observer);
    };
    ConformanceObserver observer;
    observer.wants_checkpoints = true;
    const auto straight = run({}, observer);
    ASSERT_TRUE(straight.ok()) << straight.status();
    ASSERT_FALSE(observer.checkpoints.empty());
    for (const std::string& state : observer.checkpoints) {
      ConformanceObserver quiet;
      const auto resumed = run(state, quiet);
      ASSERT_TRUE(resumed.ok()) << resumed.status();
      EXPECT_EQ(BitsOf(*resumed), BitsOf(*straight));
    }
  }
}

// From a data set with a column of tasks to a model file.
TEST(PairRidgeTest, AModelOfSeveralTasksIsReadBackFromItsFile) {
  Dataset data = RegressionData(60, 3, 4);
  Vector tasks(60);
  for (Index i = 0; i < 60; ++i) {
    tasks(i) = static_cast<double>(i % 2);
  }
  data.role_columns.push_back({ColumnRole::kTask, {"plant", true, {"north", "south"}}, tasks});
  TrainingRecipe recipe;
  recipe.learner = "pair_ridge";
  recipe.kind = TargetKind::kRegression;
  recipe.kernels.resize(2);
  recipe.kernels[1].prototype.labels.group = "second";
  RunContext context;
  ConformanceObserver observer;
  const auto trained =
      RunRecipe({&PairRidgeEntry(), &recipe, &data, "digest", "version"}, {}, context, observer);
  ASSERT_TRUE(trained.ok()) << trained.status();
  const absl::StatusOr<Model> loaded = LoadModel(SaveModel(trained->model));
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(OutputNames(*loaded), (std::vector<std::string>{"north", "south"}));
  EXPECT_EQ(TermsOf<PlaneTerm>(loaded->function.terms).size(), 2U);
  EXPECT_EQ(SaveModel(*loaded), SaveModel(trained->model));
  PredictOptions options;
  options.contributions = true;
  const auto predict = [&](const Model& model) {
    return *(*Predictor::Make(std::make_shared<const Model>(model)))
                ->Predict(data, options, context);
  };
  const Prediction of_loaded = predict(*loaded);
  EXPECT_EQ(of_loaded.decision_values, predict(trained->model).decision_values);
  Matrix sum = Matrix::Zero(60, 1);  // of each row the output of its own task
  for (const Matrix& contribution : of_loaded.contributions) {
    sum += contribution;
  }
  EXPECT_LE((sum - of_loaded.decision_values).cwiseAbs().maxCoeff(), 1e-9);
}

// How many kinds of terms are shipped, by their own list.
#define MERCER_TERM(Name) +1
constexpr size_t kShippedKinds = 0
#include "core/training/terms/terms.inc"
    ;
#undef MERCER_TERM

TEST(PairRidgeTest, ItsListsAreThoseThatAreShippedAndOneMore) {
  EXPECT_EQ(AllLearners().back(), &PairRidgeEntry());
  EXPECT_EQ(AllTermKinds().size(), kShippedKinds + 1);
  EXPECT_EQ(AllTermKinds().back().name, PlaneTerm::kKind);
  EXPECT_NE(FindLearner("svm"), nullptr);
}

}  // namespace
}  // namespace mercer::pair_ridge
