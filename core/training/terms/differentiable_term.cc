#include "core/training/terms/differentiable_term.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status/status_macros.h"
#include "core/features/feature_rows.h"
#include "core/training/terms/term_kinds.h"

namespace mercer {
namespace {

constexpr Index kRowsOfTask = 8;

const Basis& BasisOf(const DifferentiableTerm& term, const std::vector<Basis>& bases) {
  return bases[static_cast<size_t>(term.basis)];
}

// Evaluates f and its gradient. A row is copied first, so that what is said of it does not depend on
// where it stands.
class DifferentiableTermValues : public GradientTermValues {
 public:
  // The term must outlive the values; `points` are the z_j, one in each column.
  DifferentiableTermValues(const DifferentiableTerm& term, Matrix points)
      : GradientTermValues(term, term.outputs.front()),
        term_(term),
        points_(std::move(points)),
        moments_(term.moments.transpose()) {}

  size_t MemoryBytes() const override {
    const Index numbers = term_.num_coefficients() + points_.size() + moments_.size();
    return static_cast<size_t>(numbers) * sizeof(double) + ShapeBytes();
  }
  absl::Status Add(const PreparedData& rows, MatrixRef values, RunContext& context) const override {
    return ForRows(rows, context, [&](Index row, const Vector& x) {
      const double value = Value(x);
      values(row, term_.outputs.front()) += value;
      return std::isfinite(value);
    });
  }
  absl::Status AddByShare(const PreparedData& rows, const std::vector<Matrix*>& shares,
                          RunContext& context) const override {
    return Add(rows, *shares[0], context);
  }
  absl::StatusOr<Matrix> Gradients(const PreparedData& rows, RunContext& context) const override {
    Matrix gradients(rows.rows, term_.num_inputs);
    MERCER_RETURN_IF_ERROR(ForRows(rows, context, [&](Index row, const Vector& x) {
      const Vector gradient = Gradient(x);
      gradients.row(row) = gradient.transpose();
      return gradient.allFinite();
    }));
    return gradients;
  }

 private:
  // Calls visit(row, x) for every row, which says whether all is finite.
  template <typename Visit>
  absl::Status ForRows(const PreparedData& rows, RunContext& context, const Visit& visit) const;
  double Value(const Vector& x) const;
  Vector Gradient(const Vector& x) const;
  // G(x, z_j) for the difference x - z_j.
  double Kernel(const Vector& difference) const {
    return std::exp(-0.5 * difference.squaredNorm() / (term_.width * term_.width));
  }
  // sums(j) + moments(j, .)'(x - z_j) / s^2.
  double Factor(Index j, const Vector& difference) const {
    return term_.sums(j) + moments_.col(j).dot(difference) / (term_.width * term_.width);
  }

  const DifferentiableTerm& term_;
  const Matrix points_;
  const Matrix moments_;  // columns x z_j
};

template <typename Visit>
absl::Status DifferentiableTermValues::ForRows(const PreparedData& rows, RunContext& context,
                                               const Visit& visit) const {
  // A pointer without an owner: the rows outlive what is made of them here.
  const FeatureRows inputs(std::shared_ptr<const PreparedData>(std::shared_ptr<void>(), &rows));
  if (inputs.num_inputs() != term_.num_inputs) {
    return absl::InvalidArgumentError(absl::StrCat("the rows have ", inputs.num_inputs(),
                                                   " columns, the function ", term_.num_inputs));
  }
  RowMatrix buffer;
  std::vector<char> is_finite(static_cast<size_t>(rows.rows), 1);
  for (Index begin = 0; begin < rows.rows; begin += inputs.chunk_rows()) {
    const Index count = std::min(inputs.chunk_rows(), rows.rows - begin);
    const FeatureRows::Chunk chunk = inputs.Read(begin, begin + count, buffer);
    context.parallel().ForBlocks(count, kRowsOfTask, [&](Index first, Index end) {
      for (Index i = first; i < end && !context.cancelled(); ++i) {
        const Vector x = chunk.row(i).transpose();
        is_finite[static_cast<size_t>(begin + i)] = visit(begin + i, x) ? 1 : 0;
      }
    });
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
  }
  const auto bad = std::find(is_finite.begin(), is_finite.end(), 0);
  return bad == is_finite.end() ? absl::OkStatus()
                                : absl::InvalidArgumentError(absl::StrCat(
                                      "row ", rows.RowNumber(bad - is_finite.begin()) + 1,
                                      ": too large for the function to be computed"));
}

double DifferentiableTermValues::Value(const Vector& x) const {
  double value = term_.slopes.size() > 0 ? term_.slopes.dot(x) : 0.0;
  Vector difference(x.size());
  for (Index j = 0; j < points_.cols(); ++j) {
    difference = x - points_.col(j);
    value += Kernel(difference) * Factor(j, difference);
  }
  return value;
}

// grad f(x) = slopes + sum_j G(x, z_j) (b_j - (x - z_j) (a_j + b_j'(x - z_j) / s^2)) / s^2.
Vector DifferentiableTermValues::Gradient(const Vector& x) const {
  Vector gradient = term_.slopes.size() > 0 ? term_.slopes : Vector(Vector::Zero(x.size()));
  Vector difference(x.size());
  for (Index j = 0; j < points_.cols(); ++j) {
    difference = x - points_.col(j);
    gradient += Kernel(difference) / (term_.width * term_.width) *
                (moments_.col(j) - Factor(j, difference) * difference);
  }
  return gradient;
}

}  // namespace

namespace terms {
TermKind Differentiable() { return MakeTermKind<DifferentiableTerm>(); }
}  // namespace terms

absl::Status DifferentiableTerm::CheckOwnShape(const TermPlace& place) const {
  MERCER_RETURN_IF_ERROR(CheckParts());
  const auto count = static_cast<Index>(anchors.size());
  if (outputs.size() != 1 || static_cast<Index>(columns.size()) != num_inputs ||
      (slopes.size() != 0 && slopes.size() != num_inputs) || sums.size() != count ||
      moments.rows() != count || (count > 0 && moments.cols() != num_inputs)) {
    return UnreadableModel("the parts of a differentiable function do not fit each other");
  }
  if (count > 0 && (basis < 0 || static_cast<size_t>(basis) >= place.bases.size() ||
                    *std::min_element(anchors.begin(), anchors.end()) < 0 ||
                    *std::max_element(anchors.begin(), anchors.end()) >=
                        BasisOf(*this, place.bases).data->rows)) {
    return UnreadableModel("a differentiable function names rows that do not exist");
  }
  return absl::OkStatus();
}

absl::Status DifferentiableTerm::CheckValues(const TermPlace& place,
                                             Index /*num_square_columns*/) const {
  MERCER_RETURN_IF_ERROR(CheckNumbers());
  const bool has_width = anchors.empty() || (std::isfinite(width) && width > 0);
  if (!slopes.allFinite() || !sums.allFinite() || !moments.allFinite() || !has_width) {
    return UnreadableModel("a differentiable function has a number out of its range");
  }
  if (!anchors.empty() &&
      FeatureRows(BasisOf(*this, place.bases).data).num_inputs() != num_inputs) {
    return UnreadableModel("the rows of a differentiable function have other columns");
  }
  return absl::OkStatus();
}

void DifferentiableTerm::MoveBases(const TermMove& move) {
  if (anchors.empty()) {
    return;
  }
  const std::vector<Index>& before = BasisOf(*this, move.from).training_rows;
  basis = move.united[static_cast<size_t>(basis)];
  const std::vector<Index>& after = BasisOf(*this, move.to).training_rows;
  for (Index& anchor : anchors) {
    if (!before.empty()) {
      const Index number = before[static_cast<size_t>(anchor)];
      anchor = std::lower_bound(after.begin(), after.end(), number) - after.begin();
    }
  }
}

void DifferentiableTerm::Scale(double factor) {
  slopes *= factor;
  sums *= factor;
  moments *= factor;
}

absl::StatusOr<std::unique_ptr<const TermValues>> DifferentiableTerm::MakeValues(
    const TermPlace& place, const RunContext& context) const {
  if (anchors.empty()) {
    return std::make_unique<DifferentiableTermValues>(*this, Matrix(num_inputs, 0));
  }
  const FeatureRows rows(BasisOf(*this, place.bases).data, anchors);
  if (rows.num_inputs() != num_inputs) {
    return UnreadableModel("the rows of a differentiable function have other columns");
  }
  Matrix points(num_inputs, rows.size());
  RowMatrix buffer;
  for (Index begin = 0; begin < rows.size(); begin += rows.chunk_rows()) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    const Index end = std::min(begin + rows.chunk_rows(), rows.size());
    points.middleCols(begin, end - begin) = rows.Read(begin, end, buffer).transpose();
  }
  return std::make_unique<DifferentiableTermValues>(*this, std::move(points));
}

std::vector<TermShare> DifferentiableTerm::Shares(const PreparedData& /*rows*/) const {
  return {{"function with its gradient", /*joins_its_name=*/true}};
}

void DifferentiableTerm::MarkRows(std::vector<std::vector<bool>>& used) const {
  for (const Index anchor : anchors) {
    used[static_cast<size_t>(basis)][static_cast<size_t>(anchor)] = true;
  }
}

int64_t DifferentiableTerm::WorkPerRow(int64_t /*columns*/, bool /*by_share*/) const {
  return num_inputs * (2 + 4 * static_cast<int64_t>(anchors.size()));
}

}  // namespace mercer
