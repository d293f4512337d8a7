#include <cmath>

#include "core/kernels/spec/kernel_formula.h"

namespace mercer::formulas {

KernelFormula Gaussian() {
  return {.name = "gaussian",
          .formula = "`exp(-|x - z|^2 / (2 bandwidth^2))`",
          .names_elsewhere = {"rbf", "squared_exponential"},
          .gamma = {.parameter = "bandwidth",
                    .formula = "1 / sqrt(2 gamma)",
                    .value = [](double gamma) { return 1.0 / std::sqrt(2.0 * gamma); }},
          .reads = PairValue::kSquaredDistance,
          .parameters = {Bandwidth()},
          .rate = [](const KernelSpec& spec) { return 0.5 / spec.bandwidth / spec.bandwidth; }};
}

}  // namespace mercer::formulas
