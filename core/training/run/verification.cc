#include "core/training/run/verification.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/numeric/index_range.h"
#include "core/base/process/side_by_side.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/objectives/concave_maximum.h"
#include "core/training/contract/target_unit.h"
#include "core/training/model/predictor.h"
#include "core/training/run/split_outputs.h"
#include "core/training/terms/learned_gradient.h"

namespace mercer {
namespace {

bool FitsProblem(const TrainingProblem& problem, const Witness& witness) {
  if (!witness.children.empty() || witness.tasks.size() != problem.tasks.size()) {
    return false;
  }
  for (size_t t = 0; t < witness.tasks.size(); ++t) {
    const TaskWitness& task = witness.tasks[t];
    const Index outputs = problem.tasks[t].targets.cols();
    if (task.dual.rows() != static_cast<Index>(problem.tasks[t].rows.size()) ||
        task.dual.cols() != outputs || task.bias.size() != outputs || !task.dual.allFinite() ||
        !task.bias.allFinite()) {
      return false;
    }
  }
  return true;
}

absl::Status Mismatch(std::string_view what) {
  return WithReason(absl::FailedPreconditionError(std::string(what)), "WITNESS_MISMATCH");
}

// The values of a model's function at some training rows.
struct ComparedValues {
  std::vector<Index> positions;  // in the rows of the tasks, one after the other, ascending
  Matrix values;                 // positions x outputs; of several tasks x 1, by each row's own
  Vector means;                  // of the user's targets of each one's task
  // Of outputs whose function tells a gradient beside its values, by the columns of all feature
  // blocks: positions x columns, else empty.
  std::vector<Matrix> gradients;
};

// A training row, and the task that it is of.
struct TaskRow {
  size_t task = 0;
  Index row = 0;
};

TaskRow RowAt(const TrainingProblem& problem, Index position) {
  TaskRow found;
  for (; position >= static_cast<Index>(problem.tasks[found.task].rows.size()); ++found.task) {
    position -= static_cast<Index>(problem.tasks[found.task].rows.size());
  }
  found.row = problem.tasks[found.task].rows[static_cast<size_t>(position)];
  return found;
}

// The compared rows; square blocks as learners read them: symmetric, distances not negative.
PreparedData ComparedInputs(const PreparedData& inputs, const std::vector<Index>& rows) {
  PreparedData selected = SelectRows(inputs, rows);
  for (size_t s = 0; s < selected.squares.size(); ++s) {
    const auto whole = inputs.squares[s].values.view();
    RowMatrix values = selected.squares[s].values.view();
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto row = static_cast<Index>(i);
      values.row(row) = 0.5 * (values.row(row) + whole.col(rows[i]).transpose());
    }
    if (selected.squares[s].kind == SquareKind::kDistance) {
      values = values.cwiseMax(0.0);
    }
    selected.squares[s].values = SharedMatrix(std::move(values));
  }
  return selected;
}

absl::StatusOr<ComparedValues> EvaluateSample(const TrainingProblem& problem,
                                              const ModelFunction& function, RunContext& context) {
  const Index count = problem.num_rows();
  const Index sampled = std::min(count, kComparedRows);
  ComparedValues compared;
  std::vector<Index> rows;
  std::vector<Index> tasks;
  for (Index i = 0; i < sampled; ++i) {
    compared.positions.push_back(i * count / sampled);
    const TaskRow one = RowAt(problem, compared.positions.back());
    rows.push_back(one.row);
    tasks.push_back(static_cast<Index>(one.task));
  }
  const TargetUnit& unit = problem.unit;
  compared.means = unit.IsIdentity() ? Vector(Vector::Zero(sampled)) : Vector(unit.means(tasks));
  const PreparedData inputs = ComparedInputs(*problem.tasks[0].inputs, rows);
  MERCER_ASSIGN_OR_RETURN(compared.values, EvaluateFunction(function, inputs, context));
  compared.gradients.resize(static_cast<size_t>(function.num_outputs()));
  for (const Term* term : WithGradients(function.terms)) {
    const Index num_inputs = term->gradient()->num_inputs;
    const int output = term->outputs.front();
    Matrix& gradients = compared.gradients[static_cast<size_t>(output)];
    if (gradients.size() == 0) {
      gradients = Matrix::Zero(sampled, num_inputs);
    }
    if (gradients.cols() != num_inputs) {
      return Mismatch("the gradients of an output are of other columns than each other");
    }
    MERCER_ASSIGN_OR_RETURN(const auto values, term->MakeValues(function.place(), context));
    MERCER_RETURN_IF_ERROR(values->AddGradients(inputs, output, gradients, context));
  }
  if (problem.tasks.size() > 1) {
    Matrix own(sampled, 1);
    for (Index i = 0; i < sampled; ++i) {
      own(i, 0) = compared.values(i, tasks[static_cast<size_t>(i)]);
    }
    compared.values = std::move(own);
  }
  return compared;
}

// The outputs of `compared` from `output` on against what the verifier says of them; `kept` are the
// positions of its rows among those of the tasks, `deviation` is that of the targets in the user's
// unit.
absl::Status CompareOutputs(const ComparedValues& compared, Index output,
                            const std::vector<Index>& kept, const Verification& verified,
                            double deviation) {
  if (verified.values.rows() != static_cast<Index>(kept.size()) ||
      output + verified.values.cols() > compared.values.cols()) {
    return absl::InternalError("the verifier gives no value for some of the training rows");
  }
  for (size_t s = 0; s < compared.positions.size(); ++s) {
    const auto found = std::lower_bound(kept.begin(), kept.end(), compared.positions[s]);
    if (found == kept.end() || *found != compared.positions[s]) {
      continue;
    }
    for (Index o = 0; o < verified.values.cols(); ++o) {
      const double mean = compared.means(static_cast<Index>(s));
      const double expected =
          mean + deviation * verified.values(static_cast<Index>(found - kept.begin()), o);
      const double actual = compared.values(static_cast<Index>(s), output + o);
      const double size = std::abs(mean) + deviation * verified.scale;
      if (!(std::abs(actual - expected) <= kFunctionTolerance * size)) {
        return Mismatch(
            absl::StrCat("the model is not the function of its witness: at training row ",
                         compared.positions[s] + 1, ", output ", output + o + 1, ", it is ", actual,
                         " instead of ", expected));
      }
    }
  }
  return absl::OkStatus();
}

// The same of the gradient of an output, which may be 0 and then need not be told.
absl::Status CompareGradients(const ComparedValues& compared, Index output,
                              const std::vector<Index>& kept, const Verification& verified,
                              double deviation) {
  const Matrix& told = compared.gradients[static_cast<size_t>(output)];
  const Matrix& right = verified.gradients;
  if (told.size() > 0 &&
      (right.rows() != static_cast<Index>(kept.size()) || right.cols() != told.cols())) {
    return Mismatch("the model tells a gradient that its witness does not");
  }
  const Eigen::RowVectorXd most =
      kFunctionTolerance * deviation * verified.gradient_scales.transpose();
  for (size_t s = 0; s < compared.positions.size() && right.size() > 0; ++s) {
    const auto found = std::lower_bound(kept.begin(), kept.end(), compared.positions[s]);
    if (found == kept.end() || *found != compared.positions[s]) {
      continue;
    }
    const Eigen::RowVectorXd expected = deviation * right.row(found - kept.begin());
    const Eigen::RowVectorXd actual =
        told.size() > 0 ? Eigen::RowVectorXd(told.row(static_cast<Index>(s)))
                        : Eigen::RowVectorXd(Eigen::RowVectorXd::Zero(expected.size()));
    if (!((actual - expected).cwiseAbs().array() <= most.array()).all()) {
      return Mismatch(
          absl::StrCat("the gradient of the model is not that of its witness at training "
                       "row ",
                       compared.positions[s] + 1, ", output ", output + 1));
    }
  }
  return absl::OkStatus();
}

// Keeps the largest values of the metrics that both have: a maximum over some of the outputs would
// pass for one over all.
void MergeMetrics(const std::vector<Metric>& more, std::vector<Metric>& merged) {
  std::vector<Metric> in_both;
  for (const Metric& known : merged) {
    const auto found = std::find_if(
        more.begin(), more.end(), [&](const Metric& metric) { return metric.name == known.name; });
    if (found != more.end()) {
      in_both.push_back({known.name, std::max(known.value, found->value)});
    }
  }
  merged = std::move(in_both);
}

// What is verified at a time: an output, or all of a joint run.
absl::StatusOr<Verification> VerifyPart(const LearnerEntry& entry, const OptionValues& options,
                                        const TrainingProblem& part, const Witness& witness,
                                        RunContext& context) {
  MERCER_RETURN_IF_ERROR(context.CheckCancelled());
  if (entry.witness_of_rows && !FitsProblem(part, witness)) {
    return Mismatch("the witness does not fit the training rows");
  }
  return entry.verify(options, part, witness, context);
}

// Calls visit(first output, verification) for every part of the run in turn: each output, so many
// of which are verified at once, or all of a joint run.
template <typename Visit>
absl::Status VerifyParts(const LearnerEntry& entry, const OptionValues& options,
                         const TrainingProblem& problem, const Witness& witness, Index at_once,
                         RunContext& context, const Visit& visit) {
  if (!HasPartPerOutput(entry, options, problem)) {
    MERCER_ASSIGN_OR_RETURN(const Verification verified,
                            VerifyPart(entry, options, problem, witness, context));
    return visit(0, verified);
  }
  const auto num_parts = static_cast<size_t>(problem.tasks[0].targets.cols());
  if (witness.children.size() != num_parts) {
    return Mismatch(absl::StrCat("the witness has ", witness.children.size(),
                                 " parts, the problem has ", num_parts, " outputs"));
  }
  for (size_t first = 0; first < num_parts;) {
    std::vector<Verification> verified(
        std::min(num_parts - first, static_cast<size_t>(std::max<Index>(at_once, 1))));
    const auto verify = [&](Index i, RunContext& own) -> absl::Status {
      const size_t part = first + static_cast<size_t>(i);
      MERCER_ASSIGN_OR_RETURN(
          verified[static_cast<size_t>(i)],
          VerifyPart(entry, options, SplitOutput(problem, static_cast<Index>(part)),
                     witness.children[part], own));
      return absl::OkStatus();
    };
    MERCER_RETURN_IF_ERROR(SideBySide(static_cast<Index>(verified.size()), context, verify));
    for (const Verification& one : verified) {
      MERCER_RETURN_IF_ERROR(visit(static_cast<Index>(first++), one));
    }
    context.ReportStage(kOutputsStage, static_cast<double>(first) / static_cast<double>(num_parts));
  }
  return absl::OkStatus();
}

// Positions in the rows of the task that the part beginning with `output` has.
std::vector<Index> RowsOfPart(const LearnerEntry& entry, const OptionValues& options,
                              const TrainingProblem& problem, Index output) {
  if (HasPartPerOutput(entry, options, problem)) {
    return RowsOfOutput(problem, output);
  }
  return IndexRange(0, problem.num_rows());
}

}  // namespace

absl::StatusOr<Certificate> VerifyWitness(const LearnerEntry& entry, const OptionValues& options,
                                          const TrainingProblem& problem, const Witness& witness,
                                          RunContext& context) {
  std::vector<Certificate> certificates;
  MERCER_RETURN_IF_ERROR(VerifyParts(entry, options, problem, witness, 1, context,
                                     [&](Index, const Verification& verified) {
                                       certificates.push_back(verified.certificate);
                                       return absl::OkStatus();
                                     }));
  Certificate sum = SumCertificates(certificates);
  ToUserUnit(problem.unit, sum);
  return sum;
}

absl::StatusOr<VerifiedFunction> VerifyFunction(const LearnerEntry& entry,
                                                const OptionValues& options,
                                                const TrainingProblem& problem,
                                                const ModelFunction& function,
                                                const Witness& witness, RunContext& context,
                                                Index parts_at_once) {
  if (function.num_outputs() != problem.num_outputs()) {
    return Mismatch(absl::StrCat("the model has ", function.num_outputs(), " outputs, the problem ",
                                 problem.num_outputs()));
  }
  MERCER_ASSIGN_OR_RETURN(const ComparedValues compared,
                          EvaluateSample(problem, function, context));
  std::vector<Certificate> certificates;
  VerifiedFunction result;
  MERCER_RETURN_IF_ERROR(
      VerifyParts(entry, options, problem, witness, parts_at_once, context,
                  [&](Index output, const Verification& verified) {
                    certificates.push_back(verified.certificate);
                    if (output == 0) {
                      result.metrics = verified.metrics;
                    } else {
                      MergeMetrics(verified.metrics, result.metrics);
                    }
                    const std::vector<Index> rows = RowsOfPart(entry, options, problem, output);
                    const double deviation = problem.unit.deviation;
                    absl::Status same = CompareOutputs(compared, output, rows, verified, deviation);
                    for (Index o = output; same.ok() && o < output + verified.values.cols(); ++o) {
                      same = CompareGradients(compared, o, rows, verified, deviation);
                    }
                    return same;
                  }));
  result.certificate = SumCertificates(certificates);
  ToUserUnit(problem.unit, result.certificate);
  return result;
}

double BestValueOnRay(double linear, double quadratic, double largest) {
  double scale = quadratic > 0 ? std::min(linear / quadratic, largest) : largest;
  scale = std::isfinite(scale) ? std::max(scale, 0.0) : 0.0;
  return std::max(0.0, scale * linear - 0.5 * scale * scale * quadratic);
}

absl::StatusOr<double> BestConcaveValueOnRay(const std::function<double(double)>& value_at,
                                             double largest, const RunContext& context) {
  const double high = std::min(4.0, largest);
  const auto unless_cancelled = [&](double scale) {
    return context.cancelled() ? 0.0 : value_at(scale);
  };
  const double best = MaximizeConcave(0, std::min(1.0, high), high, unless_cancelled).value;
  MERCER_RETURN_IF_ERROR(context.CheckCancelled());
  return std::max(0.0, best);
}

double LargestScaleInBox(const Loss& loss, ConstVectorRef targets, ConstVectorRef costs,
                         ConstVectorRef dual) {
  double largest = kInfinity;
  for (Index i = 0; i < dual.size(); ++i) {
    const Interval box = loss.DualBox(targets(i), costs(i));
    if (dual(i) != 0) {
      largest = std::min(largest, std::max(box.low / dual(i), box.high / dual(i)));
    }
  }
  return largest;
}

}  // namespace mercer
