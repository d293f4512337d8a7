// Problem      min over W (d x T), w (d), b (T) of
//                sum_t sum_i c(i,t) l(y(i,t), f(i,t)) + lambda_p sum_g u(g) N_p(W_g)
//                                                     + lambda_s sum_g u(g) N_s(w_g),
//                f(:,t) = Phi_t (W(:,t) + w) + b(t) 1:
//              a linear model of T tasks on the columns of explicit features, chosen by groups g; W
//              is specific to each task, w is shared. The restricted master of learning with
//              infinitely many features: groups may be appended between solves.
// Source       Rakotomamonjy, Flamary, Yger: Learning with infinitely many features. Machine
//              Learning 91 (2013) 43-66, equation (2) with a bias;
//              docs/mathematics/infinite_features.md, sections 1 and 2.
// Certificate  Every solver's point is certified by the same routine, CertifyGroupProblem (section 5
//              there).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

#include "core/base/encoding/saved_fields.h"
#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/objectives/block_penalty.h"
#include "core/objectives/loss.h"
#include "core/solvers/group/feature_columns.h"

namespace mercer {

// The rows of one task or output. Outputs on the same rows (one against all) share their columns,
// which saves memory and passes.
struct GroupTask {
  const FeatureColumns* columns = nullptr;  // must outlive the problem
  Vector targets;                           // -1 and +1 for margin losses
  Vector costs;                             // c(i,t) >= 0
};

// The penalty of one part: lambda > 0 times the norm; infinity leaves the part out.
struct GroupPenalty {
  BlockNorm norm;
  double lambda = kInfinity;
};

struct GroupProblem {
  // The square, squared hinge or logistic loss; some solvers take the hinge loss too.
  std::shared_ptr<const Loss> loss;
  std::vector<GroupTask> tasks;
  // Group g has the columns [group_begin[g], group_begin[g + 1]).
  std::vector<Index> group_begin = {0};
  Vector group_weights;  // u(g) > 0
  GroupPenalty specific;
  GroupPenalty shared;
  bool bias = true;  // b = 0 otherwise

  Index num_tasks() const { return static_cast<Index>(tasks.size()); }
  Index num_groups() const { return static_cast<Index>(group_begin.size()) - 1; }
  Index num_columns() const { return group_begin.back(); }
  Index first_column(Index group) const { return group_begin[static_cast<size_t>(group)]; }
  Index group_size(Index group) const { return first_column(group + 1) - first_column(group); }
  bool has_specific() const { return specific.lambda < kInfinity; }
  bool has_shared() const { return shared.lambda < kInfinity; }
  const GroupTask& task(Index t) const { return tasks[static_cast<size_t>(t)]; }
  // Tasks that share their columns, in order.
  std::vector<std::vector<Index>> TasksByColumns() const;

  // Whether the problem makes sense. Errors: kInvalidArgument with what is wrong: sizes, values
  // that are not finite, targets other than -1 and +1, penalties.
  absl::Status Check() const;
};

struct GroupPoint {
  Matrix specific;  // d x T; 0 without that part
  Vector shared;    // d; 0 without that part
  Vector bias;      // T

  static GroupPoint Zero(Index columns, Index tasks);
  // W + w 1': the weights of the scores.
  Matrix Weights() const { return specific.colwise() + shared; }
  // Whether its sizes are those of the problem.
  bool Fits(const GroupProblem& problem) const;

  static void VisitFields(auto& visit, auto& self) {
    visit(Finite(self.specific), Finite(self.shared), Finite(self.bias));
  }
};

// The penalties' part of the objective.
double PenaltyValue(const GroupProblem& problem, const GroupPoint& point);
// The proximal operators of the penalties times `weights`, in place of those of the groups.
void ApplyPenaltyProx(const GroupProblem& problem, const Vector& weights, GroupPoint& point);

// What one pass over the columns says about a point.
struct GroupEvaluation {
  std::vector<Vector> scores;  // by tasks, with bias
  // The slopes of the loss in the scores: the search for further groups is by their products.
  std::vector<Vector> slopes;
  Matrix positive;      // d x T: the products of the columns with the positive slopes
  Matrix negative;      // with the negative ones; the sum of both is the gradient of the risk in W
  Vector positive_sum;  // T: of the slopes
  Vector negative_sum;
  double risk = 0;
  double penalty = 0;

  double objective() const { return risk + penalty; }
};

// A pure function of problem and point: same bits for every number of threads. One pass. Errors:
// kCancelled.
absl::Status EvaluateGroupProblem(const GroupProblem& problem, const GroupPoint& point,
                                  GroupEvaluation& evaluation, RunContext& context);

// The same, where only columns of weight 0 have been appended to the `known` ones since the
// evaluation was made. With one task to its columns only theirs are read. Same bits as those of
// EvaluateGroupProblem.
absl::Status ExtendEvaluation(const GroupProblem& problem, const GroupPoint& point, Index known,
                              GroupEvaluation& evaluation, RunContext& context);

// Sums and products for slopes that were set by hand. One pass. Errors: kCancelled.
absl::Status EvaluateSlopes(const GroupProblem& problem, GroupEvaluation& evaluation,
                            RunContext& context);

// Bounds of the optimum over the groups of the problem.
struct GroupCertificate {
  double primal = kInfinity;  // the objective at the point
  double dual = -kInfinity;   // of a feasible dual point
  // The largest ratio over the groups, GroupRatio() of their products with the balanced slopes.
  double largest_ratio = 0;
  double Gap() const { return primal - dual; }
  // The relative gap: Gap() / max(|primal|, |dual|, 1e-300).
  double RelativeGap() const;
};

// From the slopes of the evaluation: balanced so that they sum to 0 over each task, scaled so that
// they are feasible. `other_ratio`: the largest ratio of further groups, by BalancedSlopes; the
// bound is then that of the optimum with those groups too. Errors: kCancelled.
absl::StatusOr<GroupCertificate> CertifyGroupProblem(const GroupProblem& problem,
                                                     const GroupEvaluation& evaluation,
                                                     double other_ratio, const RunContext& context);

// The slopes that sum to 0 over each task when there is a bias, by tasks: what a group's ratio is
// made of.
std::vector<Vector> BalancedSlopes(const GroupProblem& problem, const GroupEvaluation& evaluation);
// The dual norm of a group's products with the balanced slopes, one column per task, as a share of
// its penalty of weight `weight`, for both penalties: above 1, its weights do not stay 0.
double GroupRatio(const GroupProblem& problem, const ConstMatrixRef& products, double weight);

// How accurate a solver must be before it stops.
struct GroupAccuracy {
  double relative_gap = 1e-6;
  // The solver stops as well when a step of Newton's method lowers the objective by no more than
  // this share of it; 0: never. This is for solves between which groups are appended, whose gap
  // says little. The other methods, whose steps are small, take no notice.
  double relative_decrease = 0;
};

enum class GroupStop {
  kRunning,
  kGap,        // the certified gap is small enough
  kDecrease,   // the last step made little progress
  kPrecision,  // no step makes progress any more
};

// Not thread-safe. Same bits for every slicing into steps, save and restore, and number of threads.
class GroupSolver {
 public:
  virtual ~GroupSolver() = default;

  // Begins at a point of this problem; its biases are replaced by the best ones. Errors of this and
  // the next: kInvalidArgument (Check(), a loss that this solver does not take, samples of one
  // class with the logistic loss and a bias), kCancelled.
  absl::Status Start(GroupProblem problem, GroupPoint point, RunContext& context);
  // The problem with groups appended, whose columns have been appended before: goes on from the
  // point, the new weights 0, and keeps what it knows of the other groups. The first groups must be
  // those that there were. When it fails, the solver keeps its point, and only this may be called
  // again.
  absl::Status Extend(std::vector<Index> group_begin, Vector group_weights, RunContext& context);
  // One outer iteration; nothing when it has stopped. Errors: kCancelled, which leaves a state that
  // may be saved or stepped on.
  absl::Status Step(RunContext& context);
  absl::Status Run(RunContext& context);

  // May be changed at any time; a solver that has stopped goes on when it is not accurate enough.
  void SetAccuracy(const GroupAccuracy& accuracy);
  GroupStop stop() const { return progress_.stop; }
  int64_t iterations() const { return progress_.iterations; }
  // How many times the n x d matrix of columns was read, all tasks together being one; an update of
  // the Gram matrix counts as one too.
  int64_t passes() const { return progress_.passes; }

  const GroupProblem& problem() const { return problem_; }
  // What follows belongs to the same point.
  const GroupPoint& point() const { return progress_.point; }
  const GroupEvaluation& evaluation() const { return evaluation_; }
  // The bounds at point(), with the best dual point that was seen for these groups.
  const GroupCertificate& certificate() const { return progress_.certificate; }

  std::string SaveState() const;
  // `problem` as it was when the state was saved. Errors: kInvalidArgument when the state does not
  // fit it, kCancelled.
  absl::Status RestoreState(GroupProblem problem, std::string_view state, RunContext& context);

 protected:
  // Makes one iteration, which ends with MoveTo().
  virtual absl::Status Iterate(RunContext& context) = 0;
  // Prepares for the columns from `known` on (0: for a start) and for the next point, which is not
  // yet point(). Called last, when nothing else can fail any more.
  virtual absl::Status Prepare(Index known, const GroupPoint& point,
                               const GroupEvaluation& evaluation, RunContext& context) = 0;
  virtual absl::Status CheckProblem(const GroupProblem& problem) const = 0;
  // Replaces the slopes of the loss at the scores, which are not unique at its kinks, by some that
  // suit the certificate better.
  virtual absl::Status ChooseSlopes(GroupEvaluation& /*evaluation*/, RunContext& /*context*/) {
    return absl::OkStatus();
  }
  virtual void SaveExtra(ByteWriter& writer) const = 0;
  virtual bool LoadExtra(ByteReader& reader) = 0;
  virtual std::string_view name() const = 0;

  // Moves to the next point, which is evaluated already. A step that may raise the objective does
  // not end the solve by a small decrease. Errors: kCancelled, which moves nothing.
  enum class Objective { kFalls, kMayRise };
  absl::Status MoveTo(GroupPoint point, GroupEvaluation evaluation, Objective objective,
                      const RunContext& context);
  // The best biases for the weights of the point, from the scores of its evaluation. Errors:
  // kCancelled.
  absl::Status OptimizeBias(GroupPoint& point, const GroupEvaluation& evaluation,
                            const RunContext& context) const;
  void EndForPrecision() { progress_.stop = GroupStop::kPrecision; }
  void CountPass() { ++progress_.passes; }
  const GroupAccuracy& accuracy() const { return accuracy_; }
  absl::Status Evaluate(const GroupPoint& point, GroupEvaluation& evaluation, RunContext& context);

 private:
  // What is saved besides the method's own part.
  struct Progress {
    GroupPoint point;
    GroupCertificate certificate;  // of it the dual bound is saved
    GroupStop stop = GroupStop::kRunning;
    double decrease = kInfinity;  // of the objective by the last step, as a share
    int64_t iterations = 0;
    int64_t passes = 0;

    static void VisitFields(auto& visit, auto& self, const GroupProblem& of) {
      visit(self.point, self.certificate.dual, UpTo(self.stop, GroupStop::kPrecision),
            self.decrease, self.iterations, self.passes);
      // A bound that is infinite or no number would be taken for one that is reached.
      visit.Require([&] { return self.point.Fits(of) && self.certificate.dual < kInfinity; });
    }
  };

  void Judge();

  GroupAccuracy accuracy_;
  GroupProblem problem_;
  GroupEvaluation evaluation_;
  Progress progress_;
};

enum class GroupMethod { kNewton, kAdmm, kFista };

std::string_view GroupMethodName(GroupMethod method);
std::unique_ptr<GroupSolver> MakeGroupSolver(GroupMethod method);

}  // namespace mercer
