#include "core/learners/coordinate_gradients/problem.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/process/row_vectors.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/learners/coordinate_gradients/own_gradient.h"
#include "core/objectives/loss.h"
#include "core/solvers/gradients/pair_preconditioner.h"
#include "core/solvers/gradients/pair_weights.h"
#include "core/training/contract/input_columns.h"
#include "core/training/contract/single_task.h"

namespace mercer::coordinate_gradients {
namespace {

constexpr Index kLeadingColumns = 16;  // of the kernel, by which solvers precondition
constexpr double kMaxRisk = 1e120;
constexpr Index kRowsOfBlock = 256;  // of the kernel matrix

LossKind KindOfLoss(const CoordinateGradientsOptions& options, TargetKind kind) {
  switch (options.loss) {
    case LossWord::kSquare:
      return LossKind::kSquare;
    case LossWord::kHinge:
      return LossKind::kHinge;
    case LossWord::kSquaredHinge:
      return LossKind::kSquaredHinge;
    case LossWord::kAuto:
      break;
  }
  return kind == TargetKind::kRegression ? LossKind::kSquare : LossKind::kSquaredHinge;
}

std::vector<Index> KeptRows(const TaskData& task) {
  std::vector<Index> kept;
  for (Index i = 0; i < task.costs.size(); ++i) {
    if (task.costs(i) > 0) {
      kept.push_back(i);
    }
  }
  return kept;
}

PairWeights WeightsOfPairs(const CoordinateGradientsOptions& options, Index rows) {
  PairWeights weights;
  weights.include_self = options.include_self;
  weights.symmetric = options.symmetric;
  switch (options.pairs) {
    case PairChoice::kNeighbors:
      weights.kind = PairWeighting::kNeighbors;
      weights.neighbors = options.neighbors > 0
                              ? options.neighbors
                              : std::min(kUsualNeighbors, options.include_self ? rows : rows - 1);
      break;
    case PairChoice::kGaussian:
      weights.kind = PairWeighting::kGaussian;
      weights.most_anchors = options.neighbors > 0 ? options.neighbors : kUsualGaussianNeighbors;
      if (options.pair_width > 0) {
        weights.width = options.pair_width;
      }
      break;
  }
  return weights;
}

// The names of fields of pairs are those of the options.
absl::Status InOptions(const absl::Status& status) {
  std::vector<FieldViolation> found = GetFieldViolations(status);
  if (found.empty()) {
    return status;
  }
  FieldViolations violations;
  for (const FieldViolation& violation : found) {
    const std::string field = violation.field == "weights.k"   ? "neighbors"
                              : violation.field == "weights.s" ? "pair_width"
                                                               : violation.field;
    violations.Add(field, violation.description);
  }
  return violations.ToStatus();
}

absl::StatusOr<Matrix> GramOf(const KernelFamily& family, const std::vector<Index>& rows,
                              RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<KernelOperator> sum,
                          family.Combine(Vector::Ones(family.num_kernels()), context));
  const auto count = static_cast<Index>(rows.size());
  Matrix gram(count, count);
  for (Index begin = 0; begin < count; begin += kRowsOfBlock) {
    const Index size = std::min(kRowsOfBlock, count - begin);
    const std::vector<Index> some(rows.begin() + begin, rows.begin() + begin + size);
    Matrix block(size, count);
    MERCER_RETURN_IF_ERROR(sum->Block(some, rows, block, context));
    gram.middleRows(begin, size) = block;
  }
  return gram;
}

}  // namespace

absl::Status CheckProblem(const CoordinateGradientsOptions& options,
                          const TrainingProblem& problem) {
  MERCER_RETURN_IF_ERROR(CheckRowsAndKernels(problem));
  const TaskData& task = problem.tasks[0];
  const auto rows = static_cast<Index>(KeptRows(task).size());
  const bool regression = problem.kind == TargetKind::kRegression;
  FieldViolations violations;
  violations.Check(CountInputs(problem) > 0, "blocks",
                   "there are no columns to learn gradients of: square matrices alone do not do");
  violations.Check(
      !regression || options.loss == LossWord::kAuto || options.loss == LossWord::kSquare, "loss",
      "is for classes; numbers have the square loss");
  violations.Check(options.C * SumOfRows(task.costs) <= kMaxRisk, "C",
                   absl::StrCat("is ", options.C, ", too large: sums of squares overflow"));
  violations.Check(options.C >= 1 / kMaxRisk, "C",
                   absl::StrCat("is ", options.C, ", too small: its inverse overflows"));
  violations.Check(options.columns <= CountInputs(problem), "columns",
                   absl::StrCat("must be at most ", CountInputs(problem), ", the columns, is ",
                                options.columns));
  if (options.own_gradient) {
    CheckOwnGradient(problem, violations);
  }
  // A row is among the nearest of gaussian pairs in any case.
  const bool with_self = options.include_self || options.pairs == PairChoice::kGaussian;
  const Index least = with_self ? 2 : 1;
  const Index most = with_self ? rows : rows - 1;
  violations.Check(
      options.neighbors == 0 || (options.neighbors >= least && options.neighbors <= most),
      "neighbors",
      absl::StrCat("must be ", least, " to ", most, " with ", rows, " rows that count, is ",
                   options.neighbors));
  MERCER_RETURN_IF_ERROR(violations.ToStatus());
  if (!regression) {
    MERCER_RETURN_IF_ERROR(CheckBothClasses(task.targets, task.costs));
  }
  return rows >= 2 ? absl::OkStatus()
                   : WithReason(absl::InvalidArgumentError("two rows of weight > 0 are needed"),
                                "NO_ROWS");
}

absl::StatusOr<PreparedProblem> PrepareProblem(const CoordinateGradientsOptions& options,
                                               const TrainingProblem& problem,
                                               RunContext& context) {
  const TaskData& task = problem.tasks[0];
  PreparedProblem prepared;
  prepared.kept = KeptRows(task);
  context.ReportStage("kernels");
  MERCER_ASSIGN_OR_RETURN(prepared.family,
                          MakeExactKernelFamily(task.inputs, task.rows, problem.kernels, context));
  MERCER_ASSIGN_OR_RETURN(Matrix gram, GramOf(*prepared.family, prepared.kept, context));
  std::vector<Index> rows;
  for (const Index i : prepared.kept) {
    rows.push_back(task.rows[static_cast<size_t>(i)]);
  }
  MERCER_ASSIGN_OR_RETURN(Matrix columns, ReadColumns(problem, rows, context));
  MERCER_ASSIGN_OR_RETURN(const Matrix distances, SquaredRowDistances(columns, context));
  absl::StatusOr<GradientPairs> pairs =
      MakeGradientPairs(WeightsOfPairs(options, columns.rows()), distances, context);
  if (!pairs.ok()) {
    return InOptions(pairs.status());
  }
  for (Index p = 0; p < pairs->size(); ++p) {
    pairs->weights(p) *=
        task.costs(prepared.kept[static_cast<size_t>(pairs->targets[static_cast<size_t>(p)])]);
  }
  MERCER_ASSIGN_OR_RETURN(std::shared_ptr<const Loss> loss,
                          MakeLoss(KindOfLoss(options, problem.kind)));
  const Vector targets = task.targets.col(0)(prepared.kept);
  absl::StatusOr<GradientProblem> made = MakeGradientProblem(
      std::move(loss), options.C, std::move(columns), targets, *std::move(pairs), std::move(gram));
  if (!made.ok()) {
    return InOptions(made.status());
  }
  prepared.problem = *std::move(made);
  MERCER_ASSIGN_OR_RETURN(prepared.problem.leading,
                          LeadingPart(prepared.problem.gram, kLeadingColumns, context));
  return prepared;
}

std::vector<Index> ColumnsOf(const GradientPoint& at) {
  const Vector norms = at.Norms();
  std::vector<Index> columns;
  for (Index l = 0; l < norms.size(); ++l) {
    if (norms(l) > 0) {
      columns.push_back(l);
    }
  }
  return columns;
}

absl::StatusOr<Matrix> CoefficientsOf(const PreparedProblem& prepared, const GradientPoint& at,
                                      const RunContext& context) {
  const GradientPairs& pairs = prepared.problem.pairs;
  const std::vector<Index> columns = ColumnsOf(at);
  Matrix coefficients =
      Matrix::Zero(prepared.family->size(), 1 + static_cast<Index>(columns.size()));
  const Vector sums = AnchorSums(pairs, at.dual);
  for (Index j = 0; j < sums.size(); ++j) {
    coefficients(prepared.kept[static_cast<size_t>(j)], 0) = sums(j);
  }
  Vector moments(prepared.problem.num_rows());
  for (size_t c = 0; c < columns.size(); ++c) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    AnchorMoments(pairs, at.dual, prepared.problem.rows.col(columns[c]), moments);
    coefficients(prepared.kept, static_cast<Index>(c) + 1) = at.weights(columns[c]) * moments;
  }
  return coefficients;
}

}  // namespace mercer::coordinate_gradients
