#include "core/kernels/spec/kernel_formula.h"

namespace mercer::formulas {

KernelFormula Laplacian() {
  return {.name = "laplacian",
          .formula = "`exp(-|x - z|_1 / bandwidth)`",
          .gamma = {.parameter = "bandwidth",
                    .formula = "here 1 / gamma",
                    .value = [](double gamma) { return 1.0 / gamma; }},
          .reads = PairValue::kManhattan,
          .parameters = {Bandwidth()},
          .rate = RateOfBandwidth};
}

}  // namespace mercer::formulas
