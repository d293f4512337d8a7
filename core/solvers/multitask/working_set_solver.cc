#include "core/solvers/multitask/working_set_solver.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/numeric/index_range.h"
#include "core/base/process/row_vectors.h"
#include "core/base/status/status_macros.h"
#include "core/solvers/multitask/column_kernels.h"

namespace mercer {
namespace {

constexpr Index kAllWork = 200;  // so many blocks are all in the working set
constexpr Index kLeastBlocks = 50;
constexpr Index kRowsOfFirstColumn = 2;   // for each block of columns of the first working set
constexpr Index kRowsOfFirstKernel = 10;  // and of kernels, of which an iteration reads all values
constexpr double kLeastTolerance = 1e-14;
constexpr double kToleranceOfGap = 0.1;
constexpr double kNextPass = 0.3;     // of the products at the last pass
constexpr double kFirstOfPlain = 10;  // products from which on points say something of the blocks
constexpr double kNearlyAbove = 0.9;  // energies of blocks that enter on the way, against the level
constexpr double kClearlyBelow = 0.7;  // of those that leave
constexpr double kMostProducts = 0.1;  // from where blocks have entered
constexpr double kProductsOfGap = 3;   // of those at which the solution of other costs begins
constexpr double kLeastOtherCosts = 1e-3;
constexpr double kMostOtherCosts = 0.3;
constexpr double kNearly = 1e-3;  // products at which a function may be worth the scaling
constexpr int64_t kMostPasses = 400;
constexpr int64_t kMostShrinking = 40;                       // passes after which no block leaves
constexpr double kSmallBlocks[] = {1e-2, 1e-3, 1e-4, 1e-5};  // against the largest norm
constexpr double kRoundings[] = {1, 1e-1, 1e-2, 1e-3};

// The largest n entries' places, those of equal entries in their order.
std::vector<Index> LargestOf(const Vector& values, std::vector<Index> places, Index n) {
  const auto count = std::min(static_cast<size_t>(n), places.size());
  std::stable_sort(places.begin(), places.end(),
                   [&](Index a, Index b) { return values(a) > values(b); });
  places.resize(count);
  return places;
}

// Rows of the largest task.
Index LargestTask(const MultitaskProblem& problem) {
  Index rows = 0;
  for (const MultitaskTask& task : problem.tasks) {
    rows = std::max(rows, task.targets.size());
  }
  return rows;
}

// Of each block over beta^2.
Vector RatiosOf(const MultitaskProblem& problem, const Matrix& energies) {
  const Vector beta = problem.norm.BlockWeights(problem.num_blocks());
  return energies.colwise().sum().transpose().array() / beta.array().square();
}

// With 0 in place of the dual variables that are small, against the mean of their task, where the
// margin is beyond 1.
std::vector<Vector> RoundedDuals(const MultitaskProblem& problem, const MultitaskPoint& point,
                                 double factor) {
  std::vector<Vector> duals = point.dual;
  for (size_t t = 0; t < duals.size(); ++t) {
    Vector& dual = duals[t];
    const double small = factor * AbsoluteSumOfRows(dual) / static_cast<double>(dual.size());
    for (Index i = 0; i < dual.size(); ++i) {
      const double value = point.scores[t](i) + point.biases[t].chosen;
      if (std::abs(dual(i)) < small * (problem.tasks[t].targets(i) * value - 1)) {
        dual(i) = 0;
      }
    }
  }
  return duals;
}

}  // namespace

int64_t WorkingSetSolver::iterations() const {
  return state_.iterations + (solver_ != nullptr ? solver_->iterations() : 0);
}

absl::Status WorkingSetSolver::Begin(const WorkingSetSolver* other, RunContext& context) {
  MERCER_RETURN_IF_ERROR(CheckMultitaskProblem(problem_));
  if (!problem_.norm.is_joint()) {
    return absl::InvalidArgumentError("the joint interior point is for p = 1 and q = 2");
  }
  state_ = {};
  if (problem_.norm.form() == TaskNormForm::kPlain) {
    state_.looked = kFirstOfPlain / kNextPass;
  }
  solver_ = nullptr;
  MERCER_ASSIGN_OR_RETURN(
      const MultitaskPoint constants,
      EvaluateMultitask(problem_, DualOfConstants(problem_),
                        Matrix::Zero(problem_.num_tasks(), problem_.num_blocks()), context));
  state_.best.Improve(constants);
  if (IsTrivial(problem_)) {
    state_.stop = MultitaskStop::kRelativeGap;
    return absl::OkStatus();
  }
  const bool follows = other != nullptr && other->solver_ != nullptr && !other->HasFailed() &&
                       !other->Selected().empty();
  state_.blocks = follows && problem_.num_blocks() > kAllWork ? other->Selected()
                  : first_blocks_.empty() || problem_.num_blocks() <= kAllWork
                      ? FirstBlocks(constants)
                      : first_blocks_;
  std::sort(state_.blocks.begin(), state_.blocks.end());
  state_.tolerance = kToleranceOfGap * relative_gap_;
  double growth = 0;
  if (other != nullptr && other->state_.best.Fits(problem_)) {
    MERCER_ASSIGN_OR_RETURN(const MultitaskPoint point, TakeBest(other->state_.best, context));
    growth = point.primal > 0 ? point.risk / point.primal : 0;
  }
  const double gap = state_.best.RelativeGap();
  if (gap <= relative_gap_) {
    state_.stop = MultitaskStop::kRelativeGap;
    if (!follows) {
      return absl::OkStatus();
    }
  }
  if (!follows) {
    return MakeSolver(nullptr, 0, context);
  }
  // Also where nothing is left to do: for what follows, or for a smaller gap.
  const double products = std::clamp(kProductsOfGap * gap, kLeastOtherCosts, kMostOtherCosts);
  return MakeSolver(other->solver_.get(), products, context, growth);
}

absl::StatusOr<MultitaskPoint> WorkingSetSolver::TakeBest(const MultitaskBest& best,
                                                          RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(MultitaskPoint point,
                          EvaluateMultitask(problem_, best.dual, best.weights, context));
  state_.best.Improve(point);
  MERCER_ASSIGN_OR_RETURN(const MultitaskPoint lower,
                          EvaluateMultitask(problem_, best.lower_dual, best.weights, context));
  state_.best.Improve(lower);
  return point;
}

// Blocks that are alike, copies say, all come close to the level before one of them is at it: more
// than what the rows can tell apart is not needed.
Index WorkingSetSolver::MostWorking() const { return kAllWork + 2 * LargestTask(problem_); }

std::vector<Index> WorkingSetSolver::Selected() const {
  std::vector<Index> selected;
  for (Index k = 0; k < state_.best.weights.cols(); ++k) {
    if (state_.best.weights.col(k).maxCoeff() > 0) {
      selected.push_back(k);
    }
  }
  return selected;
}

std::vector<Index> WorkingSetSolver::FirstBlocks(const MultitaskPoint& constants) const {
  const std::vector<Index> all = IndexRange(0, problem_.num_blocks());
  if (problem_.num_blocks() <= kAllWork) {
    return all;
  }
  const Index rows = LargestTask(problem_);
  // Of each group alike.
  const Vector ratios = RatiosOf(problem_, constants.energies);
  const Index groups = problem_.norm.num_groups();
  const bool columns =
      dynamic_cast<const ColumnKernels*>(problem_.tasks[0].blocks.get()) != nullptr;
  const Index rows_of_block = columns ? kRowsOfFirstColumn : kRowsOfFirstKernel;
  std::vector<std::vector<Index>> of_group(static_cast<size_t>(groups));
  for (const Index k : all) {
    of_group[static_cast<size_t>(problem_.norm.GroupOf(k))].push_back(k);
  }
  std::vector<Index> blocks;
  for (const std::vector<Index>& places : of_group) {
    const Index count = (std::max(kLeastBlocks, rows / rows_of_block) + groups - 1) / groups;
    const std::vector<Index> largest = LargestOf(ratios, places, count);
    blocks.insert(blocks.end(), largest.begin(), largest.end());
  }
  std::sort(blocks.begin(), blocks.end());
  return blocks;
}

absl::Status WorkingSetSolver::MakeSolver(const JointInteriorPoint* from, double products,
                                          RunContext& context, double growth) {
  state_.iterations = iterations();
  auto solver = std::make_unique<JointInteriorPoint>(problem_, state_.blocks);
  solver->SetTolerance(state_.tolerance);
  state_.warm = from != nullptr;
  MERCER_RETURN_IF_ERROR(from != nullptr ? solver->StartFrom(*from, products, growth, context)
                                         : solver->Start(context));
  solver_ = std::move(solver);
  return absl::OkStatus();
}

void WorkingSetSolver::SetRelativeGap(double relative_gap) {
  if (state_.stop == MultitaskStop::kRelativeGap && !state_.blocks.empty() &&
      state_.best.RelativeGap() > relative_gap) {
    state_.stop = MultitaskStop::kRunning;
    state_.tolerance = kToleranceOfGap * relative_gap;
    if (solver_ != nullptr) {
      solver_->SetTolerance(state_.tolerance);
    }
  }
  relative_gap_ = relative_gap;
}

absl::Status WorkingSetSolver::Step(RunContext& context) {
  if (done()) {
    return absl::OkStatus();
  }
  if (solver_ == nullptr) {
    // Constants were good enough for the gap asked for before.
    return MakeSolver(nullptr, 0, context);
  }
  MERCER_RETURN_IF_ERROR(solver_->Iterate(context));
  if (solver_->stop() == InteriorPointStop::kRunning &&
      solver_->products() > kNextPass * state_.looked) {
    return absl::OkStatus();
  }
  state_.looked = solver_->products();
  return Bound(context);
}

// The solution on the working set as a point of the whole problem.
absl::Status WorkingSetSolver::Bound(RunContext& context) {
  ++state_.passes;
  Vector weights = Vector::Zero(problem_.num_blocks());
  weights(state_.blocks) = solver_->Weights();
  MERCER_ASSIGN_OR_RETURN(
      MultitaskPoint point,
      EvaluateMultitask(problem_, solver_->Duals(),
                        weights.transpose().replicate(problem_.num_tasks(), 1), context));
  state_.best.Improve(point);
  if (state_.best.RelativeGap() > relative_gap_ && solver_->products() < kNearly) {
    MERCER_RETURN_IF_ERROR(ScaleMultitask(problem_, point, context));
    state_.best.Improve(point);
  }
  if (state_.best.RelativeGap() <= relative_gap_) {
    state_.stop = MultitaskStop::kRelativeGap;
    return Round(context);
  }
  return Continue(point, weights, context);
}

absl::Status WorkingSetSolver::Round(RunContext& context) {
  MultitaskBest& best = state_.best;
  MERCER_ASSIGN_OR_RETURN(MultitaskPoint point,
                          EvaluateFunction(problem_, best.dual, best.weights, context));
  const Vector norms = problem_.norm.JointNorms(point.Norms());
  for (const double share : kSmallBlocks) {
    Matrix weights = best.weights;
    for (Index k = 0; k < norms.size(); ++k) {
      if (norms(k) < share * norms.maxCoeff()) {
        weights.col(k).setZero();
      }
    }
    MERCER_ASSIGN_OR_RETURN(MultitaskPoint without,
                            EvaluateFunction(problem_, best.dual, std::move(weights), context));
    if (MultitaskGap(without.primal, best.lower) <= relative_gap_) {
      best.TakeFunction(without, without.primal);
      point = std::move(without);
      break;
    }
  }
  for (const double factor : kRoundings) {
    MERCER_ASSIGN_OR_RETURN(
        const MultitaskPoint rounded,
        EvaluateFunction(problem_, RoundedDuals(problem_, point, factor), best.weights, context));
    if (MultitaskGap(rounded.primal, best.lower) <= relative_gap_) {
      best.TakeFunction(rounded, rounded.primal);
      break;
    }
  }
  return absl::OkStatus();
}

absl::Status WorkingSetSolver::Continue(const MultitaskPoint& point, const Vector& weights,
                                        RunContext& context) {
  // Of energies over beta^2 to the level of the block's group.
  Vector ratios = RatiosOf(problem_, point.energies);
  const Vector levels = solver_->EnergyLevels();
  for (Index k = 0; k < ratios.size(); ++k) {
    ratios(k) /= levels(problem_.norm.GroupOf(k));
  }
  std::vector<bool> works(static_cast<size_t>(problem_.num_blocks()), false);
  for (const Index k : state_.blocks) {
    works[static_cast<size_t>(k)] = true;
  }
  const bool running = solver_->stop() == InteriorPointStop::kRunning;
  const Index most = MostWorking();
  const double enter = running && working_blocks() < most ? kNearlyAbove : 1;
  std::vector<Index> above;
  for (Index k = 0; k < problem_.num_blocks(); ++k) {
    if (!works[static_cast<size_t>(k)] && ratios(k) > enter) {
      above.push_back(k);
    }
  }
  if (state_.passes >= kMostPasses) {
    state_.stop = MultitaskStop::kIterationLimit;
    return absl::OkStatus();
  }
  if (above.empty()) {
    return running ? absl::OkStatus() : GoOn(context);
  }
  const Index room = std::max(kLeastBlocks, most - working_blocks());
  std::vector<Index> next =
      LargestOf(ratios, above, std::min(room, std::max(kLeastBlocks, working_blocks())));
  const double violation = std::clamp(ratios(next[0]) - 1, 0.0, kMostProducts);
  // Every group needs one.
  std::vector<Index> nearest(static_cast<size_t>(problem_.norm.num_groups()), -1);
  for (const Index k : state_.blocks) {
    Index& of_group = nearest[static_cast<size_t>(problem_.norm.GroupOf(k))];
    of_group = of_group < 0 || ratios(k) > ratios(of_group) ? k : of_group;
  }
  for (const Index k : state_.blocks) {
    if (weights(k) > 0 || ratios(k) >= kClearlyBelow || state_.passes > kMostShrinking ||
        nearest[static_cast<size_t>(problem_.norm.GroupOf(k))] == k) {
      next.push_back(k);
    }
  }
  std::sort(next.begin(), next.end());
  state_.blocks = std::move(next);
  return MakeSolver(HasFailed() ? nullptr : solver_.get(), violation, context);
}

bool WorkingSetSolver::HasFailed() const {
  return solver_->stop() == InteriorPointStop::kPrecision ||
         solver_->stop() == InteriorPointStop::kIterationLimit;
}

// The same working set, more exactly, or from the beginning where what was before it has spoilt it.
absl::Status WorkingSetSolver::GoOn(RunContext& context) {
  if (HasFailed() && state_.warm) {
    return MakeSolver(nullptr, 0, context);
  }
  const double last_tolerance = std::max(kToleranceOfGap * relative_gap_, kLeastTolerance);
  if (HasFailed() || state_.tolerance <= 1e-3 * last_tolerance) {
    state_.stop = MultitaskStop::kPrecision;
    return absl::OkStatus();
  }
  state_.tolerance = std::min(0.1 * state_.tolerance, last_tolerance);
  solver_->SetTolerance(state_.tolerance);
  return absl::OkStatus();
}

void WorkingSetSolver::Save(ByteWriter& writer) const {
  WriteFields(state_, writer, problem_);
  writer.WriteBool(solver_ != nullptr);
  if (solver_ != nullptr) {
    solver_->Save(writer);
  }
}

absl::Status WorkingSetSolver::Load(ByteReader& reader, RunContext& context) {
  State read;
  const bool fits = ReadFields(reader, read, problem_);
  const bool solving = reader.ReadBool();
  if (!fits || !reader.ok() ||
      (read.blocks.empty() && (solving || read.stop == MultitaskStop::kRunning))) {
    return absl::InvalidArgumentError("not a state of the working set solver");
  }
  state_ = std::move(read);
  solver_ = nullptr;
  if (solving) {
    solver_ = std::make_unique<JointInteriorPoint>(problem_, state_.blocks);
    solver_->SetTolerance(state_.tolerance);
    return solver_->Load(reader, context);
  }
  return absl::OkStatus();
}

}  // namespace mercer
