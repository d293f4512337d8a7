#include "core/solvers/group/group_curvature.h"

#include <algorithm>
#include <utility>

#include "core/base/process/row_vectors.h"
#include "core/base/status/status_macros.h"

namespace mercer {
namespace {

// Updates leave rounding errors behind: after this many times the rows that count, the matrix is
// formed anew.
constexpr Index kUpdatesPerRebuild = 50;

struct RowWeights {
  std::vector<Index> rows;
  std::vector<double> weights;

  void Add(Index row, double weight) {
    rows.push_back(row);
    weights.push_back(weight);
  }
  Index size() const { return static_cast<Index>(rows.size()); }
};

// Adds scale times the sum of weights row row' to `gram`, and the same to its column sums.
absl::Status AddRowsToGram(const FeatureColumns& columns, const RowWeights& rows, double scale,
                           Matrix& products, RunContext& context) {
  return columns.AddGram(rows.rows, Eigen::Map<const Vector>(rows.weights.data(), rows.size()),
                         scale, products, context);
}

bool HasJumpingCurvature(const Loss& loss) { return loss.curve() != LossCurve::kSmooth; }

}  // namespace

// Whether a call of Update has ended: before that there is nothing to extend.
bool GroupCurvature::IsKnown() const {
  return !grams_.empty() && std::all_of(grams_.begin(), grams_.end(), [](const Gram& gram) {
    return gram.curvatures.size() > 0;
  });
}

void GroupCurvature::AssignTasks(const GroupProblem& problem) {
  grams_.clear();
  gram_of_task_.clear();
  for (Index t = 0; t < problem.num_tasks(); ++t) {
    const auto same = [&](const Gram& gram) {
      const GroupTask& other = problem.task(gram.task);
      return problem.loss->curve() == LossCurve::kQuadratic &&
             other.columns == problem.task(t).columns && other.costs == problem.task(t).costs;
    };
    const auto found = std::find_if(grams_.begin(), grams_.end(), same);
    gram_of_task_.push_back(static_cast<size_t>(found - grams_.begin()));
    if (found == grams_.end()) {
      grams_.emplace_back();
      grams_.back().task = t;
    }
  }
}

absl::Status GroupCurvature::UpdateGram(const GroupProblem& problem, const Vector& scores,
                                        Gram& gram, bool* rows_used, RunContext& context) const {
  const GroupTask& task = problem.task(gram.task);
  const Index n = task.targets.size();
  Vector curvatures(n);
  problem.loss->Curvatures(task.targets, task.costs, scores, curvatures);
  const bool known = gram.curvatures.size() == n;
  const Index active = (curvatures.array() > 0).count();
  const Index changed = known ? (curvatures.array() != gram.curvatures.array()).count() : active;
  if (known && changed == 0) {
    return absl::OkStatus();
  }
  const bool rebuild = !known || 2 * changed > active ||
                       gram.rows_since_rebuilt + changed > kUpdatesPerRebuild * active;
  RowWeights added;
  RowWeights removed;
  Vector change = curvatures;
  if (!rebuild) {
    change -= gram.curvatures;
  }
  for (Index i = 0; i < n; ++i) {
    if (change(i) != 0) {
      change(i) > 0 ? added.Add(i, change(i)) : removed.Add(i, -change(i));
    }
  }
  const Index d = problem.num_columns();
  Matrix products = rebuild ? Matrix::Zero(d, d) : gram.products;
  Vector column_sums(d);
  *rows_used = true;
  MERCER_RETURN_IF_ERROR(AddRowsToGram(*task.columns, added, 1.0, products, context));
  MERCER_RETURN_IF_ERROR(AddRowsToGram(*task.columns, removed, -1.0, products, context));
  MERCER_RETURN_IF_ERROR(task.columns->MultiplyTransposed(change, column_sums, context));
  gram.products = std::move(products);
  gram.column_sums = rebuild ? column_sums : Vector(gram.column_sums + column_sums);
  gram.weight_sum = SumOfRows(curvatures);
  gram.curvatures = std::move(curvatures);
  gram.rows_since_rebuilt = rebuild ? 0 : gram.rows_since_rebuilt + changed;
  return absl::OkStatus();
}

absl::Status GroupCurvature::Update(const GroupProblem& problem, const GroupEvaluation& evaluation,
                                    bool* rows_used, RunContext& context) {
  *rows_used = false;
  if (grams_.empty()) {
    AssignTasks(problem);
  }
  for (Gram& gram : grams_) {
    MERCER_RETURN_IF_ERROR(UpdateGram(problem, evaluation.scores[static_cast<size_t>(gram.task)],
                                      gram, rows_used, context));
  }
  return absl::OkStatus();
}

absl::Status GroupCurvature::Extend(const GroupProblem& problem, Index known, RunContext& context) {
  const Index d = problem.num_columns();
  if (!HasJumpingCurvature(*problem.loss) || !IsKnown()) {
    Clear();
  }
  std::vector<Gram> grown = grams_;
  for (Gram& gram : grown) {
    const FeatureColumns& columns = *problem.task(gram.task).columns;
    gram.products.conservativeResize(d, d);
    gram.products.rightCols(d - known).setZero();
    gram.column_sums.conservativeResize(d);
    for (Index first = known; first < d; first += FeatureColumns::kColumnsAtOnce) {
      const Index count = std::min(FeatureColumns::kColumnsAtOnce, d - first);
      Matrix weighted = columns.Columns(first, first + count);
      weighted.array().colwise() *= gram.curvatures.array();
      Matrix cross(d, count);
      MERCER_RETURN_IF_ERROR(columns.MultiplyTransposed(weighted, cross, context));
      gram.products.middleRows(first, count) = cross.transpose();
      for (Index c = 0; c < count; ++c) {
        gram.column_sums(first + c) = SumOfRows(weighted.col(c));
      }
    }
  }
  grams_ = std::move(grown);
  return absl::OkStatus();
}

std::vector<std::shared_ptr<const Matrix>> GroupCurvature::Hessians(
    const GroupProblem& problem) const {
  std::vector<std::shared_ptr<const Matrix>> distinct;
  for (const Gram& gram : grams_) {
    Matrix hessian = gram.products.selfadjointView<Eigen::Lower>();
    if (problem.bias && gram.weight_sum > 0) {
      hessian.noalias() -= gram.column_sums * (gram.column_sums / gram.weight_sum).transpose();
    }
    distinct.push_back(std::make_shared<const Matrix>(std::move(hessian)));
  }
  std::vector<std::shared_ptr<const Matrix>> hessians;
  for (const size_t gram : gram_of_task_) {
    hessians.push_back(distinct[gram]);
  }
  return hessians;
}

// The curvatures of the squared hinge loss are 0 or those of an active sample, so that a bit for
// each sample tells them.
void GroupCurvature::Save(const GroupProblem& problem, ByteWriter& writer) const {
  const bool kept = HasJumpingCurvature(*problem.loss) && IsKnown();
  writer.WriteBool(kept);
  for (size_t g = 0; kept && g < grams_.size(); ++g) {
    const Gram& gram = grams_[g];
    std::string active((static_cast<size_t>(gram.curvatures.size()) + 7) / 8, '\0');
    for (Index i = 0; i < gram.curvatures.size(); ++i) {
      if (gram.curvatures(i) > 0) {
        char& byte = active[static_cast<size_t>(i / 8)];
        byte = static_cast<char>(static_cast<unsigned char>(byte) | 1U << (i % 8));
      }
    }
    writer.WriteString(active);
    for (Index j = 0; j < gram.products.cols(); ++j) {
      writer.WriteVector(gram.products.col(j).tail(gram.products.rows() - j));
    }
    writer.WriteVector(gram.column_sums);
    writer.WriteDouble(gram.weight_sum);
    writer.WriteInt64(gram.rows_since_rebuilt);
  }
}

bool GroupCurvature::Load(const GroupProblem& problem, ByteReader& reader) {
  Clear();
  if (!reader.ReadBool()) {
    return reader.ok();
  }
  AssignTasks(problem);
  const Index d = problem.num_columns();
  for (Gram& gram : grams_) {
    const GroupTask& task = problem.task(gram.task);
    const std::string active = reader.ReadString();
    if (static_cast<Index>(active.size()) != (task.targets.size() + 7) / 8) {
      return false;
    }
    gram.curvatures = 2.0 * task.costs;
    for (Index i = 0; i < gram.curvatures.size(); ++i) {
      if ((static_cast<unsigned char>(active[static_cast<size_t>(i / 8)]) >> (i % 8) & 1U) == 0) {
        gram.curvatures(i) = 0;
      }
    }
    gram.products = Matrix::Zero(d, d);
    for (Index j = 0; j < d; ++j) {
      const Vector column = reader.ReadVector();
      if (column.size() != d - j) {
        return false;
      }
      gram.products.col(j).tail(d - j) = column;
    }
    gram.column_sums = reader.ReadVector();
    gram.weight_sum = reader.ReadDouble();
    gram.rows_since_rebuilt = reader.ReadInt64();
    if (gram.column_sums.size() != d) {
      return false;
    }
  }
  return reader.ok();
}

}  // namespace mercer
