#include "core/data/preprocess/square_repair.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"

#include "core/base/process/paced_check.h"
#include "core/base/status/byte_count.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/data/table/reader_errors.h"
#include "core/data/table/table_writer.h"
#include "core/linalg/matrix_products.h"
#include "core/linalg/symmetric_eigen.h"

namespace mercer {
namespace {

constexpr Index kRowsAtOnce = 16;  // of one task
constexpr Index kTasksAtOnce = 16;

// The values between the training rows.
class TrainingBlock {
 public:
  TrainingBlock(const SquareBlock& square, const std::vector<Index>& rows)
      : values_(square.values.view()), rows_(rows) {}

  Index size() const { return static_cast<Index>(rows_.size()); }
  double operator()(Index i, Index j) const {
    return values_(rows_[static_cast<size_t>(i)], rows_[static_cast<size_t>(j)]);
  }

  absl::StatusOr<bool> IsSymmetric(const RunContext& context) const {
    PacedCheck check(context);
    double largest = 0;
    double asymmetry = 0;
    for (Index i = 0; i < size(); ++i) {
      for (Index j = 0; j <= i; ++j) {
        const double value = (*this)(i, j);
        const double mirrored = (*this)(j, i);
        largest = std::max({largest, std::abs(value), std::abs(mirrored)});
        asymmetry = std::max(asymmetry, std::abs(value - mirrored));
      }
      MERCER_RETURN_IF_ERROR(check.After(2 * i));
    }
    return asymmetry <= kSquareRounding * largest;
  }

  // The lower triangle of -K: its largest eigenvalues are those of the smallest ones of K.
  absl::StatusOr<Matrix> Negated(const RunContext& context) const {
    PacedCheck check(context);
    Matrix negated = Matrix::Zero(size(), size());
    for (Index j = 0; j < size(); ++j) {
      for (Index i = j; i < size(); ++i) {
        negated(i, j) = -(0.5 * (*this)(i, j) + 0.5 * (*this)(j, i));
      }
      MERCER_RETURN_IF_ERROR(check.After(2 * (size() - j)));
    }
    return negated;
  }

 private:
  const Eigen::Map<const RowMatrix> values_;
  const std::vector<Index>& rows_;
};

absl::Status NegativeEigenvalues(const SquareRepair& repair) {
  return WithReason(
      absl::InvalidArgumentError(absl::StrCat(
          repair.Text(), "; the square repairs 'shift', 'clip' and 'flip' make it so")),
      "NOT_PSD",
      {{"block", repair.block},
       {"smallest_eigenvalue", absl::StrCat(repair.smallest())},
       {"largest_eigenvalue", absl::StrCat(repair.largest)},
       {"negative_eigenvalues", absl::StrCat(repair.eigenvalues.size())},
       {"negative_share", absl::StrCat(repair.share)},
       {"remedy", "preprocessing.square_repair"}});
}

// What is taken from a row's part along the eigenvectors: P = I - factor U U'.
double Removed(SquareRepairRule rule) {
  return rule == SquareRepairRule::kClip ? 1 : rule == SquareRepairRule::kFlip ? 2 : 0;
}

// Some rows of a block, and what happens to them.
using RepairRows = std::function<void(Index begin, absl::Span<double* const> rows)>;

// The block, each row as `repair_rows` makes it of what it was.
absl::StatusOr<SharedMatrix> MapRows(const SquareBlock& square, const RunContext& context,
                                     const RepairRows& repair_rows) {
  const auto values = square.values.view();
  const bool in_file = IsKeptInFile(context, TableBytes(values.rows(), values.cols()));
  MERCER_ASSIGN_OR_RETURN(
      TableWriter writer,
      TableWriter::Make(values.rows(), values.cols(), in_file ? context.scratch() : nullptr));
  RowMatrix buffer(std::min(values.rows(), kRowsAtOnce * kTasksAtOnce), values.cols());
  for (Index first = 0; first < values.rows(); first += buffer.rows()) {
    const Index count = std::min(buffer.rows(), values.rows() - first);
    buffer.topRows(count) = values.middleRows(first, count);
    context.parallel().ForBlocks(count, kRowsAtOnce, [&](Index begin, Index end) {
      std::vector<double*> rows;
      for (Index row = begin; row < end; ++row) {
        rows.push_back(buffer.row(row).data());
      }
      if (!context.cancelled()) {
        repair_rows(first + begin, rows);
      }
    });
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    for (Index row = 0; row < count; ++row) {
      MERCER_ASSIGN_OR_RETURN(double* const out, writer.NextRow());
      std::copy_n(buffer.row(row).data(), values.cols(), out);
    }
  }
  return writer.Finish();
}

// Each row k becomes k - removed (k U) U' at the training rows. Sums of one row are in the order of
// the training rows, or over a row of U: what lies beside the row does not matter. Ends early once
// cancelled.
void Project(const SquareRepair& repair, double removed, absl::Span<double* const> rows,
             const RunContext& context) {
  const auto count = static_cast<Index>(rows.size());
  const Index width = repair.vectors.cols();
  const RowMatrix& u = repair.vectors;
  // Every row begins at 64 bytes, as Eigen's sums depend on that.
  RowMatrix padded = RowMatrix::Zero(count, (width + 7) / 8 * 8);
  auto parts = padded.leftCols(width);
  PacedCheck check(context);
  for (Index j = 0; j < u.rows(); ++j) {
    const Index column = repair.rows[static_cast<size_t>(j)];
    for (Index i = 0; i < count; ++i) {
      parts.row(i) += rows[static_cast<size_t>(i)][column] * u.row(j);
    }
    if (!check.After(count * width).ok()) {
      return;
    }
  }
  for (Index j = 0; j < u.rows(); ++j) {
    const Index column = repair.rows[static_cast<size_t>(j)];
    for (Index i = 0; i < count; ++i) {
      rows[static_cast<size_t>(i)][column] -= removed * parts.row(i).dot(u.row(j));
    }
    if (!check.After(count * width).ok()) {
      return;
    }
  }
}

// What is added to K: |l_min| I, or the sum of removed |l_i| u_i u_i' over the negative ones.
absl::StatusOr<Matrix> AddedToTraining(const SquareRepair& repair, SquareRepairRule rule,
                                       RunContext& context) {
  const auto size = static_cast<Index>(repair.rows.size());
  if (rule == SquareRepairRule::kShift) {
    return Matrix();
  }
  const Matrix scaled =
      repair.vectors * (Removed(rule) * repair.eigenvalues.cwiseAbs()).asDiagonal();
  Matrix added = Matrix::Zero(size, size);
  MERCER_RETURN_IF_ERROR(AddProduct(1.0, scaled, repair.vectors.transpose(), added, context));
  return added;
}

absl::Status CheckColumns(const SquareBlock& square, const SquareRepair& repair) {
  const Index needed = repair.rows.back() + 1;
  if (square.values.cols() >= needed) {
    return absl::OkStatus();
  }
  return WithReason(
      absl::InvalidArgumentError(absl::StrCat(
          "square block ", Quoted(square.name), ": has ", square.values.cols(),
          " columns, must have one for each row of the training data set, at least ", needed)),
      "COLUMN_MISMATCH", {{"block", square.name}});
}

}  // namespace

std::string SquareRepair::Text() const {
  const auto count = eigenvalues.size();
  const std::string of_largest =
      largest > 0 ? absl::StrCat(" (", smallest() / largest, " of the largest)") : "";
  return absl::StrCat("block ", Quoted(block), " is not positive semidefinite: ", count, " of the ",
                      rows.size(), " eigenvalues of its training rows ", count == 1 ? "is" : "are",
                      " negative, ", 100 * share,
                      " % of the sum of all magnitudes; the smallest is ", smallest(), of_largest);
}

bool SquareRepair::IsConsistent() const {
  const auto size = static_cast<Index>(rows.size());
  const bool ascending =
      std::adjacent_find(rows.begin(), rows.end(), std::greater_equal<>()) == rows.end();
  const bool fits =
      vectors.size() == 0 || (vectors.rows() == size && vectors.cols() == eigenvalues.size());
  return size > 0 && rows.front() >= 0 && ascending && fits && vectors.allFinite() &&
         eigenvalues.size() > 0 && eigenvalues.size() <= size && eigenvalues.allFinite() &&
         eigenvalues.maxCoeff() < 0 && share > 0 && share <= 1;
}

absl::StatusOr<std::optional<SquareRepair>> FitSquareRepair(const SquareBlock& square,
                                                            const std::vector<Index>& rows,
                                                            SquareRepairRule rule,
                                                            const RunContext& context) {
  const TrainingBlock block(square, rows);
  if (square.values.rows() != square.values.cols()) {
    return std::optional<SquareRepair>();
  }
  MERCER_ASSIGN_OR_RETURN(const bool symmetric, block.IsSymmetric(context));
  if (!symmetric) {
    return std::optional<SquareRepair>();
  }
  context.ReportStage("eigenvalues");
  MERCER_ASSIGN_OR_RETURN(Matrix negated, block.Negated(context));
  const double diagonal = std::max(0.0, -negated.diagonal().minCoeff());
  MERCER_ASSIGN_OR_RETURN(const SymmetricEigen eigen,
                          SymmetricEigen::Make(std::move(negated), context));
  const Vector values = -eigen.values().reverse();  // ascending again
  const double magnitude = values.cwiseAbs().maxCoeff();
  if (!std::isfinite(magnitude)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "block ", Quoted(square.name), ": the values are too large, it has no eigenvalues"));
  }
  const double rounding =
      static_cast<double>(block.size()) * std::numeric_limits<double>::epsilon() * magnitude;
  const double limit = -std::max(kNegativeEnergy * diagonal, rounding);
  const Index count = (values.array() < limit).count();
  if (count == 0) {
    return std::optional<SquareRepair>();
  }
  SquareRepair repair;
  repair.block = square.name;
  repair.rows = rows;
  repair.eigenvalues = values.head(count);
  repair.largest = values(values.size() - 1);
  const Vector scaled = values.cwiseAbs() / magnitude;
  repair.share = std::min(1.0, scaled.head(count).sum() / scaled.sum());
  if (rule == SquareRepairRule::kCheck) {
    return NegativeEigenvalues(repair);
  }
  if (rule != SquareRepairRule::kShift) {
    MERCER_ASSIGN_OR_RETURN(repair.vectors, eigen.Largest(count, context));
  }
  return std::make_optional(std::move(repair));
}

absl::StatusOr<SharedMatrix> RepairNewRows(const SquareBlock& square, const SquareRepair& repair,
                                           SquareRepairRule rule, const RunContext& context) {
  MERCER_RETURN_IF_ERROR(CheckColumns(square, repair));
  if (rule == SquareRepairRule::kShift) {
    return square.values;
  }
  return MapRows(square, context, [&](Index, absl::Span<double* const> rows) {
    Project(repair, Removed(rule), rows, context);
  });
}

absl::StatusOr<SharedMatrix> RepairAllRows(const SquareBlock& square, const SquareRepair& repair,
                                           SquareRepairRule rule, RunContext& context) {
  MERCER_RETURN_IF_ERROR(CheckColumns(square, repair));
  MERCER_ASSIGN_OR_RETURN(const Matrix added, AddedToTraining(repair, rule, context));
  const auto place_of = [&](Index row) {
    const auto found = std::lower_bound(repair.rows.begin(), repair.rows.end(), row);
    return found != repair.rows.end() && *found == row ? found - repair.rows.begin() : Index{-1};
  };
  return MapRows(square, context, [&](Index begin, absl::Span<double* const> rows) {
    std::vector<double*> others;
    for (size_t i = 0; i < rows.size(); ++i) {
      const Index place = place_of(begin + static_cast<Index>(i));
      if (place < 0) {
        others.push_back(rows[i]);
      } else if (rule == SquareRepairRule::kShift) {
        rows[i][begin + static_cast<Index>(i)] -= repair.smallest();
      } else {
        for (size_t j = 0; j < repair.rows.size(); ++j) {
          rows[i][repair.rows[j]] += added(static_cast<Index>(j), place);
        }
      }
    }
    if (rule != SquareRepairRule::kShift && !others.empty()) {
      Project(repair, Removed(rule), others, context);
    }
  });
}

// The negated block, the eigenvectors of its tridiagonal form twice, U, U scaled and its transpose,
// or the sum that is added; U in the model and its encoded form.
size_t SquareRepairBytes(Index rows) {
  constexpr size_t kMatrices = 8;
  return (ByteCount(kMatrices) * ByteCount(rows) * ByteCount(rows) * ByteCount(sizeof(double)))
      .value();
}

}  // namespace mercer
