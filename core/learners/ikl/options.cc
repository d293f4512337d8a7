#include "core/learners/ikl/options.h"

namespace mercer::ikl {
namespace {

constexpr char kSource[] = "chosen here; the paper gives none";

}  // namespace

const OptionSchema<IklOptions>& IklOptions::Fields() {
  using Options = IklOptions;
  static const auto& schema = *new OptionSchema<Options>(
      OptionSchema<Options>()
          .Real("C", &Options::C,
                {.meaning = "Cost of one unit of loss at one row, multiplied "
                            "by its weight. Larger "
                            "fits the training rows more closely and takes "
                            "more iterations.",
                 .min = 0.0,
                 .min_open = true,
                 .max_open = true,
                 .source = "the value of the learner svm"})
          .Real("min_bandwidth", &Options::min_bandwidth,
                {.meaning = "Lower end of the interval in which bandwidths are looked "
                            "for. 0: a "
                            "tenth of the median distance of the training rows, or max_bandwidth "
                            "if that is smaller.",
                 .unit = "that of the distance of two rows",
                 .min = 0.0,
                 .max = 1e100,
                 .source = "two decades around the median distance"})
          .Real("max_bandwidth", &Options::max_bandwidth,
                {.meaning = "Upper end of that interval. 0: ten times the "
                            "median distance.",
                 .unit = "that of the distance of two rows",
                 .min = 0.0,
                 .max = 1e100,
                 .source = "two decades around the median distance"})
          .Real("violation", &Options::violation,
                {.meaning = "The search ends when no bandwidth of the interval "
                            "would lower the "
                            "objective's bound by more than this share of it.",
                 .min = 1e-6,
                 .max = 1.0,
                 .source = kSource})
          .Integer("max_kernels", &Options::max_kernels,
                   {.meaning = "The most kernels that are at work at a time. More "
                               "take memory and "
                               "time in proportion.",
                    .min = 1,
                    .max = 1000,
                    .source = "at the optimum a handful of kernels have a weight"}));
  return schema;
}

}  // namespace mercer::ikl
