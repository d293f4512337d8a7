#include "core/kernels/spec/kernel_formula.h"

namespace mercer::formulas {

KernelFormula Euclidean() {
  return {.name = "euclidean",
          .formula = "`exp(-|x - z| / bandwidth)`",
          .reads = PairValue::kSquaredDistance,
          .of_root = true,
          .parameters = {Bandwidth()},
          .rate = RateOfBandwidth};
}

}  // namespace mercer::formulas
