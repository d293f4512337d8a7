// What the solvers of a kernel K = X X' of explicit features share whose iterates are no feasible
// duals: the best dual that was made from one of them, with its certificate, and an end when no
// better one comes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/base/encoding/saved_fields.h"
#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/kernels/gram/kernel_operator.h"
#include "core/solvers/svm/svm_certificate.h"
#include "core/solvers/svm/svm_newton_model.h"
#include "core/solvers/svm/svm_solver.h"

namespace mercer {

// dual() is the best one so far; its products and its certificate are known at any time.
class CertifiedFactorSolver : public SvmSolver {
 public:
  absl::Status Start(const SvmProblem& problem, const SvmWarmStart& warm_start,
                     RunContext& context) override;
  SvmStop stop() const override { return progress_.stop; }
  int64_t iterations() const override { return progress_.iterations; }
  const Vector& dual() const override { return progress_.best.dual; }
  const Vector& scores() const override { return progress_.best.scores; }
  const SvmCertificate& certificate() const override { return progress_.best.certificate; }
  SvmWarmStart Successor() const override { return {}; }
  std::string SaveState() const override;
  absl::Status RestoreState(const SvmProblem& problem, std::string_view state,
                            RunContext& context) override;

 protected:
  struct Point {
    Vector dual;
    Vector scores;  // K dual
    SvmCertificate certificate;
  };
  struct Limits {
    int64_t max_iterations;
    int64_t max_stalls;  // points in succession that are hardly better than the best one
  };

  CertifiedFactorSolver(const FactoredKernel& kernel, double relative_gap, Limits limits)
      : kernel_(kernel), relative_gap_(relative_gap), limits_(limits) {}

  // Computes what iterations need of kernel and problem and what is no part of the state. Called
  // before any other of these.
  virtual absl::Status Prepare(RunContext& context) = 0;
  // Makes the first iterate from the feasible dual of best().
  virtual absl::Status Begin(RunContext& context) = 0;
  // Makes the next iterate. Calls of Consider and EndForPrecision come last, when nothing can fail
  // any more.
  virtual absl::Status Advance(RunContext& context) = 0;
  virtual void SaveIterate(ByteWriter& writer) const = 0;
  // Reads an iterate; false when it does not fit the problem.
  virtual bool LoadIterate(ByteReader& reader) = 0;
  // The name of the method: a state that another method has saved is refused by it.
  virtual std::string_view name() const = 0;

  absl::Status Iterate(RunContext& context) final;

  // Makes `dual` feasible (docs/mathematics/README.md, section 3) and certifies it.
  absl::StatusOr<Point> Certify(Vector dual, RunContext& context) const;
  bool IsGoodEnough(const Point& point) const {
    return point.certificate.RelativeGap() <= relative_gap_;
  }
  // Keeps a point that is better than the best one.
  void Consider(Point point);
  void EndForPrecision() { progress_.stop = SvmStop::kPrecision; }

  const FactoredKernel& kernel() const { return kernel_; }
  const SvmProblem& problem() const { return problem_; }
  const SvmDualBox& box() const { return box_; }
  const Point& best() const { return progress_.best; }
  Index num_samples() const { return kernel_.rows.rows(); }
  Index rank() const { return kernel_.rows.cols(); }

 private:
  // All of the state but the iterate.
  struct Progress {
    Point best;
    int64_t iterations = 0;
    int64_t stalls = 0;
    SvmStop stop = SvmStop::kRunning;

    static void VisitFields(auto& visit, auto& self, Index n) {
      visit(Sized(self.best.dual, n), Sized(self.best.scores, n), self.iterations, self.stalls,
            UpTo(self.stop, SvmStop::kPrecision));
    }
  };

  absl::Status SetProblem(const SvmProblem& problem);

  const FactoredKernel kernel_;
  const double relative_gap_;
  const Limits limits_;
  SvmProblem problem_;
  SvmDualBox box_;
  bool prepared_ = false;
  Progress progress_;
};

}  // namespace mercer
