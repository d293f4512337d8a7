#include "core/learners/infinite_features/verify.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/errors.h"
#include "core/base/status_macros.h"
#include "core/features/feature_rows.h"
#include "core/learners/infinite_features/problem.h"
#include "core/training/verification.h"

namespace mercer::infinite_features {
namespace {

constexpr Index kBlockRows = 4096;
constexpr double kScaleTolerance = 1e-9;

absl::Status Mismatch(std::string_view what) {
  return WithReason(absl::FailedPreconditionError(std::string(what)), "WITNESS_MISMATCH");
}

// What the witness says.
struct ListedFeatures {
  std::vector<FeatureParameters> groups;
  Vector scales;    // of the columns
  Matrix specific;  // columns x outputs
  Vector shared;
  double lambda = 0;
  double lambda_shared = 0;

  Matrix Weights() const { return specific.colwise() + shared; }
};

absl::StatusOr<ListedFeatures> ReadWitness(const Witness& witness, const FeatureFamily& family,
                                           Index outputs) {
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
  if (scales->size() != columns || scales->cols() != 1 || specific->rows() != columns ||
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
  ListedFeatures listed{{}, scales->col(0), *specific, shared->col(0), *lambda, *lambda_shared};
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

// What one pass over the rows finds.
struct Sums {
  Matrix products;    // columns x outputs, with the dual
  Vector squares;     // of the columns
  Matrix magnitudes;  // columns x outputs: largest |value times coefficient|
};

class Pass {
 public:
  // counts: 1 for rows whose values make the scales, else 0.
  Pass(const FeatureRows& rows, const FeatureMap& map, const Matrix& coefficients,
       const Vector& bias, const Matrix& dual, const Vector& counts)
      : rows_(rows),
        map_(map),
        coefficients_(coefficients),
        bias_(bias),
        dual_(dual),
        counts_(counts) {}

  // values: rows x outputs.
  absl::StatusOr<Sums> Run(Matrix& values, RunContext& context) const {
    const Index blocks = (rows_.size() + kBlockRows - 1) / kBlockRows;
    std::vector<Sums> parts(static_cast<size_t>(blocks));
    context.parallel().ForBlocks(blocks, 1, [&](Index begin, Index end) {
      for (Index block = begin; block < end && !context.cancelled(); ++block) {
        parts[static_cast<size_t>(block)] = SumBlock(block * kBlockRows, values, context);
      }
    });
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    Sums total = Zero();
    for (const Sums& part : parts) {
      total.products += part.products;
      total.squares += part.squares;
      total.magnitudes = total.magnitudes.cwiseMax(part.magnitudes);
    }
    return total;
  }

 private:
  Sums Zero() const {
    return {Matrix::Zero(map_.num_columns(), dual_.cols()), Vector::Zero(map_.num_columns()),
            Matrix::Zero(map_.num_columns(), dual_.cols())};
  }

  Sums SumBlock(Index begin, Matrix& values, const RunContext& context) const {
    const Index end = std::min(begin + kBlockRows, rows_.size());
    Sums sums = Zero();
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
    return sums;
  }

  const FeatureRows& rows_;
  const FeatureMap& map_;
  const Matrix& coefficients_;
  const Vector& bias_;
  const Matrix& dual_;
  const Vector& counts_;
};

// The scale that the options ask for.
Vector ExpectedScales(const InfiniteFeaturesOptions& options, const Vector& squares,
                      Index columns) {
  if (options.normalization == NormalizationChoice::kNone) {
    return Vector::Ones(squares.size());
  }
  if (options.normalization == NormalizationChoice::kColumn) {
    return squares.cwiseSqrt();
  }
  Vector scales(squares.size());
  for (Index first = 0; first < squares.size(); first += columns) {
    scales.segment(first, columns).setConstant(std::sqrt(squares.segment(first, columns).mean()));
  }
  return scales;
}

struct Penalties {
  double value = 0;
  // The largest multiple of the dual whose products with the columns of each group have dual norms of at most lambda.
  double largest_scale = kInfinity;
};

Penalties SumPenalties(const InfiniteFeaturesOptions& options, const ListedFeatures& listed,
                       const Matrix& products, Index columns) {
  const ShapeChoice shape = options.penalty_shape;
  const double conjugate = Conjugate(options.penalty_q);
  Penalties sum;
  double largest = 0;
  for (Index first = 0; first < listed.scales.size(); first += columns) {
    const Matrix specific = listed.specific.middleRows(first, columns);
    const Matrix shared = listed.shared.segment(first, columns);
    const Matrix scaled = products.middleRows(first, columns).array().colwise() /
                          listed.scales.segment(first, columns).array();
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

Certificate MakeCertificate(const Loss& loss, const TaskData& task, const Penalties& penalties,
                            const Matrix& values, const Matrix& dual) {
  double primal = penalties.value;
  double largest_scale = penalties.largest_scale;
  for (Index o = 0; o < dual.cols(); ++o) {
    primal += loss.TotalValue(task.targets.col(o), task.costs, values.col(o), 0.0);
    largest_scale = std::min(largest_scale,
                             LargestScaleInBox(loss, task.targets.col(o), task.costs, dual.col(o)));
  }
  const auto dual_value = [&](double scale) {
    double value = 0;
    for (Index o = 0; o < dual.cols(); ++o) {
      value += loss.DualValue(task.targets.col(o), task.costs, scale * dual.col(o));
    }
    return value;
  };
  Certificate certificate =
      MakeGapCertificate(primal, BestConcaveValueOnRay(dual_value, largest_scale));
  certificate.scope = CertificateScope::kListedFeatures;
  return certificate;
}

}  // namespace

absl::StatusOr<Verification> Verify(const InfiniteFeaturesOptions& options,
                                    const TrainingProblem& problem, const Witness& witness,
                                    RunContext& context) {
  const TaskData& task = problem.tasks[0];
  const Index outputs = task.targets.cols();
  MERCER_RETURN_IF_ERROR(CheckOptionsFor(options, CountInputs(problem.tasks[0])));
  MERCER_ASSIGN_OR_RETURN(const std::shared_ptr<const Loss> loss,
                          MakeChosenLoss(options, problem.kind));
  MERCER_ASSIGN_OR_RETURN(
      const std::shared_ptr<const FeatureFamily> family,
      MakeFeatureFamily(SpecOfOptions(options, CountInputs(task)), CountInputs(task)));
  MERCER_ASSIGN_OR_RETURN(const ListedFeatures listed, ReadWitness(witness, *family, outputs));

  Matrix dual = witness.tasks[0].dual;
  for (Index o = 0; o < outputs; ++o) {
    loss->RepairDual(task.targets.col(o), task.costs, true, dual.col(o));
  }
  const Vector& bias = witness.tasks[0].bias;
  const FeatureRows rows(task.inputs, task.rows);
  const std::unique_ptr<const FeatureMap> map = family->Bind(listed.groups);
  // Rows of cost 0 do not count, unless all are.
  const bool some_count = (task.costs.array() > 0).any();
  const Vector counts =
      some_count ? Vector((task.costs.array() > 0).cast<double>()) : Vector::Ones(rows.size());
  const Matrix coefficients = listed.Weights().array().colwise() / listed.scales.array();
  Verification verification;
  verification.values.resize(rows.size(), outputs);
  MERCER_ASSIGN_OR_RETURN(
      const Sums sums,
      Pass(rows, *map, coefficients, bias, dual, counts).Run(verification.values, context));
  const Index columns = family->columns_per_group();
  const Vector expected = ExpectedScales(options, sums.squares, columns);
  if (!((expected - listed.scales).cwiseAbs().array() <= kScaleTolerance * expected.array())
           .all()) {
    return Mismatch("the scales of the witness are not those of its features");
  }
  verification.certificate =
      MakeCertificate(*loss, task, SumPenalties(options, listed, sums.products, columns),
                      verification.values, dual);
  verification.scale = bias.cwiseAbs().sum() + sums.magnitudes.sum();
  verification.metrics = {{"features.listed", static_cast<double>(listed.groups.size())}};
  for (const auto& [name, value] : witness.values) {
    if (std::isfinite(value)) {
      verification.metrics.push_back({"features." + name, value});
    }
  }
  return verification;
}

}  // namespace mercer::infinite_features
