#include "core/learners/svm/options.h"

namespace mercer::svm {

const OptionSchema<SvmOptions>& SvmOptions::Fields() {
  static const auto& schema = *new OptionSchema<SvmOptions>(
      OptionSchema<SvmOptions>()
          .Real("C", &SvmOptions::C,
                {.meaning = "Cost of one unit of loss at one sample against half the squared norm "
                            "of the function; the "
                            "box of the dual is [0, C]. Larger fits the training rows more closely "
                            "and takes longer.",
                 .min = 0.0,
                 .min_open = true,
                 .max_open = true,
                 .source = "LIBSVM's default"})
          .Real(
              "epsilon", &SvmOptions::epsilon,
              {.meaning = "Regression only: residuals up to epsilon cost nothing. Larger gives "
                          "fewer support vectors.",
               .unit =
                   "standard deviation of the target; with target_scaling NONE that of the target",
               .min = 0.0,
               .max_open = true,
               .source = "LIBSVM's default",
               .regression_only = true}));
  return schema;
}

}  // namespace mercer::svm
