#include "core/training/run/composite_learner.h"

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "core/learners/_template/template_learner.h"
#include "core/training/model/predictor.h"
#include "core/training/run/verification.h"
#include "tests/core/training/scripted_learner.h"
#include "tests/support/model_terms.h"

namespace mercer {
namespace {

// Three classes on 45 rows; outputs in columns.
TrainingProblem ThreeClasses(CodingKind coding) {
  const Dataset data = ClassificationData(45, 3, 3, 5);
  const Vector& labels = data.role_columns[0].values;
  Matrix targets(45, 3);
  for (Index i = 0; i < 45; ++i) {
    const auto c = static_cast<Index>(labels(i));
    if (coding == CodingKind::kOneVsAll) {
      targets.row(i).setConstant(-1);
      targets(i, c) = 1;
    } else {  // pairs 0-1, 0-2, 1-2
      const Matrix pairs{{1, 1, 0}, {-1, 0, 1}, {0, -1, -1}};
      targets.row(i) = pairs.row(c);
    }
  }
  return MakeProblem(TargetKind::kClassification, RowMatrix(data.blocks[0].values.view()), targets,
                     {1.0, 3.0});
}

struct Result {
  TrainedPoint point;
  Certificate certificate;
  StopReason reason;
  std::vector<std::string> checkpoints;
};

Result Train(const TrainingProblem& problem, std::string_view state = {}, RunLimits limits = {}) {
  const LearnerEntry entry = template_learner::Entry();
  const OptionValues options = {{"C", 2.0}};
  std::unique_ptr<Learner> learner = problem.tasks[0].targets.cols() > 1
                                         ? MakeCompositeLearner(entry, options)
                                         : *entry.create(options);
  RunContext context;
  RecordingObserver observer;
  observer.wants_checkpoints = state.empty();
  absl::StatusOr<TrainingOutcome> outcome =
      RunTraining(entry, options, *learner, problem, limits, state, context, observer);
  EXPECT_TRUE(outcome.ok()) << outcome.status();
  if (!outcome.ok()) {
    return {};
  }
  for (const ProgressEvent& event : observer.events) {
    EXPECT_LE(event.report.dual, event.report.primal) << "iteration " << event.iteration;
  }
  return {outcome->point, outcome->certificate, outcome->stop_reason, observer.checkpoints};
}

TEST(SplitOutputsTest, PairsSeeTheRowsOfTheirClasses) {
  const std::vector<TrainingProblem> parts = SplitOutputs(ThreeClasses(CodingKind::kOneVsOne));
  ASSERT_EQ(parts.size(), 3u);
  for (const TrainingProblem& part : parts) {
    EXPECT_EQ(part.tasks[0].rows.size(), 30u);
    EXPECT_EQ(part.tasks[0].targets.sum(), 0);
    EXPECT_EQ(part.tasks[0].costs.size(), 30);
  }
  EXPECT_EQ(parts[1].tasks[0].rows[1], 2);  // classes 0 and 2
}

TEST(HasPartPerOutputTest, OnlyOutputsOfTheSameRowsAreLearnedInOneRun) {
  LearnerEntry alone;
  LearnerEntry joint;
  joint.joint_outputs = true;
  const TrainingProblem one_vs_all = ThreeClasses(CodingKind::kOneVsAll);
  const TrainingProblem one_vs_one = ThreeClasses(CodingKind::kOneVsOne);
  EXPECT_TRUE(HasPartPerOutput(alone, {}, one_vs_all));
  EXPECT_TRUE(HasPartPerOutput(alone, {}, one_vs_one));
  EXPECT_FALSE(HasPartPerOutput(joint, {}, one_vs_all));
  EXPECT_TRUE(HasPartPerOutput(joint, {}, one_vs_one));
  // Numbers of 0 are no gaps.
  TrainingProblem numbers = one_vs_one;
  numbers.kind = TargetKind::kRegression;
  EXPECT_FALSE(HasPartPerOutput(joint, {}, numbers));
  EXPECT_FALSE(HasPartPerOutput(alone, {}, SplitOutput(one_vs_one, 0)));
}

TEST(SplitOutputsTest, RegressionTargetsOfZeroAreRowsLikeOthers) {
  TrainingProblem problem = ToyProblem(TargetKind::kRegression, 6, 1, {1.0});
  problem.tasks[0].targets = Matrix::Zero(6, 2);
  for (const TrainingProblem& part : SplitOutputs(problem)) {
    EXPECT_EQ(part.tasks[0].rows.size(), 6u);
  }
}

TEST(CompositeLearnerTest, OutputsAreThoseOfSeparateRuns) {
  for (const CodingKind coding : {CodingKind::kOneVsAll, CodingKind::kOneVsOne}) {
    const TrainingProblem problem = ThreeClasses(coding);
    const Result together = Train(problem);
    const std::vector<TrainingProblem> parts = SplitOutputs(problem);
    double primal = 0;
    for (size_t o = 0; o < parts.size(); ++o) {
      const Result alone = Train(parts[o]);
      primal += alone.certificate.primal;
      EXPECT_EQ(together.point.witness.children[o].tasks[0].dual, alone.point.witness.tasks[0].dual)
          << "output " << o;
      EXPECT_EQ(together.point.summary.kernel_weights.col(static_cast<Index>(o)),
                alone.point.summary.kernel_weights.col(0));
    }
    EXPECT_DOUBLE_EQ(together.certificate.primal, primal);
    EXPECT_EQ(together.reason, StopReason::kConverged);
    EXPECT_EQ(together.certificate.outputs.size(), 3u);
    EXPECT_EQ(together.point.summary.num_support_vectors, 45);
    EXPECT_EQ(together.point.function.bases.size(), 1u);
  }
}

// Passes everything on to a learner, and notes the warm starts that it is given.
class WarmStartRecorder : public Learner {
 public:
  struct Note {
    Matrix dual;                               // of the point; empty without a warm start
    std::vector<Index> rows;                   // of the problem that it solves
    const TrainingProblem* problem = nullptr;  // none without a warm start
  };

  WarmStartRecorder(std::unique_ptr<Learner> inner, std::vector<Note>& notes)
      : inner_(std::move(inner)), notes_(notes) {}

  absl::Status Start(const TrainingProblem& problem, const WarmStart* warm_start) override {
    Note& note = notes_.emplace_back();
    if (warm_start != nullptr) {
      note = {warm_start->point->witness.tasks[0].dual, warm_start->problem->tasks[0].rows,
              warm_start->problem};
    }
    return inner_->Start(problem, warm_start);
  }
  absl::StatusOr<StepReport> Step(RunContext& context, double target) override {
    return inner_->Step(context, target);
  }
  absl::StatusOr<TrainedPoint> CurrentModel(RunContext& context) const override {
    return inner_->CurrentModel(context);
  }
  std::string SaveState() const override { return inner_->SaveState(); }
  absl::Status RestoreState(const TrainingProblem& problem, std::string_view state,
                            RunContext& context) override {
    return inner_->RestoreState(problem, state, context);
  }

 private:
  std::unique_ptr<Learner> inner_;
  std::vector<Note>& notes_;
};

TEST(CompositeLearnerTest, EachOutputStartsFromTheOneBefore) {
  for (const CodingKind coding : {CodingKind::kOneVsAll, CodingKind::kOneVsOne}) {
    const TrainingProblem problem = ThreeClasses(coding);
    std::vector<WarmStartRecorder::Note> notes;
    LearnerEntry entry = template_learner::Entry();
    const auto create = entry.create;
    entry.create = [&](const OptionValues& values) -> absl::StatusOr<std::unique_ptr<Learner>> {
      absl::StatusOr<std::unique_ptr<Learner>> inner = create(values);
      return std::make_unique<WarmStartRecorder>(*std::move(inner), notes);
    };
    const std::unique_ptr<Learner> learner = MakeCompositeLearner(entry, {});
    RunContext context;
    RecordingObserver observer;
    const absl::StatusOr<TrainingOutcome> outcome =
        RunTraining(entry, {}, *learner, problem, RunLimits(), {}, context, observer);
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    ASSERT_EQ(notes.size(), 3u);
    EXPECT_EQ(notes[0].problem, nullptr);
    const std::vector<TrainingProblem> parts = SplitOutputs(problem);
    for (size_t o = 1; o < 3; ++o) {
      EXPECT_EQ(notes[o].rows, parts[o - 1].tasks[0].rows) << "output " << o;
      EXPECT_EQ(notes[o].dual, outcome->point.witness.children[o - 1].tasks[0].dual)
          << "output " << o;
    }
  }
}

// Outputs that the run did not come to are constant, and the certificate shows it.
TEST(CompositeLearnerTest, ARunThatEndsEarlyKeepsTheOutputsThatItHas) {
  const TrainingProblem problem = ThreeClasses(CodingKind::kOneVsAll);
  const Result whole = Train(problem);
  for (const int64_t limit : {1, 2, 5, 1000}) {
    const Result early = Train(problem, {}, {.max_iterations = limit});
    ASSERT_EQ(early.certificate.outputs.size(), 3u) << "limit " << limit;
    for (Index o = 0; o < 3; ++o) {
      const bool begun =
          early.point.witness.children[static_cast<size_t>(o)].tasks[0].dual.norm() > 0;
      const auto& [primal, dual] = early.certificate.outputs[static_cast<size_t>(o)];
      EXPECT_GE(primal, whole.certificate.outputs[static_cast<size_t>(o)].dual);
      EXPECT_TRUE(begun || limit < 1000) << "output " << o;
      EXPECT_FALSE(begun && o > 0 && limit < 1000) << "output " << o << ", limit " << limit;
      EXPECT_TRUE(begun || dual == 0) << "output " << o;
    }
    EXPECT_EQ(early.reason, limit == 1000 ? StopReason::kConverged : StopReason::kIterationLimit);
  }
}

// As of learners that search for kernels: each output has found its own.
TEST(CompositeLearnerTest, KernelsOfTheOutputsAreListedTogether) {
  const TrainingProblem problem = ThreeClasses(CodingKind::kOneVsAll);
  int output = 0;
  LearnerEntry entry = ScriptedEntry({});
  entry.create = [&](const OptionValues&) -> absl::StatusOr<std::unique_ptr<Learner>> {
    ++output;
    Script script;
    script.kernel_names = {"shared", absl::StrCat("of ", output)};
    if (output == 2) {
      script.kernel_names.pop_back();
    }
    return std::make_unique<ScriptedLearner>(std::move(script));
  };
  const std::unique_ptr<Learner> learner = MakeCompositeLearner(entry, {});
  RunContext context;
  RecordingObserver observer;
  const absl::StatusOr<TrainingOutcome> outcome =
      RunTraining(entry, {}, *learner, problem, RunLimits(), {}, context, observer);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  const ModelSummary& summary = outcome->point.summary;
  EXPECT_EQ(summary.kernel_names, (std::vector<std::string>{"shared", "of 1", "of 3"}));
  EXPECT_EQ(summary.kernel_weights, (Matrix{{1, 1, 1}, {2, 0, 0}, {0, 0, 2}}));
}

TEST(CompositeLearnerTest, WithoutAConstantModelAnEarlyEndLeavesNone) {
  const TrainingProblem problem = ThreeClasses(CodingKind::kOneVsAll);
  const LearnerEntry entry = ScriptedEntry({.first_model = 3});
  const std::unique_ptr<Learner> learner = MakeCompositeLearner(entry, {});
  RunContext context;
  RecordingObserver observer;
  const absl::StatusOr<TrainingOutcome> outcome =
      RunTraining(entry, {}, *learner, problem, {.max_iterations = 2}, {}, context, observer);
  EXPECT_EQ(GetReason(outcome.status()), "NO_MODEL") << outcome.status();
}

class HandClock final : public SteadyClock {
 public:
  absl::Duration Monotonic() const override { return time; }
  absl::Duration time;
};

// As after a limit on the search for features, for outputs at rest, the live one, and one whose
// state was read back.
TEST(CompositeLearnerTest, ALimitThatAPartHasReachedIsThatOfTheRun) {
  const TrainingProblem problem = ThreeClasses(CodingKind::kOneVsOne);
  for (const int limited : {1, 3}) {
    int output = 0;
    LearnerEntry entry = ScriptedEntry({});
    entry.create = [&](const OptionValues&) -> absl::StatusOr<std::unique_ptr<Learner>> {
      Script script;
      script.limited = ++output == limited;
      return std::make_unique<ScriptedLearner>(std::move(script));
    };
    RunContext context;
    RecordingObserver observer;
    observer.wants_checkpoints = true;
    const std::unique_ptr<Learner> learner = MakeCompositeLearner(entry, {});
    const absl::StatusOr<TrainingOutcome> outcome =
        RunTraining(entry, {}, *learner, problem, RunLimits(), {}, context, observer);
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    ASSERT_EQ(outcome->metrics.size(), 1u) << limited;
    EXPECT_EQ(outcome->metrics[0].name, "limit_reached.max_groups");
    EXPECT_EQ(outcome->metrics[0].value, 7);
    output = 3;  // none is limited now, but for the first, whose point has been kept
    const std::unique_ptr<Learner> other = MakeCompositeLearner(entry, {});
    const absl::StatusOr<TrainingOutcome> resumed = RunTraining(
        entry, {}, *other, problem, RunLimits(), observer.checkpoints.back(), context, observer);
    ASSERT_TRUE(resumed.ok()) << resumed.status();
    EXPECT_EQ(resumed->metrics.size(), limited == 1 ? 1u : 0u);
  }
}

// Three outputs that never converge, a step of any of them takes a second.
TEST(CompositeLearnerTest, ALimitOfTimeIsSharedOutAmongTheOutputs) {
  const TrainingProblem problem = ThreeClasses(CodingKind::kOneVsAll);
  HandClock clock;
  const LearnerEntry entry =
      ScriptedEntry({.during_step = [&](int) { clock.time += absl::Seconds(1); }});
  const std::unique_ptr<Learner> learner = MakeCompositeLearner(entry, {});
  RunContext context;
  context.set_clock(&clock);
  RecordingObserver observer;
  const absl::StatusOr<TrainingOutcome> outcome =
      RunTraining(entry, {}, *learner, problem,
                  {.relative_gap = 1e-30, .max_time = absl::Seconds(24)}, {}, context, observer);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(outcome->stop_reason, StopReason::kTimeLimit);
  ASSERT_EQ(outcome->certificate.outputs.size(), 3u);
  for (const OutputBounds& bounds : outcome->certificate.outputs) {
    // Accuracy is halved by every step: 8 of them, but for one that the limit may cut short.
    EXPECT_LE(RelativeGap(bounds.primal, bounds.dual), 1.0 / (1 << 7));
    EXPECT_GE(RelativeGap(bounds.primal, bounds.dual), 1.0 / (1 << 8));
  }
}

TEST(CompositeLearnerTest, EveryCheckpointLeadsToTheSameBits) {
  const TrainingProblem problem = ThreeClasses(CodingKind::kOneVsOne);
  const Result straight = Train(problem);
  ASSERT_GT(straight.checkpoints.size(), 6u);
  for (size_t i = 0; i < straight.checkpoints.size(); ++i) {
    const Result resumed = Train(problem, straight.checkpoints[i]);
    EXPECT_EQ(SaveWitness(resumed.point.witness), SaveWitness(straight.point.witness))
        << "from checkpoint " << i;
    ASSERT_EQ(TermsOf<KernelTerm>(resumed.point.function.terms).size(),
              TermsOf<KernelTerm>(straight.point.function.terms).size());
    EXPECT_EQ(Matrix(TermAt<KernelTerm>(resumed.point.function).coefficients),
              Matrix(TermAt<KernelTerm>(straight.point.function).coefficients));
    EXPECT_EQ(resumed.certificate.dual, straight.certificate.dual) << "from checkpoint " << i;
  }
}

TEST(CompositeLearnerTest, TruncatedStatesAreRefused) {
  const TrainingProblem problem = ThreeClasses(CodingKind::kOneVsAll);
  const LearnerEntry entry = template_learner::Entry();
  std::unique_ptr<Learner> learner = MakeCompositeLearner(entry, {});
  RunContext context;
  ASSERT_TRUE(learner->Start(problem, nullptr).ok());
  for (int step = 0; step < 12; ++step) {
    ASSERT_TRUE(learner->Step(context, problem.relative_gap).ok());
  }
  const std::string state = learner->SaveState();
  for (size_t length = 0; length < state.size(); length += 7) {
    const std::unique_ptr<Learner> other = MakeCompositeLearner(entry, {});
    EXPECT_EQ(other->RestoreState(problem, state.substr(0, length), context).code(),
              absl::StatusCode::kDataLoss)
        << "cut at " << length;
  }
}

TEST(CompositeLearnerTest, GoesOnWithItsPartsWhenMoreAccuracyIsWanted) {
  const TrainingProblem problem = ThreeClasses(CodingKind::kOneVsAll);
  const LearnerEntry entry = ScriptedEntry({.verified_factor = 4});
  const std::unique_ptr<Learner> learner = MakeCompositeLearner(entry, {});
  RunContext context;
  RecordingObserver observer;
  const absl::StatusOr<TrainingOutcome> outcome =
      RunTraining(entry, {}, *learner, problem, RunLimits(), {}, context, observer);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(outcome->stop_reason, StopReason::kConverged);
  EXPECT_LE(outcome->certificate.worst_accuracy, 1e-3);
}

TEST(CompositeLearnerTest, OnePartThatIsStuckEndsTheRunWhenTheOthersAreDone) {
  const TrainingProblem problem = ThreeClasses(CodingKind::kOneVsAll);
  const LearnerEntry entry = ScriptedEntry({.stop_at = 5});
  const std::unique_ptr<Learner> learner = MakeCompositeLearner(entry, {});
  RunContext context;
  RecordingObserver observer;
  const absl::StatusOr<TrainingOutcome> outcome =
      RunTraining(entry, {}, *learner, problem, RunLimits(), {}, context, observer);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(outcome->stop_reason, StopReason::kNumericalLimit);
}

TEST(CompositeLearnerTest, ClaimOfAnObjectiveOfZeroIsVerifiedForEachPart) {
  const TrainingProblem problem = ThreeClasses(CodingKind::kOneVsAll);
  for (const double primal : {0.0, 1.0}) {
    const LearnerEntry entry = ScriptedEntry(
        {.stop_at = 5, .stop = StopReason::kObjectiveZero, .verified_primal = primal});
    const std::unique_ptr<Learner> learner = MakeCompositeLearner(entry, {});
    RunContext context;
    RecordingObserver observer;
    const absl::StatusOr<TrainingOutcome> outcome =
        RunTraining(entry, {}, *learner, problem, RunLimits(), {}, context, observer);
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    EXPECT_EQ(outcome->stop_reason,
              primal == 0 ? StopReason::kObjectiveZero : StopReason::kNumericalLimit);
  }
}

TEST(CompositeLearnerTest, AfterAnInterruptedStepThereIsAModelOnceAPartHasOne) {
  const TrainingProblem problem = ThreeClasses(CodingKind::kOneVsAll);
  const LearnerEntry entry = template_learner::Entry();
  const std::unique_ptr<Learner> learner = MakeCompositeLearner(entry, {});
  ASSERT_TRUE(learner->Start(problem, nullptr).ok());
  RunContext context;
  const Interruption at_once(-absl::InfiniteDuration(), nullptr);
  EXPECT_TRUE(absl::IsFailedPrecondition(learner->CurrentModel(context).status()));
  bool complete = false;
  for (int step = 0; step < 200 && !complete; ++step) {
    {
      const InterruptibleScope scope(context, at_once);
      const absl::StatusOr<StepReport> report = learner->Step(context, problem.relative_gap);
      EXPECT_TRUE(report.ok() || absl::IsCancelled(report.status())) << report.status();
    }
    EXPECT_EQ(learner->CurrentModel(context).ok(), step > 0) << "step " << step;
    const absl::StatusOr<StepReport> report = learner->Step(context, problem.relative_gap);
    ASSERT_TRUE(report.ok()) << report.status();
    complete = report->has_model;
    EXPECT_TRUE(learner->CurrentModel(context).ok()) << "step " << step;
  }
  EXPECT_TRUE(complete);
}

// The largest over some of the outputs says nothing of the others, whichever they are.
TEST(CompositeLearnerTest, MetricsAreThoseThatWereFoundForEveryOutput) {
  const TrainingProblem problem = ThreeClasses(CodingKind::kOneVsAll);
  for (int lacking = 0; lacking < 4; ++lacking) {  // the last one is none of the outputs
    LearnerEntry entry = ScriptedEntry({});
    int output = 0;
    entry.verify = [&](const OptionValues& options, const TrainingProblem& part,
                       const Witness& witness, RunContext& context) {
      absl::StatusOr<Verification> verified =
          ScriptedEntry({}).verify(options, part, witness, context);
      verified->metrics = {{"of_all", 10.0 - output}};
      if (output != lacking) {
        verified->metrics.push_back({"of_some", 1.0 + output});
      }
      output = (output + 1) % 3;
      return verified;
    };
    const std::unique_ptr<Learner> learner = MakeCompositeLearner(entry, {});
    RunContext context;
    RecordingObserver observer;
    const absl::StatusOr<TrainingOutcome> outcome =
        RunTraining(entry, {}, *learner, problem, RunLimits(), {}, context, observer);
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    ASSERT_EQ(outcome->metrics.size(), lacking < 3 ? 1u : 2u) << lacking;
    EXPECT_EQ(outcome->metrics[0].name, "of_all");
    EXPECT_EQ(outcome->metrics[0].value, 10);
    if (lacking == 3) {
      EXPECT_EQ(outcome->metrics[1].name, "of_some");
      EXPECT_EQ(outcome->metrics[1].value, 3);
    }
  }
}

TEST(CompositeLearnerTest, WitnessWithTooFewPartsIsRefused) {
  const TrainingProblem problem = ThreeClasses(CodingKind::kOneVsAll);
  RunContext context;
  Witness witness;
  witness.children.resize(2);
  EXPECT_EQ(VerifyWitness(template_learner::Entry(), {}, problem, witness, context).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace mercer
