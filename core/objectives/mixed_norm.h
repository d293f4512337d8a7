// Weights of kernels in groups, and the norm of functions that they stand for: the largest of the
// groups' sums of norms (l_infinity over groups, l1 within them).
//
//   norm       |f| = max_j s_j,              s_j = sum over the kernels k of group j of norms(k)
//   support    (sum_j sqrt(M_j))^2,          M_j = max over the kernels k of group j of energies(k)
//   weights    weights(k) = inner(k) / outer(j) with inner >= 0 of sum 1 in each group j, and outer
//              of sum 1 over the groups
//
// The optimum of a machine is convex in `inner`, which minimises it, and concave in `outer`, which
// maximises it. At a saddle point inner(k) > 0 only where energies(k) = M_j, outer is in proportion
// to sqrt(M_j), and every group has the same sum of norms. With one group it is l1-norm MKL.
// Source: docs/mathematics/mixed_norm_mkl.md.
//
// A group whose kernels are of low rank may have M_j = 0 at the optimum; outer(j) would be 0 and
// its part of the function not determined by the dual. So outer >= floor, which solves exactly the
// problem with the squared norm (1 - n floor) max_j s_j^2 + floor sum_j s_j^2, within the relative
// error (n - 1) floor for n groups.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/objectives/simplex_program.h"
#include "core/objectives/weight_regularizer.h"

namespace mercer {

struct MixedWeights {
  Vector inner;  // of each kernel
  Vector outer;  // of each group
};

// The floor for outer weights that goes with a relative gap.
double GroupFloor(double relative_gap, Index num_groups);

class MixedNorm : public WeightRegularizer {
 public:
  // 0 <= floor < 1 / groups.num_groups. Kernels come back when their energies are clearly above
  // those of their group, by a thousandth of the relative gap that is asked for.
  MixedNorm(SimplexGroups groups, double floor, double relative_gap = 1e-6);

  const SimplexGroups& groups() const { return groups_; }
  double floor() const { return floor_; }
  Index GroupOf(Index kernel) const { return groups_.group_of[static_cast<size_t>(kernel)]; }
  // Sums and largest entries of the kernels of each group; values >= 0.
  Vector SumsOf(ConstVectorRef values) const;
  Vector LargestOf(ConstVectorRef values) const;

  // inner(k) = 1 / size of the group, outer = 1 / number of groups.
  Vector Uniform() const;
  MixedWeights Split(const Vector& weights) const;
  Vector Combined(const MixedWeights& parts) const;
  // The weights in the direction of `inner` within each group, where that has an entry above 0, and
  // of `shares` over the groups, as far as the floor allows (water filling).
  Vector Combined(const Vector& inner, const Vector& shares) const;
  Vector OuterOf(const Vector& shares) const;
  // sqrt(sum over the group of inner(k) energies(k)): what outer weights are in proportion to.
  Vector SharesOf(const MixedWeights& parts, const Vector& energies) const;
  // inner(k) energies(k)^power, of sum 1 in each group; entries below 1e-14 are 0.
  Vector Multiplied(const MixedWeights& parts, const Vector& energies, double power) const;
  // Without the kernels whose inner weight is below `threshold` times the largest of their group.
  Vector Thresholded(const Vector& weights, double threshold) const;

  double HalfSquaredNorm(ConstVectorRef norms) const override;
  double Support(ConstVectorRef energies) const override;
  bool has_maximisers() const override { return groups_.num_groups > 1; }
  bool AreFixed(Index num_kernels) const override { return num_kernels == 1; }
  bool is_sparse() const override;
  Vector Normalized(const Vector& weights) const override;
  // inner(k) sqrt(energies(k)) and SharesOf. With exact machines and one group it cannot raise the
  // optimum; of several groups kernels come back as below.
  Vector ClosedForm(const Vector& weights, const Vector& energies) const override;
  // inner(k) energies(k)^2. Of a group with many kernels those go whose energies are small; kernels
  // of weight 0 whose energies are above all others of their group come back.
  Vector OverRelaxed(const Vector& weights, const Vector& energies) const override;
  double OverRelaxedRate() const override { return 1.0; }
  // With a power below 2 no kernels go that have a weight left.
  Vector Relaxed(const Vector& weights, const Vector& energies, double power) const override;
  std::vector<Index> Candidates(const Vector& weights, const Vector& energies) const override;
  // The saddle point of the model in inner and outer weights: the outer ones are eliminated, and
  // the inner ones minimise what is left over the simplices. No outer weight changes by more than a
  // factor of 5.
  absl::StatusOr<std::optional<Vector>> SolveModel(const WeightModel& model,
                                                   const std::vector<Index>& candidates,
                                                   const RunContext& context) const override;

 private:
  // At most so many kernels are in a group's first model, and so many come into one at a time.
  Index FirstOfGroup() const;
  Index AddedToGroup() const;
  // Kernels of weight 0 that are candidates get a small share of their group.
  void Enter(const Vector& weights, const Vector& energies, Vector& inner) const;
  bool IsAtFloor(const MixedWeights& parts, const Vector& energies, Index group) const;

  const SimplexGroups groups_;
  const double floor_;
  const double comes_back_;  // an energy against those of the kernels with weights
  Vector sizes_;             // of the groups
};

}  // namespace mercer
