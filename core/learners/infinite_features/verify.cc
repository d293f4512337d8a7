#include "core/learners/infinite_features/verify.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/process/row_sums.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/features/feature_rows.h"
#include "core/learners/infinite_features/problem.h"
#include "core/training/run/verification.h"

namespace mercer::infinite_features {
namespace {

constexpr Index kPieceRows = 4096;
constexpr double kScaleTolerance = 1e-9;

absl::Status Mismatch(std::string_view what) {
  return WithReason(absl::FailedPreconditionError(std::string(what)), "WITNESS_MISMATCH");
}

// What the witness says.
struct ListedFeatures {
  std::vector<FeatureParameters> groups;
  Matrix scales;    // columns x tables of rows: one, or one for each task
  Matrix specific;  // columns x outputs
  Vector shared;
  double lambda = 0;
  double lambda_shared = 0;

  Matrix Weights() const { return specific.colwise() + shared; }
};

absl::StatusOr<ListedFeatures> ReadWitness(const Witness& witness, const FeatureFamily& family,
                                           Index tables, Index outputs) {
  const Matrix* parameters = witness.FindArray("parameters");
  const Matrix* scales = witness.FindArray("scales");
  const Matrix* specific = witness.FindArray("specific");
  const Matrix* shared = witness.FindArray("shared");
  const double* lambda = witness.FindValue("lambda");
  const double* lambda_shared = witness.FindValue("lambda_shared");
  if (parameters == nullptr || scales == nullptr || specific == nullptr || shared == nullptr ||
      lambda == nullptr || lambda_shared == nullptr) {
    return Mismatch("the witness lists no features");
  }
  const Index columns = parameters->rows() * family.columns_per_group();
  if (scales->rows() != columns || scales->cols() != tables || specific->rows() != columns ||
      specific->cols() != outputs || shared->size() != columns || shared->cols() != 1 ||
      !specific->allFinite() || !shared->allFinite()) {
    return Mismatch("the weights of the witness do not fit its features");
  }
  // A part that is left out has no weights.
  if (!(*lambda > 0) || !(*lambda_shared > 0) ||
      (std::isinf(*lambda) && (specific->array() != 0).any()) ||
      (std::isinf(*lambda_shared) && (shared->array() != 0).any())) {
    return Mismatch("the penalties of the witness do not fit its weights");
  }
  ListedFeatures listed{{}, *scales, *specific, shared->col(0), *lambda, *lambda_shared};
  for (Index g = 0; g < parameters->rows(); ++g) {
    FeatureParameters group(static_cast<size_t>(parameters->cols()));
    Eigen::Map<Vector>(group.data(), parameters->cols()) = parameters->row(g).transpose();
    if (!family.CheckParameters(group).ok()) {
      return Mismatch("the witness lists a feature that the family does not have");
    }
    listed.groups.push_back(std::move(group));
  }
  return listed;
}

double Power(double value, double exponent) {
  return std::isinf(exponent) ? value : std::pow(value, exponent);
}

// The norm of a group's block of weights with the exponent q, written anew.
double NormOfBlock(const Matrix& block, ShapeChoice shape, double q) {
  const Vector parts = shape == ShapeChoice::kNested ? Vector(block.colwise().norm().transpose())
                                                     : Vector(block.reshaped().cwiseAbs());
  const double largest = parts.size() > 0 ? parts.maxCoeff() : 0.0;
  if (largest == 0 || std::isinf(q)) {
    return largest;
  }
  double sum = 0;
  for (const double part : parts) {
    sum += Power(part / largest, q);
  }
  return largest * std::pow(sum, 1 / q);
}

double Conjugate(double q) { return q == 1 ? kInfinity : std::isinf(q) ? 1.0 : q / (q - 1); }

// The sums that one pass over the rows finds.
struct Sums {
  Sums& operator+=(const Sums& other) {
    products += other.products;
    squares += other.squares;
    magnitudes = magnitudes.cwiseMax(other.magnitudes);
    return *this;
  }

  Matrix products;    // columns x outputs, with the dual
  Vector squares;     // of the columns
  Matrix magnitudes;  // columns x outputs: largest |value times coefficient|
};

class Pass {
 public:
  // `counts` is 1 for rows whose values make the scales, and 0 for the others.
  Pass(const FeatureRows& rows, const FeatureMap& map, const Matrix& coefficients,
       const Vector& bias, const Matrix& dual, const Vector& counts)
      : rows_(rows),
        map_(map),
        coefficients_(coefficients),
        bias_(bias),
        dual_(dual),
        counts_(counts) {}

  // Makes the pass; `values` receives those of the function, rows x outputs.
  absl::StatusOr<Sums> Run(Matrix& values, RunContext& context) const {
    return SumOverRows(
        rows_.size(), kPieceRows, Zero(), context,
        [&](Index begin, Index end, Sums& sums) { AddRows(begin, end, values, sums, context); });
  }

 private:
  Sums Zero() const {
    return {Matrix::Zero(map_.num_columns(), dual_.cols()), Vector::Zero(map_.num_columns()),
            Matrix::Zero(map_.num_columns(), dual_.cols())};
  }

  void AddRows(Index begin, Index end, Matrix& values, Sums& sums,
               const RunContext& context) const {
    RowMatrix buffer;
    Matrix columns(rows_.chunk_rows(), map_.num_columns());
    for (Index row = begin; row < end && !context.cancelled(); row += rows_.chunk_rows()) {
      const Index count = std::min(rows_.chunk_rows(), end - row);
      auto chunk = columns.topRows(count);
      map_.Evaluate(rows_.Read(row, row + count, buffer), chunk);
      for (Index o = 0; o < dual_.cols(); ++o) {
        auto value = values.col(o).segment(row, count);
        value.setConstant(bias_(o));
        for (Index c = 0; c < chunk.cols(); ++c) {
          value += coefficients_(c, o) * chunk.col(c);
        }
      }
      sums.products.noalias() += chunk.transpose() * dual_.middleRows(row, count);
      sums.squares.noalias() += chunk.cwiseAbs2().transpose() * counts_.segment(row, count);
      const Vector largest = chunk.cwiseAbs().colwise().maxCoeff().transpose();
      sums.magnitudes = sums.magnitudes.cwiseMax(
          (coefficients_.cwiseAbs().array().colwise() * largest.array()).matrix());
    }
  }

  const FeatureRows& rows_;
  const FeatureMap& map_;
  const Matrix& coefficients_;
  const Vector& bias_;
  const Matrix& dual_;
  const Vector& counts_;
};

// The scales that the options ask for, from the squared norms of the columns (columns x tables).
Matrix ExpectedScales(const InfiniteFeaturesOptions& options, Matrix squares, Index columns) {
  if (options.normalization == NormalizationChoice::kNone) {
    return Matrix::Ones(squares.rows(), squares.cols());
  }
  if (options.normalization == NormalizationChoice::kGroup) {
    for (Index first = 0; first < squares.rows(); first += columns) {
      for (Index t = 0; t < squares.cols(); ++t) {
        squares.col(t)
            .segment(first, columns)
            .setConstant(squares.col(t).segment(first, columns).mean());
      }
    }
  }
  if (options.normalization_scope == ScopeChoice::kPooled) {
    squares = Vector(squares.rowwise().mean()).replicate(1, squares.cols()).eval();
  }
  return squares.cwiseSqrt();
}

struct Penalties {
  double value = 0;
  // The largest multiple of the dual whose products with the columns of each group have dual norms
  // of at most lambda.
  double largest_scale = kInfinity;
};

Penalties SumPenalties(const InfiniteFeaturesOptions& options, const ListedFeatures& listed,
                       const Matrix& scaled_products, Index columns) {
  const ShapeChoice shape = options.penalty_shape;
  const double conjugate = Conjugate(options.penalty_q);
  Penalties sum;
  double largest = 0;
  for (Index first = 0; first < listed.scales.rows(); first += columns) {
    const Matrix specific = listed.specific.middleRows(first, columns);
    const Matrix shared = listed.shared.segment(first, columns);
    const Matrix scaled = scaled_products.middleRows(first, columns);
    const double weight = GroupWeight(options, listed.groups[static_cast<size_t>(first / columns)]);
    if (std::isfinite(listed.lambda)) {
      const double lambda = weight * listed.lambda;
      sum.value += lambda * NormOfBlock(specific, shape, options.penalty_q);
      largest = std::max(largest, NormOfBlock(scaled, shape, conjugate) / lambda);
    }
    if (std::isfinite(listed.lambda_shared)) {
      const double lambda = weight * listed.lambda_shared;
      sum.value += lambda * NormOfBlock(shared, shape, options.penalty_q);
      largest = std::max(largest, NormOfBlock(scaled.rowwise().sum(), shape, conjugate) / lambda);
    }
  }
  sum.largest_scale = largest > 0 ? 1 / largest : kInfinity;
  return sum;
}

// The part of primal and dual value that one task has.
struct TaskPoint {
  const TaskData* task = nullptr;
  Matrix dual;    // rows x outputs of the task
  Matrix values;  // the same
};

absl::StatusOr<Certificate> MakeCertificate(const Loss& loss, const std::vector<TaskPoint>& points,
                                            const Penalties& penalties, const RunContext& context) {
  double primal = penalties.value;
  double largest_scale = penalties.largest_scale;
  for (const auto& [task, dual, values] : points) {
    for (Index o = 0; o < dual.cols(); ++o) {
      MERCER_RETURN_IF_ERROR(context.CheckCancelled());
      MERCER_ASSIGN_OR_RETURN(const double risk, loss.TotalValue(task->targets.col(o), task->costs,
                                                                 values.col(o), 0.0, context));
      primal += risk;
      largest_scale = std::min(
          largest_scale, LargestScaleInBox(loss, task->targets.col(o), task->costs, dual.col(o)));
    }
  }
  const auto dual_value = [&](double scale) {
    double value = 0;
    for (const auto& [task, dual, values] : points) {
      for (Index o = 0; o < dual.cols() && !context.cancelled(); ++o) {
        value += loss.DualValue(task->targets.col(o), task->costs, scale * dual.col(o), context)
                     .value_or(0.0);
      }
    }
    return value;
  };
  MERCER_ASSIGN_OR_RETURN(const double dual,
                          BestConcaveValueOnRay(dual_value, largest_scale, context));
  Certificate certificate = MakeGapCertificate(primal, dual);
  certificate.scope = CertificateScope::kListedFeatures;
  return certificate;
}

// A vector with 1 for rows that count: those of cost > 0, or all when there is none.
Vector RowCounts(const TaskData& task) {
  const bool some_count = (task.costs.array() > 0).any();
  return some_count ? Vector((task.costs.array() > 0).cast<double>())
                    : Vector::Ones(task.costs.size());
}

// The passes over the rows of each task, and what they make together.
class TaskPasses {
 public:
  TaskPasses(const Loss& loss, const ListedFeatures& listed, const FeatureMap& map,
             const Witness& witness)
      : loss_(loss), listed_(listed), map_(map), witness_(witness) {
    squares_.resize(listed.scales.rows(), listed.scales.cols());
    products_.resize(listed.specific.rows(), listed.specific.cols());
  }

  absl::Status Add(const TaskData& task, RunContext& context) {
    const auto t = static_cast<Index>(points_.size());
    const Index outputs = task.targets.cols();
    const TaskWitness& of_task = witness_.tasks[points_.size()];
    TaskPoint& point = points_.emplace_back();
    point.task = &task;
    point.dual = of_task.dual;
    for (Index o = 0; o < outputs; ++o) {
      MERCER_RETURN_IF_ERROR(context.CheckCancelled());
      loss_.RepairDual(task.targets.col(o), task.costs, true, point.dual.col(o));
    }
    point.values.resize(task.costs.size(), outputs);
    const Matrix coefficients = listed_.Weights().middleCols(next_, outputs).array().colwise() /
                                listed_.scales.col(t).array();
    const FeatureRows rows(task.inputs, task.rows);
    const Vector counts = RowCounts(task);
    MERCER_ASSIGN_OR_RETURN(const Sums sums,
                            Pass(rows, map_, coefficients, of_task.bias, point.dual, counts)
                                .Run(point.values, context));
    squares_.col(t) = sums.squares;
    products_.middleCols(next_, outputs) =
        sums.products.array().colwise() / listed_.scales.col(t).array();
    scale_ = std::max(scale_, of_task.bias.cwiseAbs().sum() + sums.magnitudes.sum());
    next_ += outputs;
    return absl::OkStatus();
  }

  const std::vector<TaskPoint>& points() const { return points_; }
  const Matrix& squares() const { return squares_; }    // columns x tasks
  const Matrix& products() const { return products_; }  // of the scaled columns, x outputs
  double scale() const { return scale_; }
  // The values of all tasks, one below the other.
  Matrix Values() const {
    Index rows = 0;
    for (const TaskPoint& point : points_) {
      rows += point.values.rows();
    }
    Matrix values(rows, points_.front().values.cols());
    Index begin = 0;
    for (const TaskPoint& point : points_) {
      values.middleRows(begin, point.values.rows()) = point.values;
      begin += point.values.rows();
    }
    return values;
  }

 private:
  const Loss& loss_;
  const ListedFeatures& listed_;
  const FeatureMap& map_;
  const Witness& witness_;
  std::vector<TaskPoint> points_;
  Matrix squares_;
  Matrix products_;
  double scale_ = 0;
  Index next_ = 0;  // output
};

}  // namespace

absl::StatusOr<Verification> Verify(const InfiniteFeaturesOptions& options,
                                    const TrainingProblem& problem, const Witness& witness,
                                    RunContext& context) {
  const Index inputs = CountInputs(problem.tasks[0]);
  MERCER_RETURN_IF_ERROR(CheckOptionsFor(options, inputs));
  MERCER_ASSIGN_OR_RETURN(const std::shared_ptr<const Loss> loss,
                          MakeChosenLoss(options, problem.kind));
  MERCER_ASSIGN_OR_RETURN(const std::shared_ptr<const FeatureFamily> family,
                          MakeFeatureFamily(SpecOfOptions(options, inputs), inputs));
  MERCER_ASSIGN_OR_RETURN(const ListedFeatures listed,
                          ReadWitness(witness, *family, static_cast<Index>(problem.tasks.size()),
                                      problem.num_outputs()));
  const std::unique_ptr<const FeatureMap> map = family->Bind(listed.groups);
  TaskPasses passes(*loss, listed, *map, witness);
  for (const TaskData& task : problem.tasks) {
    MERCER_RETURN_IF_ERROR(passes.Add(task, context));
  }
  const Index columns = family->columns_per_group();
  const Matrix expected = ExpectedScales(options, passes.squares(), columns);
  if (!((expected - listed.scales).cwiseAbs().array() <= kScaleTolerance * expected.array())
           .all()) {
    return Mismatch("the scales of the witness are not those of its features");
  }
  Verification verification;
  verification.values = passes.Values();
  MERCER_ASSIGN_OR_RETURN(
      verification.certificate,
      MakeCertificate(*loss, passes.points(),
                      SumPenalties(options, listed, passes.products(), columns), context));
  verification.scale = passes.scale();
  verification.metrics = {{"features.listed", static_cast<double>(listed.groups.size())}};
  for (const auto& [name, value] : witness.values) {
    if (std::isfinite(value)) {
      verification.metrics.push_back({"features." + name, value});
    }
  }
  return verification;
}

}  // namespace mercer::infinite_features
