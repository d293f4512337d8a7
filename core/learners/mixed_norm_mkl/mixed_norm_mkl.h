// Problem      min_{f, b}  1/2 max_j (sum_{k in j} |f_k|)^2 + C sum_i c_i l(y_i, f(x_i) + b),
//              f = sum_k f_k, over groups j of kernels k; c_i the weights of the rows; l the hinge,
//              the squared hinge or the logistic loss (classification), the epsilon-insensitive or
//              the square loss (regression), as core/objectives has them. With regularization=l1
//              all kernels are in one group (l1-norm MKL, SimpleMKL), with sum it is
//              1/2 sum_k |f_k|^2.
//              Dual: max  sum_i -conjugate_i(-a_i) - 1/2 (sum_j sqrt(max_{k in j} s_k))^2,
//              s_k = a'K_k a, sum a = 0; for the hinge the first sum is y'a, with a in the box. In
//              weights: min over lambda, max over a and gamma, of that sum less
//              1/2 sum_k lambda_k / gamma_j s_k, both on simplices.
//              With shared_weights the machines of several outputs share the weights: |f_k| is the
//              root of the sum over outputs of |f_ko|^2, s_k the sum of a_o'K_k a_o, and the losses
//              are those of all outputs, each of which has a bias of its own.
// Source       Nath, Dinesh, Raman, Bhattacharyya, Ben-Tal, Ramakrishnan: On the algorithmics and
//              applications of a mixed-norm based kernel learning formulation. NIPS 22 (2009)
//              844-852; docs/mathematics/mixed_norm_mkl.md.
// Notation     lambda -> inner, gamma -> outer, lambda_k / gamma_j -> weights (mixed_norm.h);
//              a -> dual (signed), s -> energies; f_k = weights(k) K_k a.
// Method       SVMs of fixed weights and steps of the weights in turn (solvers/mkl/mkl_loop.h): by
//              default Newton's method on the saddle point, on the kernels in use and those that
//              would come in; first-order methods (mixed_norm_methods.h, reduced_gradient.h). With
//              large groups the weights that the SVMs begin with are those of a joint interior
//              point (joint_start.h).
// Differences  (1) ends by the duality gap of the whole problem, of the best function and the best
//              dual of all machines; (2) gamma has a floor; (3) weights become 0, and what is left
//              of small ones is taken out at the end; (4) a group whose kernels are all 0 at the
//              training rows is an error.
// Guarantees   primal and dual of a report are bounds of the whole problem, all kernels included,
//              at every step.
// Cost         Per SVM one combination of the kernels in use, their energies, and the solver's
//              steps; 5 to 30 SVMs with Newton's method. The energies of all kernels when the
//              problem of those in use is solved to a tenth of the gap, for other methods always.
// Verified by  tests/core/learners/mixed_norm_mkl: fixtures of an independent cone solver, and the
//              properties of docs/mathematics/mixed_norm_mkl.md.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/kernels/gram/kernel_family.h"
#include "core/learners/mixed_norm_mkl/joint_start.h"
#include "core/learners/mixed_norm_mkl/options.h"
#include "core/objectives/mixed_norm.h"
#include "core/solvers/mkl/mkl_loop.h"
#include "core/solvers/svm/svm_problem.h"
#include "core/training/contract/resumable_learner.h"

namespace mercer::mixed_norm_mkl {

LearnerEntry Entry();

// Where a run is that begins with the joint interior point, or turns to it; kMerging while the
// first SVM at its weights is solved. kNone after that, and of all other runs.
enum class JointPhase : uint8_t { kNone, kSolving, kMerging };

struct MixedNormMklState {
  JointPhase joint = JointPhase::kNone;
  bool joint_done = false;
  MklState mkl;
  BestPair best;
  int64_t svm_solves = 0;
  int64_t since_pass = 0;  // SVMs since a pass over all kernels
  // Of methods with a memory: the gap of the pair when it last fell clearly, and the SVMs since.
  double clear_gap = kInfinity;
  int64_t fruitless = 0;
  // Where the run stands, while the SVM without small weights is solved.
  std::optional<MklState> before_trial;
  std::optional<StopReason> stop;

  static void VisitFields(auto& visit, auto& self, const StateSizes& of) {
    const MklSizes sizes{of.samples, of.kernels, of.outputs};
    visit(UpTo(self.joint, JointPhase::kMerging), self.joint_done, Nested(self.mkl, sizes),
          Nested(self.best, sizes), self.svm_solves, self.since_pass, NotNegative(self.clear_gap),
          self.fruitless, Nested(self.before_trial, sizes),
          UpTo(self.stop, StopReason::kObjectiveZero));
  }
};

class MixedNormMklLearner : public ResumableLearner<MixedNormMklState> {
 public:
  explicit MixedNormMklLearner(const MixedNormMklOptions& options)
      : ResumableLearner("mixed_norm_mkl", /*version=*/3), options_(options) {}

  absl::StatusOr<TrainedPoint> CurrentModel(RunContext& context) const override;
  absl::StatusOr<TrainedPoint> ConstantModel(RunContext& context) override;

 private:
  absl::Status Begin(const WarmStart* warm_start) override;
  absl::Status Advance(RunContext& context) override;
  StepReport Report() const override;
  StepReport JointReport() const;
  bool Fits(const MixedNormMklState& state) const override;
  void SaveParts(ByteWriter& writer) const override;
  absl::Status LoadParts(ByteReader& reader, RunContext& context) override;
  absl::Status MakeRegularizer();
  void MakeMethod();
  void MakeLoop();
  bool IsNewton() const {
    return options_.method == Method::kAuto || options_.method == Method::kNewton ||
           options_.method == Method::kInteriorPoint;
  }
  bool HasJointProblem() const;
  bool BeginsJointly() const;
  bool MayTurnJoint() const;
  void MakeJointStart();
  absl::Status AdvanceJointly(RunContext& context);
  absl::Status MergeJointStart(RunContext& context);
  Vector StartWeights(const WarmStart* warm_start) const;
  absl::Status Prepare(RunContext& context);
  bool MayWaitWithPass() const;
  absl::Status BoundSolution(RunContext& context);
  void TryWithoutSmallWeights();
  void EndTrial();
  bool IsExhausted() const;
  int64_t MostSolves() const;
  absl::StatusOr<TrainedPoint> PointAt(const BestPair& pair, RunContext& context) const;
  Matrix AtRows(const Vector& of_samples) const;

  const MixedNormMklOptions options_;
  std::unique_ptr<WeightRegularizer> regularizer_;
  const MixedNorm* norm_ = nullptr;             // the regulariser, unless it is the plain sum
  std::unique_ptr<WeightMethod> method_;        // null: steps of the loop itself
  std::vector<MachineRows> machines_;           // of several outputs
  SvmProblem svm_;                              // of all of them
  std::shared_ptr<const KernelFamily> family_;  // made by the first step
  std::optional<MklLoop> loop_;                 // on state_.mkl
  std::optional<JointStart> joint_;             // while state_.joint says so
};

}  // namespace mercer::mixed_norm_mkl
