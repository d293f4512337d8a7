// Problem      As svm_solver.h, for a kernel that is a sum of kernels K_k = X_k X_k' of explicit
//              features.
// Source       Raguet, Fadili, Peyre: A generalized forward-backward splitting. SIAM J. Imaging
//              Sci. 6 (2013) 1199-1226; Rakotomamonjy, Chanda: lp-norm multiple kernel learning
//              with low-rank kernels, equation (6), Algorithm 2; docs/mathematics/lp_mkl.md,
//              section 8.
// Method       minimise  1/2 sum_k |gamma_k|^2 - targets'dual + epsilon |dual|_1  over (gamma,
//              dual) in an intersection of sets: in the split form  gamma_k = X_k'dual for every
//              kernel, sum dual = 0, and the box, each with an auxiliary copy of all variables; in
//              the merged form all equalities are one set, and K one kernel. |dual|_1 goes with the
//              box. A step is one of gradient descent, a projection onto every set, and the mean of
//              the copies. Everything is done in units in which kernels have diagonals of about 1,
//              and with a scale of the dual, tau: steps move it by about tau.
// Guarantees   The gap is that of the feasible dual next to the iterate, whose own objective would
//              prove nothing.
// Cost         Once the Gram matrix of the factor's rows, n r^2, and a factorisation per set. Per
//              iteration two passes over the rows of the factor, for all kernels together: the
//              blocks X_k are never formed. Memory of the split form: one copy of the dual per
//              kernel and two, m n numbers. Thousands of iterations for large costs.
#pragma once

#include <string_view>
#include <vector>

#include "core/base/encoding/saved_fields.h"
#include "core/solvers/factor/certified_factor_solver.h"

namespace mercer {

struct GfbOptions {
  bool merged = false;
  double scale = 0;  // tau; 0: the cube root of the largest cost, in units of kernel and targets
};

class GfbSvmSolver : public CertifiedFactorSolver {
 public:
  // Stops when the certified relative gap is at most `relative_gap`. A kernel that hands out no
  // blocks is one block.
  GfbSvmSolver(const FactoredKernel& kernel, double relative_gap, const GfbOptions& options)
      : CertifiedFactorSolver(kernel, relative_gap, {.max_iterations = 200'000, .max_stalls = 200}),
        options_(options) {}

  double NextCost() const override;

 protected:
  absl::Status Prepare(RunContext& context) override;
  absl::Status Begin(RunContext& context) override;
  absl::Status Advance(RunContext& context) override;
  void SaveIterate(ByteWriter& writer) const override;
  bool LoadIterate(ByteReader& reader) override;
  std::string_view name() const override {
    return options_.merged ? "generalized forward-backward, merged"
                           : "generalized forward-backward, split";
  }

 private:
  static constexpr int64_t kIterationsOfACheck = 50;
  struct Sizes {
    Index features;
    Index samples;
    Index sets;
  };
  // The iterate. The features of all kernels stand one below the other. Of the M copies of a
  // kernel's features only the one of the kernel's own set is moved by its projection; those of the
  // other sets stay equal to each other and are kept once.
  struct State {
    Vector features;        // gamma
    Vector own_features;    // in the copy of the kernel's own set
    Vector other_features;  // in every other copy
    Vector dual;            // in units of dual_unit_
    Matrix dual_copies;     // of the kernels' sets, of the sum's in the split form, and of the box
    int64_t since_certificate = 0;

    static void VisitFields(auto& visit, auto& self, const Sizes& of) {
      visit(Sized(self.features, of.features), Sized(self.own_features, of.features),
            Sized(self.other_features, of.features), Sized(self.dual, of.samples),
            Sized(self.dual_copies, of.samples, of.sets), self.since_certificate);
      visit.Require([&] {
        return self.features.allFinite() && self.own_features.allFinite() &&
               self.other_features.allFinite() && self.dual.allFinite() &&
               self.dual_copies.allFinite() && self.since_certificate < kIterationsOfACheck;
      });
    }
  };

  bool has_blocks() const { return !options_.merged && kernel().blocks != nullptr; }
  Index num_kernels() const;
  Index num_features() const;
  Sizes StateSizes() const { return {num_features(), num_samples(), num_sets()}; }
  Index num_sets() const { return num_kernels() + (options_.merged ? 1 : 2); }
  // X_k' (FeaturesOf) and X_k (OfRows), between the features of kernel k and the space of the
  // factor's columns, in the units of the iteration.
  Vector FeaturesOf(Index k, const ConstVectorRef& of_rows) const;
  Vector OfRows(Index k, const ConstVectorRef& features) const;
  Index FirstFeature(Index k) const;
  Index FeatureCount(Index k) const;
  absl::Status ProjectOnKernels(const Vector& dual_base, State& next, RunContext& context) const;
  void ProjectOnBox(const Vector& dual_base, State& next) const;

  const GfbOptions options_;
  double feature_unit_ = 1;  // of X
  double dual_unit_ = 1;
  double linear_scale_ = 1;      // of targets and epsilon
  std::vector<Matrix> factors_;  // of I + X_k'X_k
  Vector column_sums_;           // merged: X'1
  Vector of_sums_;               // merged: (I + X'X)^-1 X'1
  State state_;
};

}  // namespace mercer
