// Problem      min_f,b 1/2 |f|^2 + C sum_i c_i (y_i - f_t(i)(x_i) - b_t(i))^2 over functions f_t,
//              one for each task t, of the kernel K((x, s), (z, t)) = (sharing + [s = t]) k(x, z),
//              k(x, z) = sum_k w_k k_k(x, z) + m x'z / d, d the number of columns. All groups of
//              kernels weigh alike: w_k = m / (G n_g), for m kernels in G groups of n_g.
// Source       Evgeniou, Pontil: Regularized multi-task learning. KDD 2004, for the tasks;
//              Hestenes, Stiefel: Methods of conjugate gradients. J. Res. NBS 49 (1952).
// Notation     s_i = sqrt(2 C c_i), S = diag(s), P the projection onto the b with s'b = 0 in every
//              task; f = sum_i a_i K(x_i, .), a = S b; A = S K S + I. The dual is the largest
//              b'Sy - 1/2 b'Ab over b = P b; so b solves P A b = P S y, by conjugate gradients.
//              Since the sum of a is 0 in every task, a has coefficients of pairs of neighbouring
//              rows, and these are the witness.
// Guarantees   with the residual r = P (S y - A b): dual = b'Sy - 1/2 b'Ab, and at the best biases
//              primal = dual + 1/2 r'r, both true bounds at every step; the dual value never
//              decreases.
// Cost         one product with K per step.
// Verified by  tests/proof: a dense direct solution; and the conformance suite of all learners.
//
// It is no learner to use, but one whose shape is new in every respect, so that the tests show that
// nothing but its own folder knows it: groups of kernels that count, a kind of term of its own with
// gradients, a witness over pairs of rows, a table of its own, several tasks.
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/status/byte_count.h"
#include "core/base/status/status_macros.h"
#include "core/features/feature_rows.h"
#include "core/kernels/gram/kernel_family.h"
#include "core/kernels/spec/kernel_labels.h"
#include "core/training/contract/learner_entry.h"
#include "core/training/contract/resumable_learner.h"
#include "core/training/contract/single_task.h"
#include "tests/support/proof/options.h"
#include "tests/support/proof/pairs.h"
#include "tests/support/proof/plane_term.h"
#include "tests/support/proof/verify.h"

namespace mercer::pair_ridge {
namespace {

// Of how many rows the values tell the shares of the groups.
constexpr Index kMostRowsOfShares = 256;

// Everything that decides the future of a run.
struct PairRidgeState {
  bool begun = false;
  Vector b;
  Vector residual;
  Vector direction;
  double last_exact = kInfinity;  // r'r when it was last computed from b
  int64_t iterations = 0;
  std::optional<StopReason> stop;

  static void VisitFields(auto& visit, auto& self, const StateSizes& of) {
    visit(self.begun);
    const Index size = self.begun ? of.rows : 0;
    visit(Sized(self.b, size), Sized(self.residual, size), Sized(self.direction, size),
          self.last_exact, self.iterations, UpTo(self.stop, StopReason::kObjectiveZero));
  }
};

// What the dual variables of each task give: the values of all rows by k, and the sums of the rows.
struct TaskProducts {
  Matrix values;  // rows x tasks: sum_j k(x_i, x_j) a_j over the rows j of a task
  Matrix slopes;  // columns x tasks: m / d sum_j a_j x_j
};

class PairRidge : public ResumableLearner<PairRidgeState> {
 public:
  explicit PairRidge(const PairRidgeOptions& options)
      : ResumableLearner("pair_ridge", /*version=*/1), options_(options) {}

  absl::StatusOr<TrainedPoint> CurrentModel(RunContext& context) const override {
    if (!state_.begun || operator_ == nullptr) {
      return absl::FailedPreconditionError("the run has not begun");
    }
    // As the witness has them: their sums are 0 to the last bit.
    const Vector coefficients = PairsOfDual(pairs_, scale_.cwiseProduct(state_.b));
    const Vector dual = DualOfPairs(pairs_, coefficients, all_->size());
    // What follows a request to stop is to be quick, and the combined operator is: an error e of the
    // biases raises the primal value, which the verification computes, in proportion to e^2 alone.
    MERCER_ASSIGN_OR_RETURN(const TaskProducts products, Multiply(dual, false, context));
    MERCER_ASSIGN_OR_RETURN(const Matrix shares, Shares(ByTask(dual), products, context));
    const Vector biases = Means(all_->targets - OwnValues(products.values));
    TrainedPoint point = PointOf(coefficients, biases, shares);
    std::vector<ModelFunction> functions;
    for (Index t = 0; t < all_->num_tasks(); ++t) {
      functions.push_back(FunctionOf(t, dual, products.slopes, biases(t)));
    }
    point.function = MergeOutputs(functions, *problem_->tasks[0].inputs);
    point.summary.num_support_vectors = (dual.array() != 0).count();
    return point;
  }

  absl::StatusOr<TrainedPoint> ConstantModel(RunContext& /*context*/) override {
    const Vector biases = Means(all_->targets);
    TrainedPoint point =
        PointOf(Vector::Zero(static_cast<Index>(pairs_.size())), biases,
                Matrix::Zero(GroupsOf(problem_->kernels).num_groups() + 1, all_->num_tasks()));
    point.function.bias = biases;
    return point;
  }

 private:
  absl::Status Begin(const WarmStart* /*warm_start*/) override {
    MERCER_RETURN_IF_ERROR(CheckRowsAndKernels(*problem_));
    for (const TaskData& task : problem_->tasks) {
      if (problem_->kind == TargetKind::kClassification) {
        MERCER_RETURN_IF_ERROR(InTask(task, CheckBothClasses(task.targets, task.costs)));
      }
    }
    all_ = std::make_unique<const AllRows>(*problem_);
    pairs_ = MakePairs(*all_);
    weights_ = KernelWeights(problem_->kernels);
    inputs_ = std::make_unique<const FeatureRows>(problem_->tasks[0].inputs, all_->rows);
    scale_ = (2 * options_.C * all_->costs).cwiseSqrt();
    Vector centred = all_->targets;
    SubtractByTask(Means(centred), Vector::Ones(centred.size()), centred);
    right_side_ = scale_.cwiseProduct(centred);
    return absl::OkStatus();
  }

  absl::Status Advance(RunContext& context) override {
    MERCER_RETURN_IF_ERROR(Prepare(context));
    if (state_.begun) {
      MERCER_RETURN_IF_ERROR(Iterate(context));
    } else {
      state_.begun = true;
      state_.b = Vector::Zero(right_side_.size());
      state_.residual = right_side_;
      state_.direction = right_side_;
    }
    if (!state_.stop.has_value() && right_side_.isZero(0)) {
      state_.stop = StopReason::kObjectiveZero;
    }
    return absl::OkStatus();
  }

  absl::Status LoadParts(ByteReader& /*reader*/, RunContext& context) override {
    return Prepare(context);
  }

  // The kernels are a function of the problem alone, so they are no part of the state.
  absl::Status Prepare(RunContext& context) {
    if (operator_ != nullptr) {
      return absl::OkStatus();
    }
    if (family_ == nullptr) {
      MERCER_ASSIGN_OR_RETURN(family_, MakeExactKernelFamily(problem_->tasks[0].inputs, all_->rows,
                                                             problem_->kernels, context));
    }
    MERCER_ASSIGN_OR_RETURN(operator_, family_->Combine(weights_, context));
    return absl::OkStatus();
  }

  // A column for each task, which is 0 at the rows of the others.
  Matrix ByTask(const Vector& x) const {
    Matrix columns = Matrix::Zero(x.size(), all_->num_tasks());
    for (Index i = 0; i < x.size(); ++i) {
      columns(i, all_->task[static_cast<size_t>(i)]) = x(i);
    }
    return columns;
  }

  // Of each row the value of the function of its task.
  Vector OwnValues(const Matrix& values) const {
    Vector own = options_.sharing * values.rowwise().sum();
    for (Index i = 0; i < own.size(); ++i) {
      own(i) += values(i, all_->task[static_cast<size_t>(i)]);
    }
    return own;
  }

  // The mean of each task by the costs of its rows.
  Vector Means(const Vector& x) const {
    Vector sums = Vector::Zero(all_->num_tasks());
    Vector costs = Vector::Zero(all_->num_tasks());
    for (Index i = 0; i < x.size(); ++i) {
      const Index t = all_->task[static_cast<size_t>(i)];
      sums(t) += all_->costs(i) * x(i);
      costs(t) += all_->costs(i);
    }
    return sums.cwiseQuotient(costs);
  }

  // x(i) -= factors(task of i) along(i).
  void SubtractByTask(const Vector& factors, const Vector& along, Vector& x) const {
    for (Index i = 0; i < x.size(); ++i) {
      x(i) -= factors(all_->task[static_cast<size_t>(i)]) * along(i);
    }
  }

  // P x: s'x / s's is the mean by the costs of x / s.
  void Project(Vector& x) const {
    Vector ratio = Vector::Zero(x.size());
    for (Index i = 0; i < x.size(); ++i) {
      ratio(i) = scale_(i) > 0 ? x(i) / scale_(i) : 0.0;
    }
    SubtractByTask(Means(ratio), scale_, x);
  }

  // By the combined operator, or, slower, in double from the data.
  absl::StatusOr<TaskProducts> Multiply(const Vector& x, bool exact, RunContext& context) const {
    const Matrix columns = ByTask(x);
    TaskProducts products{Matrix(x.size(), columns.cols()),
                          Matrix::Zero(inputs_->num_inputs(), columns.cols())};
    if (exact) {
      MERCER_RETURN_IF_ERROR(family_->CombinedProduct(weights_, columns, products.values, context));
    } else {
      MERCER_RETURN_IF_ERROR(operator_->Apply(columns, products.values, context));
    }
    MERCER_RETURN_IF_ERROR(AddPlanes(columns, products, context));
    return products;
  }

  // Sums of rows and columns element by element, which have the same bits wherever these lie.
  absl::Status AddPlanes(const Matrix& columns, TaskProducts& products, RunContext& context) const {
    const Index num_inputs = inputs_->num_inputs();
    const double weight = PlaneWeight(problem_->kernels, num_inputs);
    const Index chunk = num_inputs == 0 ? inputs_->size() : inputs_->chunk_rows();
    RowMatrix buffer;
    for (Index begin = 0; num_inputs > 0 && begin < inputs_->size(); begin += chunk) {
      MERCER_RETURN_IF_ERROR(context.CheckCancelled());
      const Index end = std::min(begin + chunk, inputs_->size());
      const FeatureRows::Chunk rows = inputs_->Read(begin, end, buffer);
      for (Index i = begin; i < end; ++i) {
        const Index t = all_->task[static_cast<size_t>(i)];
        products.slopes.col(t) += (columns(i, t) * weight) * rows.row(i - begin).transpose();
      }
    }
    for (Index begin = 0; num_inputs > 0 && begin < inputs_->size(); begin += chunk) {
      MERCER_RETURN_IF_ERROR(context.CheckCancelled());
      const Index end = std::min(begin + chunk, inputs_->size());
      const FeatureRows::Chunk rows = inputs_->Read(begin, end, buffer);
      for (Index t = 0; t < columns.cols(); ++t) {
        for (Index j = 0; j < num_inputs; ++j) {
          products.values.col(t).segment(begin, end - begin) += products.slopes(j, t) * rows.col(j);
        }
      }
    }
    return absl::OkStatus();
  }

  // out = P A x for an x = P x.
  absl::Status MultiplySystem(const Vector& x, bool exact, Vector& out, RunContext& context) const {
    MERCER_ASSIGN_OR_RETURN(const TaskProducts products,
                            Multiply(scale_.cwiseProduct(x), exact, context));
    out = scale_.cwiseProduct(OwnValues(products.values)) + x;
    Project(out);
    return absl::OkStatus();
  }

  // One conjugate gradient step.
  absl::Status Iterate(RunContext& context) {
    Vector product;
    MERCER_RETURN_IF_ERROR(MultiplySystem(state_.direction, false, product, context));
    const double curvature = state_.direction.dot(product);
    const double before = state_.residual.squaredNorm();
    if (!std::isfinite(curvature) || before == 0) {
      state_.stop = StopReason::kNumericalLimit;
      return absl::OkStatus();
    }
    if (curvature <= 0) {
      return NotPsdError(*problem_);
    }
    state_.b += (before / curvature) * state_.direction;
    state_.residual -= (before / curvature) * product;
    ++state_.iterations;
    const double after = state_.residual.squaredNorm();
    if (RelativeGapNow() > target_) {
      state_.direction = state_.residual + (after / before) * state_.direction;
      return absl::OkStatus();
    }
    // The recursion for the residual drifts; bounds that end a run are computed from b itself, and
    // the recursion starts anew.
    MERCER_RETURN_IF_ERROR(MultiplySystem(state_.b, true, product, context));
    state_.residual = right_side_ - product;
    state_.direction = state_.residual;
    const double exact = state_.residual.squaredNorm();
    if (exact > state_.last_exact / 2) {
      state_.stop = StopReason::kNumericalLimit;
    }
    state_.last_exact = exact;
    return absl::OkStatus();
  }

  // b'Sy - 1/2 b'Ab with P A b = P S y - r.
  double Dual() const { return (state_.b.dot(right_side_) + state_.b.dot(state_.residual)) / 2; }

  double RelativeGapNow() const {
    const double dual = Dual();
    return RelativeGap(dual + state_.residual.squaredNorm() / 2, dual);
  }

  StepReport Report() const override {
    StepReport report;
    report.stage = "solve";
    report.dual = Dual();
    report.primal = report.dual + state_.residual.squaredNorm() / 2;
    report.accuracy = RelativeGap(report.primal, report.dual);
    report.fraction = FractionOfGap(report.accuracy, problem_->relative_gap);
    report.active_kernels = weights_.size();
    report.support_vectors = (state_.b.array() != 0).count();
    report.inner_iterations = state_.iterations;
    report.has_model = true;
    report.stop = state_.stop;
    return report;
  }

  // All but the function.
  TrainedPoint PointOf(const Vector& coefficients, const Vector& biases, Matrix shares) const {
    TrainedPoint point;
    point.witness.arrays = {{"pairs", coefficients}, {"bias", biases}};
    point.summary.SetKernels(problem_->kernels);
    point.summary.kernel_weights = weights_.replicate(1, all_->num_tasks());
    ModelTable table;
    table.name = "group_shares";
    table.title = "share of each group of kernels in the squared values of the function";
    table.row_axis = "groups";
    for (const std::string& name : GroupsOf(problem_->kernels).names) {
      table.rows.push_back(name.empty() ? "kernels" : name);
    }
    table.rows.emplace_back("plane");
    table.values = std::move(shares);
    table.drawing = TableDrawing::kHeatMap;
    point.summary.tables.push_back(std::move(table));
    return point;
  }

  // Of each group, then of the plane, in the squared values that the dual variables a_t of each task
  // give at rows spread over all: groups + 1 x tasks. The values of so few rows cost little beside a
  // step.
  absl::StatusOr<Matrix> Shares(const Matrix& duals, const TaskProducts& products,
                                RunContext& context) const {
    std::vector<Index> rows;
    const Index stride = 1 + (all_->size() - 1) / kMostRowsOfShares;
    for (Index i = 0; i < all_->size(); i += stride) {
      rows.push_back(i);
    }
    const KernelGroups groups = GroupsOf(problem_->kernels);
    Matrix shares = Matrix::Zero(groups.num_groups() + 1, duals.cols());
    Matrix of_kernels(std::ssize(rows), weights_.size());
    for (Index t = 0; t < duals.cols(); ++t) {
      MERCER_RETURN_IF_ERROR(family_->Products(duals.col(t), {}, rows, of_kernels, context));
      Matrix values = Matrix::Zero(of_kernels.rows(), shares.rows());
      for (Index k = 0; k < weights_.size(); ++k) {
        values.col(groups.group_of[static_cast<size_t>(k)]) += weights_(k) * of_kernels.col(k);
      }
      if (products.slopes.rows() > 0) {
        values.rightCols(1) = products.values(rows, t) - values.rowwise().sum();
      }
      shares.col(t) = values.colwise().squaredNorm();
      const double total = shares.col(t).sum();
      shares.col(t) *= total > 0 ? 1 / total : 0.0;
    }
    return shares;
  }

  // The function of a task.
  ModelFunction FunctionOf(Index t, const Vector& dual, const Matrix& slopes, double bias) const {
    Vector coefficients = options_.sharing * dual;
    for (const Index place : all_->places[static_cast<size_t>(t)]) {
      coefficients(place) += dual(place);
    }
    ModelFunction function =
        MakeKernelFunction(*problem_->tasks[0].inputs, all_->rows, problem_->kernels,
                           weights_.cwiseProduct(family_->scales()), coefficients, bias);
    if (slopes.rows() > 0) {
      auto plane = std::make_shared<PlaneTerm>();
      plane->outputs = {0};
      plane->slopes = options_.sharing * slopes.rowwise().sum() + slopes.col(t);
      function.terms.push_back(std::move(plane));
    }
    return function;
  }

  const PairRidgeOptions options_;
  std::unique_ptr<const AllRows> all_;
  std::vector<Pair> pairs_;
  Vector weights_;     // of the kernels
  Vector scale_;       // s
  Vector right_side_;  // P S y
  std::unique_ptr<const FeatureRows> inputs_;
  std::unique_ptr<KernelFamily> family_;
  std::unique_ptr<KernelOperator> operator_;
};

// Learner's and verifier's kernels, and vectors, of which there are some for each task.
size_t EstimateMemory(const PairRidgeOptions& /*options*/, const ProblemShape& shape) {
  constexpr size_t kVectors = 20;
  constexpr size_t kVectorsOfTask = 8;
  return (LearnerFamilyBytes(shape) + VerifierFamilyBytes(shape) +
          ByteCount(shape.rows) *
              (ByteCount(kVectors) + ByteCount(kVectorsOfTask) * ByteCount(shape.tasks)) *
              ByteCount(sizeof(double)))
      .value();
}

// A row of numbers, and the names of its group, for each kernel at most.
size_t TableBytes(const PairRidgeOptions& /*options*/, const ProblemShape& shape) {
  constexpr size_t kFixed = 1024;
  return (ByteCount(kFixed) +
          ByteCount(shape.kernels + 1) * (ByteCount(2 * kMaxLabelBytes) +
                                          ByteCount(shape.outputs) * ByteCount(sizeof(double))))
      .value();
}

// A product with the kernel per step; steps as the square root of the condition number, for usual
// kernels.
LearnerWork EstimateWork(const PairRidgeOptions& options, const ProblemShape& shape) {
  LearnerWork work{KernelSumWork(shape), KernelSumWork(shape)};
  const double steps = 10 + std::sqrt(options.C * static_cast<double>(shape.rows));
  work.training[WorkKind::kEntries] +=
      std::min(steps, static_cast<double>(shape.rows)) * 2 * CountPairs(shape);
  return work;
}

}  // namespace

LearnerEntry Entry() {
  return MakeEntry<PairRidgeOptions, PairRidge>(
      {.name = "pair_ridge",
       .title = "Least squares by pairs of rows",
       .summary =
           "Least squares on kernels in groups and on a plane, for one task or several that share "
           "what they have in common. The example of a learner of a new shape, for tests alone.",
       .regression = true,
       .several_tasks = true,
       .kernel_groups = true,
       .witness_of_rows = false},
      {.verify = Verify,
       .estimate_memory = EstimateMemory,
       .estimate_work = EstimateWork,
       .table_bytes = TableBytes});
}

}  // namespace mercer::pair_ridge
