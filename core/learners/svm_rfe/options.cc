#include "core/learners/svm_rfe/options.h"

namespace mercer::svm_rfe {

const OptionSchema<SvmRfeOptions>& SvmRfeOptions::Fields() {
  static const auto& schema = *new OptionSchema<SvmRfeOptions>(
      OptionSchema<SvmRfeOptions>()
          .Real("C", &SvmRfeOptions::C,
                {.meaning = "Cost of one unit of loss at one sample against half the squared norm "
                            "of the weights, for the machine of every round and for the final "
                            "one. Larger fits the training rows more closely.",
                 .min = 0.0,
                 .min_open = true,
                 .max_open = true,
                 .source = "Guyon, Weston, Barnhill, Vapnik, Machine Learning 46 (2002): C=100"})
          .Integer("columns", &SvmRfeOptions::columns,
                   {.meaning = "How many columns the model keeps: the best of the ranking, which "
                               "is of all columns whatever is kept. 0: half of them, at least one. "
                               "More than there are is refused.",
                    .min = 0,
                    .max = 1'000'000'000,
                    .source = "half, as scikit-learn's RFE"})
          .Choice(
              "schedule", &SvmRfeOptions::schedule,
              {{"power_of_two", Schedule::kPowerOfTwo},
               {"half_up", Schedule::kHalfUp},
               {"one", Schedule::kOne}},
              {.meaning = "How many columns a round leaves. power_of_two: the largest power of two "
                          "below their number at first, then half. half_up: half, rounded up. one: "
                          "one less, the most careful and slowest. Without effect where counts are "
                          "given.",
               .source = "Guyon, Weston, Barnhill, Vapnik, Machine Learning 46 (2002)"})
          .Reals("counts", &SvmRfeOptions::counts,
                 {.meaning = "The numbers of columns that the rounds leave, in place of a "
                             "schedule: whole numbers below the number of columns, each less than "
                             "the one before; a last 1 need not be given. Empty: by the schedule.",
                  .min = 1,
                  .max = 1e9,
                  .source = "chosen here"}));
  return schema;
}

}  // namespace mercer::svm_rfe
