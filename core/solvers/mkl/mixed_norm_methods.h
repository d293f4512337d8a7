// First-order methods for the weights of a mixed norm (objectives/mixed_norm.h): closed forms and
// mirror descent. Both take one machine for a step, and end by the certificate of the loop.
//
// Source  docs/mathematics/mixed_norm_mkl.md, section 4; the mirror descent with alternation is the
//         paper's, except that every inner run begins at the weights at hand.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/base/encoding/saved_fields.h"
#include "core/objectives/mixed_norm.h"
#include "core/solvers/mkl/weight_method.h"

namespace mercer {

// inner(k) <- inner(k) energies(k)^power within groups, outer(j) in proportion to sqrt(W_j), W_j =
// sum over the group of inner(k) energies(k). Power 1/2 minimises the primal over the weights of
// groups; 2 takes about a quarter of the machines, and may cycle: the power is halved, to no less
// than 1/2, whenever primal - dual, of all kernels, has not gone below its least for three machines.
// Entries below 1e-14 of a group's sum become 0 for good.
class ClosedFormMethod : public WeightMethod {
 public:
  // `norm` must outlive the method.
  ClosedFormMethod(const MixedNorm& norm, double power);

  Vector Next(const SolvedMachine& machine, double target) override;
  void Save(ByteWriter& writer) const override { WriteFields(state_, writer); }
  absl::Status Load(ByteReader& reader) override;

 private:
  struct State {
    double power = 2;
    double least_gap = kInfinity;
    int64_t stalled = 0;

    static void VisitFields(auto& visit, auto& self) {
      visit(self.power, self.least_gap, self.stalled);
      visit.Require(
          [&] { return self.power > 0 && self.power <= 2 && !std::isnan(self.least_gap); });
    }
  };

  const MixedNorm& norm_;
  State state_;
};

// l(k) += kappa sqrt(log(largest group) / t) rho(k), where rho(k) is energies(k) / outer(j) against
// the largest one, and inner = exp(l) normalised in each group: mirror descent with the entropy.
// Alternating, outer weights change when the bounds of the problem with fixed outer weights are
// within a quarter of the gap of the run, and t begins anew; else they change after every machine.
class MirrorDescentMethod : public WeightMethod {
 public:
  // `norm` must outlive the method.
  MirrorDescentMethod(const MixedNorm& norm, double kappa, bool alternating);

  Vector Next(const SolvedMachine& machine, double target) override;
  void Save(ByteWriter& writer) const override { WriteFields(state_, writer, NumKernels()); }
  absl::Status Load(ByteReader& reader) override;

 private:
  struct State {
    Vector logarithms;  // l; empty before the first machine
    int64_t steps = 0;  // t
    // With the outer weights at hand.
    double upper = kInfinity;
    double lower = -kInfinity;

    static void VisitFields(auto& visit, auto& self, Index kernels) {
      visit(SizedOrEmpty(self.logarithms, kernels), self.steps, self.upper, self.lower);
      visit.Require([&] {
        return self.logarithms.allFinite() && !std::isnan(self.upper) && !std::isnan(self.lower);
      });
    }
  };

  Index NumKernels() const { return static_cast<Index>(norm_.groups().group_of.size()); }
  // Whether the problem with these outer weights is solved well enough.
  bool IsInnerDone(const SolvedMachine& machine, const MixedWeights& parts, double target);
  void StepLogarithms(const MixedWeights& parts, const Vector& energies);

  const MixedNorm& norm_;
  const double kappa_;
  const bool alternating_;
  double log_size_ = 0;  // of the largest group
  State state_;
};

}  // namespace mercer
