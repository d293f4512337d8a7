#include "core/kernels/spec/kernel_formula.h"

namespace mercer::formulas {

// Of histograms with the sum 1 it is 1 - |x - z|_1 / 2: its exponential is the kernel laplacian.
KernelFormula Intersection() {
  return {.name = "intersection",
          .formula =
              "`sum_c min(x_c, z_c)`, what two histograms share. Entries must be >= 0, so "
              "preprocessing must not standardise.",
          .names_elsewhere = {"histogram_intersection", "min"},
          .reads = PairValue::kMinimum};
}

}  // namespace mercer::formulas
