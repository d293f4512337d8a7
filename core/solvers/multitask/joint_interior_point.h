// Problem      The dual of a multi-task problem (multitask_problem.h) with p = 1 and q = 2, on some
//              working blocks k:
//                min 1/2 r - 1'alpha   s.t.  e_k = sum_t alpha_t'Y K_tk Y alpha_t / beta_k^2 <= r,
//                0 <= alpha <= costs, y_t'alpha_t = 0 for every task t; plain form: r = 1.
//              The multipliers of e_k <= r are d_k / 2, those of the equations the biases b_t: the
//              weights of blocks and the functions come with the dual, and no machine of fixed
//              weights is solved. Of blocks in groups j, with outer weights g_j >= floor of sum 1:
//                min 1/2 sum_j r_j - 1'alpha   s.t.  e_k / g_j <= r_j for the blocks k of group j,
//              which is jointly convex in alpha and g.
// Source       Mehrotra: On the implementation of a primal-dual interior point method. SIAM J.
//              Optim. 2 (1992) 575-601; docs/mathematics/sparse_multitask_svm.md.
// Notation     lower, upper: multipliers of alpha >= 0 and alpha <= costs; slack: r_j - e / g_j;
//              levels: r; shares: d, of sum 1 in each group of the squared form; outer: g, whose
//              multipliers are at_floor (of g >= floor) and outer_level (of their sum), over 2.
// Method       Predictor and corrector. Per task the step in alpha is eliminated (task_system.h);
//              what is left is one positive definite system in the changes of d and b, and the
//              others by its Schur complement, of twice the number of groups. (The n x n system
//              with d eliminated as well has entries d / z that grow without bound for the blocks
//              that are selected.)
// Cost         Per iteration sum_t n_t^2 (m + n_t / 3) + n_t m^2, or n_t c^2 for c columns that are
//              few, + m^3 / 3; 10 to 30 iterations.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include <Eigen/LU>

#include "core/base/encoding/bytes.h"
#include "core/base/encoding/saved_fields.h"
#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/solvers/multitask/multitask_problem.h"
#include "core/solvers/multitask/task_system.h"

namespace mercer {

enum class InteriorPointStop : uint8_t { kRunning, kTolerance, kPrecision, kIterationLimit };

// Not thread-safe. Same bits for every slicing into iterations, save and restore, and number of
// threads.
class JointInteriorPoint {
 public:
  // Of a checked problem, which must outlive this and have a task of both classes; `blocks` are the
  // working ones, ascending, at least one.
  JointInteriorPoint(const MultitaskProblem& problem, std::vector<Index> blocks);

  // Errors of both: kCancelled, after which Start, StartFrom or Load must follow.
  absl::Status Start(RunContext& context);
  absl::Status Iterate(RunContext& context);
  // Begins near where another one is, whose problem has the same rows of cost > 0, or else as
  // Start: at products whose sum is at least `products` of 1'alpha, none much less than the others.
  // Where costs differ, alpha inside its box grows by this power of what its cost does.
  // Errors: kCancelled.
  absl::Status StartFrom(const JointInteriorPoint& other, double products, double growth,
                         RunContext& context);
  // Complementarity and residuals, as a share of 1'alpha, at which it stops. One that has stopped
  // for a larger tolerance goes on.
  void SetTolerance(double tolerance);

  InteriorPointStop stop() const { return state_.stop; }
  int64_t iterations() const { return state_.iterations; }
  // The sum of all products that go to 0, as a share of 1'alpha.
  double products() const;
  const std::vector<Index>& blocks() const { return blocks_; }
  // Signed dual variables of all tasks; not feasible to the last digit.
  std::vector<Vector> Duals() const;
  // Of the working blocks in the function: d / (beta^2 g), 0 where the slack says that the block is
  // not selected.
  Vector Weights() const;
  // Of each group: what no energy over beta^2 of its blocks is above at the solution, r g.
  Vector EnergyLevels() const;
  // About how many floating point operations an iteration takes.
  double IterationCost() const;

  void Save(ByteWriter& writer) const;
  // Errors: kInvalidArgument, kCancelled.
  absl::Status Load(ByteReader& reader, RunContext& context);

 private:
  struct Sizes {
    Index rows;
    Index blocks;
    Index tasks;
    Index groups;
  };
  struct State {
    Vector alpha;  // of the rows of all tasks that have both classes, one task after the other
    Vector lower;
    Vector upper;
    Vector shares;
    Vector slack;
    Vector biases;
    Vector levels;    // of each group, as all below
    Vector outer;     // 1 of a single group
    Vector at_floor;  // 0 of a single group
    double outer_level = 0;
    double share_of_costs = 1;  // that alpha <= costs holds for
    int64_t iterations = 0;
    int64_t stalled = 0;         // iterations since the measure fell clearly
    double measure = kInfinity;  // then
    InteriorPointStop stop = InteriorPointStop::kRunning;

    static void VisitFields(auto& visit, auto& self, const Sizes& of) {
      visit(Sized(self.alpha, of.rows), Sized(self.lower, of.rows), Sized(self.upper, of.rows),
            Sized(self.shares, of.blocks), Sized(self.slack, of.blocks),
            Sized(self.biases, of.tasks), Sized(self.levels, of.groups),
            Sized(self.outer, of.groups), Sized(self.at_floor, of.groups), Finite(self.outer_level),
            NotNegative(self.share_of_costs), self.iterations, self.stalled,
            NotNegative(self.measure), UpTo(self.stop, InteriorPointStop::kIterationLimit));
      visit.Require([&] {
        const auto inside = [](const Vector& values) {
          return values.allFinite() && (values.array() > 0).all();
        };
        return inside(self.alpha) && inside(self.lower) && inside(self.upper) &&
               inside(self.shares) && inside(self.slack) && self.biases.allFinite() &&
               self.share_of_costs > 0 && self.share_of_costs <= 1 && self.levels.allFinite() &&
               inside(self.outer) && self.at_floor.allFinite() &&
               (self.at_floor.array() >= 0).all();
      });
    }
  };
  // By how much the conditions of optimality are missed, complementarity apart.
  struct Residual {
    Vector stationarity;  // of alpha
    Vector balance;       // of each task
    Vector slack;
    Vector simplex;        // of the shares of each group
    Vector outer;          // of the outer weights
    double outer_sum = 0;  // over 1
  };
  // What is left, as shares of 1'alpha.
  struct Errors {
    double products;
    double margins;
    double slacks;
    double OfEquations() const { return margins + slacks; }
  };
  struct Direction {
    Vector alpha;
    Vector lower;
    Vector upper;
    Vector shares;
    Vector slack;
    Vector biases;
    Vector levels;
    Vector outer;
    Vector at_floor;
    double outer_level = 0;
  };
  // What the complementary products are to change by.
  struct Goal {
    Vector lower;
    Vector upper;
    Vector shares;
    Vector outer;
  };
  // The system in the changes of shares and biases, and what joins them to those of the groups:
  // outer weights (of several groups), over themselves, levels, and the outer level.
  struct Reduced {
    Vector scaling;
    Matrix factor;
    Matrix sides;   // the columns of the groups' changes
    Matrix solved;  // the system's solutions for them
    Eigen::PartialPivLU<Matrix> complement;
  };

  bool is_squared() const { return problem_.norm.form() == TaskNormForm::kSquared; }
  // Whether outer weights are unknown.
  bool has_outer() const { return num_groups_ > 1; }
  Index GroupAt(Index working_block) const { return group_of_[static_cast<size_t>(working_block)]; }
  // Numbers of groups at their working blocks, and the other way around.
  Vector AtBlocks(const Vector& of_groups) const;
  Vector SumsOfGroups(const Vector& of_blocks) const;
  // e / g of the working blocks.
  Vector Ratios() const;
  double floor() const;
  Vector FloorRoom() const;
  Sizes StateSizes() const;
  Index num_working() const { return static_cast<Index>(blocks_.size()); }
  Index num_active() const { return static_cast<Index>(tasks_.size()); }
  // The rows of an active task among those of all.
  auto Rows(const Vector& values, Index t) const {
    return values.segment(begin_[static_cast<size_t>(t)],
                          systems_[static_cast<size_t>(t)].num_rows());
  }
  Vector Energies() const;
  absl::Status SetPoint(const Vector& alpha, RunContext& context);
  // Where it begins (joint_start.cc).
  State AtCosts(const JointInteriorPoint& other, double share, double products, double growth);
  absl::Status RaiseCosts(RunContext& context);
  double Aim(double products, double total) const;
  // Shares, slack and level from those of these blocks, to products of at least `aim`.
  void TakeBlocks(const std::vector<Index>& blocks, const State& from, double aim,
                  State& next) const;
  Residual FindResidual() const;
  double Complementarity(const State& state) const;
  Errors ErrorsOf(const Residual& residual) const;
  bool Lag(const Errors& errors) const;
  void Judge(const Errors& errors);
  absl::Status Factor(Reduced& reduced, RunContext& context);
  absl::Status FactorGroups(const Matrix& of_alpha, Reduced& reduced, RunContext& context) const;
  absl::Status SolveReduced(const Reduced& reduced, MatrixRef x, RunContext& context) const;
  absl::Status FindDirection(const Residual& residual, const Reduced& reduced, const Goal& goal,
                             Direction& direction, RunContext& context) const;
  double LongestStep(const Direction& direction) const;
  State Moved(const Direction& direction, double step) const;
  bool IsInside(const State& state) const;

  const MultitaskProblem& problem_;
  const std::vector<Index> blocks_;
  std::vector<Index> group_of_;  // of each working block, among those that have one
  Index num_groups_ = 0;
  std::vector<Index> tasks_;         // those with both classes
  std::vector<TaskSystem> systems_;  // of each
  std::vector<Index> begin_;         // the first of its rows
  Vector all_costs_;
  Vector costs_;  // the share of them that alpha stays below
  double tolerance_ = 1e-3;
  State state_;
};

}  // namespace mercer
