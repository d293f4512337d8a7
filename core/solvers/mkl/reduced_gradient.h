// SimpleMKL: the weights d of one group of kernels, on a simplex, by a reduced gradient and a line
// search.
//
// Problem     min_d J(d), J(d) the optimum of the machine of d; dJ / dd(k) = -1/2 energies(k).
// Source      Rakotomamonjy, Bach, Canu, Grandvalet: SimpleMKL. JMLR 9 (2008) 2491-2521.
// Method      The direction t has t(k) = g(mu) - g(k) for the gradient g and the largest weight mu,
//             0 where it would leave the simplex, and sum 0. The step goes to where a weight
//             becomes 0 as long as J falls there, without that weight from then on; then a golden
//             section between the last such point and the next.
// Differences (1) ends by the certificate of the loop; (2) the golden section is to a tenth of its
//             interval, as in the authors' program, and goes on to 1e-8 where no trial is better
//             than the beginning of a search that has not moved. A finer one takes more machines:
//             15 a search to 1e-3, and hardly fewer searches.
// Cost        A machine for every trial.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/base/encoding/saved_fields.h"
#include "core/solvers/mkl/weight_method.h"

namespace mercer {

class ReducedGradientMethod : public WeightMethod {
 public:
  explicit ReducedGradientMethod(Index num_kernels) : num_kernels_(num_kernels) {}

  Vector Next(const SolvedMachine& machine, double target) override;
  // Trials are compared by their optima: a search without a better point asks for more exact ones.
  double inner_gap_share() const override { return state_.inner_gap_share; }
  void Save(ByteWriter& writer) const override { WriteFields(state_, writer, num_kernels_); }
  absl::Status Load(ByteReader& reader) override;

 private:
  enum class Phase : uint8_t {
    kPoint,      // the machine is that of the point that a search begins at
    kExtension,  // of the end of the step
    kLower,      // of the lower one of the two trials inside the bracket
    kUpper,      // of the upper one
  };
  struct Trial {
    double step = 0;
    double optimum = kInfinity;

    static void VisitFields(auto& visit, auto& self) {
      visit(NotNegative(self.step), self.optimum);
      visit.Require([&] { return std::isfinite(self.step) && self.optimum > -kInfinity; });
    }
  };
  struct State {
    Phase phase = Phase::kPoint;
    Vector point;                // of the simplex
    double optimum = kInfinity;  // there
    double inner_gap_share = 1e-3;
    Vector energies;  // there
    Vector direction;
    int64_t largest = 0;    // the weight that was the largest where the search began
    bool extended = false;  // whether the search has moved
    double longest = 0;     // the step at which a weight becomes 0
    double low = 0;         // the bracket
    double high = 0;
    Trial lower;
    Trial upper;
    Trial best;
    Vector best_energies;

    static void VisitFields(auto& visit, auto& self, Index kernels) {
      visit(UpTo(self.phase, Phase::kUpper), Positive(self.inner_gap_share),
            SizedOrEmpty(self.point, kernels), self.optimum, SizedOrEmpty(self.energies, kernels),
            SizedOrEmpty(self.direction, kernels), self.largest, self.extended, self.longest,
            self.low, self.high, Nested(self.lower, NoSizes()), Nested(self.upper, NoSizes()),
            Nested(self.best, NoSizes()), SizedOrEmpty(self.best_energies, kernels));
      // A search has a point and a direction, and its machine is one on the way: of a positive
      // length, in a bracket within it, and with the energies of the best trial, if there is one.
      visit.Require([&] {
        const bool finite = self.inner_gap_share <= 1 && self.point.allFinite() &&
                            self.energies.allFinite() && self.direction.allFinite() &&
                            self.best_energies.allFinite();
        if (!finite || self.phase == Phase::kPoint) {
          return finite;
        }
        const bool begun = self.point.size() > 0 && self.energies.size() > 0 &&
                           self.direction.size() > 0 && self.largest >= 0 &&
                           self.largest < kernels && std::isfinite(self.optimum) &&
                           std::isfinite(self.longest) && self.longest > 0;
        if (!begun || self.phase == Phase::kExtension) {
          return begun;
        }
        return self.low >= 0 && self.low <= self.high && self.high <= self.longest &&
               (self.best.step == 0 || self.best_energies.size() > 0);
      });
    }
  };

  // Finds how far the direction goes; false where the search is over.
  bool Extend();
  // Each gives the weights of the next machine.
  Vector BeginSearch();
  Vector End();
  Vector Section();
  Vector TryLower();
  Vector TryUpper();
  Vector EndSearch();
  Vector At(double step) const;
  void Accept(const SolvedMachine& machine);

  const Index num_kernels_;
  State state_;
};

}  // namespace mercer
