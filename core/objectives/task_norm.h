// Penalties of functions with components f_tk by tasks t and blocks k (variables, groups of them,
// kernels) that the tasks share. Norms and energies are matrices of tasks x blocks.
//
//   joint norms   v_k = (sum_t u_tk^q)^(1/q),                      u_tk = |f_tk|
//   norm          |u| = (sum_k (beta_k v_k)^p)^(1/p),              p, q >= 1
//   penalty       1/2 |u|^2 (squared), or |u| (plain; p = 1, q = 2)
//   dual norm     R = (sum_k (r_k / beta_k)^p*)^(1/p*),            r_k = (sum_t s_tk^(q*/2))^(1/q*)
//
// or, of blocks in groups j (p = 1, q = 2, beta = 1), the norm max_j sum_{k in j} v_k, whose dual
// norm is R = sum_j sqrt(M_j), M_j = max_{k in j} r_k^2 (mixed_norm.h). Here
// s_tk = a_t'K_tk a_t, the energies of dual variables a; an exponent's conjugate is p*, and
// that of 1 infinity. The problem is min C risk + penalty(u), its dual the largest
// linear(a) - 1/2 R^2, or linear(a) subject to R <= 1.
//
// Machines of fixed weights w_tk, the kernel of task t being sum_k w_tk K_tk, give f_tk = w_tk K_tk
// a_t and u_tk = w_tk sqrt(s_tk). At the optimum w_tk = d_k e_tk / beta_k^2 with
//
//   d_k = (beta_k v_k / |u|)^(2-p) = (r_k / (beta_k R))^(p*-2),   plain: d_k = beta_k v_k
//   e_tk = (u_tk / v_k)^(2-q) = (sqrt(s_tk) / r_k)^(q*-2)
//
// Source: docs/mathematics/sparse_multitask_svm.md.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "core/objectives/mixed_norm.h"

namespace mercer {

enum class TaskNormForm : uint8_t { kSquared, kPlain };

// Immutable, safe for concurrent use.
class TaskNorm {
 public:
  // Squared, p = 1, q = 2, all blocks weigh 1.
  TaskNorm() = default;
  // Errors: kInvalidArgument when an exponent is below 1 or not finite, when the plain form has
  // others than 1 and 2, when a block weight is not positive and finite. Without block weights they
  // are 1.
  static absl::StatusOr<TaskNorm> Make(TaskNormForm form, double p, double q,
                                       Vector block_weights = {});
  // Squared, of blocks in groups. `groups` is not null.
  static TaskNorm OfGroups(std::shared_ptr<const MixedNorm> groups);

  TaskNormForm form() const { return form_; }
  double p() const { return p_; }
  double q() const { return q_; }
  // p = 1 and q = 2: one weight d_k of a simplex (or, of the plain form, any d_k >= 0) for each
  // block, whose optimum is where no s_k / beta_k^2, s_k = sum_t s_tk, is above R^2.
  bool is_joint() const { return p_ == 1 && q_ == 2; }
  // Null where all blocks are in one group.
  const MixedNorm* groups() const { return groups_.get(); }
  Index num_groups() const { return groups_ != nullptr ? groups_->groups().num_groups : 1; }
  Index GroupOf(Index block) const { return groups_ != nullptr ? groups_->GroupOf(block) : 0; }
  // Beta of so many blocks.
  Vector BlockWeights(Index num_blocks) const;
  bool Fits(Index num_blocks) const;

  Vector JointNorms(const ConstMatrixRef& norms) const;
  double Penalty(const ConstMatrixRef& norms) const;
  double DualNorm(const ConstMatrixRef& energies) const;
  // The largest value of the dual objective on the ray from 0 to dual variables of this linear part
  // (>= 0) and dual norm.
  double DualValue(double linear, double dual_norm) const;

  // Where alternation begins: every block and task weighs alike.
  Matrix FirstWeights(Index num_tasks, Index num_blocks) const;
  // The weights that follow from the solution of machines, whose norms and energies these are: at a
  // level whose exponent is at most 2 from the norms, which never raises the penalised risk, else
  // from the energies, which never lowers the dual. Not for groups.
  Matrix NextWeights(const ConstMatrixRef& norms, const ConstMatrixRef& energies) const;

 private:
  friend class ConcaveTaskNorm;

  TaskNormForm form_ = TaskNormForm::kSquared;
  double p_ = 1;
  double q_ = 2;
  Vector block_weights_;  // empty: ones
  std::shared_ptr<const MixedNorm> groups_;
};

// Penalties that are concave in the joint norms (q = 2):
//
//   S = sum_k g(v_k),  g(v) = (v + smoothing)^p - smoothing^p,  p in (0, 1);  1/2 S^2, or S.
//
// Since g is concave on v >= 0, each lies below a penalty with p = 1 and block weights that touches
// it at given norms: with beta_k = g'(v_k) and theta = sum_k beta_k v_k / S in [p, 1],
//
//   plain    S(u) <= S + sum_k beta_k (u_k - v_k)
//   squared  S(u)^2 <= (1 - theta) S^2 + (sum_k beta_k u_k)^2 / theta
//
// the last by the convexity of the square. Minimising risk and upper bound in turn never raises
// risk and penalty, and rests only where the gap of the weighted problem is 0 at its own norms: a
// stationary point, which need not be the global minimum.
class ConcaveTaskNorm {
 public:
  // Errors: kInvalidArgument when p is not in (0, 1) or smoothing is not positive and finite.
  static absl::StatusOr<ConcaveTaskNorm> Make(TaskNormForm form, double p, double smoothing);

  TaskNormForm form() const { return form_; }
  double p() const { return p_; }
  double smoothing() const { return smoothing_; }

  double Sum(const ConstVectorRef& joint_norms) const;  // S
  double Penalty(const ConstVectorRef& joint_norms) const;
  // The upper bound that touches at these joint norms.
  TaskNorm Majorizer(const ConstVectorRef& joint_norms) const;

 private:
  ConcaveTaskNorm(TaskNormForm form, double p, double smoothing)
      : form_(form), p_(p), smoothing_(smoothing) {}

  TaskNormForm form_;
  double p_;
  double smoothing_;
};

}  // namespace mercer
