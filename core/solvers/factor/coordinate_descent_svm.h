// Problem      As svm_solver.h, for a kernel K = X X' of explicit features.
// Source       Hsieh, Chang, Lin, Keerthi, Sundararajan: A dual coordinate descent method for
//              large-scale linear SVM. ICML 2008, Algorithm 3; Ho, Lin: Large-scale linear support
//              vector regression. JMLR 13 (2012) 3323-3348; docs/mathematics/svm.md, section 4.
// Method       minimise  1/2 |v|^2 - targets'dual + epsilon |dual|_1 + b s + rho/2 s^2,
//              v = X'dual, s = sum dual, exactly in one variable after the other, in random order;
//              variables at a bound whose slope exceeds the largest violation of the epoch before
//              are left out for a while. The multiplier of the sum, b <- b + rho s, gives the bias.
//              rho is the mean diagonal of K.
// Guarantees   The gap is that of the feasible dual next to the iterate. Large costs, for which the
//              method is slow, end it (stop kPrecision) when hundreds of epochs bring nothing. The
//              work is that of one thread.
// Cost         Per epoch two operations on each active row of X; X is formed once, in single
//              precision: as much memory as the factor.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "core/base/encoding/saved_fields.h"
#include "core/kernels/gram/factor_rows.h"
#include "core/solvers/factor/certified_factor_solver.h"

namespace mercer {

class CoordinateDescentSvmSolver : public CertifiedFactorSolver {
 public:
  // Stops when the certified relative gap is at most `relative_gap`. An iteration is an epoch.
  CoordinateDescentSvmSolver(const FactoredKernel& kernel, double relative_gap)
      : CertifiedFactorSolver(kernel, relative_gap, {.max_iterations = 20'000, .max_stalls = 150}) {
  }

  double NextCost() const override;

 protected:
  absl::Status Prepare(RunContext& context) override;
  absl::Status Begin(RunContext& context) override;
  absl::Status Advance(RunContext& context) override;
  void SaveIterate(ByteWriter& writer) const override;
  bool LoadIterate(ByteReader& reader) override;
  std::string_view name() const override { return "coordinate descent"; }

 private:
  struct Sizes {
    const SvmDualBox& box;
    Index stride;
  };
  struct State {
    Vector dual;
    Vector coefficients;  // v, of stride() entries
    double sum = 0;       // s
    double bias = 0;
    std::vector<Index> active;
    double last_violation = kInfinity;  // the largest of the epoch before

    static void VisitFields(auto& visit, auto& self, const Sizes& of) {
      visit(Sized(self.dual, of.box.lower.size()), Sized(self.coefficients, of.stride),
            Finite(self.sum), Finite(self.bias), NotNegative(self.last_violation), self.active);
      visit.Require([&] {
        return self.coefficients.allFinite() && AreAscending(self.active, self.dual.size()) &&
               (self.dual.array() >= of.box.lower.array()).all() &&
               (self.dual.array() <= of.box.upper.array()).all();
      });
    }
  };

  absl::Status RunEpoch(State& next, RunContext& context) const;
  double Visit(Index i, State& next, double* slack) const;

  std::unique_ptr<const FactorRows> features_;  // X
  Vector diagonal_;                             // of K
  double penalty_ = 1;                          // rho
  State state_;
};

}  // namespace mercer
