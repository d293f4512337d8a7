#include "core/kernels/spec/kernel_formula.h"

namespace mercer::formulas {

KernelFormula Precomputed() {
  return {.name = "precomputed",
          .formula =
              "The entries of a square block of kind KERNEL, symmetric and positive "
              "semidefinite over the training rows.",
          .names_elsewhere = {"custom"},
          .reads = SquareKind::kKernel};
}

}  // namespace mercer::formulas
