#include "core/learners/kernel_ridge/options.h"

namespace mercer::kernel_ridge {

const OptionSchema<KernelRidgeOptions>& KernelRidgeOptions::Fields() {
  static const auto& schema =
      *new OptionSchema<KernelRidgeOptions>(OptionSchema<KernelRidgeOptions>().Real(
          "lambda", &KernelRidgeOptions::lambda,
          {.meaning = "Weight of half the squared norm of the function against the sum (never the "
                      "mean) of squared errors. Larger "
                      "gives a smoother function. In the form sum (y - f)^2 + a |f|^2 it is 2 a.",
           .min = 0.0,
           .min_open = true,
           .max_open = true,
           .source =
               "the value at which one row's squared error and the squared norm weigh 2 : 1"}));
  return schema;
}

}  // namespace mercer::kernel_ridge
