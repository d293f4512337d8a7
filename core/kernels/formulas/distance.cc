#include "core/kernels/spec/kernel_formula.h"

namespace mercer::formulas {

KernelFormula Distance() {
  return {.name = "distance",
          .formula = "`exp(-d / bandwidth)`, d the entries of a square block of kind DISTANCE.",
          .reads = SquareKind::kDistance,
          .parameters = {Bandwidth()},
          .rate = RateOfBandwidth};
}

}  // namespace mercer::formulas
