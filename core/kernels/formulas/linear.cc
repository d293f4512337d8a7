#include "core/kernels/spec/kernel_formula.h"

namespace mercer::formulas {

KernelFormula Linear() {
  return {.name = "linear", .formula = "`x'z`", .reads = PairValue::kDotProduct};
}

}  // namespace mercer::formulas
