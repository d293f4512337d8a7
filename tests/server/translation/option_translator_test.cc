#include "server/translation/option_translator.h"

#include <set>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/learners/registry.h"
#include "mercer/v1/learner.pb.h"
#include "tests/support/server/option_fields.h"

namespace mercer::server {
namespace {

using google::protobuf::FieldDescriptor;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

std::string CompareField(const FieldDescriptor& field, const OptionField& option) {
  const bool repeated = field.is_repeated();
  bool agrees = false;
  switch (option.type) {
    case OptionType::kBool:
      agrees = !repeated && field.cpp_type() == FieldDescriptor::CPPTYPE_BOOL;
      break;
    case OptionType::kInteger:
      agrees = !repeated && (field.cpp_type() == FieldDescriptor::CPPTYPE_INT64 ||
                             field.cpp_type() == FieldDescriptor::CPPTYPE_INT32);
      break;
    case OptionType::kReal:
      agrees = !repeated && field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE;
      break;
    case OptionType::kText:
      agrees = !repeated && field.cpp_type() == FieldDescriptor::CPPTYPE_STRING;
      break;
    case OptionType::kReals:
      agrees = repeated && field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE;
      break;
    case OptionType::kChoice:
      agrees = !repeated && field.cpp_type() == FieldDescriptor::CPPTYPE_ENUM;
      break;
  }
  if (!agrees) {
    return absl::StrCat(field.full_name(), ": the option is of type ",
                        std::string(OptionTypeName(option.type)));
  }
  if (!repeated && !field.has_presence()) {
    return absl::StrCat(field.full_name(), ": must be optional");
  }
  if (option.type == OptionType::kChoice) {
    std::set<std::string> words;
    for (int i = 0; i < field.enum_type()->value_count(); ++i) {
      words.insert(ChoiceWord(*field.enum_type()->value(i)));
    }
    std::set<std::string> choices(option.choices.begin(), option.choices.end());
    choices.insert("");
    if (words != choices) {
      return absl::StrCat(field.full_name(), ": its values are not the choices of the option");
    }
  }
  return "";
}

// What does not agree between a learner's message and its description, one sentence each; empty when all does.
std::vector<std::string> CompareOptions(const google::protobuf::Descriptor& message,
                                        const LearnerEntry& entry) {
  std::vector<std::string> differences;
  std::set<std::string> described;
  for (const OptionField& option : entry.fields) {
    described.insert(option.name);
    const FieldDescriptor* field = FieldOfOption(message, option.name);
    const std::string difference =
        field == nullptr ? absl::StrCat(message.full_name(), ": no field for option ", option.name)
                         : CompareField(*field, option);
    if (!difference.empty()) {
      differences.push_back(difference);
    }
  }
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE &&
        described.count(OptionName(field)) == 0) {
      differences.push_back(absl::StrCat(field.full_name(), ": the learner has no such option"));
    }
  }
  return differences;
}

TEST(OptionTranslatorTest, EveryLearnerHasAMessageThatAgreesWithItsDescription) {
  const google::protobuf::Descriptor& oneof = *v1::Learner::descriptor();
  for (const LearnerEntry* entry : AllLearners()) {
    const FieldDescriptor* field = oneof.FindFieldByName(entry->name);
    ASSERT_NE(field, nullptr) << "learner.proto has no line for " << entry->name;
    EXPECT_THAT(CompareOptions(*field->message_type(), *entry), IsEmpty());
    const bool has_kernels = field->message_type()->FindFieldByName("kernels") != nullptr;
    EXPECT_EQ(has_kernels, entry->uses_kernels) << entry->name;
  }
}

TEST(OptionTranslatorTest, EveryMessageHasALearner) {
  for (int i = 0; i < v1::Learner::descriptor()->field_count(); ++i) {
    const FieldDescriptor& field = *v1::Learner::descriptor()->field(i);
    EXPECT_TRUE(FindLearner(field.name()) != nullptr ||
                field.message_type() == v1::OtherLearner::descriptor())
        << field.name();
  }
}

TEST(OptionTranslatorTest, AbsentOptionsAreLeftOutAndZerosAreKept) {
  v1::LpMkl message;
  EXPECT_THAT(ReadOptions(message), IsEmpty());
  message.set_epsilon(0);
  message.set_p(1.5);
  EXPECT_THAT(ReadOptions(message),
              UnorderedElementsAre(Pair("epsilon", OptionValue(0.0)), Pair("p", OptionValue(1.5))));
}

TEST(OptionTranslatorTest, EnumValuesBecomeWords) {
  v1::LpMkl message;
  message.set_outer_loop(v1::LpMkl::OUTER_LOOP_OVER_RELAXED);
  EXPECT_THAT(ReadOptions(message),
              ElementsAre(Pair("outer_loop", OptionValue(std::string("over_relaxed")))));
  message.set_outer_loop(v1::LpMkl::OUTER_LOOP_UNSPECIFIED);
  EXPECT_THAT(ReadOptions(message), IsEmpty());
}

TEST(OptionTranslatorTest, EveryOptionOfEveryLearnerRoundTripsThroughItsMessage) {
  for (const LearnerEntry* entry : AllLearners()) {
    v1::Learner learner;
    const google::protobuf::Reflection& reflection = *learner.GetReflection();
    const FieldDescriptor* field = v1::Learner::descriptor()->FindFieldByName(entry->name);
    ASSERT_NE(field, nullptr);
    google::protobuf::Message& message = *reflection.MutableMessage(&learner, field);
    for (const OptionField& option : entry->fields) {
      if (option.type == OptionType::kChoice) {
        const FieldDescriptor* choice = FieldOfOption(*message.GetDescriptor(), option.name);
        const int last = choice->enum_type()->value_count() - 1;
        message.GetReflection()->SetEnumValue(&message, choice,
                                              choice->enum_type()->value(last)->number());
        EXPECT_THAT(option.choices,
                    testing::Contains(std::get<std::string>(ReadOptions(message).at(option.name))));
      }
      if (option.type == OptionType::kReal) {
        message.GetReflection()->SetDouble(
            &message, FieldOfOption(*message.GetDescriptor(), option.name), 1.25);
        EXPECT_EQ(ReadOptions(message).at(option.name), OptionValue(1.25));
      }
      if (option.type == OptionType::kBool) {
        message.GetReflection()->SetBool(
            &message, FieldOfOption(*message.GetDescriptor(), option.name), true);
        EXPECT_EQ(ReadOptions(message).at(option.name), OptionValue(true));
      }
    }
  }
}

TEST(OptionTranslatorTest, OptionsOfANamedLearnerAreReadFromTheirTexts) {
  const LearnerEntry& entry = *FindLearner("lp_mkl");
  v1::OtherLearner learner;
  auto& texts = *learner.mutable_options();
  texts["p"] = "inf";
  texts["outer_loop"] = "alternation";
  texts["landmarks"] = "25";
  texts["exact_certificate"] = "true";
  FieldViolations violations;
  EXPECT_THAT(ReadOptionTexts(learner, entry, violations),
              UnorderedElementsAre(Pair("p", OptionValue(kInfinity)),
                                   Pair("outer_loop", OptionValue(std::string("alternation"))),
                                   Pair("landmarks", OptionValue(int64_t{25})),
                                   Pair("exact_certificate", OptionValue(true))));
  EXPECT_TRUE(violations.empty());
  texts["C"] = "ten";
  texts["gamma"] = "1";
  EXPECT_EQ(ReadOptionTexts(learner, entry, violations).size(), 4U);
  EXPECT_THAT(violations.violations(),
              UnorderedElementsAre(
                  testing::Field(&FieldViolation::field, "learner.other.options['C']"),
                  testing::Field(&FieldViolation::field, "learner.other.options['gamma']")));
}

TEST(OptionTranslatorTest, WhatALearnerCallsAFieldIsFoundInTheMessageThatWasChosen) {
  EXPECT_EQ(LearnerPath("svm", "C"), "learner.svm.C");
  EXPECT_EQ(LearnerPath("svm", "kernels[2].bandwidth"), "learner.svm.kernels[2].bandwidth");
  EXPECT_EQ(LearnerPath("svm", ""), "learner.svm");
  EXPECT_EQ(LearnerPath("other", "C"), "learner.other.options['C']");
  EXPECT_EQ(LearnerPath("other", "kernels"), "learner.other.kernels");
  EXPECT_EQ(LearnerPath("other", "kernels[2].bandwidth"), "learner.other.kernels[2].bandwidth");
  EXPECT_EQ(LearnerPath("other", "kernels_scale"), "learner.other.options['kernels_scale']");
  EXPECT_EQ(LearnerPath("other", ""), "learner.other");
  EXPECT_EQ(LearnerPath("", "C"), "learner.C");
}

TEST(OptionTranslatorTest, LearnersWithoutAMessageAreToldToBeNamed) {
  LearnerEntry entry;
  entry.name = "not_in_the_api";
  EXPECT_TRUE(DescribeLearner(entry).needs_other());
  EXPECT_FALSE(DescribeLearner(*FindLearner("svm")).needs_other());
}

TEST(OptionTranslatorTest, DifferencesAreFound) {
  LearnerEntry entry;
  entry.name = "svm";
  entry.fields = {{"C", OptionType::kInteger, {}, {}, OptionValue(int64_t{1})},
                  {"shrinking", OptionType::kBool, {}, {}, OptionValue(true)}};
  EXPECT_THAT(CompareOptions(*v1::Svm::descriptor(), entry), testing::SizeIs(testing::Ge(2)));
}

TEST(OptionTranslatorTest, DescriptionsCarryRangeAndDefault) {
  const v1::LearnerDescription description = DescribeLearner(*FindLearner("lp_mkl"));
  EXPECT_EQ(description.name(), "lp_mkl");
  ASSERT_GT(description.options_size(), 0);
  EXPECT_EQ(description.options(0).name(), "p");
  EXPECT_EQ(description.options(0).type(), v1::OPTION_TYPE_REAL);
  EXPECT_EQ(description.options(0).min(), 1.0);
  EXPECT_FALSE(description.options(0).default_value().empty());
  EXPECT_FALSE(description.options(0).meaning().empty());
}

TEST(OptionTranslatorTest, DescriptionsTellTheDefaultPathAndWhatPreventsIt) {
  const v1::LearnerDescription description = DescribeLearner(*FindLearner("infinite_features"));
  std::vector<std::string> preventing;
  for (const v1::OptionDescription& option : description.options()) {
    if (option.prevents_default_path()) {
      preventing.push_back(option.name());
    }
    EXPECT_EQ(option.default_path_size(), option.name() == "lambda" ? 5 : 0) << option.name();
  }
  EXPECT_EQ(preventing, (std::vector<std::string>{"lambda", "lambda_shared", "lambda_unit"}));
  const v1::LearnerDescription without = DescribeLearner(*FindLearner("svm"));
  for (const v1::OptionDescription& option : without.options()) {
    EXPECT_FALSE(option.prevents_default_path()) << option.name();
  }
}

}  // namespace
}  // namespace mercer::server
