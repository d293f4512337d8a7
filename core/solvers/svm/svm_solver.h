// What every solver of a support vector machine with a fixed kernel has in common, as far as its
// users can tell.
//
// Problem      min_{dual}  1/2 dual'K dual - targets'dual + epsilon |dual|_1  subject to
//              A <= dual <= B  and  sum dual = 0:  the support vector machine (hinge) and support
//              vector regression (epsilon-insensitive).
// Guarantees   The bounds are those of CertifySvm. Same bits for every slicing into steps, save and
//              restore, and number of threads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/solvers/svm/svm_certificate.h"
#include "core/solvers/svm/svm_problem.h"

namespace mercer {

// Where a solver begins. Each reads what it can use.
struct SvmWarmStart {
  Vector dual = {};  // any; made feasible by Start; empty: zero
  // K dual for this dual as it is given. When given, Start need multiply K only with what
  // feasibility changed; empty: unknown.
  Vector scores = {};
  // Start at the best multiple of the dual in the box (its scores are known), as a change of C asks
  // for.
  bool rescale = false;
  double proximal_step = 0;  // to begin with; 0: that of a run from nothing
  // For kernels of explicit features a function to begin with, f = rows function + bias. Empty: the
  // function of the dual.
  Vector function = {};
  double bias = 0;
};

enum class SvmStop : uint8_t {
  kRunning = 0,
  kRelativeGap = 1,
  kKktTolerance = 2,
  kIterationLimit = 3,
  kPrecision = 4,  // no further progress in double precision; the certificate says how far it got
};

// A method for one problem at a time, iteration by iteration; not thread-safe. The kernel must
// outlive it.
class SvmSolver {
 public:
  virtual ~SvmSolver() = default;

  // Begins a problem. Certifies the start; done() may hold at once. Errors: kInvalidArgument
  // (sizes, a loss that is not the solver's, labels, costs; all but SMO: one side only, that is, no
  // sample of positive cost on either side, or fewer than two for regression), kCancelled.
  virtual absl::Status Start(const SvmProblem& problem, const SvmWarmStart& warm_start,
                             RunContext& context) = 0;
  // Makes at most `max_iterations` iterations. Errors: kCancelled, with the state as after the last
  // finished iteration.
  virtual absl::Status Step(int64_t max_iterations, RunContext& context);
  // Until done.
  absl::Status Run(RunContext& context);

  bool done() const { return stop() != SvmStop::kRunning; }
  virtual SvmStop stop() const = 0;
  virtual int64_t iterations() const = 0;
  // A feasible dual point; once done() its products K dual and its certificate.
  virtual const Vector& dual() const = 0;
  virtual const Vector& scores() const = 0;
  virtual const SvmCertificate& certificate() const = 0;
  // What a run on a similar kernel should begin with; the dual is left to the caller.
  virtual SvmWarmStart Successor() const { return {}; }
  // About how many floating point operations the next iteration takes.
  virtual double NextCost() const = 0;

  virtual std::string SaveState() const = 0;
  // Continues where SaveState left; `problem` and kernel must be those of Start. Errors:
  // kInvalidArgument, kCancelled.
  virtual absl::Status RestoreState(const SvmProblem& problem, std::string_view state,
                                    RunContext& context) = 0;

 protected:
  // One iteration of the Step above; on an error the state stays as it was.
  virtual absl::Status Iterate(RunContext& context) = 0;
};

}  // namespace mercer
