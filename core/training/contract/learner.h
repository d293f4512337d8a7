// A learner: one training run as a sequence of resumable steps.
//
// To add a learner: one folder in core/learners/ with an options struct, a Learner, and an entry
// function; one line in core/learners/learners.inc; one message in the API; its tests.
// core/learners/_template is a compiled example.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/base/encoding/saved_fields.h"
#include "core/base/process/run_context.h"
#include "core/base/status/options.h"
#include "core/data/metrics/metrics.h"
#include "core/training/contract/problem.h"
#include "core/training/model/certificate.h"
#include "core/training/model/model.h"
#include "core/training/model/stop_reason.h"
#include "core/training/model/trained_point.h"
#include "core/training/model/witness.h"

namespace mercer {

// How far a run is after a step.
struct StepReport {
  std::string stage;  // "solve", "weights", ...: one word for dashboards
  // The share of that stage that is done, in [0, 1]; only in reports from within a step, and where
  // the stage knows it.
  std::optional<double> stage_fraction;
  // An estimate of the share of the whole run that is done, in [0, 1]; RunTraining sees to it that
  // it never decreases.
  double fraction = 0;
  double primal = kInfinity;    // best upper bound so far
  double dual = -kInfinity;     // best lower bound so far
  double accuracy = kInfinity;  // the learner's own measure, compared with RunLimits::relative_gap
  // The number of kernels (features) with a weight other than 0; 0 when the learner has none.
  Index active_kernels = 0;
  // The groups that have such a kernel; 0 when kernels are in no groups.
  Index active_groups = 0;
  Index support_vectors = 0;   // rows with a coefficient other than 0
  Index inner_iterations = 0;  // of the inner solver, cumulative
  // The steps of learners that this one is made of: several of one that steps others side by side.
  Index steps = 1;
  bool has_model = false;  // CurrentModel may be called; of several outputs: each is trained
  std::optional<StopReason> stop;  // set when the learner cannot or need not go on

  // Of a report that is kept, after a whole step; the groups are those of the next step.
  static void VisitFields(auto& visit, auto& self) {
    visit(self.stage, self.fraction, self.primal, self.dual, self.accuracy, self.active_kernels,
          self.support_vectors, self.inner_iterations, self.has_model,
          UpTo(self.stop, StopReason::kObjectiveZero));
  }
};

// A solution of a related problem to start from: other costs, a neighbouring class or fold. Rows
// are matched by number.
struct WarmStart {
  const TrainedPoint* point = nullptr;
  const TrainingProblem* problem = nullptr;  // the problem that `point` solves
};

// One training run: Start or RestoreState, then Step until done. Not thread-safe.
class Learner {
 public:
  virtual ~Learner() = default;

  // Validates and stores; allocates nothing large. `problem` (and a warm start, until the first
  // Step returns) must outlive the learner. Errors: kInvalidArgument.
  virtual absl::Status Start(const TrainingProblem& problem, const WarmStart* warm_start) = 0;
  // One slice of work, about 0.2 s where the mathematics allows it, towards `target`, the accuracy
  // that is still to be reached: that of the problem, or a smaller one where a verified accuracy
  // missed it. Errors: kCancelled when the context says that work must end, within 250 ms of work
  // (the state to save is that before the step); kInvalidArgument for data that cannot be trained
  // on.
  virtual absl::StatusOr<StepReport> Step(RunContext& context, double target) = 0;
  // The best solution so far; there is one once has_model. After a step that was cut short it may
  // be what that step has come to. Errors: kFailedPrecondition when there is none, kCancelled.
  virtual absl::StatusOr<TrainedPoint> CurrentModel(RunContext& context) const = 0;
  // After Start, whatever was done since: the best function that is constant, as a point that the
  // verifier accepts. What an output is left with when a run of several ends before it was begun.
  // Errors: kFailedPrecondition when the learner has none, kCancelled.
  virtual absl::StatusOr<TrainedPoint> ConstantModel(RunContext& /*context*/) {
    return absl::FailedPreconditionError("this learner has no constant model");
  }
  // Everything that decides the future as of the end of the last whole step: a restored run gives
  // the same bits.
  virtual std::string SaveState() const = 0;
  // Goes on where SaveState has left. Errors: kDataLoss (not a state of this learner and problem),
  // kCancelled.
  virtual absl::Status RestoreState(const TrainingProblem& problem, std::string_view state,
                                    RunContext& context) = 0;
};

// What a verifier finds.
struct Verification {
  Certificate certificate;
  // The values of the function that the witness defines, bias included: training rows x outputs.
  // With several tasks it has one column, the rows of one task after those of the other, each row's
  // value for its own task.
  Matrix values;
  // A bound on the size of the terms that a value is the sum of: rounding is small against it.
  double scale = 0;
  // What else the verifier has found. With several outputs the largest value counts, of what was
  // found for every one of them.
  std::vector<Metric> metrics = {};
  // Of one output whose function tells a gradient (Term::gradient): that at the same rows, by the
  // columns of all feature blocks, and a bound as `scale` for each column. Empty: it tells
  // none.
  Matrix gradients = {};
  Vector gradient_scales = {};
};

// Values of an option that training goes through when a request leaves it open (recipe_defaults.h).
struct DefaultPath {
  std::string option;
  std::vector<double> values;  // in the order of the run
};

// One line of the registry: everything the framework and the service know about a learner.
struct LearnerEntry {
  std::string name;     // "lp_mkl"
  std::string title;    // "lp-norm multiple kernel learning"
  std::string summary;  // one paragraph: what it does, when to use it, cost, source
  // How to train it so that memory grows with the rows and not with their square:
  // "lp_mkl with approximation=nystrom"; empty: there is no such way.
  std::string way_to_linear_memory = {};
  // The options by which it solves the problem itself, and not an approximation of it: its user is
  // told where that is cheaper than what was asked for. Empty: it always does.
  OptionValues exact_options = {};
  std::vector<OptionField> fields = {};
  bool classification = true;
  bool regression = false;
  // True when it learns all outputs of a problem in one run, those of one-vs-one aside, whose rows
  // differ; its witness then has one column per output and no children. Others get one run per
  // output (composite_learner.h).
  bool joint_outputs = false;
  // True for options by which outputs share what is learned, so that one run learns all of them,
  // those of one-vs-one, too: targets are then 0 at rows that an output does not see. Empty: none.
  std::function<bool(const OptionValues&)> shares_outputs = {};
  Index least_rows = 1;        // of a task, that count; fewer are refused
  bool several_tasks = false;  // takes problems of several tasks, one output each
  // Whether tasks may have more than two classes, each of which is then a task of its own with the
  // rows of all (or of pairs of classes, with theirs). Else they are refused.
  bool classes_are_tasks = false;
  // Whether groups of kernels (KernelLabels::group) decide what it learns; others do no more than
  // tell them.
  bool kernel_groups = false;
  // True when its witness has dual variables and biases of the rows of each task, whose shapes are
  // checked before it is verified; false when it is of another shape, which the verifier checks.
  bool witness_of_rows = true;
  // True when its models rank the columns, in the table of ranking_tester.h.
  bool ranks_columns = false;
  // True when it takes a list of kernels; an empty list means that of default_kernels.h.
  bool uses_kernels = true;
  // Whether that list is a linear kernel of each column, for learners that select columns.
  bool selects_columns = false;
  // Whether that list is a single Gaussian as wide as the median distance.
  bool one_kernel = false;
  // The path that a request with these options and without a path of its own is given; none, and
  // empty: none.
  std::function<std::optional<DefaultPath>(const OptionValues&)> default_path = {};
  std::function<absl::StatusOr<std::unique_ptr<Learner>>(const OptionValues&)> create = {};
  // Recomputes the certificate of a witness of this problem from the data, by code that shares
  // nothing with the solver.
  std::function<absl::StatusOr<Verification>(const OptionValues&, const TrainingProblem&,
                                             const Witness&, RunContext&)>
      verify = {};
  // Upper bound on the bytes of a run, known before anything is allocated; at most three times the
  // truth of the largest run that the same options and shape admit.
  std::function<absl::StatusOr<size_t>(const OptionValues&, const ProblemShape&)> estimate_memory =
      {};
  // Upper bound on the rows that the basis of a model holds, all outputs together; none, and empty:
  // no more than there are rows.
  std::function<std::optional<Index>(const OptionValues&, const ProblemShape&)> basis_rows = {};
  // Upper bound on the numbers by which model and witness together tell the features or gradients
  // of a model, all outputs together; empty: it has none.
  std::function<absl::StatusOr<size_t>(const OptionValues&, const ProblemShape&)> feature_numbers =
      {};
  // Upper bound on the bytes of the tables that a model tells (ModelSummary::tables), names
  // included, all outputs together; empty: it tells none.
  std::function<absl::StatusOr<size_t>(const OptionValues&, const ProblemShape&)> table_bytes = {};
  // What a run of one output (with joint_outputs: of all) has to do, as far as that is known before
  // it; counts of iterations are those of usual data. Never decreases when the shape grows.
  std::function<absl::StatusOr<LearnerWork>(const OptionValues&, const ProblemShape&)>
      estimate_work = {};
};

}  // namespace mercer
