// Planes above -J, the negative optimum of gradient learning as a function of the weights
// (gradient_problem.h), one of each dual v:
//
//   -J(beta) <= S_0(v) + sum_l beta_l S_l(v),   S_0 = sum_p conjugate_p(-v_p) + 1/2 |f_0|^2
//
// with equality where v is optimal. The largest gamma under all of them is at least -J at any
// weights. The mean of the duals by the multipliers of that maximum is feasible too, and its lower
// bound of J is -gamma or better, since S_0 and S_l are convex in v.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/encoding/saved_fields.h"
#include "core/base/numeric/step_count.h"
#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/solvers/gradients/gradient_problem.h"

namespace mercer {

class CoordinatePlanes {
 public:
  struct Maximum {
    Vector weights;
    Vector dual;         // the mean
    bool lower = false;  // than that of the planes before
  };

  // How many are kept at most: more than are ever tight at once where columns are few, and of so
  // many numbers that their memory does not matter beside that of the pairs.
  static Index Most(Index num_columns, Index num_pairs) {
    constexpr Index kNumbers = 400'000;
    const Index most = std::clamp<Index>(kNumbers / std::max<Index>(num_pairs, 1), 40, 200);
    return std::min(num_columns, most - 20) + 20;
  }

  // The plane of a dual. Where there are as many as may be, that which was slack longest goes.
  void Add(const GradientPoint& point);
  // Of at least one plane. Nothing when rounding hides it. Planes that have long been slack are
  // forgotten when the maximum is lower than the last one: at other times the same ones could come
  // and go forever. Errors: kCancelled, kResourceExhausted.
  absl::StatusOr<std::optional<Maximum>> Maximize(const GradientProblem& problem,
                                                  RunContext& context);

  // The duals alone: the planes follow from them, and have many more numbers where columns are many.
  static void VisitFields(auto& visit, auto& self, const GradientProblem& of) {
    visit(self.bound_, self.slack_);
    const auto count = static_cast<Index>(self.slack_.size());
    visit(Sized(self.duals_, of.num_pairs(), count));
    visit.Require([&] {
      return count > 0 && count <= Most(of.num_columns(), of.num_pairs()) &&
             self.bound_ == self.bound_ &&
             std::all_of(self.slack_.begin(), self.slack_.end(), IsStepCount) &&
             self.duals_.allFinite();
    });
  }

 private:
  Index count() const { return static_cast<Index>(slack_.size()); }
  void AddValues(const GradientPoint& point);
  void Keep(const std::vector<Index>& kept);

  double bound_ = kInfinity;  // gamma of the last maximum
  std::vector<Index> slack_;  // for how many maxima in a row each plane was
  Matrix duals_;              // of each
  Matrix values_;  // of each at the corners of the simplex, S_0 + S_l; none of those just read
};

}  // namespace mercer
