#include "core/solvers/group/admm_group_solver.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/numeric/row_blocks.h"
#include "core/base/status/status_macros.h"
#include "core/linalg/row_products.h"

namespace mercer {
namespace {

constexpr int kIterationsPerStep = 10;
constexpr double kOverRelaxation = 1.6;
constexpr double kImbalance = 5;             // of the residuals: penalties are adapted beyond it
constexpr int64_t kLastAdaptation = 320;     // iterations
constexpr double kLeastScorePenalty = 0.01;  // times the Lipschitz constant, as the next
constexpr double kMostScorePenalty = 10;
constexpr double kLeastWeightPenalty = 1e-4;  // weights that a small lambda leaves large need it
constexpr double kMostWeightPenalty = 1e3;
constexpr double kSmallerGap = 0.9;
constexpr int64_t kMaxAdmmStalls = 500;

bool IsAdaptationTime(int64_t iterations) {
  return iterations >= kIterationsPerStep && iterations <= kLastAdaptation &&
         iterations % kIterationsPerStep == 0 &&
         ((iterations / kIterationsPerStep) & (iterations / kIterationsPerStep - 1)) == 0;
}

// The penalty parameter times the root of the ratio of its relative primal and dual residuals,
// within bounds, or itself where they are about as large as each other. A larger parameter makes
// primal residuals smaller and dual ones larger.
double Adapted(double penalty, const Eigen::Array4d& squares) {
  const double dual = penalty * std::sqrt(squares(2));
  if (!(squares(1) > 0 && squares(3) > 0 && dual > 0)) {
    return penalty;
  }
  const double ratio =
      (std::sqrt(squares(0)) / std::sqrt(squares(1))) / (dual / std::sqrt(squares(3)));
  return ratio > kImbalance || ratio < 1 / kImbalance
             ? penalty * std::clamp(std::sqrt(ratio), 1 / kImbalance, kImbalance)
             : penalty;
}

double SumOfSquares(const GroupPoint& weights) {
  return weights.specific.squaredNorm() + weights.shared.squaredNorm();
}

// kOverRelaxation a + (1 - kOverRelaxation) b.
template <typename Values>
Values Relaxed(const Values& a, const Values& b) {
  return kOverRelaxation * a + (1 - kOverRelaxation) * b;
}

}  // namespace

// The part of one iteration that goes over the rows: from the solution of the systems to the scores
// s, by the proximal operator of the loss, to their multipliers mu += xi (relaxed scores - s), and
// to the products of the columns with xi s - mu, which the next systems need.
class AdmmGroupSolver::ScorePass {
 public:
  ScorePass(const GroupProblem& problem, const std::vector<Index>& tasks, State& state)
      : problem_(problem), tasks_(tasks), state_(state) {}

  absl::Status Run(const GroupPoint& solution, Matrix& products, Vector& sums, Residuals& residuals,
                   RunContext& context) {
    const FeatureColumns& columns = *problem_.task(tasks_.front()).columns;
    const auto width = static_cast<Index>(tasks_.size());
    const Index pieces = CountPieces(columns.rows(), FeatureColumns::kPassRows);
    residuals_.assign(static_cast<size_t>(pieces), Eigen::Array4d::Zero());
    sums_ = Matrix::Zero(width, pieces);
    Matrix positive(columns.cols(), width);
    Matrix negative(columns.cols(), width);
    const Matrix weights = solution.Weights()(Eigen::all, tasks_);
    MERCER_RETURN_IF_ERROR(columns.ScoreAndReduce(
        weights,
        [&](Index begin, const Matrix& scores, Matrix& out) {
          for (Index k = 0; k < width; ++k) {
            UpdateBlock(k, begin, scores.col(k), solution, out.col(k));
          }
        },
        positive, negative, context));
    for (Index k = 0; k < width; ++k) {
      const Index t = tasks_[static_cast<size_t>(k)];
      products.col(t) = positive.col(k) + negative.col(k);
      PairwiseSum<double> tree;
      for (Index piece = 0; piece < pieces; ++piece) {
        tree.Add(piece, sums_(k, piece));
      }
      sums(t) += tree.Total(0.0);
    }
    PairwiseSum<Eigen::Array4d> tree;
    for (Index piece = 0; piece < pieces; ++piece) {
      tree.Add(piece, residuals_[static_cast<size_t>(piece)]);
    }
    residuals.scores += tree.Total(Eigen::Array4d::Zero());
    return absl::OkStatus();
  }

 private:
  void UpdateBlock(Index k, Index begin, const ConstVectorRef& scores, const GroupPoint& solution,
                   VectorRef out) {
    const Index t = tasks_[static_cast<size_t>(k)];
    const GroupTask& task = problem_.task(t);
    Vector& split = state_.scores[static_cast<size_t>(t)];
    Vector& multipliers = state_.multipliers[static_cast<size_t>(t)];
    const double xi = state_.penalties.scores;
    const Index piece = begin / FeatureColumns::kPassRows;
    Eigen::Array4d& residuals = residuals_[static_cast<size_t>(piece)];
    for (Index i = 0; i < scores.size(); ++i) {
      const Index row = begin + i;
      const double score = scores(i) + solution.bias(t);
      const double relaxed = kOverRelaxation * score + (1 - kOverRelaxation) * split(row);
      const double next = problem_.loss->Prox(task.targets(row), task.costs(row),
                                              relaxed + multipliers(row) / xi, 1 / xi);
      residuals(0) += (score - next) * (score - next);
      residuals(2) += (next - split(row)) * (next - split(row));
      residuals(1) += (task.targets(row) - score) * (task.targets(row) - score);
      multipliers(row) += xi * (relaxed - next);
      residuals(3) += multipliers(row) * multipliers(row);
      split(row) = next;
      out(i) = xi * next - multipliers(row);
      sums_(k, piece) += out(i);
    }
  }

  const GroupProblem& problem_;
  const std::vector<Index>& tasks_;
  State& state_;
  std::vector<Eigen::Array4d> residuals_;  // of each piece of rows
  Matrix sums_;                            // tasks x pieces
};

absl::Status AdmmGroupSolver::CheckProblem(const GroupProblem& problem) const {
  if (problem.loss->is_piecewise_linear() && !problem.loss->is_margin_loss()) {
    return absl::InvalidArgumentError("the epsilon-insensitive loss is not supported");
  }
  return absl::OkStatus();
}

double AdmmGroupSolver::LipschitzConstant() const {
  double largest_cost = 0;
  for (const GroupTask& task : problem().tasks) {
    largest_cost = std::max(largest_cost, task.costs.maxCoeff());
  }
  const Loss& loss = *problem().loss;
  const double constant = loss.is_piecewise_linear() ? 1.0 : loss.largest_curvature();
  return constant * (largest_cost > 0 ? largest_cost : 1.0);
}

absl::Status AdmmGroupSolver::Prepare(Index known, const GroupPoint& point,
                                      const GroupEvaluation& evaluation, RunContext& context) {
  CountPass();
  // Multipliers of new weights that balance the slopes: minus the products of the new columns with
  // the scores' multipliers.
  const Index appended = known > 0 ? problem().num_columns() - known : 0;
  Matrix fresh(appended, problem().num_tasks());
  for (Index t = 0; t < problem().num_tasks() && appended > 0; ++t) {
    for (Index first = 0; first < appended; first += FeatureColumns::kColumnsAtOnce) {
      const Index count = std::min(FeatureColumns::kColumnsAtOnce, appended - first);
      const Matrix columns =
          problem().task(t).columns->Columns(known + first, known + first + count);
      MERCER_ASSIGN_OR_RETURN(
          const Matrix products,
          ProductOverRows(columns, state_.multipliers[static_cast<size_t>(t)], context));
      fresh.col(t).segment(first, count) = -products;
    }
  }
  MERCER_RETURN_IF_ERROR(systems_.Extend(problem(), known, context));
  state_.best_gap = kInfinity;
  state_.stalls = 0;
  if (known > 0) {
    // The new weights are 0; all others stay.
    const Index d = problem().num_columns();
    GroupPoint& multipliers = state_.weight_multipliers;
    state_.weights.specific.conservativeResize(d, Eigen::NoChange);
    state_.weights.specific.bottomRows(d - known).setZero();
    state_.weights.shared.conservativeResize(d);
    state_.weights.shared.tail(d - known).setZero();
    multipliers.specific.conservativeResize(d, Eigen::NoChange);
    multipliers.shared.conservativeResize(d);
    multipliers.specific.bottomRows(appended) = fresh;
    multipliers.shared.tail(appended) = fresh.rowwise().sum();
    return absl::OkStatus();
  }
  state_.scores = evaluation.scores;
  state_.multipliers = evaluation.slopes;
  state_.weights = point;
  state_.weight_multipliers.specific = -(evaluation.positive + evaluation.negative);
  state_.weight_multipliers.shared = state_.weight_multipliers.specific.rowwise().sum();
  state_.weight_multipliers.bias.resize(0);
  state_.iterations = 0;
  state_.penalties.scores = 0.5 * LipschitzConstant();
  state_.penalties.weights = systems_.MeanSquare();
  return absl::OkStatus();
}

void AdmmGroupSolver::UpdateWeights(const GroupPoint& solution, State& state,
                                    Residuals& residuals) const {
  const double eta = state.penalties.weights;
  GroupPoint& split = state.weights;
  GroupPoint& multipliers = state.weight_multipliers;
  const GroupPoint before = split;
  const Matrix relaxed = Relaxed(solution.specific, split.specific);
  const Vector relaxed_shared = Relaxed(solution.shared, split.shared);
  if (problem().has_specific()) {
    split.specific = relaxed + multipliers.specific / eta;
  }
  if (problem().has_shared()) {
    split.shared = relaxed_shared + multipliers.shared / eta;
  }
  ApplyPenaltyProx(problem(), problem().group_weights / eta, split);
  if (problem().has_specific()) {
    multipliers.specific += eta * (relaxed - split.specific);
  }
  if (problem().has_shared()) {
    multipliers.shared += eta * (relaxed_shared - split.shared);
  }
  split.bias = solution.bias;
  const auto distance = [](const GroupPoint& a, const GroupPoint& b) {
    return (a.specific - b.specific).squaredNorm() + (a.shared - b.shared).squaredNorm();
  };
  residuals.weights << distance(solution, split),
      std::max(SumOfSquares(solution), SumOfSquares(split)), distance(split, before),
      (problem().has_specific() ? multipliers.specific.squaredNorm() : 0) +
          (problem().has_shared() ? multipliers.shared.squaredNorm() : 0);
}

absl::Status AdmmGroupSolver::RunIterations(State& state, Residuals& residuals,
                                            RunContext& context) {
  const Index tasks = problem().num_tasks();
  const std::vector<std::vector<Index>> by_columns = problem().TasksByColumns();
  MERCER_RETURN_IF_ERROR(systems_.Factor(problem(), state.penalties, context));
  // The products for the first system, by the penalties that are in force now.
  GroupEvaluation first;
  first.slopes.resize(static_cast<size_t>(tasks));
  first.positive.resize(problem().num_columns(), tasks);
  first.negative.resize(problem().num_columns(), tasks);
  first.positive_sum.resize(tasks);
  first.negative_sum.resize(tasks);
  for (size_t t = 0; t < first.slopes.size(); ++t) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    first.slopes[t] = state.penalties.scores * state.scores[t] - state.multipliers[t];
  }
  CountPass();
  MERCER_RETURN_IF_ERROR(EvaluateSlopes(problem(), first, context));
  Matrix products = first.positive + first.negative;
  Vector sums = first.positive_sum + first.negative_sum;
  const double eta = state.penalties.weights;
  for (int iteration = 0; iteration < kIterationsPerStep; ++iteration) {
    const GroupPoint pull = {eta * state.weights.specific - state.weight_multipliers.specific,
                             eta * state.weights.shared - state.weight_multipliers.shared,
                             {}};
    MERCER_ASSIGN_OR_RETURN(const GroupPoint solution,
                            systems_.Solve(problem(), products, sums, pull, context));
    residuals = {};
    sums.setZero();
    CountPass();
    for (const std::vector<Index>& group : by_columns) {
      ScorePass pass(problem(), group, state);
      MERCER_RETURN_IF_ERROR(pass.Run(solution, products, sums, residuals, context));
    }
    UpdateWeights(solution, state, residuals);
    ++state.iterations;
  }
  return absl::OkStatus();
}

void AdmmGroupSolver::AdaptPenalties(const Residuals& residuals, State& state) const {
  if (!IsAdaptationTime(state.iterations)) {
    return;
  }
  AdmmPenalties& penalties = state.penalties;
  const double lipschitz = LipschitzConstant();
  const double unit = systems_.MeanSquare();
  penalties.scores = std::clamp(Adapted(penalties.scores, residuals.scores),
                                kLeastScorePenalty * lipschitz, kMostScorePenalty * lipschitz);
  penalties.weights = std::clamp(Adapted(penalties.weights, residuals.weights),
                                 kLeastWeightPenalty * lipschitz * unit, kMostWeightPenalty * unit);
}

absl::Status AdmmGroupSolver::Iterate(RunContext& context) {
  State state = state_;
  Residuals residuals;
  MERCER_RETURN_IF_ERROR(RunIterations(state, residuals, context));
  GroupPoint next = state.weights;
  GroupEvaluation evaluated;
  CountPass();
  MERCER_RETURN_IF_ERROR(EvaluateGroupProblem(problem(), next, evaluated, context));
  MERCER_RETURN_IF_ERROR(OptimizeBias(next, evaluated, context));
  AdaptPenalties(residuals, state);
  std::swap(state_, state);
  absl::Status status = Evaluate(next, evaluated, context);
  if (status.ok()) {
    status = MoveTo(std::move(next), std::move(evaluated), Objective::kMayRise, context);
  }
  if (!status.ok()) {
    std::swap(state_, state);
    return status;
  }
  state_.stalls = certificate().Gap() < kSmallerGap * state_.best_gap ? 0 : state_.stalls + 1;
  state_.best_gap = state_.stalls == 0 ? certificate().Gap() : state_.best_gap;
  if (state_.stalls > kMaxAdmmStalls && stop() == GroupStop::kRunning) {
    EndForPrecision();
  }
  return absl::OkStatus();
}

// The hinge loss has many slopes at its kink. The multipliers of the scores are slopes too, and
// near the solution those with which the conditions of optimality hold.
absl::Status AdmmGroupSolver::ChooseSlopes(GroupEvaluation& evaluation, RunContext& context) {
  if (!problem().loss->is_piecewise_linear() ||
      state_.multipliers.size() != evaluation.slopes.size()) {
    return absl::OkStatus();
  }
  for (size_t t = 0; t < evaluation.slopes.size(); ++t) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    const GroupTask& task = problem().tasks[t];
    for (Index i = 0; i < task.targets.size(); ++i) {
      // Rounding may carry a multiplier out of the conjugate's domain; its negative is a dual
      // variable.
      const Interval box = problem().loss->DualBox(task.targets(i), task.costs(i));
      evaluation.slopes[t](i) = std::clamp(state_.multipliers[t](i), -box.high, -box.low);
    }
  }
  CountPass();
  return EvaluateSlopes(problem(), evaluation, context);
}

void AdmmGroupSolver::SaveExtra(ByteWriter& writer) const {
  WriteFields(state_, writer, problem());
  WriteFields(systems_, writer, problem());
}

bool AdmmGroupSolver::LoadExtra(ByteReader& reader) {
  state_ = {};
  state_.scores.resize(problem().tasks.size());
  state_.multipliers.resize(problem().tasks.size());
  systems_.AssignDesigns(problem());
  return ReadFields(reader, state_, problem()) && ReadFields(reader, systems_, problem());
}

}  // namespace mercer
