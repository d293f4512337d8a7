// Tasks with rows of their own: properties of docs/mathematics/infinite_features.md, section 10,
// and the fixture of tasks with different data.
#include <cmath>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "tests/core/learners/infinite_features/feature_problems.h"
#include "tests/support/json_fixture.h"
#include "tests/support/peak_growth.h"

namespace mercer::infinite_features {
namespace {

struct TaskRows {
  RowMatrix values;
  Vector targets;
};

// One table with the rows of one task below those of the other.
TrainingProblem ProblemOfTasks(TargetKind kind, const std::vector<TaskRows>& tasks) {
  Index rows = 0;
  for (const TaskRows& task : tasks) {
    rows += task.values.rows();
  }
  RowMatrix values(rows, tasks[0].values.cols());
  TrainingProblem problem;
  problem.kind = kind;
  Index next = 0;
  for (const TaskRows& task : tasks) {
    values.middleRows(next, task.values.rows()) = task.values;
    TaskData& data = problem.tasks.emplace_back();
    data.name = absl::StrCat("task ", problem.tasks.size());
    data.targets = task.targets;
    data.costs = Vector::Ones(task.targets.size());
    for (Index i = 0; i < task.targets.size(); ++i) {
      data.rows.push_back(next++);
    }
  }
  const auto inputs = std::make_shared<const PreparedData>(Prepared(std::move(values)));
  for (TaskData& task : problem.tasks) {
    task.inputs = inputs;
  }
  problem.seed = 3;
  problem.relative_gap = 1e-9;
  return problem;
}

// Numbers that depend on the first two columns, in every task in another way.
TaskRows NoisyTask(Index rows, uint64_t seed) {
  TaskRows task{NormalMatrix(rows, 5, seed), Vector(rows)};
  RandomStream noise(seed, "task-noise");
  for (Index i = 0; i < rows; ++i) {
    task.targets(i) = task.values(i, 0) + 0.3 * static_cast<double>(seed) * task.values(i, 1) +
                      0.2 * noise.Normal();
  }
  return task;
}

const OptionValues kColumns = {{"family", "columns"}, {"lambda_unit", "absolute"}};

const Matrix& ArrayOf(const TrainingOutcome& outcome, const std::string& name) {
  const Matrix* found = outcome.point.witness.FindArray(name);
  EXPECT_NE(found, nullptr) << name;
  static const Matrix none;
  return found == nullptr ? none : *found;
}

// The weights of the columns of the data, columns x tasks.
Matrix CoefficientsOf(const TrainingOutcome& outcome, Index columns) {
  Matrix all = Matrix::Zero(columns, outcome.point.function.num_outputs());
  for (const FeatureTerm* term : TermsOf<FeatureTerm>(outcome.point.function.terms)) {
    for (size_t g = 0; g < term->groups.size(); ++g) {
      all.row(static_cast<Index>(term->groups[g][0])) =
          term->coefficients.row(static_cast<Index>(g));
    }
  }
  return all;
}

TEST(SeveralTasksTest, FindsTheOptimumOfTasksWithDataOfTheirOwn) {
  const nlohmann::json fixture =
      ReadFixtureFile("infinite-features/04_dirty_square_linf_unequal_tasks.json");
  std::vector<TaskRows> tasks;
  for (const nlohmann::json& task : fixture["problem"]["tasks"]) {
    tasks.push_back({RowMatrix(JsonMatrix(task["Phi"])), JsonVector(task["y"])});
  }
  for (const char* const solver : {"newton", "admm", "fista"}) {
    const TrainingOutcome outcome =
        MustTrain(Merge(kColumns, {{"lambda", fixture["problem"]["lambda_p"].get<double>()},
                                   {"lambda_shared", fixture["problem"]["lambda_s"].get<double>()},
                                   {"penalty_q", kInfinity},
                                   {"normalization", "none"},
                                   {"solver", solver}}),
                  ProblemOfTasks(TargetKind::kRegression, tasks));
    const nlohmann::json& expected = fixture["expected"];
    const double objective = expected["objective"];
    EXPECT_NEAR(outcome.certificate.primal, objective,
                fixture["tolerance"]["objective_relative"].get<double>() * objective)
        << solver;
    const double allowed = fixture["tolerance"]["scores_absolute"];
    const Matrix weights = CoefficientsOf(outcome, tasks[0].values.cols());
    EXPECT_LE((weights - JsonMatrix(expected["V"])).cwiseAbs().maxCoeff(), allowed) << solver;
    for (size_t t = 0; t < tasks.size(); ++t) {
      const Matrix scores = ValuesAt(outcome, RowMatrix(JsonMatrix(fixture["test_phi"][t])));
      EXPECT_LE((scores.col(static_cast<Index>(t)) - JsonVector(expected["test_scores"][t]))
                    .cwiseAbs()
                    .maxCoeff(),
                allowed)
          << solver;
    }
  }
}

// Property 6: exponent 1 lets each task choose its own features.
TEST(SeveralTasksTest, WithNothingSharedEachTaskIsOnItsOwn) {
  const std::vector<TaskRows> tasks = {NoisyTask(40, 1), NoisyTask(70, 2), NoisyTask(25, 4)};
  const OptionValues options = Merge(kColumns, {{"lambda", 2.0}, {"penalty_q", 1.0}});
  const TrainingOutcome together =
      MustTrain(options, ProblemOfTasks(TargetKind::kRegression, tasks));
  const Matrix weights = CoefficientsOf(together, 5);
  double objective = 0;
  for (size_t t = 0; t < tasks.size(); ++t) {
    const TrainingOutcome alone =
        MustTrain(options, ProblemOfTasks(TargetKind::kRegression, {tasks[t]}));
    objective += alone.certificate.primal;
    const Matrix difference = weights.col(static_cast<Index>(t)) - CoefficientsOf(alone, 5);
    EXPECT_LE(difference.cwiseAbs().maxCoeff(), 1e-5) << t;
  }
  EXPECT_NEAR(together.certificate.primal, objective, 1e-8 * objective);
}

// Property 4: below sqrt(tasks) times lambda all weight is shared, above it none is.
TEST(SeveralTasksTest, EqualTasksShareAllOrNothing) {
  const TaskRows task = NoisyTask(50, 2);
  const TrainingProblem problem = ProblemOfTasks(TargetKind::kRegression, {task, task, task});
  for (const double factor : {0.9, 1.1}) {
    const TrainingOutcome outcome = MustTrain(
        Merge(kColumns, {{"lambda", 1.0}, {"lambda_shared", factor * std::sqrt(3.0)}}), problem);
    const Matrix& specific = ArrayOf(outcome, "specific");
    const Matrix& shared = ArrayOf(outcome, "shared");
    if (factor < 1) {
      EXPECT_EQ(specific.cwiseAbs().maxCoeff(), 0);
      EXPECT_GT(shared.cwiseAbs().maxCoeff(), 0.1);
    } else {
      EXPECT_EQ(shared.cwiseAbs().maxCoeff(), 0);
      EXPECT_GT(specific.cwiseAbs().maxCoeff(), 0.1);
      const Vector mean = specific.rowwise().mean();
      EXPECT_LE((specific.colwise() - mean).cwiseAbs().maxCoeff(), 1e-6);
    }
  }
}

// With scales of their own, the shared weights mean another function in every task.
TEST(SeveralTasksTest, PooledScalesMakeTheSharedPartOneFunction) {
  TaskRows wide = NoisyTask(60, 3);
  wide.values *= 3;
  const TrainingProblem problem = ProblemOfTasks(TargetKind::kRegression, {NoisyTask(60, 1), wide});
  const OptionValues shared_alone =
      Merge(kColumns, {{"lambda", kInfinity}, {"lambda_shared", 1.0}});
  const Matrix pooled = CoefficientsOf(
      MustTrain(Merge(shared_alone, {{"normalization_scope", "pooled"}}), problem), 5);
  EXPECT_LE((pooled.col(0) - pooled.col(1)).cwiseAbs().maxCoeff(), 1e-14);
  EXPECT_GT(pooled.cwiseAbs().maxCoeff(), 0.1);
  const Matrix apart = CoefficientsOf(MustTrain(shared_alone, problem), 5);
  EXPECT_GT((apart.col(0) - apart.col(1)).cwiseAbs().maxCoeff(), 0.1);
}

TEST(SeveralTasksTest, DrawnFeaturesServeAllTasks) {
  std::vector<TaskRows> tasks;
  for (uint64_t t = 1; t <= 3; ++t) {
    const TrainingProblem ring = RingProblem(200, t);
    tasks.push_back({ring.tasks[0].inputs->blocks[0].values.view(), ring.tasks[0].targets});
  }
  TrainingProblem problem = ProblemOfTasks(TargetKind::kClassification, tasks);
  problem.relative_gap = 1e-4;
  for (const char* const loss : {"squared_hinge", "logistic", "hinge"}) {
    const TrainingOutcome outcome =
        MustTrain({{"loss", loss}, {"lambda_shared", 0.003}, {"max_groups", int64_t{20}}}, problem);
    EXPECT_EQ(outcome.stop_reason, StopReason::kConverged) << loss;
    Index right = 0;
    for (size_t t = 0; t < tasks.size(); ++t) {
      const Matrix values = ValuesAt(outcome, tasks[t].values);
      right += (values.col(static_cast<Index>(t)).array() * tasks[t].targets.array() > 0).count();
    }
    EXPECT_GT(right, 500) << loss;
  }
}

TEST(SeveralTasksTest, EveryStateLeadsToTheSameBits) {
  ExpectSameBitsFromEveryState(
      {{"lambda_shared", 0.01}, {"max_groups", int64_t{8}}},
      ProblemOfTasks(TargetKind::kRegression, {NoisyTask(5000, 1), NoisyTask(30, 2)}), 4);
}

// A restored run evaluates groups together that entered apart.
TEST(SeveralTasksTest, EveryStateLeadsToTheSameBitsWhenManyGroupsEnterAtOnce) {
  const TrainingProblem problem =
      ProblemOfTasks(TargetKind::kRegression, {NoisyTask(1001, 1), NoisyTask(333, 2)});
  for (const int64_t at_once : {3, 7}) {
    ExpectSameBitsFromEveryState({{"lambda", 0.001},
                                  {"lambda_shared", 0.01},
                                  {"max_groups", int64_t{40}},
                                  {"groups_per_round", at_once}},
                                 problem, 5);
  }
  ExpectSameBitsFromEveryState(Merge(kColumns, {{"lambda", 0.01}}), problem, 3);
}

TEST(SeveralTasksTest, ScalesOfAnotherTaskAreNoWitness) {
  TaskRows wide = NoisyTask(60, 3);
  wide.values *= 3;
  const TrainingProblem problem = ProblemOfTasks(TargetKind::kRegression, {NoisyTask(60, 1), wide});
  const OptionValues options = Merge(kColumns, {{"lambda", 1.0}});
  const TrainingOutcome outcome = MustTrain(options, problem);
  RunContext context;
  ASSERT_TRUE(Entry().verify(options, problem, outcome.point.witness, context).ok());
  Witness swapped = outcome.point.witness;
  for (auto& [name, values] : swapped.arrays) {
    if (name == "scales") {
      values = values.rowwise().reverse().eval();
    }
  }
  EXPECT_EQ(GetReason(Entry().verify(options, problem, swapped, context).status()),
            "WITNESS_MISMATCH");
  Witness other_dual = outcome.point.witness;
  std::swap(other_dual.tasks[0], other_dual.tasks[1]);
  const auto verified = Entry().verify(options, problem, other_dual, context);
  ASSERT_TRUE(verified.ok()) << verified.status();
  EXPECT_GT(verified->certificate.accuracy, 0.1);
}

TEST(SeveralTasksTest, BadTasksAreNamed) {
  TaskRows one_class = NoisyTask(20, 1);
  one_class.targets.setOnes();
  TaskRows both = NoisyTask(20, 2);
  both.targets = (both.targets.array() > 0).select(Vector::Ones(20), -Vector::Ones(20));
  const absl::StatusOr<TrainingOutcome> of_one_class =
      RunToGap(Entry(), {}, ProblemOfTasks(TargetKind::kClassification, {both, one_class}));
  EXPECT_EQ(GetReason(of_one_class.status()), "ONE_CLASS");
  EXPECT_NE(of_one_class.status().message().find("task 2"), absl::string_view::npos)
      << of_one_class.status();

  TrainingProblem empty = ProblemOfTasks(TargetKind::kClassification, {both, both});
  empty.tasks[1].rows.clear();
  empty.tasks[1].targets.resize(0, 1);
  empty.tasks[1].costs.resize(0);
  const absl::StatusOr<TrainingOutcome> without_rows = RunToGap(Entry(), {}, empty);
  EXPECT_EQ(GetReason(without_rows.status()), "NO_ROWS");
  EXPECT_NE(without_rows.status().message().find("task 2"), absl::string_view::npos)
      << without_rows.status();
}

TEST(SeveralTasksTest, MemoryIsWithinItsEstimate) {
  if (!kGrowthIsMemoryHeld) {
    GTEST_SKIP() << "the sanitizer keeps freed memory";
  }
  std::vector<TaskRows> tasks;
  for (uint64_t t = 1; t <= 50; ++t) {
    tasks.push_back(NoisyTask(3000, t));
  }
  TrainingProblem problem = ProblemOfTasks(TargetKind::kRegression, tasks);
  problem.relative_gap = 1e-3;
  const OptionValues options = {{"bandwidths", std::vector<double>{2.0}},
                                {"max_groups", int64_t{40}},
                                {"groups_per_round", int64_t{10}}};
  ProblemShape shape;
  shape.rows = problem.num_rows();
  shape.columns = 5;
  shape.tasks = 50;
  shape.outputs = 50;
  shape.relative_gap = problem.relative_gap;
  const absl::StatusOr<size_t> estimate = Entry().estimate_memory(options, shape);
  ASSERT_TRUE(estimate.ok());
  const int64_t grown = PeakGrowth([&] { return RunToGap(Entry(), options, problem).ok(); });
  ASSERT_GT(grown, 0);
  EXPECT_LE(grown, static_cast<int64_t>(*estimate) + kCodeAndStacks);
  EXPECT_LE(static_cast<int64_t>(*estimate), 3 * grown);
}

}  // namespace
}  // namespace mercer::infinite_features
