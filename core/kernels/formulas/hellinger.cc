#include "core/kernels/spec/kernel_formula.h"

namespace mercer::formulas {

KernelFormula Hellinger() {
  return {.name = "hellinger",
          .formula =
              "`exp(-d / bandwidth)` with `d = 1/2 sum_c (sqrt(x_c) - sqrt(z_c))^2`, the squared "
              "Hellinger distance. Entries must be >= 0, so preprocessing must not standardise.",
          .names_elsewhere = {"bhattacharyya"},
          .reads = PairValue::kHellinger,
          .parameters = {Bandwidth()},
          .rate = RateOfBandwidth};
}

}  // namespace mercer::formulas
