// One pass over the columns for everything that a point's neighbourhood is described by.
#include <algorithm>

#include "core/base/status_macros.h"
#include "core/solvers/feature_master.h"

namespace mercer {
namespace {

// Tasks that share their columns, in order.
std::vector<std::vector<Index>> TasksByColumns(const MasterProblem& problem) {
  std::vector<std::vector<Index>> groups;
  for (Index t = 0; t < problem.num_tasks(); ++t) {
    const auto same = [&](const std::vector<Index>& group) {
      return problem.task(group.front()).columns == problem.task(t).columns;
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

// Sums over one block of rows; those of all blocks are added in order.
struct BlockSums {
  double risk = 0;
  double positive = 0;
  double negative = 0;
};

class SharedRowsPass {
 public:
  SharedRowsPass(const MasterProblem& problem, const MasterPoint& point,
                 const std::vector<Index>& tasks, MasterEvaluation& evaluation)
      : problem_(problem), point_(point), tasks_(tasks), evaluation_(evaluation) {}

  absl::Status Run(const Matrix& weights, RunContext& context) {
    const FeatureColumns& columns = *problem_.task(tasks_.front()).columns;
    const auto width = static_cast<Index>(tasks_.size());
    const Index blocks =
        (columns.rows() + FeatureColumns::kPassRows - 1) / FeatureColumns::kPassRows;
    sums_.assign(static_cast<size_t>(blocks * width), {});
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
    for (Index block = 0; block < blocks; ++block) {
      for (Index k = 0; k < width; ++k) {
        const BlockSums& sums = sums_[static_cast<size_t>(block * width + k)];
        const Index t = tasks_[static_cast<size_t>(k)];
        evaluation_.risk += sums.risk;
        evaluation_.positive_sum(t) += sums.positive;
        evaluation_.negative_sum(t) += sums.negative;
      }
    }
    return absl::OkStatus();
  }

 private:
  void Slopes(Index begin, const Matrix& scores, Matrix& slopes) {
    for (Index k = 0; k < scores.cols(); ++k) {
      const Index t = tasks_[static_cast<size_t>(k)];
      const MasterTask& task = problem_.task(t);
      Vector& all_scores = evaluation_.scores[static_cast<size_t>(t)];
      Vector& all_slopes = evaluation_.slopes[static_cast<size_t>(t)];
      BlockSums sums;
      for (Index i = 0; i < scores.rows(); ++i) {
        const Index row = begin + i;
        const double score = scores(i, k) + point_.bias(t);
        const double slope = problem_.loss->Slope(task.targets(row), task.costs(row), score);
        sums.risk += problem_.loss->Value(task.targets(row), task.costs(row), score);
        (slope > 0 ? sums.positive : sums.negative) += slope;
        slopes(i, k) = slope;
        all_scores(row) = score;
        all_slopes(row) = slope;
      }
      sums_[static_cast<size_t>(begin / FeatureColumns::kPassRows * scores.cols() + k)] = sums;
    }
  }

  const MasterProblem& problem_;
  const MasterPoint& point_;
  const std::vector<Index>& tasks_;
  MasterEvaluation& evaluation_;
  std::vector<BlockSums> sums_;
};

}  // namespace

double PenaltyValue(const MasterProblem& problem, const MasterPoint& point) {
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

absl::Status EvaluateMaster(const MasterProblem& problem, const MasterPoint& point,
                            MasterEvaluation& evaluation, RunContext& context) {
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
  for (const std::vector<Index>& group : TasksByColumns(problem)) {
    SharedRowsPass pass(problem, point, group, evaluation);
    MERCER_RETURN_IF_ERROR(pass.Run(weights, context));
  }
  evaluation.penalty = PenaltyValue(problem, point);
  return absl::OkStatus();
}

}  // namespace mercer
