#include "core/learners/_template/options.h"

namespace mercer::template_learner {

const OptionSchema<TemplateLearnerOptions>& TemplateLearnerOptions::Fields() {
  static const auto& schema =
      *new OptionSchema<TemplateLearnerOptions>(OptionSchema<TemplateLearnerOptions>().Real(
          "C", &TemplateLearnerOptions::C,
          {.meaning = "Weight of the squared errors against the squared norm of the function. "
                      "Larger fits the training "
                      "rows more closely and takes more iterations.",
           .min = 1e-9,
           .max = 1e9,
           .source = "the value at which one row's error and the norm weigh the same"}));
  return schema;
}

}  // namespace mercer::template_learner
