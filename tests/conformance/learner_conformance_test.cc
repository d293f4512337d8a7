#include "core/learners/registry.h"
#include "tests/conformance/learner_conformance_suite.h"

namespace mercer {
namespace {

INSTANTIATE_TEST_SUITE_P(Registry, LearnerConformance,
                         ::testing::ValuesIn(LearnerCases(AllLearners())), LearnerCaseName);

TEST(LearnerRegistryTest, NamesAreUniqueAndFound) {
  std::set<std::string> names;
  for (const LearnerEntry* learner : AllLearners()) {
    EXPECT_TRUE(names.insert(learner->name).second) << learner->name;
    EXPECT_EQ(FindLearner(learner->name), learner);
    EXPECT_TRUE(learner->classification || learner->regression) << learner->name;
    EXPECT_NE(learner->name, "other") << "requests name learners in a field of that name";
  }
  EXPECT_EQ(FindLearner("no_such_learner"), nullptr);
}

}  // namespace
}  // namespace mercer
