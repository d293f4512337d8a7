#include "core/learners/csi/options.h"

namespace mercer::csi {
namespace {

constexpr char kSource[] =
    "Bach, Jordan: Predictive low-rank decomposition for kernel methods. ICML 2005, 33-40";

}  // namespace

const OptionSchema<CsiLearnerOptions>& CsiLearnerOptions::Fields() {
  using Options = CsiLearnerOptions;
  static const auto& schema = *new OptionSchema<Options>(
      OptionSchema<Options>()
          .Real(
              "lambda", &Options::lambda,
              {.meaning = "Weight of half the squared norm of the function against the sum (never "
                          "the mean) of the losses. Larger gives a smoother function.",
               .min = 0.0,
               .min_open = true,
               .max_open = true,
               .source = "the value at which one row's squared error and the squared norm weigh "
                         "2 : 1"})
          .Integer("max_pivots", &Options::max_pivots,
                   {.meaning = "The most training rows that the model is an expansion of, for all "
                               "outputs together; fewer when the kernel has a lower rank. Time "
                               "grows with its square, memory with it.",
                    .min = 1,
                    .max = 10000,
                    .source = "Table 4 of the paper goes from 10 to 500"})
          .Real("kappa", &Options::kappa,
                {.meaning = "Share of the targets, against the kernel, in what the choice of "
                            "pivots goes by. 0 looks at the kernel alone, 1 at the targets alone.",
                 .min = 0.0,
                 .max = 1.0,
                 .source = kSource})
          .Integer("look_ahead", &Options::look_ahead,
                   {.meaning = "Columns of pivoted Cholesky by which what further pivots are worth "
                               "is estimated. Few give clearly worse pivots; time grows with the "
                               "square.",
                    .min = 40,
                    .max = 1000,
                    .source = kSource})
          .Real("tolerance", &Options::tolerance,
                {.meaning = "No further pivots when none would lower the criterion, which is 1 "
                            "without pivots, by at least this. 0 goes on to max_pivots.",
                 .min = 0.0,
                 .max = 1.0,
                 .source = "all pivots that were asked for"}));
  return schema;
}

}  // namespace mercer::csi
