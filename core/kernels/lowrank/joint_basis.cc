#include "core/kernels/lowrank/joint_basis.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/numeric/index_range.h"
#include "core/base/process/paced_check.h"
#include "core/base/status/status_macros.h"
#include "core/kernels/lowrank/landmarks.h"
#include "core/kernels/lowrank/lost_traces.h"
#include "core/linalg/blocked_cholesky.h"
#include "core/linalg/matrix_products.h"

namespace mercer {
namespace {

constexpr Index kFreshRows = 3000;
constexpr Index kTakenRows = 512;  // at a time
constexpr Index kFreshSamples = 4;
constexpr double kTolerated = 100;  // times the tolerance, on a fresh sample
// The tolerance of kernels that follow from others, as a multiple of that of the basis: it moved
// optima of real data by 1e-4 at a tolerance of 1e-8, as the tolerance itself does.
constexpr double kSparedTolerance = 50;
constexpr double kMostSpared = 1e-2;  // which it does not exceed
// Kernels are fitted, not projected: the root of what is left moves them. So less than the tolerance
// is left, at a twentieth more columns.
constexpr double kFitted = 0.1;
// Of the sample's squared norm: less may be rounding alone.
constexpr double kBasisRounding = 1e-15;
// A panel takes features that have this share of what is left of its first one at least, without
// what those before them in the panel have of them.
constexpr double kLeastPivot = 0.25;
// Orthogonality is lost in the measure in which a panel becomes shorter, and is restored where it
// becomes as short as this, in squared norms.
constexpr double kShortened = 1e-10;

// Wide panels multiply faster; narrow ones waste fewer columns when little is left to be caught.
// `excess`: what is left over what may be.
Index PanelColumns(double excess) {
  return excess > 1e4 ? 128 : (excess > 100 ? 64 : (excess > 4 ? 32 : 16));
}

// A sample of rows: their features, scaled and times the roots of their weights, as features x rows.
struct BasisSample {
  std::vector<Index> rows;
  Matrix features;
};

std::vector<Index> Union(const std::vector<Index>& a, const std::vector<Index>& b) {
  std::vector<Index> all;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(all));
  return all;
}

// The sums of squares of each row of `values`.
absl::StatusOr<Vector> RowEnergies(const ConstMatrixRef& values, const RunContext& context) {
  Vector sums = Vector::Zero(values.rows());
  PacedCheck check(context);
  for (Index j = 0; j < values.cols(); ++j) {
    MERCER_RETURN_IF_ERROR(check.After(values.rows()));
    sums += values.col(j).cwiseAbs2();
  }
  return sums;
}

// Some columns of a panel, in order, and the Cholesky factor of their products.
struct PanelFactor {
  std::vector<Index> pivots;
  Matrix lower;
  double least = kInfinity;  // pivot
};

// Each time the column with most left, of kLeastPivot of the first one's and `least` or more.
PanelFactor FactorPanel(const Matrix& gram, double least) {
  PanelFactor factor;
  Matrix lower = Matrix::Zero(gram.rows(), gram.cols());
  Vector left = gram.diagonal();
  for (Index j = 0; j < gram.cols(); ++j) {
    Index pivot = 0;
    const double most = left.maxCoeff(&pivot);
    if (!(most >= least) || !(most > 0)) {
      break;
    }
    least = j == 0 ? std::max(least, kLeastPivot * most) : least;
    factor.least = most;
    factor.pivots.push_back(pivot);
    lower.col(j) = (gram.col(pivot) - lower.leftCols(j) * lower.row(pivot).head(j).transpose()) /
                   std::sqrt(most);
    left -= lower.col(j).cwiseAbs2();
    left(pivot) = -1;
  }
  factor.lower =
      lower.leftCols(static_cast<Index>(factor.pivots.size()))(factor.pivots, Eigen::all);
  return factor;
}

// The rows of kernel k.
auto RowsOfKernel(const NystromFeatures& features, Index k, auto& matrix) {
  return matrix.middleRows(features.first_feature(k),
                           features.first_feature(k + 1) - features.first_feature(k));
}

// The features are V, features x rows. With orthonormal rows Q that span those that are chosen, the
// finder keeps C = V Q': the rows of C that belong to chosen features are a lower triangular matrix
// L, and V ~ C L^-1 V_chosen. Rows of a fresh sample that are kept badly are first freed from what
// the features chosen before have of them, so that the triangle goes on.
class BasisFinder {
 public:
  BasisFinder(const NystromFeatures& features, const std::vector<Index>& preferred,
              const PreparedData& rows, const JointBasisOptions& options)
      : features_(features), rows_(rows), options_(options) {
    preferred_.setZero(features.num_features());
    for (const Index k : preferred) {
      RowsOfKernel(features_, k, preferred_).setOnes();
    }
  }

  absl::StatusOr<JointBasis> Find(RunContext& context) {
    BasisSample sample;
    MERCER_RETURN_IF_ERROR(Draw(0, sample, context));
    used_ = sample.rows;
    MERCER_RETURN_IF_ERROR(SetCounts(sample, context));
    MERCER_RETURN_IF_ERROR(SetScales(sample, context));
    coefficients_.resize(features_.num_features(), MostColumns());
    MERCER_ASSIGN_OR_RETURN(const Vector energies, RowEnergies(sample.features, context));
    const double tolerance = options_.tolerance;
    MERCER_RETURN_IF_ERROR(
        Extend(sample,
               {preferred_, kFitted * tolerance * preferred_.dot(energies),
                std::min(kSparedTolerance * tolerance, kMostSpared) * energies.sum()},
               context));
    // A basis that has as many columns as there are features cannot be mended.
    for (Index fresh = 1; fresh <= kFreshSamples && sampled_ < rows_.rows && rank() < MostColumns();
         ++fresh) {
      MERCER_RETURN_IF_ERROR(Draw(fresh, sample, context));
      MERCER_RETURN_IF_ERROR(Scale(sample, context));
      MERCER_ASSIGN_OR_RETURN(const Vector of_fresh, RowEnergies(sample.features, context));
      const double goal = tolerance * preferred_.dot(of_fresh);
      MERCER_RETURN_IF_ERROR(TakeOutChosen(sample.features, context));
      const Vector counts = preferred_.cwiseProduct(counts_);
      const Vector left = (counts.transpose() * sample.features.cwiseAbs2()).transpose();
      if (left.sum() <= kTolerated * goal) {
        break;
      }
      // A fresh sample may be kept badly because of a few rows unlike all others: most of what is
      // left is theirs. The basis grows by what these rows need, and not by what all of the sample
      // would.
      KeepRowsAbove(kTolerated * goal / static_cast<double>(left.size()), left, sample);
      used_ = Union(used_, sample.rows);
      MERCER_RETURN_IF_ERROR(Extend(sample, {preferred_, goal, kInfinity}, context));
    }
    sample = {};
    return Result(context);
  }

 private:
  struct Goals {
    const Vector& preferred;  // 1 for the features that are chosen first, 0 for others
    double of_preferred;      // what may be left of them
    double of_all;
  };

  Index rank() const { return static_cast<Index>(chosen_.size()); }
  Index MostColumns() const {
    const Index features = features_.num_features();
    return options_.max_columns > 0 ? std::min(options_.max_columns, features) : features;
  }

  // Draws the rows of a sample, each time by a stream of its own; rows of one sample may be in
  // another. The first one holds the landmarks too.
  absl::Status Draw(Index number, BasisSample& sample, RunContext& context) {
    const Index count = number == 0 ? JointSampleRows(MostColumns()) : kFreshRows;
    std::vector<Index> drawn =
        DrawRows(rows_.rows, count, options_.seed, absl::StrCat("joint-basis-", number));
    if (number == 0) {
      drawn = Union(drawn, features_.landmark_rows());
    }
    const PreparedData selected = SelectRows(rows_, drawn);
    sample.rows = std::move(drawn);
    sample.features.resize(0, 0);  // two samples at once would be most of a run's memory
    MERCER_ASSIGN_OR_RETURN(sample.features, features_.EvaluateAll(selected, context));
    sampled_ += selected.rows;
    return absl::OkStatus();
  }

  // What counts of a loss in each kernel's features: all of it where the tolerance is the kernel's
  // own, and less where its features lose so much of its trace that more may be left out of them.
  // Of kernels that are not preferred a multiple of it may be: with that they keep to kMostSpared.
  absl::Status SetCounts(const BasisSample& sample, RunContext& context) {
    counts_.setOnes(features_.num_features());
    if (!(options_.tolerance > 0 && options_.tolerance_of_lost > 0)) {
      return absl::OkStatus();
    }
    MERCER_ASSIGN_OR_RETURN(const Vector lost,
                            LostTraces(features_, rows_, sample.rows, sample.features, context));
    for (Index k = 0; k < features_.num_kernels(); ++k) {
      const Index first = features_.first_feature(k);
      if (first == features_.first_feature(k + 1)) {
        continue;  // it has none
      }
      const bool is_preferred = preferred_(first) > 0;
      const double of_lost = options_.tolerance_of_lost * lost(k);
      const double own =
          std::max(options_.tolerance,
                   is_preferred ? of_lost : std::min(of_lost, kMostSpared / kSparedTolerance));
      RowsOfKernel(features_, k, counts_).setConstant(options_.tolerance / own);
    }
    return absl::OkStatus();
  }

  // Every kernel gets the same mean squared norm in the first sample.
  absl::Status SetScales(BasisSample& sample, const RunContext& context) {
    const Vector weights = SampleWeights(sample.rows, features_.landmark_rows(), rows_.rows);
    PacedCheck check(context);
    for (Index i = 0; i < weights.size(); ++i) {
      MERCER_RETURN_IF_ERROR(check.After(sample.features.rows()));
      sample.features.col(i) *= std::sqrt(weights(i));
    }
    scales_.setZero(features_.num_kernels());
    for (Index k = 0; k < features_.num_kernels(); ++k) {
      MERCER_RETURN_IF_ERROR(context.CheckCancelled());
      // The norm is formed without its square, which may be out of range where the norm is not.
      const double norm = RowsOfKernel(features_, k, sample.features).stableNorm();
      const double scale = std::sqrt(weights.sum()) / norm;
      if (!std::isfinite(norm)) {
        scales_(k) = NAN;
      } else if (norm > 0 && std::isfinite(scale)) {
        scales_(k) = scale;
      }
    }
    return Scale(sample, context);
  }

  absl::Status Scale(BasisSample& sample, const RunContext& context) const {
    for (Index k = 0; k < features_.num_kernels(); ++k) {
      MERCER_RETURN_IF_ERROR(context.CheckCancelled());
      if (scales_(k) > 0) {
        RowsOfKernel(features_, k, sample.features) *= scales_(k);
      } else {
        RowsOfKernel(features_, k, sample.features).setZero();
      }
    }
    return absl::OkStatus();
  }

  // The triangle L of the features chosen so far.
  absl::StatusOr<Matrix> Triangle(const RunContext& context) const {
    Matrix triangle = Matrix::Zero(rank(), rank());
    PacedCheck check(context);
    for (Index j = 0; j < rank(); ++j) {
      MERCER_RETURN_IF_ERROR(check.After(rank()));
      for (Index i = j; i < rank(); ++i) {
        triangle(i, j) = coefficients_(chosen_[static_cast<size_t>(i)], j);
      }
    }
    return triangle;
  }

  // V <- V - C L^-1 V_chosen.
  absl::Status TakeOutChosen(Matrix& features, RunContext& context) const {
    MERCER_ASSIGN_OR_RETURN(const Matrix triangle, Triangle(context));
    for (Index first = 0; first < features.cols(); first += kTakenRows) {
      auto some = features.middleCols(first, std::min(kTakenRows, features.cols() - first));
      Matrix rows = some(chosen_, Eigen::all).transpose();
      MERCER_RETURN_IF_ERROR(SubstituteRows(triangle, rows, context));
      MERCER_RETURN_IF_ERROR(
          AddProduct(-1.0, coefficients_.leftCols(rank()), rows.transpose(), some, context));
    }
    return absl::OkStatus();
  }

  // Leaves in the sample the rows of which more than `least` is left.
  static void KeepRowsAbove(double least, const Vector& left, BasisSample& sample) {
    Index kept = 0;
    for (Index i = 0; i < left.size(); ++i) {
      if (left(i) > least) {
        sample.rows[static_cast<size_t>(kept)] = sample.rows[static_cast<size_t>(i)];
        sample.features.col(kept) = sample.features.col(i);
        ++kept;
      }
    }
    sample.rows.resize(static_cast<size_t>(kept));
    sample.features.conservativeResize(Eigen::NoChange, kept);
  }

  // Chooses features until no more is left than the goals say.
  absl::Status Extend(const BasisSample& sample, const Goals& goals, RunContext& context) {
    const Matrix& features = sample.features;
    const Index begin = rank();
    MERCER_ASSIGN_OR_RETURN(Vector left, RowEnergies(features, context));
    const double total = left.sum();
    const double least = kBasisRounding * total;
    left(chosen_).setZero();
    Matrix orthonormal(features.cols(), MostColumns() - begin);  // Q'
    for (const bool all : {false, true}) {
      const Vector among = all ? counts_ : Vector(goals.preferred.cwiseProduct(counts_));
      const double goal = std::max(all ? goals.of_all : goals.of_preferred, least);
      const double first = among.dot(left);
      double rest = first;
      while (rest > goal && rank() < MostColumns()) {
        context.ReportStage("compression", std::log(rest / first) / std::log(goal / first));
        const std::vector<Index> candidates = Largest(
            among.cwiseProduct(left), std::min(PanelColumns(rest / goal), MostColumns() - rank()));
        MERCER_RETURN_IF_ERROR(AddPanel(features, begin, candidates, orthonormal, left, context));
        rest = among.dot(left);
      }
    }
    if (begin == 0) {
      left_out_ = left.sum() / std::max(total, 1e-300);
    }
    return absl::OkStatus();
  }

  // The `count` largest values above 0: their places, the largest first.
  static std::vector<Index> Largest(const Vector& values, Index count) {
    std::vector<Index> places = IndexRange(0, values.size());
    count = std::min(count, (values.array() > 0).count());
    std::partial_sort(places.begin(), places.begin() + count, places.end(), [&](Index a, Index b) {
      return values(a) != values(b) ? values(a) > values(b) : a < b;
    });
    places.resize(static_cast<size_t>(count));
    return places;
  }

  // Adds the best of the candidates and takes their part out of what is `left` of every feature.
  // The columns of `orthonormal` are those of features chosen since there were `begin`.
  absl::Status AddPanel(const Matrix& features, Index begin, const std::vector<Index>& candidates,
                        Matrix& orthonormal, Vector& left, RunContext& context) {
    const Index own = rank() - begin;
    const auto before = orthonormal.leftCols(own);
    const auto roots = counts_(candidates).cwiseSqrt().asDiagonal();
    Matrix panel = features(candidates, Eigen::all).transpose() * roots;
    const double longest = panel.colwise().squaredNorm().maxCoeff();
    const Matrix known =
        coefficients_.middleCols(begin, own)(candidates, Eigen::all).transpose() * roots;
    MERCER_RETURN_IF_ERROR(AddProduct(-1.0, before, known, panel, context));
    Matrix gram(panel.cols(), panel.cols());
    MERCER_RETURN_IF_ERROR(TransposedProduct(panel, panel, gram, context));
    const PanelFactor factor = FactorPanel(gram, kBasisRounding * longest);
    const auto count = static_cast<Index>(factor.pivots.size());
    auto directions = orthonormal.middleCols(own, count);
    directions = panel(Eigen::all, factor.pivots);
    MERCER_RETURN_IF_ERROR(SubstituteRows(factor.lower, directions, context));
    if (factor.least < kShortened * longest) {
      MERCER_RETURN_IF_ERROR(TakeOut(before, directions, context));
      gram.resize(count, count);
      MERCER_RETURN_IF_ERROR(TransposedProduct(directions, directions, gram, context));
      MERCER_RETURN_IF_ERROR(FactorCholesky(gram, context));
      MERCER_RETURN_IF_ERROR(SubstituteRows(gram, directions, context));
    }
    auto added = coefficients_.middleCols(rank(), count);
    added.setZero();
    MERCER_RETURN_IF_ERROR(AddProduct(1.0, features, directions, added, context));
    MERCER_ASSIGN_OR_RETURN(const Vector taken, RowEnergies(added, context));
    left = (left - taken).cwiseMax(0.0);
    for (const Index j : factor.pivots) {
      chosen_.push_back(candidates[static_cast<size_t>(j)]);
    }
    left(chosen_).setZero();
    if (count == 0) {  // what is left of these is rounding
      left(candidates).setZero();
    }
    return context.CheckCancelled();
  }

  // Takes what lies in the span of the basis out of `target`: target -= basis basis'target.
  static absl::Status TakeOut(const ConstMatrixRef& basis, MatrixRef target, RunContext& context) {
    Matrix inside(basis.cols(), target.cols());
    MERCER_RETURN_IF_ERROR(TransposedProduct(basis, target, inside, context));
    return AddProduct(-1.0, basis, inside, target, context);
  }

  absl::StatusOr<JointBasis> Result(RunContext& context) {
    JointBasis result;
    PacedCheck check(context);
    {
      MERCER_ASSIGN_OR_RETURN(const Matrix triangle, Triangle(context));
      const Matrix reversed = triangle.transpose().reverse();  // SubstituteRows has L^-T
      coefficients_.conservativeResize(Eigen::NoChange, rank());
      for (Index j = 0; j < rank() / 2; ++j) {
        MERCER_RETURN_IF_ERROR(check.After(coefficients_.rows()));
        coefficients_.col(j).swap(coefficients_.col(rank() - 1 - j));
      }
      MERCER_RETURN_IF_ERROR(SubstituteRows(reversed, coefficients_, context));
    }
    std::vector<Index> order = IndexRange(0, rank());
    std::sort(order.begin(), order.end(), [&](Index a, Index b) {
      return chosen_[static_cast<size_t>(a)] < chosen_[static_cast<size_t>(b)];
    });
    for (const Index place : order) {
      result.features.push_back(chosen_[static_cast<size_t>(place)]);
    }
    result.restore.resize(features_.num_features(), rank());
    for (Index j = 0; j < rank(); ++j) {
      MERCER_RETURN_IF_ERROR(check.After(result.restore.rows()));
      auto column = result.restore.col(j);
      column = coefficients_.col(rank() - 1 - order[static_cast<size_t>(j)]);
      column(result.features).setZero();
      column(result.features[static_cast<size_t>(j)]) = 1;
    }
    for (Index k = 0; k < features_.num_kernels(); ++k) {
      MERCER_RETURN_IF_ERROR(context.CheckCancelled());
      RowsOfKernel(features_, k, result.restore) *= scales_(k) > 0 ? 1.0 / scales_(k) : 0.0;
    }
    result.scales = std::move(scales_);
    result.left_out = left_out_;
    result.sampled = std::move(used_);
    return result;
  }

  const NystromFeatures& features_;
  const PreparedData& rows_;
  const JointBasisOptions options_;
  Vector preferred_;
  Vector counts_;        // of each feature, that of what is left of it
  Matrix coefficients_;  // C: of the most columns; the system gives memory to those that are set
  std::vector<Index> chosen_;
  Vector scales_;
  double left_out_ = 0;
  std::vector<Index> used_;
  Index sampled_ = 0;
};

}  // namespace

Index JointSampleRows(Index most_columns) {
  constexpr Index kMost = Index{1} << 40;  // of absurd requests
  most_columns = std::min(most_columns, kMost);
  return std::max<Index>(3000, most_columns + most_columns / 2);
}

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

absl::StatusOr<JointBasis> FindJointBasis(const NystromFeatures& features,
                                          const std::vector<Index>& preferred,
                                          const PreparedData& rows,
                                          const JointBasisOptions& options, RunContext& context) {
  return BasisFinder(features, preferred, rows, options).Find(context);
}

}  // namespace mercer
