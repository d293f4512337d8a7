// The suite of all learners, for this one alone.
#include "core/learners/_template/template_learner.h"
#include "tests/conformance/learner_conformance_suite.h"

namespace mercer {
namespace {

const LearnerEntry& SharedEntry() {
  static const auto& entry = *new LearnerEntry(template_learner::Entry());
  return entry;
}

INSTANTIATE_TEST_SUITE_P(TemplateLearner, LearnerConformance,
                         ::testing::ValuesIn(LearnerCases({&SharedEntry()})), LearnerCaseName);

}  // namespace
}  // namespace mercer
