// What a request says before it is believed: unknown fields, names, matrices, the TrainRequest as a
// whole.
#include <limits>

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "core/learners/registry.h"
#include "mercer/v1/dataset.pb.h"
#include "mercer/v1/training_service.pb.h"
#include "server/translation/matrix_translator.h"
#include "server/translation/recipe_translator.h"
#include "server/translation/resource_names.h"
#include "server/translation/unknown_fields.h"

namespace mercer::server {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

v1::TrainRequest ParseRequest(const std::string& text) {
  v1::TrainRequest request;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &request)) << text;
  return request;
}

constexpr char kGoodRequest[] = R"(
    data { dataset: "datasets/spam" }
    learner { lp_mkl { p: 2 kernels { type: KERNEL_TYPE_GAUSSIAN bandwidths: [1, 2, 4] } } })";

absl::StatusOr<JobPlan> Read(const v1::TrainRequest& request) {
  return ReadTrainRequest(
      request, [](std::string_view name) { return FindLearner(name); }, 2, AllLearners());
}

std::vector<FieldViolation> ViolationsOf(const std::string& addition) {
  v1::TrainRequest request = ParseRequest(kGoodRequest);
  request.MergeFrom(ParseRequest(addition));
  return GetFieldViolations(Read(request).status());
}

auto IsViolation(const std::string& field, const std::string& part) {
  return AllOf(Field(&FieldViolation::field, field),
               Field(&FieldViolation::description, HasSubstr(part)));
}

TEST(TrainRequestTest, ALearnerThatIsNamedIsTheOneOfItsMessage) {
  const auto plan = Read(ParseRequest(R"(
      data { dataset: "datasets/spam" }
      learner { other { name: "lp_mkl" options { key: "p" value: "3" }
                        kernels { type: KERNEL_TYPE_GAUSSIAN bandwidths: [1, 2, 4] } } })"));
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->recipe.learner, "lp_mkl");
  EXPECT_EQ(plan->recipe.options.at("p"), OptionValue(3.0));
  EXPECT_EQ(plan->recipe.kernels.at(0).bandwidths.size(), 3U);
}

TEST(TrainRequestTest, WhatIsWrongWithANamedLearnerIsToldByItsField) {
  EXPECT_THAT(ViolationsOf("learner { other { name: \"perceptron\" } }"),
              ElementsAre(AllOf(IsViolation("learner.other.name",
                                            "does not have the learner 'perceptron'; it has "),
                                IsViolation("learner.other.name", "lp_mkl"))));
  EXPECT_THAT(ViolationsOf("learner { other { name: \"lp-mkl\" } }"),
              ElementsAre(IsViolation("learner.other.name", "'lp-mkl'; did you mean 'lp_mkl'")));
  EXPECT_THAT(ViolationsOf("learner { other { } }"),
              ElementsAre(IsViolation("learner.other.name", "is missing")));
  EXPECT_THAT(
      ViolationsOf("learner { other { name: \"svm\" options { key: \"C\" value: \"-1\" } "
                   "options { key: \"nu\" value: \"1\" } } }"),
      testing::UnorderedElementsAre(IsViolation("learner.other.options['C']", "must be in"),
                                    IsViolation("learner.other.options['nu']", "unknown option")));
}

// The learners have messages of their own, which the requests use or do not.
TEST(TrainRequestTest, AFieldIsToldOnceByTheMessageThatTheRequestUsed) {
  const auto told = [](const std::string& learner) {
    return GetFieldViolations(
        Read(ParseRequest("data { dataset: \"datasets/spam\" } learner { " + learner + " }"))
            .status());
  };
  // Bad as it stands in a request (degree), and as a kernel.
  const std::string bad = "kernels { type: KERNEL_TYPE_GAUSSIAN degree: 2 bandwidths: [-1] }";
  for (const std::string learner : {"svm", "lp_mkl"}) {
    EXPECT_THAT(told("other { name: \"" + learner + "\" " + bad + " }"),
                testing::UnorderedElementsAre(
                    IsViolation("learner.other.kernels[0].degree", "is only for"),
                    IsViolation("learner.other.kernels[0].bandwidths[0]", "must be")));
    EXPECT_THAT(told(learner + " { " + bad + " }"),
                testing::UnorderedElementsAre(
                    IsViolation("learner." + learner + ".kernels[0].degree", "is only for"),
                    IsViolation("learner." + learner + ".kernels[0].bandwidths[0]", "must be")));
  }
  // A rule between two options.
  EXPECT_THAT(told("other { name: \"lp_mkl\" options { key: \"outer_loop\" value: \"smo_mkl\" } "
                   "options { key: \"p\" value: \"1\" } }"),
              ElementsAre(IsViolation("learner.other.options['outer_loop']", "")));
  EXPECT_THAT(told("lp_mkl { outer_loop: OUTER_LOOP_SMO_MKL p: 1 }"),
              ElementsAre(IsViolation("learner.lp_mkl.outer_loop", "")));
}

TEST(UnknownFieldsTest, NamesNumbersAndEnumValuesAtAnyDepth) {
  v1::TrainRequest request = ParseRequest(kGoodRequest);
  v1::KernelGrid& grid = *request.mutable_learner()->mutable_lp_mkl()->mutable_kernels(0);
  grid.GetReflection()->MutableUnknownFields(&grid)->AddVarint(77, 1);
  request.GetReflection()->MutableUnknownFields(&request)->AddVarint(99, 1);
  request.set_coding(static_cast<v1::CodingChoice>(42));
  FieldViolations violations;
  CheckUnknownFields(request, violations);
  EXPECT_THAT(violations.violations(),
              testing::UnorderedElementsAre(
                  IsViolation("", "unknown field number 99"),
                  IsViolation("learner.lp_mkl.kernels[0]", "unknown field number 77"),
                  IsViolation("coding", "unknown value 42")));
}

TEST(UnknownFieldsTest, NamesEntriesOfMapsByTheirKeys) {
  v1::CsvFormat format;
  (*format.mutable_roles())["a.b"] = static_cast<v1::ColumnRole>(42);
  (*format.mutable_roles())["good"] = v1::COLUMN_ROLE_TARGET;
  FieldViolations violations;
  CheckUnknownFields(format, violations);
  EXPECT_THAT(violations.violations(),
              ElementsAre(IsViolation("roles['a.b']", "unknown value 42")));
}

TEST(UnknownFieldsTest, KnownFieldsAreNoViolation) {
  FieldViolations violations;
  CheckUnknownFields(ParseRequest(kGoodRequest), violations);
  EXPECT_THAT(violations.violations(), IsEmpty());
}

TEST(ResourceNamesTest, AcceptsTheThreeFormsOfModelNames) {
  EXPECT_EQ(ParseModelName("models/spam", "name")->version, 0);
  EXPECT_EQ(ParseModelName("models/spam/versions/12", "name")->version, 12);
  EXPECT_EQ(ParseModelName("models/spam/aliases/live", "name")->alias, "live");
}

TEST(ResourceNamesTest, RefusesEverythingElse) {
  for (const char* name :
       {"", "spam", "models/", "models/Spam", "models/spam/", "models/spam/versions/",
        "models/spam/versions/0", "models/spam/versions/01", "models/spam/versions/+1",
        "models/spam/versions/1x", "models/spam/aliases/", "models/spam@live", "models/../spam",
        "models/spam/versions/99999999999999999999", "models/-x", "jobs/spam"}) {
    const auto parsed = ParseModelName(name, "name");
    EXPECT_FALSE(parsed.ok()) << name;
    EXPECT_THAT(GetFieldViolations(parsed.status()),
                ElementsAre(IsViolation("name", "models/{model}")))
        << name;
  }
  EXPECT_FALSE(ParseDatasetName("datasets/../../etc", "name").ok());
  EXPECT_FALSE(ParseDatasetName("datasets/" + std::string(64, 'a'), "name").ok());
  EXPECT_TRUE(ParseDatasetName("datasets/" + std::string(63, 'a'), "name").ok());
}

TEST(MatrixTranslatorTest, RoundTripsRowsByRows) {
  RowMatrix matrix(2, 3);
  matrix << 1, 2, 3, 4, 5, 6;
  v1::Matrix message;
  ASSERT_TRUE(WriteRowMatrix(matrix, &message).ok());
  EXPECT_THAT(message.values(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(*ReadMatrix(message, "m"), matrix);
  message.set_raw(message.values().data(), 6 * sizeof(double));
  EXPECT_FALSE(ReadMatrix(message, "m").ok()) << "values and raw at once";
  message.clear_values();
  EXPECT_EQ(*ReadMatrix(message, "m"), matrix);
}

// 2^33 entries: their number does not fit into 32 bits. They are never read.
TEST(MatrixTranslatorTest, RefusesToWriteMoreThanAMessageHolds) {
  const Eigen::Map<const Matrix> columns(nullptr, Index{1} << 30, 8);
  const Eigen::Map<const RowMatrix> rows(nullptr, Index{1} << 30, 8);
  v1::Matrix message;
  for (const absl::Status& status :
       {WriteMatrix(columns, &message), WriteRowMatrix(rows, &message)}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
    EXPECT_EQ(GetReason(status), "RESPONSE_TOO_LARGE");
  }
  EXPECT_EQ(message.ByteSizeLong(), 0u);
}

TEST(MatrixTranslatorTest, RefusesSizesThatDoNotAgree) {
  v1::Matrix message;
  message.set_rows(std::numeric_limits<int64_t>::max());
  message.set_columns(std::numeric_limits<int64_t>::max());
  message.add_values(1);
  EXPECT_FALSE(ReadMatrix(message, "m").ok());
  message.set_rows(-1);
  EXPECT_FALSE(ReadMatrix(message, "m").ok());
  message.set_rows(1);
  message.set_columns(0);
  EXPECT_FALSE(ReadMatrix(message, "m").ok());
  message.set_columns(1);
  EXPECT_TRUE(ReadMatrix(message, "m").ok());
  message.clear_values();
  message.set_raw("1234567");
  EXPECT_FALSE(ReadMatrix(message, "m").ok());
}

TEST(TrainRequestTest, GoodRequestBecomesARecipe) {
  const auto plan = Read(ParseRequest(std::string(kGoodRequest) + R"(
      target: "spam" seed: 7 validation { hold_out { fraction: 0.3 } } class_weights { weighting: CLASS_WEIGHTING_BALANCED }
      preprocessing { scaling: SCALING_MIN_MAX } coding: CODING_CHOICE_ONE_VS_ONE
      stopping { relative_gap: 0.01 max_iterations: 5 time_limit { seconds: 3 } })"));
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(plan->dataset_ids, ElementsAre("spam"));
  EXPECT_EQ(plan->num_threads, 2);
  const TrainingRecipe& recipe = plan->recipe;
  EXPECT_EQ(recipe.learner, "lp_mkl");
  EXPECT_EQ(recipe.options.at("p"), OptionValue(2.0));
  ASSERT_EQ(recipe.kernels.size(), 1u);
  EXPECT_THAT(recipe.kernels[0].bandwidths, ElementsAre(1, 2, 4));
  EXPECT_EQ(recipe.validation.kind, ValidationKind::kHoldOut);
  EXPECT_EQ(recipe.validation.fraction, 0.3);
  EXPECT_EQ(recipe.class_weighting, ClassWeighting::kBalanced);
  EXPECT_EQ(recipe.preprocessing.scaling, Scaling::kMinMax);
  EXPECT_EQ(recipe.coding, CodingChoice::kOneVsOne);
  EXPECT_EQ(recipe.limits.relative_gap, 0.01);
  EXPECT_EQ(recipe.limits.max_iterations, 5);
  EXPECT_EQ(recipe.limits.max_time, absl::Seconds(3));
  EXPECT_EQ(recipe.seed, 7u);
}

TEST(TrainRequestTest, TimeLimitMustBeADuration) {
  for (const char* limit : {"seconds: 5 nanos: -1", "seconds: 5 nanos: 1000000000"}) {
    const auto violations = ViolationsOf(absl::StrCat("stopping { time_limit { ", limit, " } }"));
    EXPECT_THAT(violations, Contains(IsViolation("stopping.time_limit", "nanos"))) << limit;
  }
  for (const char* limit : {"seconds: 315576000001", "seconds: 315576000000 nanos: 1",
                            "seconds: 9223372036854775807 nanos: -1"}) {
    EXPECT_THAT(ViolationsOf(absl::StrCat("stopping { time_limit { ", limit, " } }")),
                Contains(IsViolation("stopping.time_limit", "at most 315576000000 s")))
        << limit << ": JSON cannot say it";
  }
  EXPECT_THAT(ViolationsOf("stopping { time_limit { seconds: 315576000000 } }"),
              Not(Contains(IsViolation("stopping.time_limit", ""))));
  EXPECT_THAT(ViolationsOf("stopping { time_limit { nanos: 999999999 } }"),
              Not(Contains(IsViolation("stopping.time_limit", ""))));
}

TEST(TrainRequestTest, EveryBadFieldIsNamedAtOnceWithItsPath) {
  const auto violations = ViolationsOf(R"(
      learner { lp_mkl { p: 0.5 c: 0 kernels { type: KERNEL_TYPE_GAUSSIAN bandwidth: -1 } kernels { bandwidth: 1 }
                         kernels { type: KERNEL_TYPE_GAUSSIAN degree: 2 }
                         kernels { type: KERNEL_TYPE_GAUSSIAN rule: BANDWIDTH_RULE_LOG_SPACED min_bandwidth: 0 max_bandwidth: 1 } } }
      data { dataset: "spam" } model: "models/a/versions/3" threads: -1 priority: 1000 request_id: "with space"
      validation { hold_out { fraction: 2 } } stopping { relative_gap: 0 max_iterations: 0 time_limit { seconds: -1 } }
      class_weights { weights { key: "1" value: -2 } } labels { key: "Bad Key" value: "" })");
  EXPECT_THAT(violations, Contains(IsViolation("learner.lp_mkl.p", "0.5")));
  EXPECT_THAT(violations, Contains(IsViolation("learner.lp_mkl.C", "0")));
  EXPECT_THAT(violations,
              Contains(IsViolation("learner.lp_mkl.kernels[1].bandwidth", "must be > 0")));
  EXPECT_THAT(violations, Contains(IsViolation("learner.lp_mkl.kernels[2].type", "is missing")));
  EXPECT_THAT(violations,
              Contains(IsViolation("learner.lp_mkl.kernels[3].degree", "only for polynomial")));
  EXPECT_THAT(violations,
              Contains(IsViolation("learner.lp_mkl.kernels[4].min_bandwidth", "must be > 0")));
  EXPECT_THAT(violations, Contains(IsViolation("learner.lp_mkl.kernels[4].count", ">= 1")));
  EXPECT_THAT(violations, Contains(IsViolation("data[1].dataset", "datasets/{id}")));
  EXPECT_THAT(violations, Contains(IsViolation("model", "models/{model}")));
  EXPECT_THAT(violations, Contains(IsViolation("threads", "is -1")));
  EXPECT_THAT(violations, Contains(IsViolation("priority", "is 1000")));
  EXPECT_THAT(violations, Contains(IsViolation("request_id", "ASCII")));
  EXPECT_THAT(violations, Contains(IsViolation("validation.hold_out.fraction", "(0, 1)")));
  EXPECT_THAT(violations, Contains(IsViolation("stopping.relative_gap", "(0, 1)")));
  EXPECT_THAT(violations, Contains(IsViolation("stopping.max_iterations", ">= 1")));
  EXPECT_THAT(violations, Contains(IsViolation("stopping.time_limit", "> 0")));
  EXPECT_THAT(violations, Contains(IsViolation("class_weights.weights['1']", ">= 0")));
  EXPECT_THAT(violations, Contains(IsViolation("labels", "Bad Key")));
  EXPECT_THAT(violations, Not(Contains(Field(&FieldViolation::field, HasSubstr("options")))));
}

TEST(TrainRequestTest, MissingPartsAreNamed) {
  const auto violations = GetFieldViolations(Read(v1::TrainRequest()).status());
  EXPECT_THAT(violations, Contains(IsViolation("data", "is missing")));
  EXPECT_THAT(violations, Contains(IsViolation("learner", "is missing")));
}

TEST(TrainRequestTest, TooManyKernelsAreRefused) {
  v1::TrainRequest request = ParseRequest(kGoodRequest);
  request.mutable_learner()->mutable_lp_mkl()->clear_kernels();
  v1::KernelGrid& grid = *request.mutable_learner()->mutable_lp_mkl()->add_kernels();
  grid.set_type(v1::KERNEL_TYPE_GAUSSIAN);
  grid.set_rule(v1::BANDWIDTH_RULE_LOG_SPACED);
  grid.set_min_bandwidth(1);
  grid.set_max_bandwidth(2);
  grid.set_count(1'000'000);
  EXPECT_THAT(GetFieldViolations(Read(request).status()),
              ElementsAre(IsViolation("learner.lp_mkl.kernels", "1000000")));
}

TEST(TrainRequestTest, NanIsRefusedEverywhere) {
  EXPECT_THAT(ViolationsOf("learner { lp_mkl { c: nan } }"),
              Contains(Field(&FieldViolation::field, "learner.lp_mkl.C")));
  EXPECT_THAT(ViolationsOf("stopping { relative_gap: nan }"),
              Contains(Field(&FieldViolation::field, "stopping.relative_gap")));
  EXPECT_THAT(ViolationsOf("class_weights { weights { key: 'a' value: nan } }"),
              Contains(Field(&FieldViolation::field, "class_weights.weights['a']")));
  EXPECT_THAT(ViolationsOf("validation { hold_out { fraction: nan } }"),
              Contains(Field(&FieldViolation::field, "validation.hold_out.fraction")));
}

TEST(TrainRequestTest, InfiniteNormIsAllowed) {
  EXPECT_THAT(ViolationsOf("learner { lp_mkl { p: inf } }"), IsEmpty());
}

TEST(TrainRequestTest, RegressionsAreStandardisedUnlessTheRequestIsOfAnEarlierVersion) {
  const std::string regression =
      "data { dataset: 'datasets/d' } target_kind: TARGET_KIND_REGRESSION learner { kernel_ridge { "
      "} }";
  const auto scaling_of = [](const v1::TrainRequest& request) {
    const absl::StatusOr<JobPlan> plan = Read(request);
    EXPECT_TRUE(plan.ok()) << plan.status();
    return plan.ok() ? plan->recipe.target_scaling : TargetScaling();
  };
  const auto completed = [](v1::TrainRequest request) {
    const absl::StatusOr<JobPlan> plan = Read(request);
    EXPECT_TRUE(plan.ok()) << plan.status();
    WriteDecisions({plan.ok() ? plan->recipe : TrainingRecipe(), {}}, request);
    return request;
  };
  const v1::TrainRequest silent = ParseRequest(regression);
  EXPECT_EQ(scaling_of(completed(silent)), TargetScaling::kStandardize);
  EXPECT_EQ(scaling_of(silent), TargetScaling::kNone) << "stored before there was the field";
  for (const auto scaling : {v1::TARGET_SCALING_NONE, v1::TARGET_SCALING_STANDARDIZE}) {
    v1::TrainRequest explicit_request = silent;
    explicit_request.set_target_scaling(scaling);
    EXPECT_EQ(completed(explicit_request).target_scaling(), scaling);
    EXPECT_EQ(scaling_of(explicit_request), scaling == v1::TARGET_SCALING_NONE
                                                ? TargetScaling::kNone
                                                : TargetScaling::kStandardize);
  }
  const v1::TrainRequest classes =
      ParseRequest(std::string(kGoodRequest) + "target_kind: TARGET_KIND_CLASSIFICATION");
  EXPECT_EQ(EncodeTrainRequest(completed(classes)), EncodeTrainRequest(classes));
}

TEST(TrainRequestTest, EqualRequestsAreStoredAsEqualBytes) {
  v1::TrainRequest first = ParseRequest(
      std::string(kGoodRequest) + "labels { key: 'a' value: '1' } labels { key: 'b' value: '2' }");
  v1::TrainRequest second = ParseRequest(
      std::string(kGoodRequest) + "labels { key: 'b' value: '2' } labels { key: 'a' value: '1' }");
  second.set_request_id("other");
  EXPECT_EQ(EncodeTrainRequest(first), EncodeTrainRequest(second));
  second.set_seed(1);
  EXPECT_NE(EncodeTrainRequest(first), EncodeTrainRequest(second));
}

}  // namespace
}  // namespace mercer::server
