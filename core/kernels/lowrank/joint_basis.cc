#include "core/kernels/lowrank/joint_basis.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include <Eigen/QR>

#include "core/base/numeric/random.h"
#include "core/base/process/paced_check.h"
#include "core/base/status/status_macros.h"
#include "core/kernels/lowrank/landmarks.h"
#include "core/linalg/matrix_products.h"

namespace mercer {
namespace {

constexpr Index kSampledRows = 3000;
constexpr Index kOrthonormalColumns = 16;
constexpr Index kFreshSamples = 4;
constexpr double kTolerated = 100;        // times the tolerance, on a fresh sample
constexpr double kPanelRounding = 1e-12;  // of a panel's longest column: less may be rounding alone
// What taking others out leaves of a unit vector that is not in their span.
constexpr double kIndependent = 0.5;

// Wide panels multiply faster; narrow ones waste fewer columns when little is left to be caught.
// `excess`: what is dropped over what may be.
Index PanelColumns(double excess) {
  return excess > 1e4 ? 128 : (excess > 100 ? 64 : (excess > 4 ? 32 : 16));
}

// Takes what lies in the span of the basis out of `target`: target -= basis basis'target.
absl::Status TakeOut(const ConstMatrixRef& basis, MatrixRef target, RunContext& context) {
  Matrix inside(basis.cols(), target.cols());
  MERCER_RETURN_IF_ERROR(TransposedProduct(basis, target, inside, context));
  return AddProduct(-1.0, basis, inside, target, context);
}

// An orthonormal basis of the columns of `panel`, in place: block by block, each made orthogonal to
// those before it twice. What is no longer than `least` is rounding, which points anywhere, along
// the columns before too: it is left out.
absl::Status Orthonormalize(double least, Matrix& panel, RunContext& context) {
  Index kept = 0;
  for (Index begin = 0; begin < panel.cols(); begin += kOrthonormalColumns) {
    Matrix block = panel.middleCols(begin, std::min(kOrthonormalColumns, panel.cols() - begin));
    for (const double shortest : {least, kIndependent}) {
      if (block.cols() == 0) {
        break;
      }
      MERCER_RETURN_IF_ERROR(TakeOut(panel.leftCols(kept), block, context));
      const Eigen::ColPivHouseholderQR<Matrix> qr(block);
      const Index rank = (qr.matrixQR().diagonal().array().abs() > shortest).count();
      block = qr.householderQ() * Matrix::Identity(panel.rows(), rank);
    }
    panel.middleCols(kept, block.cols()) = block;
    kept += block.cols();
  }
  panel.conservativeResize(Eigen::NoChange, kept);
  return absl::OkStatus();
}

// A sample of rows: their features, scaled and times the roots of their weights, as features x rows.
struct BasisSample {
  std::vector<Index> rows;
  Matrix features;
  double energy = 0;  // their squared norm
};

std::vector<Index> Union(const std::vector<Index>& a, const std::vector<Index>& b) {
  std::vector<Index> all;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(all));
  return all;
}

class BasisFinder {
 public:
  BasisFinder(const NystromFeatures& features, const PreparedData& rows,
              const JointBasisOptions& options)
      : features_(features), rows_(rows), options_(options) {}

  // The range finder on a first sample; then fresh samples test the basis, and one that is kept too
  // badly extends it.
  absl::StatusOr<JointBasis> Find(RunContext& context) {
    BasisSample sample;
    MERCER_RETURN_IF_ERROR(Draw(0, sample, context));
    Use(sample);
    SetScales(sample);
    storage_.resize(features_.num_features(), MostColumns());
    const double goal = options_.tolerance * sample.energy;
    MERCER_RETURN_IF_ERROR(Extend(sample, sample.energy, goal, context));
    // A basis that has as many columns as there are features cannot be mended.
    for (Index fresh = 1; fresh <= kFreshSamples && sampled_ < rows_.rows && rank_ < MostColumns();
         ++fresh) {
      MERCER_RETURN_IF_ERROR(Draw(fresh, sample, context));
      MERCER_ASSIGN_OR_RETURN(const Vector dropped, Dropped(sample, context));
      const double goal_of_fresh = options_.tolerance * sample.energy;
      if (dropped.sum() <= kTolerated * goal_of_fresh) {
        break;
      }
      // A fresh sample may be kept badly because of a few rows unlike all others: most of what is
      // dropped is theirs. The basis grows by what these rows need, and not by what all of the
      // sample would.
      const double least = kTolerated * goal_of_fresh / static_cast<double>(dropped.size());
      const double rest = KeepRowsAbove(least, dropped, sample);
      Use(sample);
      MERCER_RETURN_IF_ERROR(Extend(sample, dropped.sum() - rest, goal_of_fresh, context));
    }
    return Result(context);
  }

 private:
  // What has been found so far; columns that are added do not move it.
  auto Basis() const { return storage_.leftCols(rank_); }

  // Draws the rows of a sample, each time by a stream of its own; rows of one sample may be in
  // another. The first one holds the landmarks too.
  absl::Status Draw(Index number, BasisSample& sample, RunContext& context) {
    std::vector<Index> drawn =
        DrawRows(rows_.rows, kSampledRows, options_.seed, absl::StrCat("joint-basis-", number));
    if (number == 0) {
      drawn = Union(drawn, features_.landmark_rows());
    }
    const PreparedData selected = SelectRows(rows_, drawn);
    sample.rows = std::move(drawn);
    sample.features.resize(0, 0);  // two samples at once would be most of a run's memory
    MERCER_ASSIGN_OR_RETURN(sample.features, features_.EvaluateAll(selected, context));
    sampled_ += selected.rows;
    if (number > 0) {
      Scale(sample);
    }
    return absl::OkStatus();
  }

  void Use(const BasisSample& sample) { used_ = Union(used_, sample.rows); }

  // Every kernel gets the same mean squared norm in the first sample.
  void SetScales(BasisSample& sample) {
    const Vector weights = SampleWeights(sample.rows, features_.landmark_rows(), rows_.rows);
    for (Index i = 0; i < weights.size(); ++i) {
      sample.features.col(i) *= std::sqrt(weights(i));
    }
    const double total = weights.sum();
    scales_.setZero(features_.num_kernels());
    for (Index k = 0; k < features_.num_kernels(); ++k) {
      // The norm is formed without its square, which may be out of range where the norm is not.
      const double norm = Block(sample.features, k).stableNorm();
      const double scale = std::sqrt(total) / norm;
      if (norm > 0 && std::isfinite(scale)) {
        scales_(k) = scale;
      }
    }
    Scale(sample);
  }

  void Scale(BasisSample& sample) {
    for (Index k = 0; k < features_.num_kernels(); ++k) {
      Block(sample.features, k) *= scales_(k);
    }
    sample.energy = sample.features.squaredNorm();
  }

  Eigen::Ref<Matrix> Block(Matrix& matrix, Index k) const {
    return matrix.middleRows(features_.first_feature(k),
                             features_.first_feature(k + 1) - features_.first_feature(k));
  }

  // What is dropped of the squared norm of each row: a difference of nearly equal numbers, but no
  // sum of many.
  absl::StatusOr<Vector> Dropped(const BasisSample& sample, RunContext& context) const {
    Matrix kept(sample.features.cols(), rank_);
    MERCER_RETURN_IF_ERROR(TransposedProduct(sample.features, Basis(), kept, context));
    return Vector(
        (sample.features.colwise().squaredNorm().transpose() - kept.rowwise().squaredNorm())
            .cwiseMax(0.0));
  }

  // Leaves in the sample the rows of which more than `least` is dropped; returns what is dropped of
  // the others.
  static double KeepRowsAbove(double least, const Vector& dropped, BasisSample& sample) {
    Index kept = 0;
    double rest = 0;
    for (Index i = 0; i < dropped.size(); ++i) {
      if (dropped(i) > least) {
        sample.rows[static_cast<size_t>(kept)] = sample.rows[static_cast<size_t>(i)];
        sample.features.col(kept) = sample.features.col(i);
        ++kept;
      } else {
        rest += dropped(i);
      }
    }
    sample.rows.resize(static_cast<size_t>(kept));
    sample.features.conservativeResize(Eigen::NoChange, kept);
    return rest;
  }

  // Adds panels until no more than `goal` of the sample is dropped; `dropped` is so far.
  absl::Status Extend(const BasisSample& sample, double dropped, double goal, RunContext& context) {
    const double first = dropped;
    while (dropped > goal && rank_ < MostColumns()) {
      context.ReportStage("compression", std::log(dropped / first) / std::log(goal / first));
      const Index columns = PanelColumns(dropped / goal);
      MERCER_ASSIGN_OR_RETURN(const double caught, AddPanel(sample, columns, context));
      dropped -= caught;
      // Nothing was caught: what is left is rounding in the difference of squared norms.
      if (caught <= 1e-15 * sample.energy) {
        break;
      }
    }
    return absl::OkStatus();
  }

  Index MostColumns() const {
    const Index features = features_.num_features();
    return options_.max_columns > 0 ? std::min(options_.max_columns, features) : features;
  }

  // Adds a panel of directions and returns what it holds of the sample's squared norm.
  absl::StatusOr<double> AddPanel(const BasisSample& sample, Index columns, RunContext& context) {
    const Index count = std::min(columns, MostColumns() - rank_);
    Matrix panel = RandomDirections(features_.num_features(), count);
    MERCER_RETURN_IF_ERROR(TakeOut(Basis(), panel, context));
    Matrix products(sample.features.cols(), count);
    MERCER_RETURN_IF_ERROR(TransposedProduct(sample.features, panel, products, context));
    panel.setZero();
    MERCER_RETURN_IF_ERROR(AddProduct(1.0, sample.features, products, panel, context));
    // The second round takes out what rounding has left of the panels before.
    for (const double least : {kPanelRounding * panel.colwise().norm().maxCoeff(), kIndependent}) {
      MERCER_RETURN_IF_ERROR(TakeOut(Basis(), panel, context));
      MERCER_RETURN_IF_ERROR(Orthonormalize(least, panel, context));
    }
    products.resize(Eigen::NoChange, panel.cols());
    MERCER_RETURN_IF_ERROR(TransposedProduct(sample.features, panel, products, context));
    storage_.middleCols(rank_, panel.cols()) = panel;
    rank_ += panel.cols();
    return products.squaredNorm();
  }

  // Random directions with a density: directions of random signs might be orthogonal to the few
  // that are left.
  Matrix RandomDirections(Index rows, Index columns) const {
    RandomStream random(options_.seed, "joint-basis-directions", static_cast<uint64_t>(rank_));
    return Matrix::NullaryExpr(rows, columns, [&random] { return random.Uniform() - 0.5; });
  }

  absl::StatusOr<JointBasis> Result(RunContext& context) {
    Vector scales(features_.num_features());
    Vector inverses(features_.num_features());
    for (Index k = 0; k < features_.num_kernels(); ++k) {
      const Index first = features_.first_feature(k);
      const Index count = features_.first_feature(k + 1) - first;
      scales.segment(first, count).setConstant(scales_(k));
      inverses.segment(first, count).setConstant(scales_(k) > 0 ? 1.0 / scales_(k) : 0.0);
    }
    JointBasis result;
    result.reduce.resize(scales.size(), rank_);
    PacedCheck check(context);
    for (Index j = 0; j < rank_; ++j) {
      MERCER_RETURN_IF_ERROR(check.After(scales.size()));
      result.reduce.col(j) = storage_.col(j).cwiseProduct(scales);
      storage_.col(j) = storage_.col(j).cwiseProduct(inverses);
    }
    storage_.conservativeResize(Eigen::NoChange, rank_);
    result.restore = std::move(storage_);
    result.scales = std::move(scales_);
    result.sampled = std::move(used_);
    return result;
  }

  const NystromFeatures& features_;
  const PreparedData& rows_;
  const JointBasisOptions options_;
  Matrix storage_;  // of the most columns; the system gives memory to those that are set
  Index rank_ = 0;
  Vector scales_;
  std::vector<Index> used_;
  Index sampled_ = 0;
};

}  // namespace

Index LargestJointRank(Index features, Index landmarks, Index kernels, Index wide_sources,
                       double tolerance) {
  // The columns that a kernel of one or two columns needs, or one so wide that it is nearly a
  // polynomial.
  constexpr Index kOfKernel = 16;
  constexpr Index kSlack = 64;
  if (!(tolerance > 0)) {
    return features;
  }
  const double of_landmark = std::max(4.0, -std::log10(tolerance));
  const double most = of_landmark * static_cast<double>(landmarks) *
                          static_cast<double>(std::max<Index>(wide_sources, 1)) +
                      static_cast<double>(kOfKernel) * static_cast<double>(kernels) +
                      static_cast<double>(kSlack);
  return most < static_cast<double>(features) ? static_cast<Index>(most) : features;
}

Vector SampleWeights(const std::vector<Index>& sampled, const std::vector<Index>& landmarks,
                     Index rows) {
  const auto count = static_cast<Index>(sampled.size());
  const auto certain = static_cast<Index>(landmarks.size());
  Vector weights = Vector::Ones(count);
  if (count == certain || count == rows) {
    return weights;
  }
  const double of_landmark =
      static_cast<double>(count - certain) / static_cast<double>(rows - certain);
  for (Index i = 0; i < count; ++i) {
    if (std::binary_search(landmarks.begin(), landmarks.end(), sampled[static_cast<size_t>(i)])) {
      weights(i) = of_landmark;
    }
  }
  return weights;
}

absl::StatusOr<JointBasis> FindJointBasis(const NystromFeatures& features, const PreparedData& rows,
                                          const JointBasisOptions& options, RunContext& context) {
  return BasisFinder(features, rows, options).Find(context);
}

}  // namespace mercer
