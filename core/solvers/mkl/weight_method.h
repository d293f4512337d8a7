// How the weights of a loop over machines (mkl_loop.h) follow from the solutions so far, where a
// method remembers more than the last one.
#pragma once

#include "absl/status/status.h"

#include "core/base/encoding/bytes.h"
#include "core/base/numeric/types.h"
#include "core/solvers/mkl/mkl_bounds.h"

namespace mercer {

// A machine that was solved, to the accuracy that the loop asked for.
struct SolvedMachine {
  const Vector& weights;
  const Vector& energies;  // of all kernels
  const PointBounds& bounds;
  double best_gap;  // of the run: the least primal of all points less the largest dual
  double optimum;   // of the machine: a lower bound
  double upper;     // and an upper one
  double linear;    // the part of the dual objective that is no quadratic form
};

// Not thread-safe. Machines come in the order of the weights that were asked for.
class WeightMethod {
 public:
  virtual ~WeightMethod() = default;

  // The weights of the next machine; those of this one when it has to be solved more exactly first.
  // `target` is the relative gap that the run is to reach.
  virtual Vector Next(const SolvedMachine& machine, double target) = 0;
  // The gap of a machine as a share of the gap of the whole problem.
  virtual double inner_gap_share() const { return 0.1; }

  virtual void Save(ByteWriter& writer) const = 0;
  // Errors: kInvalidArgument.
  virtual absl::Status Load(ByteReader& reader) = 0;
};

}  // namespace mercer
