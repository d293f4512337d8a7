#include "core/linalg/tridiagonal_eigen.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <Eigen/Eigenvalues>
#include <cblas.h>

#include "core/base/numeric/index_range.h"
#include "core/base/process/paced_check.h"
#include "core/base/status/status_macros.h"
#include "core/linalg/blas_int.h"

// LAPACK: the i-th eigenvalue of diag(d) + rho z z', |z| = 1, rho > 0, d ascending;
// delta(j) = d(j) - the eigenvalue, to full relative accuracy. For n of 1 and 2 delta is the
// eigenvector instead.
extern "C" void dlaed4_(const blasint* n, const blasint* i, const double* d, const double* z,
                        double* delta, const double* rho, double* eigenvalue, blasint* info);

namespace mercer {
namespace {

constexpr Index kLeaf = 32;
constexpr Index kPieceRows = 256;
constexpr Index kPieceColumns = 128;
constexpr Index kPasses = 10;  // that a root of the secular equation takes over its terms

absl::Status NoConvergence() {
  return absl::InternalError("the eigenvalues of a symmetric matrix did not converge");
}

// Joins two halves with known eigenvectors, Q = [Q_1 0; 0 Q_2]: the matrix is
// Q (diag(d) + rho z z') Q', with z in terms of Q.
class Merge {
 public:
  // `vectors` holds Q_1 and Q_2; nothing else of it is defined.
  Merge(Index first_size, double coupling, VectorRef values, MatrixRef vectors)
      : first_size_(first_size),
        size_(values.size()),
        rho_(2 * std::abs(coupling)),
        values_(values),
        vectors_(vectors),
        reach_(static_cast<size_t>(size_), kSecond),
        z_(size_) {
    std::fill_n(reach_.begin(), first_size, kFirst);
    z_.head(first_size) = vectors.row(first_size - 1).head(first_size).transpose();
    z_.tail(size_ - first_size) =
        std::copysign(1.0, coupling) * vectors.row(first_size).tail(size_ - first_size).transpose();
    z_ *= std::sqrt(0.5);
  }

  absl::Status Run(const RunContext& context) {
    MERCER_RETURN_IF_ERROR(Deflate(context));
    MERCER_RETURN_IF_ERROR(Solve(context));
    MERCER_RETURN_IF_ERROR(SetVectors(context));
    return Multiply(context);
  }

 private:
  // In which rows an eigenvector of the halves has entries.
  enum Reach : uint8_t { kFirst, kBoth, kSecond };

  Reach ReachOf(Index j) const { return reach_[static_cast<size_t>(j)]; }

  // Finds the pairs that stay as they are: those with entries of z that are zero, or that a
  // rotation makes zero because two values are equal, both up to rounding. `kept_` is ascending in
  // the values.
  absl::Status Deflate(const RunContext& context) {
    PacedCheck check(context);
    std::vector<Index> order = IndexRange(0, size_);
    std::stable_sort(order.begin(), order.end(),
                     [this](Index i, Index j) { return values_(i) < values_(j); });
    const double tolerance = 8 * std::numeric_limits<double>::epsilon() *
                             std::max(values_.cwiseAbs().maxCoeff(), z_.cwiseAbs().maxCoeff());
    for (const Index next : order) {
      MERCER_RETURN_IF_ERROR(check.After(size_));
      if (rho_ * std::abs(z_(next)) <= tolerance) {
        deflated_.push_back(next);
      } else if (!kept_.empty() && Rotate(kept_.back(), next, tolerance)) {
        deflated_.push_back(kept_.back());
        kept_.back() = next;
      } else {
        kept_.push_back(next);
      }
    }
    return absl::OkStatus();
  }

  // Makes z(i) zero, unless that would put more than `tolerance` beside the diagonal.
  bool Rotate(Index i, Index j, double tolerance) {
    const double length = std::hypot(z_(i), z_(j));
    const double c = z_(j) / length;
    const double s = -z_(i) / length;
    if (!(std::abs((values_(j) - values_(i)) * c * s) <= tolerance)) {
      return false;
    }
    z_(j) = length;
    if (ReachOf(i) != ReachOf(j)) {
      Widen(i);
      Widen(j);
    }
    const Index begin = ReachOf(i) == kSecond ? first_size_ : 0;
    const Index end = ReachOf(i) == kFirst ? first_size_ : size_;
    cblas_drot(BlasInt(end - begin), &vectors_(begin, i), 1, &vectors_(begin, j), 1, c, s);
    const double low = values_(i);
    const double high = values_(j);
    values_(i) = low * c * c + high * s * s;
    values_(j) = low * s * s + high * c * c;
    return true;
  }

  void Widen(Index j) {
    if (ReachOf(j) == kFirst) {
      vectors_.col(j).tail(size_ - first_size_).setZero();
    } else if (ReachOf(j) == kSecond) {
      vectors_.col(j).head(first_size_).setZero();
    }
    reach_[static_cast<size_t>(j)] = kBoth;
  }

  // Finds the eigenvalues, and in solved_ the differences of their column's from the kept values.
  absl::Status Solve(const RunContext& context) {
    const auto count = static_cast<Index>(kept_.size());
    poles_.resize(count);
    weights_.resize(count);
    for (Index i = 0; i < count; ++i) {
      poles_(i) = values_(kept_[static_cast<size_t>(i)]);
      weights_(i) = z_(kept_[static_cast<size_t>(i)]);
    }
    PacedCheck check(context);
    solved_.resize(count, count);
    merged_.resize(size_);
    const blasint size = BlasInt(count);
    for (Index j = 0; j < count; ++j) {
      MERCER_RETURN_IF_ERROR(check.After(kPasses * count));
      const blasint number = BlasInt(j + 1);
      blasint info = 0;
      dlaed4_(&size, &number, poles_.data(), weights_.data(), solved_.col(j).data(), &rho_,
              &merged_(j), &info);
      if (info != 0) {
        return NoConvergence();
      }
    }
    for (size_t i = 0; i < deflated_.size(); ++i) {
      merged_(count + static_cast<Index>(i)) = values_(deflated_[i]);
    }
    return absl::OkStatus();
  }

  // Computes the eigenvectors in terms of the kept columns of Q, whose order becomes that of
  // `rows_`: by where they reach. They are those of the z for which the eigenvalues found are exact
  // (Gu and Eisenstat), and so orthogonal.
  absl::Status SetVectors(const RunContext& context) {
    const Index count = poles_.size();
    rows_.clear();
    for (const Reach reach : {kFirst, kBoth, kSecond}) {
      for (Index i = 0; i < count; ++i) {
        if (ReachOf(kept_[static_cast<size_t>(i)]) == reach) {
          rows_.push_back(i);
        }
      }
    }
    if (count > 2) {
      MERCER_RETURN_IF_ERROR(SetExactWeights(context));
    }
    PacedCheck check(context);
    Vector vector(count);
    for (Index j = 0; j < count; ++j) {
      MERCER_RETURN_IF_ERROR(check.After(count));
      vector = solved_.col(j);
      if (count > 2) {
        vector = weights_.cwiseQuotient(vector);
        vector /= vector.norm();
      }
      for (Index i = 0; i < count; ++i) {
        solved_(i, j) = vector(rows_[static_cast<size_t>(i)]);
      }
    }
    return absl::OkStatus();
  }

  // Computes the z for which the eigenvalues found are exact, up to rho:
  // z(i)^2 = prod_j (eigenvalue(j) - d(i)) / prod_(j != i) (d(j) - d(i)).
  absl::Status SetExactWeights(const RunContext& context) {
    const Index count = poles_.size();
    PacedCheck check(context);
    Vector squares = solved_.diagonal();
    for (Index j = 0; j < count; ++j) {
      MERCER_RETURN_IF_ERROR(check.After(count));
      const Index after = count - j - 1;
      squares.head(j).array() *=
          solved_.col(j).head(j).array() / (poles_.head(j).array() - poles_(j));
      squares.tail(after).array() *=
          solved_.col(j).tail(after).array() / (poles_.tail(after).array() - poles_(j));
    }
    weights_ = squares.binaryExpr(weights_, [](double square, double sign) {
      return std::copysign(std::sqrt(std::abs(square)), sign);
    });
    return absl::OkStatus();
  }

  // Multiplies Q by the eigenvectors; the deflated columns come behind them.
  absl::Status Multiply(const RunContext& context) {
    const auto count_of = [this](Reach reach) {
      return static_cast<Index>(
          std::count_if(kept_.begin(), kept_.end(), [&](Index j) { return ReachOf(j) == reach; }));
    };
    const Index in_first = poles_.size() - count_of(kSecond);
    const Index only_first = count_of(kFirst);
    MERCER_RETURN_IF_ERROR(MultiplyRows(0, first_size_, {0, in_first, kSecond}, context));
    MERCER_RETURN_IF_ERROR(MultiplyRows(first_size_, size_,
                                        {only_first, poles_.size() - only_first, kFirst}, context));
    values_ = merged_;
    return absl::OkStatus();
  }

  // Which rows of solved_ count for some rows of Q, and columns of what reach are zero there.
  struct Part {
    Index first;
    Index count;
    Reach absent;
  };

  absl::Status MultiplyRows(Index begin, Index end, const Part& part, const RunContext& context) {
    const Index count = poles_.size();
    Matrix factor;
    Matrix aside;
    for (Index row = begin; row < end; row += kPieceRows) {
      const Index rows = std::min(kPieceRows, end - row);
      factor.resize(rows, part.count);
      for (Index i = 0; i < part.count; ++i) {
        const Index of_kept = rows_[static_cast<size_t>(part.first + i)];
        factor.col(i) = vectors_.col(kept_[static_cast<size_t>(of_kept)]).segment(row, rows);
      }
      aside.setZero(rows, size_ - count);
      for (Index i = 0; i < aside.cols(); ++i) {
        const Index column = deflated_[static_cast<size_t>(i)];
        if (ReachOf(column) != part.absent) {
          aside.col(i) = vectors_.col(column).segment(row, rows);
        }
      }
      for (Index column = 0; column < count; column += kPieceColumns) {
        MERCER_RETURN_IF_ERROR(context.CheckCancelled());
        auto out = vectors_.block(row, column, rows, std::min(kPieceColumns, count - column));
        if (part.count == 0) {
          out.setZero();
          continue;
        }
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, BlasInt(rows), BlasInt(out.cols()),
                    BlasInt(part.count), 1.0, factor.data(), BlasInt(rows),
                    &solved_(part.first, column), BlasInt(solved_.rows()), 0.0, out.data(),
                    BlasInt(out.outerStride()));
      }
      vectors_.block(row, count, rows, aside.cols()) = aside;
    }
    return absl::OkStatus();
  }

  const Index first_size_;
  const Index size_;
  const double rho_;
  VectorRef values_;
  MatrixRef vectors_;
  std::vector<Reach> reach_;
  Vector z_;
  std::vector<Index> kept_;
  std::vector<Index> deflated_;
  Vector poles_;  // the kept values, and their entries of z
  Vector weights_;
  Vector merged_;
  Matrix solved_;
  std::vector<Index> rows_;
};

// `values` holds the diagonal, and in the end the eigenvalues.
absl::Status Decompose(const ConstVectorRef& subdiagonal, VectorRef values, MatrixRef vectors,
                       const RunContext& context) {
  const Index size = values.size();
  if (size <= kLeaf) {
    Eigen::SelfAdjointEigenSolver<Matrix> solver;
    solver.computeFromTridiagonal(values, subdiagonal);
    if (solver.info() != Eigen::Success) {
      return NoConvergence();
    }
    values = solver.eigenvalues();
    vectors = solver.eigenvectors();
    return absl::OkStatus();
  }
  const Index half = size / 2;
  const double coupling = subdiagonal(half - 1);
  values(half - 1) -= std::abs(coupling);
  values(half) -= std::abs(coupling);
  MERCER_RETURN_IF_ERROR(Decompose(subdiagonal.head(half - 1), values.head(half),
                                   vectors.topLeftCorner(half, half), context));
  MERCER_RETURN_IF_ERROR(Decompose(subdiagonal.tail(size - half - 1), values.tail(size - half),
                                   vectors.bottomRightCorner(size - half, size - half), context));
  return Merge(half, coupling, values, vectors).Run(context);
}

}  // namespace

absl::StatusOr<TridiagonalEigen> DecomposeTridiagonal(Vector diagonal, const Vector& subdiagonal,
                                                      const RunContext& context) {
  const Index size = diagonal.size();
  TridiagonalEigen eigen{std::move(diagonal), Matrix(size, size)};
  MERCER_RETURN_IF_ERROR(Decompose(subdiagonal, eigen.values, eigen.vectors, context));
  return eigen;
}

}  // namespace mercer
