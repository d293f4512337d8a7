#include "tests/support/proof/options.h"

namespace mercer::pair_ridge {

const OptionSchema<PairRidgeOptions>& PairRidgeOptions::Fields() {
  static const auto& schema = *new OptionSchema<PairRidgeOptions>(
      OptionSchema<PairRidgeOptions>()
          .Real("C", &PairRidgeOptions::C,
                {.meaning = "Weight of the squared errors against the squared norm of the "
                            "function. Larger fits the training rows more closely and takes more "
                            "iterations.",
                 .min = 1e-9,
                 .max = 1e9,
                 .source = "the value at which one row's error and the norm weigh the same"})
          .Real("sharing", &PairRidgeOptions::sharing,
                {.meaning = "Several tasks: how much a row of one task says of the others. 0: each "
                            "is learned by itself; larger: the more they are one.",
                 .min = 0,
                 .max = 1e3,
                 .source = "chosen here"}));
  return schema;
}

}  // namespace mercer::pair_ridge
