// One pass over the columns for everything that the search for the next point needs at a point:
// scores, slopes, and the products of the columns with the slopes.
#include <algorithm>

#include "core/base/numeric/row_blocks.h"
#include "core/base/process/row_vectors.h"
#include "core/base/status/status_macros.h"
#include "core/solvers/group/group_problem.h"

namespace mercer {
namespace {

// Sums over one piece of rows: the risk, the positive and the negative slopes.
using PieceSums = Eigen::Array3d;

class SharedRowsPass {
 public:
  SharedRowsPass(const GroupProblem& problem, const GroupPoint& point,
                 const std::vector<Index>& tasks, GroupEvaluation& evaluation)
      : problem_(problem), point_(point), tasks_(tasks), evaluation_(evaluation) {}

  absl::Status Run(const Matrix& weights, RunContext& context) {
    const FeatureColumns& columns = *problem_.task(tasks_.front()).columns;
    const auto width = static_cast<Index>(tasks_.size());
    const Index pieces = CountPieces(columns.rows(), FeatureColumns::kPassRows);
    sums_.assign(static_cast<size_t>(pieces * width), PieceSums::Zero());
    Matrix positive(weights.rows(), width);
    Matrix negative(weights.rows(), width);
    MERCER_RETURN_IF_ERROR(columns.ScoreAndReduce(
        weights(Eigen::all, tasks_),
        [&](Index begin, const Matrix& scores, Matrix& slopes) { Slopes(begin, scores, slopes); },
        positive, negative, context));
    for (Index k = 0; k < width; ++k) {
      const Index t = tasks_[static_cast<size_t>(k)];
      evaluation_.positive.col(t) = positive.col(k);
      evaluation_.negative.col(t) = negative.col(k);
    }
    for (Index k = 0; k < width; ++k) {
      PairwiseSum<PieceSums> tree;
      for (Index piece = 0; piece < pieces; ++piece) {
        tree.Add(piece, sums_[static_cast<size_t>(piece * width + k)]);
      }
      const PieceSums sums = tree.Total(PieceSums::Zero());
      const Index t = tasks_[static_cast<size_t>(k)];
      evaluation_.risk += sums(0);
      evaluation_.positive_sum(t) += sums(1);
      evaluation_.negative_sum(t) += sums(2);
    }
    return absl::OkStatus();
  }

 private:
  void Slopes(Index begin, const Matrix& scores, Matrix& slopes) {
    const Index count = scores.rows();
    for (Index k = 0; k < scores.cols(); ++k) {
      const Index t = tasks_[static_cast<size_t>(k)];
      const GroupTask& task = problem_.task(t);
      auto with_bias = evaluation_.scores[static_cast<size_t>(t)].segment(begin, count);
      with_bias = scores.col(k).array() + point_.bias(t);
      PieceSums sums = PieceSums::Zero();
      sums(0) =
          problem_.loss->ValueAndSlopes(task.targets.segment(begin, count),
                                        task.costs.segment(begin, count), with_bias, slopes.col(k));
      evaluation_.slopes[static_cast<size_t>(t)].segment(begin, count) = slopes.col(k);
      for (Index i = 0; i < count; ++i) {
        sums(slopes(i, k) > 0 ? 1 : 2) += slopes(i, k);
      }
      sums_[static_cast<size_t>(begin / FeatureColumns::kPassRows * scores.cols() + k)] = sums;
    }
  }

  const GroupProblem& problem_;
  const GroupPoint& point_;
  const std::vector<Index>& tasks_;
  GroupEvaluation& evaluation_;
  std::vector<PieceSums> sums_;
};

}  // namespace

std::vector<std::vector<Index>> GroupProblem::TasksByColumns() const {
  std::vector<std::vector<Index>> groups;
  for (Index t = 0; t < num_tasks(); ++t) {
    const auto same = [&](const std::vector<Index>& group) {
      return task(group.front()).columns == task(t).columns;
    };
    const auto found = std::find_if(groups.begin(), groups.end(), same);
    if (found == groups.end()) {
      groups.push_back({t});
    } else {
      found->push_back(t);
    }
  }
  return groups;
}

double PenaltyValue(const GroupProblem& problem, const GroupPoint& point) {
  double sum = 0;
  for (Index g = 0; g < problem.num_groups(); ++g) {
    const Index first = problem.first_column(g);
    const Index size = problem.group_size(g);
    double value = 0;
    if (problem.has_specific()) {
      value += problem.specific.lambda *
               problem.specific.norm.Value(point.specific.middleRows(first, size));
    }
    if (problem.has_shared()) {
      value += problem.shared.lambda * problem.shared.norm.Value(point.shared.segment(first, size));
    }
    sum += problem.group_weights(g) * value;
  }
  return sum;
}

void ApplyPenaltyProx(const GroupProblem& problem, const Vector& weights, GroupPoint& point) {
  for (Index g = 0; g < problem.num_groups(); ++g) {
    const Index first = problem.first_column(g);
    const Index size = problem.group_size(g);
    if (problem.has_specific()) {
      problem.specific.norm.Prox(weights(g) * problem.specific.lambda,
                                 point.specific.middleRows(first, size));
    }
    if (problem.has_shared()) {
      problem.shared.norm.Prox(weights(g) * problem.shared.lambda,
                               point.shared.segment(first, size));
    }
  }
}

absl::Status EvaluateGroupProblem(const GroupProblem& problem, const GroupPoint& point,
                                  GroupEvaluation& evaluation, RunContext& context) {
  const Index tasks = problem.num_tasks();
  evaluation.scores.resize(static_cast<size_t>(tasks));
  evaluation.slopes.resize(static_cast<size_t>(tasks));
  for (Index t = 0; t < tasks; ++t) {
    evaluation.scores[static_cast<size_t>(t)].resize(problem.task(t).targets.size());
    evaluation.slopes[static_cast<size_t>(t)].resize(problem.task(t).targets.size());
  }
  evaluation.positive.resize(problem.num_columns(), tasks);
  evaluation.negative.resize(problem.num_columns(), tasks);
  evaluation.positive_sum = Vector::Zero(tasks);
  evaluation.negative_sum = Vector::Zero(tasks);
  evaluation.risk = 0;
  const Matrix weights = point.Weights();
  for (const std::vector<Index>& group : problem.TasksByColumns()) {
    SharedRowsPass pass(problem, point, group, evaluation);
    MERCER_RETURN_IF_ERROR(pass.Run(weights, context));
  }
  evaluation.penalty = PenaltyValue(problem, point);
  return absl::OkStatus();
}

absl::Status ExtendEvaluation(const GroupProblem& problem, const GroupPoint& point, Index known,
                              GroupEvaluation& evaluation, RunContext& context) {
  const std::vector<std::vector<Index>> groups = problem.TasksByColumns();
  const bool alone = std::all_of(groups.begin(), groups.end(),
                                 [](const std::vector<Index>& tasks) { return tasks.size() == 1; });
  // Where tasks share their columns, the products are formed anew for all columns: products of
  // several tasks at once may have other bits when there are more columns.
  if (!alone) {
    return EvaluateGroupProblem(problem, point, evaluation, context);
  }
  const Index appended = problem.num_columns() - known;
  evaluation.positive.conservativeResize(problem.num_columns(), Eigen::NoChange);
  evaluation.negative.conservativeResize(problem.num_columns(), Eigen::NoChange);
  for (Index t = 0; t < problem.num_tasks(); ++t) {
    MERCER_RETURN_IF_ERROR(problem.task(t).columns->ReduceLast(
        known, evaluation.slopes[static_cast<size_t>(t)], evaluation.positive.col(t).tail(appended),
        evaluation.negative.col(t).tail(appended), context));
  }
  return absl::OkStatus();
}

absl::Status EvaluateSlopes(const GroupProblem& problem, GroupEvaluation& evaluation,
                            RunContext& context) {
  for (const std::vector<Index>& tasks : problem.TasksByColumns()) {
    const FeatureColumns& columns = *problem.task(tasks.front()).columns;
    const auto width = static_cast<Index>(tasks.size());
    Matrix parts(columns.rows(), 2 * width);
    for (Index k = 0; k < width; ++k) {
      const Index t = tasks[static_cast<size_t>(k)];
      const Vector& slopes = evaluation.slopes[static_cast<size_t>(t)];
      parts.col(k) = slopes.cwiseMax(0.0);
      parts.col(width + k) = slopes.cwiseMin(0.0);
      evaluation.positive_sum(t) = SumOfRows(parts.col(k));
      evaluation.negative_sum(t) = SumOfRows(parts.col(width + k));
    }
    Matrix products(columns.cols(), 2 * width);
    MERCER_RETURN_IF_ERROR(columns.MultiplyTransposed(parts, products, context));
    for (Index k = 0; k < width; ++k) {
      const Index t = tasks[static_cast<size_t>(k)];
      evaluation.positive.col(t) = products.col(k);
      evaluation.negative.col(t) = products.col(width + k);
    }
  }
  return absl::OkStatus();
}

}  // namespace mercer
