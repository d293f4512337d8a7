// Conformance of whole runs: bounds, certificates, determinism, resumption, symmetries.
#pragma once

#include <algorithm>
#include <optional>
#include <set>

#include "core/base/numeric/index_range.h"
#include "core/base/status/errors.h"
#include "core/training/run/verification.h"
#include "tests/conformance/learner_conformance.h"
#include "tests/support/model_terms.h"

namespace mercer {

TEST_P(LearnerConformance, LowerBoundNeverExceedsUpperBound) {
  ConformanceObserver observer;
  const absl::StatusOr<TrainingOutcome> outcome =
      Train(Problem(120, 4), {.relative_gap = 1e-6}, observer);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  for (size_t i = 0; i < observer.reports.size(); ++i) {
    const StepReport& report = observer.reports[i];
    EXPECT_LE(report.dual, report.primal + Slack(report.primal)) << "step " << i + 1;
    EXPECT_FALSE(std::isnan(report.accuracy)) << "step " << i + 1;
    EXPECT_FALSE(report.stage.empty()) << "step " << i + 1;
  }
  if (outcome->certificate.kind == CertificateKind::kGap) {
    EXPECT_GE(outcome->certificate.accuracy, -1e-12);
    EXPECT_LE(outcome->certificate.accuracy, 1e-6);
    EXPECT_EQ(outcome->stop_reason, StopReason::kConverged);
  }
}

TEST_P(LearnerConformance, BoundsOfARoughRunEncloseThoseOfAnExactRun) {
  const TrainingProblem problem = Problem(120, 4);
  const absl::StatusOr<TrainingOutcome> rough = Train(problem, {.relative_gap = 0.1});
  const absl::StatusOr<TrainingOutcome> exact = Train(problem, {.relative_gap = 1e-7});
  ASSERT_TRUE(rough.ok()) << rough.status();
  ASSERT_TRUE(exact.ok()) << exact.status();
  if (rough->certificate.kind != CertificateKind::kGap) {
    GTEST_SKIP() << "no gap";
  }
  EXPECT_LE(rough->certificate.dual, exact->certificate.primal + Slack(exact->certificate.primal));
  EXPECT_GE(rough->certificate.primal, exact->certificate.dual - Slack(exact->certificate.dual));
}

TEST_P(LearnerConformance, VerifiedCertificateIsTheReportedOne) {
  ConformanceObserver observer;
  const absl::StatusOr<TrainingOutcome> outcome =
      Train(Problem(150, 5), {.relative_gap = 1e-4}, observer);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  const StepReport& last = observer.reports.back();
  const double scale = std::max(std::abs(last.primal), std::abs(last.dual));
  EXPECT_NEAR(outcome->certificate.primal, last.primal, 1e-9 * scale);
  EXPECT_NEAR(outcome->certificate.dual, last.dual, 1e-9 * scale);
}

TEST_P(LearnerConformance, StoredWitnessGivesTheSameCertificateAndBias) {
  const TrainingProblem problem = Problem(80, 3);
  const absl::StatusOr<TrainingOutcome> outcome = Train(problem);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  const absl::StatusOr<Witness> witness = LoadWitness(SaveWitness(outcome->point.witness));
  ASSERT_TRUE(witness.ok()) << witness.status();
  RunContext context;
  const absl::StatusOr<Certificate> again = VerifyWitness(entry(), {}, problem, *witness, context);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->primal, outcome->certificate.primal);
  EXPECT_EQ(again->dual, outcome->certificate.dual);
  if (entry().witness_of_rows) {
    EXPECT_EQ(outcome->point.function.bias(0), outcome->point.witness.tasks[0].bias(0));
  }
  EXPECT_TRUE(Values(outcome->point, *problem.tasks[0].inputs).allFinite());
}

// The stored function must be that of the witness: a wrong coefficient, weight, row or bias is
// found.
TEST_P(LearnerConformance, CorruptedModelIsNotTheFunctionOfItsWitness) {
  const TrainingProblem problem = Problem(80, 3);
  const absl::StatusOr<TrainingOutcome> outcome = Train(problem);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  const auto verify = [&](const std::function<void(ModelFunction&)>& corrupt) {
    ModelFunction function = outcome->point.function;
    corrupt(function);
    RunContext context;
    return VerifyFunction(entry(), {}, problem, function, outcome->point.witness, context).status();
  };
  EXPECT_TRUE(verify([](ModelFunction&) {}).ok());
  std::vector<std::pair<std::string, std::function<void(ModelFunction&)>>> corruptions = {
      {"bias", [](ModelFunction& function) { function.bias(0) += 1e-6; }}};
  for (size_t t = 0; t < outcome->point.function.terms.size(); ++t) {
    corruptions.emplace_back("term " + std::to_string(t), [t](ModelFunction& function) {
      function.terms[t] = function.terms[t]->Scaled(1 + 1e-5);
    });
  }
  if (!TermsOf<KernelTerm>(outcome->point.function.terms).empty()) {
    const Index last = TermAt<KernelTerm>(outcome->point.function).coefficients.nonZeros() - 1;
    for (const Index c : {Index{0}, last / 2, last}) {
      corruptions.emplace_back("coefficient " + std::to_string(c), [c](ModelFunction& function) {
        ChangeTerm<KernelTerm>(
            function, [c](KernelTerm& term) { term.coefficients.coeffs()(c) *= 1 + 1e-5; });
      });
    }
    corruptions.emplace_back("weight", [](ModelFunction& function) {
      ChangeTerm<KernelTerm>(function, [](KernelTerm& term) { term.weights(0, 0) *= 1 + 1e-6; });
    });
    corruptions.emplace_back("kernel", [](ModelFunction& function) {
      ChangeTerm<KernelTerm>(function,
                             [](KernelTerm& term) { term.kernels[0].bandwidth *= 1 + 1e-5; });
    });
  }
  for (const auto& [what, corrupt] : corruptions) {
    EXPECT_EQ(GetReason(verify(corrupt)), "WITNESS_MISMATCH") << what;
  }
}

TEST_P(LearnerConformance, SameSeedGivesTheSameBits) {
  const TrainingProblem problem = Problem(100, 4);
  const absl::StatusOr<TrainingOutcome> first = Train(problem);
  const absl::StatusOr<TrainingOutcome> second = Train(problem);
  ASSERT_TRUE(first.ok() && second.ok()) << first.status() << second.status();
  EXPECT_EQ(Bits(*first), Bits(*second));
}

TEST_P(LearnerConformance, ThreadsDoNotChangeTheBits) {
  const TrainingProblem problem = Problem(700, 5);
  const absl::StatusOr<TrainingOutcome> one = Train(problem);
  const absl::StatusOr<TrainingOutcome> two = Train(problem, {.threads = 2});
  ASSERT_TRUE(one.ok() && two.ok()) << one.status() << two.status();
  EXPECT_EQ(Bits(*one), Bits(*two));
}

TEST_P(LearnerConformance, CachesDoNotChangeTheBits) {
  TrainingProblem problem = Problem(300, 4);
  const absl::StatusOr<TrainingOutcome> without = Train(problem);
  PreparedData named = *problem.tasks[0].inputs;
  named.cache_key = "toy rows";
  problem.tasks[0].inputs = std::make_shared<const PreparedData>(std::move(named));
  const auto cache = std::make_shared<SharedCache>(size_t{1} << 28);
  const absl::StatusOr<TrainingOutcome> cold = Train(problem, {.cache = cache});
  const absl::StatusOr<TrainingOutcome> warm = Train(problem, {.cache = cache});
  ASSERT_TRUE(without.ok() && cold.ok() && warm.ok())
      << without.status() << cold.status() << warm.status();
  EXPECT_EQ(Bits(*without), Bits(*cold));
  EXPECT_EQ(Bits(*cold), Bits(*warm));
}

// Names and groups go from the problem to the model, and that is all that they do, but for groups
// where a learner says so. Caches that were filled without them serve kernels with them.
TEST_P(LearnerConformance, LabelsOfKernelsAreKeptAndChangeNothingElse) {
  for (const OptionValues& options : ToRun(OptionVariants(entry(), kind()))) {
    TrainingProblem problem = Problem(100, 4);
    PreparedData named = *problem.tasks[0].inputs;
    named.cache_key = "toy rows";
    problem.tasks[0].inputs = std::make_shared<const PreparedData>(std::move(named));
    const RunSettings settings = {.options = options,
                                  .cache = std::make_shared<SharedCache>(size_t{1} << 28)};
    const std::vector<KernelLabels> labels = {{"narrow", "one"}, {"middle", ""}, {"wide", "one"}};
    const auto label = [&](bool with_names, bool with_groups) {
      for (size_t k = 0; k < problem.kernels.size(); ++k) {
        problem.kernels[k].labels = {with_names ? labels[k].name : "",
                                     with_groups ? labels[k].group : ""};
      }
    };
    label(/*with_names=*/false, /*with_groups=*/entry().kernel_groups);
    const absl::StatusOr<TrainingOutcome> without = Train(problem, settings);
    label(/*with_names=*/true, /*with_groups=*/true);
    absl::StatusOr<TrainingOutcome> with = Train(problem, settings);
    ASSERT_EQ(without.ok(), with.ok()) << without.status() << with.status();
    if (!with.ok()) {
      continue;
    }
    std::set<std::string> known;
    ChangeTerms<KernelTerm>(with->point.function, [&](KernelTerm& term) {
      for (KernelSpec& kernel : term.kernels) {
        known.insert(kernel.labels.name);
        kernel.labels = {"", entry().kernel_groups ? kernel.labels.group : ""};
      }
    });
    ModelSummary& summary = with->point.summary;
    if (entry().uses_kernels) {
      EXPECT_EQ(known.count(""), 0u) << OptionText(options);
      EXPECT_EQ(summary.kernel_names, (std::vector<std::string>{"narrow", "middle", "wide"}));
      EXPECT_EQ(summary.kernel_groups, (std::vector<std::string>{"one", "", "one"}));
      summary.kernel_names = without->point.summary.kernel_names;
      summary.kernel_groups = without->point.summary.kernel_groups;
    }
    for (size_t t = 0; t < summary.tables.size(); ++t) {  // their rows are called as kernels are
      summary.tables[t].rows = without->point.summary.tables.at(t).rows;
    }
    EXPECT_EQ(Bits(*with), Bits(*without)) << OptionText(options);
  }
}

// What says that groups count learns another function by them, under some options at least.
TEST_P(LearnerConformance, GroupsOfKernelsChangeTheFunctionWhereTheyCount) {
  if (!entry().kernel_groups) {
    GTEST_SKIP() << "groups do not count";
  }
  double largest = 0;
  for (const OptionValues& options : ToRun(OptionVariants(entry(), kind()))) {
    TrainingProblem problem = Problem(100, 4);
    const absl::StatusOr<TrainingOutcome> one_group = Train(problem, {.options = options});
    problem.kernels.back().labels.group = "another";
    const absl::StatusOr<TrainingOutcome> two_groups = Train(problem, {.options = options});
    if (one_group.ok() && two_groups.ok()) {
      const PreparedData& rows = *problem.tasks[0].inputs;
      const Vector difference = Values(one_group->point, rows) - Values(two_groups->point, rows);
      largest = std::max(largest, difference.cwiseAbs().maxCoeff());
    }
  }
  EXPECT_GT(largest, 0.01)
      << "kernel_groups is true, but no options let groups change the function";
}

TEST_P(LearnerConformance, ResumedRunIsBitIdenticalFromEveryStep) {
  const TrainingProblem problem = Problem(90, 4);
  ConformanceObserver observer;
  observer.wants_checkpoints = true;
  const absl::StatusOr<TrainingOutcome> straight = Train(problem, {.relative_gap = 1e-5}, observer);
  ASSERT_TRUE(straight.ok()) << straight.status();
  for (size_t i = 0; i < observer.checkpoints.size(); ++i) {
    const absl::StatusOr<TrainingOutcome> resumed =
        Train(problem, {.relative_gap = 1e-5, .state = observer.checkpoints[i]});
    ASSERT_TRUE(resumed.ok()) << resumed.status() << " after step " << i + 1;
    EXPECT_EQ(Bits(*resumed), Bits(*straight)) << "resumed after step " << i + 1;
  }
}

TEST_P(LearnerConformance, InterruptionAfterEveryStepInOneRunIsBitIdentical) {
  const TrainingProblem problem = Problem(60, 3);
  const absl::StatusOr<TrainingOutcome> straight = Train(problem);
  ASSERT_TRUE(straight.ok()) << straight.status();
  RunSettings settings;
  for (int part = 0; part < 5000; ++part) {
    ConformanceObserver observer;
    observer.wants_checkpoints = true;
    // One step, then away: a checkpoint, and a cancelled token.
    settings.token = CancellationToken();
    observer.after_step = [&](const ProgressEvent&) { settings.token.Cancel(); };
    const absl::StatusOr<TrainingOutcome> outcome = Train(problem, settings, observer);
    if (outcome.ok()) {
      EXPECT_EQ(Bits(*outcome), Bits(*straight));
      return;
    }
    ASSERT_TRUE(absl::IsCancelled(outcome.status())) << outcome.status();
    if (observer.checkpoints.empty()) {
      break;  // cancelled in the conclusion, after the last step
    }
    settings.state = observer.checkpoints.back();
  }
  settings.token = CancellationToken();
  const absl::StatusOr<TrainingOutcome> rest = Train(problem, settings);
  ASSERT_TRUE(rest.ok()) << rest.status();
  EXPECT_EQ(Bits(*rest), Bits(*straight));
}

TEST_P(LearnerConformance, DamagedStatesAreDataLossOrAState) {
  const TrainingProblem problem = Problem(30, 2);
  ConformanceObserver observer;
  observer.wants_checkpoints = true;
  ASSERT_TRUE(Train(problem, {.relative_gap = 1e-6}, observer).ok());
  if (observer.checkpoints.empty()) {
    GTEST_SKIP() << "done in one step";
  }
  const std::string state = observer.checkpoints.back();
  for (size_t length = 1; length < state.size(); length += std::max<size_t>(1, state.size() / 97)) {
    const absl::Status status = Train(problem, {.state = state.substr(0, length)}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << "cut at " << length << ": " << status;
  }
}

TEST_P(LearnerConformance, PermutingRowsPermutesTheFunction) {
  const TrainingProblem problem = Problem(90, 4);
  TrainingProblem permuted = problem;
  std::vector<Index> order = IndexRange(0, 90);
  RandomStream(3, "permutation").Shuffle(order);
  permuted.tasks[0].inputs =
      std::make_shared<const PreparedData>(SelectRows(*problem.tasks[0].inputs, order));
  permuted.tasks[0].targets = problem.tasks[0].targets(order, Eigen::all);
  const absl::StatusOr<TrainingOutcome> first = Train(problem, {.relative_gap = 1e-8});
  const absl::StatusOr<TrainingOutcome> second = Train(permuted, {.relative_gap = 1e-8});
  ASSERT_TRUE(first.ok() && second.ok()) << first.status() << second.status();
  const PreparedData& rows = *problem.tasks[0].inputs;
  const Vector difference = Values(first->point, rows) - Values(second->point, rows);
  EXPECT_LT(difference.cwiseAbs().maxCoeff(), 0.01);
  EXPECT_NEAR(first->certificate.primal, second->certificate.primal,
              1e-6 * std::abs(first->certificate.primal));
}

// Options under which one kernel, and the same kernel twice, have the same solution: sums double
// the kernel, so the cost is halved (a ridge doubled); a simplex divides the weight.
struct TwinOptions {
  OptionValues once;
  OptionValues twice;
};

inline std::optional<TwinOptions> TwinsOf(const LearnerEntry& entry) {
  const std::vector<std::pair<std::string, TwinOptions>> rules = {
      {"regularization", {}},
      {"p", {{{"p", 1.0}}, {{"p", 1.0}}}},
      {"C", {{{"C", 2.0}}, {{"C", 1.0}}}},
      {"lambda", {{{"lambda", 1.0}}, {{"lambda", 2.0}}}}};
  for (const auto& [option, twins] : rules) {
    for (const OptionField& field : entry.fields) {
      if (field.name == option) {
        return twins;
      }
    }
  }
  return std::nullopt;
}

TEST_P(LearnerConformance, IdenticalKernelsGiveTheFunctionOfOne) {
  if (!entry().uses_kernels) {
    GTEST_SKIP() << "no kernels";
  }
  const std::optional<TwinOptions> twins = TwinsOf(entry());
  ASSERT_TRUE(twins.has_value())
      << entry().name << " has none of the options regularization, p, C and lambda, by which "
      << "TwinsOf knows what makes two equal kernels as good as one. Add to its rules an option of "
      << "this learner, with its values for one kernel and for two";
  const TrainingProblem once = Problem(80, 3, {1.5});
  const TrainingProblem twice = Problem(80, 3, {1.5, 1.5});
  const absl::StatusOr<TrainingOutcome> first =
      Train(once, {.options = twins->once, .relative_gap = 1e-8});
  const absl::StatusOr<TrainingOutcome> second =
      Train(twice, {.options = twins->twice, .relative_gap = 1e-8});
  ASSERT_TRUE(first.ok() && second.ok()) << first.status() << second.status();
  const PreparedData& rows = *once.tasks[0].inputs;
  EXPECT_LT((Values(first->point, rows) - Values(second->point, rows)).cwiseAbs().maxCoeff(), 0.01);
}

TEST_P(LearnerConformance, SeveralOutputsAreCodedAroundTheLearner) {
  if (kind() == TargetKind::kRegression) {
    GTEST_SKIP() << "classification only";
  }
  const Dataset data = ClassificationData(60, 3, 3, 2);
  for (const CodingChoice coding : {CodingChoice::kOneVsAll, CodingChoice::kOneVsOne}) {
    TrainingRecipe recipe;
    recipe.learner = entry().name;
    recipe.coding = coding;
    for (const OptionField& field : entry().fields) {
      if (field.name == "columns") {
        recipe.options["columns"] = int64_t{3};  // all of them are needed
      }
    }
    if (entry().uses_kernels) {
      recipe.kernels.resize(2);
      recipe.kernels[1].prototype.bandwidth = 3;
    }
    RunContext context;
    ConformanceObserver observer;
    const absl::StatusOr<TrainedModel> trained =
        RunRecipe({&entry(), &recipe, &data, "", "v"}, {}, context, observer);
    ASSERT_TRUE(trained.ok()) << trained.status();
    EXPECT_EQ(trained->model.function.num_outputs(), 3);
    const absl::StatusOr<Model> loaded = LoadModel(SaveModel(trained->model));
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    const absl::StatusOr<std::unique_ptr<Predictor>> predictor =
        Predictor::Make(std::make_shared<const Model>(*loaded));
    ASSERT_TRUE(predictor.ok()) << predictor.status();
    const absl::StatusOr<Prediction> prediction = (*predictor)->Predict(data, {}, context);
    ASSERT_TRUE(prediction.ok()) << prediction.status();
    const std::vector<Metric> metrics =
        EvaluatePrediction(loaded->coding, *prediction, data.role_columns[0], RunContext()).value();
    EXPECT_GT(metrics[0].value, 0.7) << metrics[0].name;
  }
}

// Of outputs that are trained one after the other, a run that ends early keeps those that it has; the others are constant.
TEST_P(LearnerConformance, ARunOfSeveralOutputsThatEndsEarlyKeepsWhatItHas) {
  if (kind() == TargetKind::kRegression) {
    GTEST_SKIP() << "classification only";
  }
  const Dataset data = ClassificationData(60, 3, 3, 2);
  TrainingRecipe recipe;
  recipe.learner = entry().name;
  recipe.coding = CodingChoice::kOneVsAll;
  if (entry().uses_kernels) {
    recipe.kernels.resize(2);
    recipe.kernels[1].prototype.bandwidth = 3;
  }
  bool has_model = false;
  for (const int64_t limit : {1, 2, 3, 4, 6, 8, 12}) {
    recipe.limits.max_iterations = limit;
    RunContext context;
    ConformanceObserver observer;
    const absl::StatusOr<TrainedModel> trained =
        RunRecipe({&entry(), &recipe, &data, "", "v"}, {}, context, observer);
    if (!trained.ok()) {
      EXPECT_EQ(GetReason(trained.status()), "NO_MODEL") << trained.status();
      EXPECT_FALSE(has_model) << "there was a model after fewer steps than " << limit;
      continue;
    }
    has_model = true;
    EXPECT_EQ(trained->model.function.num_outputs(), 3);
    EXPECT_EQ(trained->model.certificate.outputs.size(), entry().joint_outputs ? 0U : 3U);
    EXPECT_TRUE(LoadModel(SaveModel(trained->model)).ok());
  }
  EXPECT_TRUE(has_model);
}

}  // namespace mercer
