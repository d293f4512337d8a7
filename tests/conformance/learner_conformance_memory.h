// Conformance of memory estimates: never below what a run takes, and at most three times that, for
// every variant of the options. Measured as the growth of the resident memory of a process of its
// own.
#pragma once

#include <algorithm>

#include "tests/conformance/learner_conformance.h"
#include "tests/support/peak_growth.h"

namespace mercer {

struct MemoryShape {
  Index rows;
  Index columns;
  std::vector<double> bandwidths;
};

// Not square numbers of tiles, many rows, many columns, and many kernels where a learner weighs them. Rows are square patches
// too.
inline std::vector<MemoryShape> MemoryShapes(const LearnerEntry& entry) {
  std::vector<double> many(40);
  for (size_t k = 0; k < many.size(); ++k) {
    many[k] = 0.5 + 0.25 * static_cast<double>(k);
  }
  if (entry.one_kernel) {
    many = {2.0};
  }
  return {
      {1500, 9, {0.7, 2.0, 6.0}}, {2300, 4, {1.0}}, {1200, 289, {10.0, 30.0}}, {1100, 16, many}};
}

// Whether choices of the field decide which arrays a run holds.
inline bool IsMethod(const OptionField& field) {
  return field.type == OptionType::kChoice &&
         (field.name == "loss" || field.name == "approximation" || field.name == "outer_loop" ||
          field.name.ends_with("solver"));
}

// What the learner takes of every pair of choices of two such fields.
inline std::vector<OptionValues> MethodPairs(const LearnerEntry& entry, TargetKind kind) {
  const TrainingProblem problem =
      ToyProblem(kind, 20, 2, entry.uses_kernels ? std::vector<double>{1} : std::vector<double>());
  std::vector<OptionValues> pairs;
  for (size_t a = 0; a < entry.fields.size(); ++a) {
    for (size_t b = a + 1; b < entry.fields.size(); ++b) {
      if (!IsMethod(entry.fields[a]) || !IsMethod(entry.fields[b])) {
        continue;
      }
      for (const std::string& first : entry.fields[a].choices) {
        for (const std::string& second : entry.fields[b].choices) {
          OptionValues options = {{entry.fields[a].name, first}, {entry.fields[b].name, second}};
          const auto learner = entry.create(options);
          if (learner.ok() && (*learner)->Start(problem, nullptr).ok()) {
            pairs.push_back(std::move(options));
          }
        }
      }
    }
  }
  return pairs;
}

inline ProblemShape ShapeOf(const TrainingProblem& problem) {
  ProblemShape shape;
  shape.rows = problem.num_rows();
  shape.columns = problem.tasks[0].inputs->blocks[0].values.cols();
  shape.kernels = static_cast<Index>(problem.kernels.size());
  shape.sources = std::min<Index>(1, shape.kernels);
  shape.source_columns = shape.sources * shape.columns;
  return shape;
}

// The run takes what the learner estimates: never more, and at least a third of it.
inline void ExpectWithinEstimate(const LearnerEntry& entry, const TrainingProblem& problem,
                                 const OptionValues& options, const std::function<bool()>& train) {
  const ProblemShape shape = ShapeOf(problem);
  const std::string what = std::to_string(shape.rows) + " x " + std::to_string(shape.columns) +
                           ", " + std::to_string(shape.kernels) + " kernels, " +
                           OptionText(options);
  const absl::StatusOr<size_t> estimate = entry.estimate_memory(options, shape);
  ASSERT_TRUE(estimate.ok()) << estimate.status();
  int64_t code = 0;
  const int64_t grown = PeakGrowth(train, &code);
  EXPECT_GE(grown, 0) << what << ": training failed in the child";
  EXPECT_GE(static_cast<int64_t>(*estimate) + kCodeAndStacks, grown - code) << what;
  EXPECT_LE(static_cast<int64_t>(*estimate), 3 * grown) << what;
}

TEST_P(LearnerConformance, MemoryEstimateIsAnUpperBoundAndAtMostThreeTimesThePeak) {
  if (!kGrowthIsMemoryHeld) {
    GTEST_SKIP() << "sanitizers keep freed memory";
  }
  const std::vector<MemoryShape> shapes = MemoryShapes(entry());
  const std::vector<OptionValues> variants = OptionVariants(entry(), kind());
  for (size_t s = 0; s < shapes.size(); ++s) {
    const TrainingProblem problem =
        Problem(shapes[s].rows, shapes[s].columns, shapes[s].bandwidths);
    for (size_t v = 0; v < variants.size(); ++v) {
      if (!IsThorough() && v > 0 && v % shapes.size() != s) {
        continue;  // the defaults on every shape, and every variant on one
      }
      const OptionValues& options = variants[v];
      // The first steps hold the largest matrices of learners that factor such.
      constexpr double kManyOperations = 1e11;
      const bool is_long =
          !IsThorough() && FactorOperations(options, ShapeOf(problem)) > kManyOperations;
      ExpectWithinEstimate(entry(), problem, options, [&] {
        return Train(problem, {.options = options, .max_iterations = is_long ? 3 : 16}).ok();
      });
    }
  }
}

// Has checkpoints made, and keeps none.
class ForgetfulObserver final : public ConformanceObserver {
 public:
  bool WantsCheckpoint() override { return true; }
  void OnCheckpoint(std::string /*state*/) override {}
};

TEST_P(LearnerConformance, MemoryEstimateHoldsForEveryPairOfMethodsAndLargeModels) {
  if (!kGrowthIsMemoryHeld) {
    GTEST_SKIP() << "sanitizers keep freed memory";
  }
  const bool has_groups =
      std::any_of(entry().fields.begin(), entry().fields.end(),
                  [](const OptionField& field) { return field.name == "max_groups"; });
  // Features in the model rather than rows decide what the learner takes that has them.
  const TrainingProblem problem = has_groups ? Problem(600, 6) : Problem(1500, 9);
  for (OptionValues& options : MethodPairs(entry(), kind())) {
    if (has_groups) {
      options.insert({{"max_groups", int64_t{640}}, {"selection", std::string("fixed")}});
    }
    ExpectWithinEstimate(entry(), problem, options, [&] {
      ForgetfulObserver observer;
      return Train(problem, {.options = options, .max_iterations = 4}, observer).ok();
    });
  }
}

}  // namespace mercer
