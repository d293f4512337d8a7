#include "core/kernels/spec/kernel_formula.h"

namespace mercer::formulas {

KernelFormula ChiSquare() {
  return {.name = "chi_square",
          .formula =
              "`exp(-d / bandwidth)` with `d = 1/2 sum_c (x_c - z_c)^2 / (x_c + z_c)`, 0/0 = 0. "
              "Entries must be >= 0, so preprocessing must not standardise.",
          .names_elsewhere = {"chi2"},
          .gamma = {.parameter = "bandwidth",
                    .formula = "here 1 / (2 gamma)",
                    .value = [](double gamma) { return 0.5 / gamma; }},
          .reads = PairValue::kChiSquare,
          .parameters = {Bandwidth()},
          .rate = RateOfBandwidth};
}

}  // namespace mercer::formulas
