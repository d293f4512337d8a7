#include "core/learners/infinite_features/ascent.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/numeric/row_blocks.h"
#include "core/base/process/row_vectors.h"
#include "core/base/status/status_macros.h"

namespace mercer::infinite_features {
namespace {

constexpr double kFirstLength = 0.3;  // of a step, against the place
constexpr double kMostLength = 0.5;
constexpr double kLeastLength = 1e-3;
constexpr double kLengths[] = {2, 1, 0.5, 0.25, 0.0625};  // that are tried, against the last one
constexpr double kShorter = 0.1;                          // where none of them leads uphill
constexpr double kLeastGain = 1e-3;                       // of the ratio, or the ascent ends

// The columns of the group at the rows of each table, and their products with the slopes, less
// their means: slopes sum to 0 but for rounding.
struct GroupValues {
  std::vector<Matrix> values;
  std::vector<Matrix> products;  // columns x outputs of the table
};

absl::StatusOr<GroupValues> Evaluate(const SearchProblem& problem, const FeatureParameters& group,
                                     const std::vector<Matrix>& slopes, const RunContext& context) {
  const Index columns = problem.family->columns_per_group();
  GroupValues found;
  for (size_t t = 0; t < problem.tables.size(); ++t) {
    const FeatureRows& rows = *problem.tables[t];
    Matrix& values = found.values.emplace_back(rows.size(), columns);
    MERCER_RETURN_IF_ERROR(EvaluateColumns(*problem.family, rows, {group}, values, context));
    Matrix& products = found.products.emplace_back(columns, slopes[t].cols());
    for (Index c = 0; c < columns; ++c) {
      const double mean = SumOfRows(values.col(c)) / static_cast<double>(rows.size());
      for (Index o = 0; o < products.cols(); ++o) {
        products(c, o) =
            DotOfRows(values.col(c), slopes[t].col(o)) - mean * SumOfRows(slopes[t].col(o));
      }
    }
  }
  return found;
}

// Half the gradient of the sum of the squared products, those of each output or of all together:
// whichever the ratio is about. It leaves scales out, and every norm is taken for the Euclidean one:
// it says where to look.
absl::StatusOr<Vector> Gradient(const SearchProblem& problem, const FoundGroup& group,
                                const Lambdas& lambdas, const std::vector<Matrix>& slopes,
                                const RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(const GroupValues at,
                          Evaluate(problem, group.parameters, slopes, context));
  const FeatureMotion& motion = *problem.family->motion();
  const bool shared = group.shared_norm / lambdas.shared > group.specific_norm / lambdas.specific;
  Vector sum = Vector::Zero(at.products[0].rows());
  for (const Matrix& products : at.products) {
    sum += products.rowwise().sum();
  }
  Vector gradient;
  for (size_t t = 0; t < slopes.size(); ++t) {
    const FeatureRows& rows = *problem.tables[t];
    const Matrix weights = shared ? Matrix(sum.replicate(1, slopes[t].cols())) : at.products[t];
    const std::vector<RowPiece> pieces = PiecesOfRows(rows.size());
    std::vector<Vector> parts(pieces.size());
    context.parallel().ForBlocks(
        static_cast<Index>(pieces.size()), 1, [&](Index begin, Index /*end*/) {
          const RowPiece& piece = pieces[static_cast<size_t>(begin)];
          RowMatrix buffer;
          Vector& part = parts[static_cast<size_t>(begin)];
          for (Index row = piece.begin; row < piece.begin + piece.count; row += rows.chunk_rows()) {
            const Index count = std::min(rows.chunk_rows(), piece.begin + piece.count - row);
            const Vector of_chunk = motion.Derivative(
                rows.Read(row, row + count, buffer), at.values[t].middleRows(row, count),
                slopes[t].middleRows(row, count) * weights.transpose());
            part = part.size() == 0 ? of_chunk : Vector(part + of_chunk);
          }
        });
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    PairwiseSum<Vector> tree;
    for (size_t p = 0; p < pieces.size(); ++p) {
      tree.Add(pieces[p].number, std::move(parts[p]));
    }
    const Vector of_table = tree.Total(Vector());
    gradient = gradient.size() == 0 ? of_table : Vector(gradient + of_table);
  }
  return gradient;
}

}  // namespace

int64_t CandidatesOfAscent(const InfiniteFeaturesOptions& options) {
  constexpr int64_t kOfStep = 8;
  const bool climbs =
      options.family == FamilyChoice::kFourier && options.selection == SelectionChoice::kGenerated;
  return climbs ? options.ascent_steps * kOfStep : 0;
}

absl::StatusOr<FoundGroup> Ascend(const SearchProblem& problem, FoundGroup from, int64_t steps,
                                  const Lambdas& lambdas, const std::vector<Matrix>& slopes,
                                  const RunContext& context) {
  const FeatureMotion* motion = problem.family->motion();
  if (motion == nullptr) {
    return from;
  }
  double length = kFirstLength;
  Vector last_gradient;
  Vector direction;
  for (int64_t step = 0; step < steps && length > kLeastLength; ++step) {
    MERCER_ASSIGN_OR_RETURN(const Vector gradient,
                            Gradient(problem, from, lambdas, slopes, context));
    const double turned = last_gradient.size() > 0
                              ? gradient.dot(gradient - last_gradient) / last_gradient.squaredNorm()
                              : 0;
    direction = turned > 0 ? Vector(gradient + turned * direction) : gradient;
    const double place = motion->Place(from.parameters).norm();
    if (!(place > 0) || !(direction.norm() > 0) || !std::isfinite(direction.norm())) {
      break;
    }
    std::vector<FeatureParameters> tried;
    for (const double factor : kLengths) {
      const double next = std::min(factor * length, kMostLength) * place;
      tried.push_back(motion->Moved(from.parameters, next / direction.norm() * direction));
    }
    MERCER_ASSIGN_OR_RETURN(const SearchRound found,
                            SearchAmong(problem, std::move(tried), slopes, {}, context));
    const std::vector<FoundGroup> best = found.Best(lambdas, from.Ratio(lambdas), 1);
    if (best.empty()) {
      // From here along the gradient alone, and not as far.
      last_gradient.resize(0);
      length *= kShorter;
      continue;
    }
    last_gradient = gradient;
    length = (motion->Place(best[0].parameters) - motion->Place(from.parameters)).norm() / place;
    const bool slow = best[0].Ratio(lambdas) < (1 + kLeastGain) * from.Ratio(lambdas);
    from = best[0];
    if (slow) {
      break;
    }
  }
  return from;
}

}  // namespace mercer::infinite_features
