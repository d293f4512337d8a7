// The linear systems of the alternating direction method for a restricted master, for all tasks
// jointly:
//
//   min over w_t, w, b of  sum_t xi/2 |Phi_t (w_t + w) + b_t 1 - z_t|^2
//                          + sum_t eta/2 |w_t - u_t|^2 + eta/2 |w - u|^2
//
// With b minimised out, A_t = xi Phi_t'(I - 11'/n_t) Phi_t and M_t = A_t + eta I, the tasks'
// weights follow from the shared ones, which solve a system of order d. Factors of M_t are kept,
// and grow with the columns; tasks that share their columns share them. The paper alternates
// between w_t and w and lacks a term of the bias: docs/mathematics/infinite_features.md, sections 7
// and 11.
#pragma once

#include <vector>

#include "absl/status/status.h"

#include "core/base/encoding/saved_fields.h"
#include "core/solvers/group/group_problem.h"

namespace mercer {

struct AdmmPenalties {
  double scores = 1;   // xi
  double weights = 1;  // eta

  bool operator==(const AdmmPenalties&) const = default;

  static void VisitFields(auto& visit, auto& self) { visit(self.scores, self.weights); }
};

class AdmmSystems {
 public:
  // Reads the columns from `known` on; those before are kept. Errors: kCancelled, which changes
  // nothing.
  absl::Status Extend(const GroupProblem& problem, Index known, RunContext& context);
  // Makes factors for these penalties, or keeps or extends those that there are. Errors:
  // kCancelled; kInvalidArgument when columns are not finite.
  absl::Status Factor(const GroupProblem& problem, const AdmmPenalties& penalties,
                      RunContext& context);
  // The minimiser, from the products of the columns with xi z_t (d x T), the sums of xi z_t, and
  // eta u_t and eta u.
  absl::StatusOr<GroupPoint> Solve(const GroupProblem& problem, const Matrix& products,
                                   const Vector& sums, const GroupPoint& pull,
                                   RunContext& context) const;

  // The mean squared norm of a column.
  double MeanSquare() const;

  // Before they are read: as many designs as the problem has.
  void AssignDesigns(const GroupProblem& problem);
  static void VisitFields(auto& visit, auto& self, const GroupProblem& of) {
    visit(self.penalties_, self.factored_, self.appended_, self.shared_factor_);
    for (auto& design : self.designs_) {
      visit(Nested(design, of));
    }
    visit.Require([&] {
      const Index order = self.designs_.front().factor.rows();
      return !self.factored_ || !of.has_shared() ||
             (self.shared_factor_.rows() == order && self.shared_factor_.cols() == order);
    });
  }

 private:
  struct Products {
    Matrix gram;  // of the centred columns when there is a bias: the lower triangle
    Vector column_sums;
  };
  struct Design {
    Products products;
    Matrix factor;  // of M; with fewer rows than the products when columns have been appended

    static void VisitFields(auto& visit, auto& self, const GroupProblem& of) {
      const Index d = of.num_columns();
      visit(Sized(self.products.gram, d, d), Sized(self.products.column_sums, d), self.factor);
      visit.Require(
          [&] { return self.factor.rows() == self.factor.cols() && self.factor.rows() <= d; });
    }
  };

  // Extends `factor` by the columns that it lacks. False when it must be formed anew.
  static absl::StatusOr<bool> ExtendFactor(const Design& design, const AdmmPenalties& penalties,
                                           Matrix& factor, RunContext& context);
  // The factor of the shared weights' system, from the designs' `factors`; empty without a shared
  // part.
  absl::StatusOr<Matrix> SharedFactor(const GroupProblem& problem, const AdmmPenalties& penalties,
                                      const std::vector<Matrix>& factors,
                                      RunContext& context) const;
  static absl::Status ExtendProducts(const GroupProblem& problem, const FeatureColumns& columns,
                                     Index known, Products& products, RunContext& context);
  const Design& DesignOf(Index task) const {
    return designs_[design_of_task_[static_cast<size_t>(task)]];
  }

  std::vector<Design> designs_;
  std::vector<size_t> design_of_task_;
  AdmmPenalties penalties_;
  bool factored_ = false;
  Index appended_ = 0;  // times that factors were extended
  Matrix shared_factor_;
};

}  // namespace mercer
