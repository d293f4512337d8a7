// Problem      As svm_solver.h, for a kernel K = X X' of explicit features.
// Source       Mehrotra: On the implementation of a primal-dual interior point method. SIAM J.
//              Optim. 2 (1992) 575-601; docs/mathematics/svm.md, section 4.
// Method       The dual is a sum of signed parts u in [0, c]: one of the label's sign for the hinge
//              loss, one of each sign for the epsilon-insensitive loss. Multipliers z of u >= 0 and
//              t of u <= c; Newton steps on u z = mu, (c - u) t = mu with predictor and corrector.
//              With D the sum of (z/u + t/(c-u))^-1 over a sample's parts, the step of the dual is
//              g - D (X v + db 1), where
//                (I + X'DX) v + X'D1 db = X'g,  1'DX v + 1'D1 db = 1'g + 1'dual,
//              one system of order r, solved with a step of refinement; rows are streamed, X and
//              D^-1 X are never formed.
// Guarantees   A certified feasible dual after every iteration; ends by itself (stop kPrecision)
//              when rounding lets the gap fall no further, at about 1e-9, or when a system cannot
//              be factored.
// Cost         Per iteration one weighted Gram matrix of all rows, n r^2, and about twelve passes
//              over them. 8 to 30 iterations. A start is certified, but the iterates cannot use it.
#pragma once

#include <string_view>
#include <vector>

#include "core/base/encoding/saved_fields.h"
#include "core/solvers/factor/certified_factor_solver.h"

namespace mercer {

class InteriorPointSvmSolver : public CertifiedFactorSolver {
 public:
  // Stops when the certified relative gap is at most `relative_gap`.
  InteriorPointSvmSolver(const FactoredKernel& kernel, double relative_gap)
      : CertifiedFactorSolver(kernel, relative_gap, {.max_iterations = 200, .max_stalls = 40}) {}

  double NextCost() const override;

 protected:
  absl::Status Prepare(RunContext& context) override;
  absl::Status Begin(RunContext& context) override;
  absl::Status Advance(RunContext& context) override;
  void SaveIterate(ByteWriter& writer) const override;
  bool LoadIterate(ByteReader& reader) override;
  std::string_view name() const override { return "interior point"; }

 private:
  // Values u of the parts and their multipliers, one entry for each part.
  struct Parts {
    Vector values;  // u
    Vector lower;   // z
    Vector upper;   // t
  };
  struct Sizes {
    Index parts;
    Index samples;
  };
  static bool IsInside(const Vector& values) { return values.allFinite() && values.minCoeff() > 0; }
  struct State {
    Parts parts;
    double bias = 0;
    Vector scores;  // K dual

    static void VisitFields(auto& visit, auto& self, const Sizes& of) {
      visit(Sized(self.parts.values, of.parts), Sized(self.parts.lower, of.parts),
            Sized(self.parts.upper, of.parts), Sized(self.scores, of.samples), Finite(self.bias));
      visit.Require([&] {
        return IsInside(self.parts.values) && IsInside(self.parts.lower) &&
               IsInside(self.parts.upper) && self.scores.allFinite();
      });
    }
  };
  struct Direction {
    Parts parts;
    double bias = 0;
  };
  struct System;

  Sizes StateSizes() const;
  Vector DualOf(const Vector& values) const;
  void TakeDual(const Vector& dual, Vector& values) const;
  Vector Slope(const State& state) const;
  double Complementarity(const Parts& parts) const;
  absl::Status FactorSystem(const State& state, System& system, RunContext& context) const;
  absl::Status SolveStep(const System& system, const Vector& goal, double goal_sum, Vector& change,
                         double& bias, RunContext& context) const;
  absl::Status FindDirection(const State& state, const System& system, const Parts& target,
                             Direction& direction, RunContext& context) const;
  double PrimalStep(const Parts& parts, const Direction& direction) const;
  double DualStep(const Parts& parts, const Direction& direction) const;
  Vector Sharpened(const State& state, double typical_diagonal) const;

  // The sample that each part belongs to.
  std::vector<Index> samples_;
  Vector signs_;
  Vector linear_;  // of the objective
  Vector costs_;
  State state_;
};

}  // namespace mercer
