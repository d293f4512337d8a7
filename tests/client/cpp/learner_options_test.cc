#include "client/cpp/learner_options.h"

#include <cmath>

#include <gtest/gtest.h>

#include "core/base/status/errors.h"

namespace mercer::client {
namespace {

v1::LearnerDescription LpMklDescription() {
  v1::LearnerDescription learner;
  learner.set_name("lp_mkl");
  learner.set_uses_kernels(true);
  for (const char* name : {"p", "C", "epsilon", "outer_loop"}) {
    learner.add_options()->set_name(name);
  }
  learner.mutable_options(0)->set_range("[1, inf]");
  return learner;
}

const std::vector<std::string> kKernels = {"gaussian", "linear"};

TEST(LearnerOptionsTest, SetsFieldsOfTheLearnersMessage) {
  const auto learner = MakeLearner(
      LpMklDescription(), {{"p", "inf"}, {"C", "10"}, {"outer-loop", "alternation"}}, kKernels);
  ASSERT_TRUE(learner.ok()) << learner.status();
  EXPECT_TRUE(std::isinf(learner->lp_mkl().p()));
  EXPECT_EQ(learner->lp_mkl().c(), 10.0);
  EXPECT_FALSE(learner->lp_mkl().has_epsilon());
  EXPECT_EQ(learner->lp_mkl().outer_loop(), v1::LpMkl::OUTER_LOOP_ALTERNATION);
  EXPECT_EQ(learner->lp_mkl().kernels_size(), 2);
}

TEST(LearnerOptionsTest, NamesEveryWrongOptionAtOnce) {
  const auto learner = MakeLearner(LpMklDescription(),
                                   {{"p", "big"}, {"gamma", "1"}, {"outer_loop", "x"}}, kKernels);
  ASSERT_FALSE(learner.ok());
  const std::vector<FieldViolation> violations = GetFieldViolations(learner.status());
  ASSERT_EQ(violations.size(), 3u) << learner.status();
  EXPECT_EQ(violations[0].field, "--p");
  EXPECT_EQ(violations[0].description, "must be a number, is 'big'; allowed: [1, inf]");
  EXPECT_EQ(violations[1].field, "--gamma");
  EXPECT_EQ(violations[1].description,
            "neither an option of 'mercer train' nor of lp_mkl, which has --p, --C, --epsilon, "
            "--outer_loop; kernels have their parameters in --kernel, as --kernel 'gaussian "
            "bandwidth=1'");
  EXPECT_EQ(violations[2].field, "--outer_loop");
  EXPECT_EQ(violations[2].description.find("must be one of newton, "), 0u)
      << violations[2].description;
}

TEST(LearnerOptionsTest, TypingErrorsAreAnsweredWithTheNameThatIsMeant) {
  const auto learner = MakeLearner(LpMklDescription(), {{"c", "1"}, {"modle", "x"}, {"q", "x"}},
                                   kKernels, {"model", "gap"});
  const std::vector<FieldViolation> violations = GetFieldViolations(learner.status());
  ASSERT_EQ(violations.size(), 3u) << learner.status();
  EXPECT_TRUE(violations[0].description.ends_with("; did you mean 'C'?")) << learner.status();
  EXPECT_TRUE(violations[1].description.ends_with("; did you mean 'model'?")) << learner.status();
  EXPECT_TRUE(violations[2].description.ends_with("--outer_loop")) << learner.status();
  v1::ListLearnersResponse learners;
  *learners.add_learners() = LpMklDescription();
  EXPECT_EQ(FindLearner(learners, "lpmkl").status().message(),
            "there is no learner 'lpmkl'; the server has lp_mkl; did you mean 'lp_mkl'?");
}

TEST(LearnerOptionsTest, AnOptionMayBeGivenOnce) {
  const auto learner = MakeLearner(
      LpMklDescription(),
      {{"p", "1"}, {"p", "2"}, {"outer_loop", "newton"}, {"outer-loop", "newton"}}, kKernels);
  const std::vector<FieldViolation> violations = GetFieldViolations(learner.status());
  ASSERT_EQ(violations.size(), 2u) << learner.status();
  EXPECT_EQ(violations[0], (FieldViolation{"--p", "is given more than once"}));
  EXPECT_EQ(violations[1].field, "--outer-loop");
}

TEST(LearnerOptionsTest, NoKernelsAreLeftToTheServer) {
  const auto learner = MakeLearner(LpMklDescription(), {}, {});
  ASSERT_TRUE(learner.ok()) << learner.status();
  EXPECT_TRUE(learner->lp_mkl().kernels().empty());
}

TEST(LearnerOptionsTest, EveryLearnerOfTheApiCanBeMade) {
  const auto& learners = *v1::Learner::descriptor();
  for (int i = 0; i < learners.field_count(); ++i) {
    v1::LearnerDescription description;
    description.set_name(learners.field(i)->name());
    const auto learner = MakeLearner(description, {}, {});
    ASSERT_TRUE(learner.ok()) << learner.status();
    EXPECT_EQ(static_cast<int>(learner->learner_case()), learners.field(i)->number());
  }
}

TEST(LearnerOptionsTest, UnknownLearnersAreListed) {
  v1::ListLearnersResponse learners;
  *learners.add_learners() = LpMklDescription();
  EXPECT_EQ(FindLearner(learners, "lp-mkl")->name(), "lp_mkl");
  const auto missing = FindLearner(learners, "svm");
  EXPECT_EQ(missing.status().message(), "there is no learner 'svm'; the server has lp_mkl");
}

TEST(LearnerOptionsTest, LearnersWithoutAMessageAreNamed) {
  v1::LearnerDescription description = LpMklDescription();
  description.set_name("not_in_this_program");
  description.mutable_options(3)->set_type(v1::OPTION_TYPE_BOOL);
  const auto learner = MakeLearner(description, {{"C", "1e-3"}, {"outer-loop", ""}}, {"gaussian"});
  ASSERT_TRUE(learner.ok()) << learner.status();
  EXPECT_EQ(learner->other().name(), "not_in_this_program");
  EXPECT_EQ(learner->other().options_size(), 2);
  EXPECT_EQ(learner->other().options().at("C"), "1e-3");
  EXPECT_EQ(learner->other().options().at("outer_loop"), "true");
  EXPECT_EQ(learner->other().kernels_size(), 1);
  EXPECT_FALSE(MakeLearner(description, {{"gamma", "1"}}, {}).ok());
  description.set_uses_kernels(false);
  EXPECT_FALSE(MakeLearner(description, {}, {"gaussian"}).ok());
}

}  // namespace
}  // namespace mercer::client
