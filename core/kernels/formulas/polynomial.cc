#include "core/kernels/spec/kernel_formula.h"

namespace mercer::formulas {

KernelFormula Polynomial() {
  return {
      .name = "polynomial",
      .formula = "`(scale x'z + offset)^degree`",
      .names_elsewhere = {"poly"},
      .gamma = {.parameter = "scale"},
      .reads = PairValue::kDotProduct,
      .parameters = {{.name = "degree", .whole = &KernelSpec::degree, .min = 1, .max = 20},
                     {.name = "scale", .real = &KernelSpec::scale, .min_open = true},
                     {.name = "offset", .real = &KernelSpec::offset, .names_elsewhere = {"coef0"}}},
      .values = [](const KernelSpec& spec, const Strip& dot_products, double* out) {
        PolynomialValues(dot_products, spec.scale, spec.offset, spec.degree, out);
      }};
}

}  // namespace mercer::formulas
