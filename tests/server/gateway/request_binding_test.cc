#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mercer/v1/dataset_service.pb.h"
#include "mercer/v1/http_query.pb.h"
#include "mercer/v1/model_service.pb.h"
#include "mercer/v1/prediction_service.pb.h"
#include "mercer/v1/training_service.pb.h"
#include "server/gateway/message_json.h"
#include "server/gateway/rpc_messages.h"

namespace mercer::gateway {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> Bind(const Parameters& parameters, google::protobuf::Message& message) {
  FieldViolations violations;
  BindParameters(parameters, message, violations);
  std::vector<std::string> fields;
  for (const FieldViolation& violation : violations.violations()) {
    fields.push_back(violation.field);
  }
  return fields;
}

TEST(RequestBindingTest, SetsFieldsInEitherSpelling) {
  v1::ListJobsRequest request;
  EXPECT_THAT(Bind({{"pageSize", "3"},
                    {"page_token", "x y"},
                    {"states", "JOB_STATE_RUNNING"},
                    {"states", "1"},
                    {"labels.team", "a"},
                    {"labels.x.y", "b"}},
                   request),
              IsEmpty());
  EXPECT_EQ(request.page_size(), 3);
  EXPECT_EQ(request.page_token(), "x y");
  EXPECT_THAT(request.states(), ElementsAre(v1::JOB_STATE_RUNNING, v1::JOB_STATE_QUEUED));
  EXPECT_EQ(request.labels().at("team"), "a");
  EXPECT_EQ(request.labels().at("x.y"), "b");
}

TEST(RequestBindingTest, SetsTimesAndNestedFields) {
  v1::GetModelVersionRequest get;
  EXPECT_THAT(
      Bind({{"asOfTime", "2026-01-31T00:00:00.500Z"}, {"view", "MODEL_VERSION_VIEW_FULL"}}, get),
      IsEmpty());
  EXPECT_EQ(get.as_of_time().seconds(), 1769817600);
  EXPECT_EQ(get.as_of_time().nanos(), 500'000'000);
  v1::UpdateModelVersionRequest update;
  EXPECT_THAT(
      Bind({{"model_version.description", "x"}, {"updateMask", "description,labels"}}, update),
      IsEmpty());
  EXPECT_EQ(update.model_version().description(), "x");
  EXPECT_THAT(update.update_mask().paths(), ElementsAre("description", "labels"));
  v1::DeleteDatasetRequest remove;
  EXPECT_THAT(Bind({{"whenUnused", "true"}}, remove), IsEmpty());
  EXPECT_TRUE(remove.when_unused());
}

TEST(RequestBindingTest, TakesTextsAsTheyAreAndTheLastOfSeveralNumbers) {
  v1::ListJobsRequest request;
  const std::string odd = "a\"b\\c\n{}<\u00e9>,\x01";
  EXPECT_THAT(
      Bind({{"pageToken", odd}, {"labels." + odd, odd}, {"pageSize", "3"}, {"pageSize", "0"}},
           request),
      IsEmpty());
  EXPECT_EQ(request.page_token(), odd);
  EXPECT_EQ(request.labels().at(odd), odd);
  EXPECT_EQ(request.page_size(), 0);
  EXPECT_THAT(
      Bind({{"pageSize", " 3"}, {"pageSize", ""}, {"pageSize", "0x3"}, {"states", ""}}, request),
      ElementsAre("pageSize", "pageSize", "pageSize", "states"));
  v1::DeleteDatasetRequest remove;
  EXPECT_THAT(Bind({{"whenUnused", "yes"}, {"whenUnused", "True"}}, remove),
              ElementsAre("whenUnused", "whenUnused"));
}

TEST(RequestBindingTest, NamesEveryBadParameter) {
  v1::ListJobsRequest request;
  EXPECT_THAT(Bind({{"pageSize", "3.5"},
                    {"pageSize", "99999999999"},
                    {"states", "RUNNING"},
                    {"labels", "a"},
                    {"labels.", "a"},
                    {"nothing", "x"},
                    {"pageSize.x", "1"},
                    {"labels.a", "1"},
                    {"labels.a", "2"}},
                   request),
              ElementsAre("pageSize", "pageSize", "states", "labels", "labels.", "nothing",
                          "pageSize.x", "labels.a"));
  v1::GetModelVersionRequest get;
  EXPECT_THAT(Bind({{"asOfTime", "yesterday"}, {"asOfTime", "\""}}, get),
              ElementsAre("asOfTime", "asOfTime"));
  v1::DeleteDatasetRequest remove;
  EXPECT_THAT(Bind({{"when_unused", "1"}}, remove), ElementsAre("when_unused"));
}

TEST(RequestBindingTest, WhatAMessageHasNoFieldForIsLeft) {
  v1::WatchJobsQuery query;
  FieldViolations violations;
  EXPECT_THAT(BindKnown({{"job", "jobs/a"},
                         {"kinds", "1"},
                         {"job", "jobs/b:3"},
                         {"labels.job", "x"},
                         {"job.x", "y"},
                         {"jobs", "1"}},
                        query, violations),
              ElementsAre(testing::Pair("kinds", "1"), testing::Pair("labels.job", "x")));
  EXPECT_THAT(query.job(), ElementsAre("jobs/a", "jobs/b:3"));
  EXPECT_EQ(query.jobs(), "1");
  ASSERT_EQ(violations.violations().size(), 1u);
  EXPECT_EQ(violations.violations()[0].field, "job.x");
}

TEST(RequestBindingTest, PathAndBodyMustAgree) {
  v1::UpdateModelRequest request;
  FieldViolations violations;
  BindText("model.name", "models/a", request, violations);
  BindText("model.name", "models/a", request, violations);
  EXPECT_TRUE(violations.empty());
  EXPECT_EQ(request.model().name(), "models/a");
  BindText("model.name", "models/b", request, violations);
  ASSERT_EQ(violations.violations().size(), 1u);
  EXPECT_EQ(violations.violations()[0].field, "model.name");
}

// The fields that are refused of a request of HTTP; empty: it became `message`, of the type of its route.
std::vector<std::string> RefusedFields(const std::string& verb, const std::string& target,
                                       const std::string& body,
                                       google::protobuf::Message& message) {
  RequestHead head;
  head.method = verb;
  head.target = target;
  const absl::StatusOr<RouteMatch> match = FindRoute(verb, target.substr(0, target.find('?')));
  EXPECT_TRUE(match.ok()) << target << ": " << match.status();
  const auto made = MakeRequestMessage(*match, head, body);
  if (made.ok()) {
    message.CopyFrom(**made);
    return {};
  }
  EXPECT_EQ(GetReason(made.status()), "BAD_FIELDS") << made.status();
  std::vector<std::string> fields;
  for (const FieldViolation& violation : GetFieldViolations(made.status())) {
    fields.push_back(violation.field);
  }
  return fields;
}

TEST(RequestBindingTest, ADeleteOfAnAliasCannotMoveIt) {
  const std::string alias = "/v1/models/m/aliases/prod";
  v1::SetAliasRequest request;
  EXPECT_THAT(RefusedFields("DELETE", alias + "?version=models/m/versions/1&etag=2", "", request),
              ElementsAre("version"));
  EXPECT_THAT(RefusedFields("DELETE", alias + "?version=", "", request), ElementsAre("version"));
  EXPECT_THAT(RefusedFields("DELETE", alias + "?versions=1", "", request), ElementsAre("versions"));
  EXPECT_THAT(RefusedFields("DELETE", alias + "?etag=2&requestId=a&name=models/m/aliases/prod", "",
                            request),
              IsEmpty());
  EXPECT_EQ(request.name(), "models/m/aliases/prod");
  EXPECT_EQ(request.version(), "");
  EXPECT_EQ(request.etag(), "2");
  EXPECT_EQ(request.request_id(), "a");
  EXPECT_THAT(RefusedFields("DELETE", alias + "?request_id=b", "", request), IsEmpty());
  EXPECT_EQ(request.request_id(), "b");
  EXPECT_THAT(RefusedFields("PUT", alias, R"({"version":"models/m/versions/1"})", request),
              IsEmpty());
  EXPECT_EQ(request.version(), "models/m/versions/1");
  v1::DeleteDatasetRequest whole;
  EXPECT_THAT(RefusedFields("DELETE", "/v1/datasets/d?whenUnused=true", "", whole), IsEmpty());
  EXPECT_TRUE(whole.when_unused());
}

TEST(RequestBindingTest, AnUpdateNeedsItsResource) {
  const std::pair<const char*, const char*> cases[] = {
      {"/v1/datasets/d", "dataset"},
      {"/v1/jobs/j", "job"},
      {"/v1/models/m", "model"},
      {"/v1/models/m/versions/3", "model_version"}};
  for (const auto& [path, resource] : cases) {
    const std::string object = absl::StrCat("{\"", resource, "\":");
    const std::unique_ptr<google::protobuf::Message> request =
        NewMessage(*FindRoute("PATCH", path)->route->descriptor->input_type());
    for (const std::string& body : {std::string(), std::string("{}"), object + "null}",
                                    std::string(R"({"updateMask":"labels"})")}) {
      EXPECT_THAT(RefusedFields("PATCH", path, body, *request), ElementsAre(resource))
          << path << " " << body;
    }
    EXPECT_THAT(RefusedFields("PATCH", path, object + "{}}", *request), IsEmpty()) << path;
    EXPECT_THAT(RefusedFields("PATCH", path, object + R"({"labels":{"a":"b"}}})", *request),
                IsEmpty())
        << path;
  }
  v1::CancelJobRequest cancel;  // which the path names, and no more
  EXPECT_THAT(RefusedFields("POST", "/v1/jobs/j:cancel", "", cancel), IsEmpty());
  EXPECT_EQ(cancel.name(), "jobs/j");
}

std::string FieldOf(const std::string& json, google::protobuf::Message& message) {
  const absl::Status status = ReadJson(json, message);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << json;
  const auto violations = GetFieldViolations(status);
  return violations.empty() ? GetReason(status) : violations[0].field;
}

TEST(MessageJsonTest, NamesTheFieldThatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"nme":1})", "nme"},
      {R"({"data":[{"dataset":"a"},{"x":1}]})", "data[1].x"},
      {R"({"learner":{"lpMkl":{"foo":1}}})", "learner.lp_mkl.foo"},
      {R"({"learner":{"lpMkl":{"kernels":[{},{"type":"FOO"}]}}})",
       "learner.lp_mkl.kernels[1].type"},
      {R"({"seed":"x"})", "seed"},
      {R"({"seed":1.5})", "seed"},
      {R"({"requestId":5})", "request_id"},
      {R"({"learner":{"lpMkl":{},"svm":{}}})", "learner.svm"},
      {R"({"learner":[]})", "learner"},
      {R"({"requestId":[]})", "request_id"},
      {R"({"requestId":{}})", "request_id"},
      {R"({"learner":{"svm":{"C":[1]}}})", "learner.svm.C"},
      {R"({"learner":{"svm":{"C":{}}}})", "learner.svm.C"},
      {R"({"data":[{"dataset":{}}]})", "data[0].dataset"},
      {R"({"labels":["a"]})", "labels"},
      {R"({"labels":{"a":["b"]}})", "labels[0].value"},
      {R"({"labels":{"a":{"b":1}}})", "labels[0].value.b"},
      {"{", "BAD_JSON"},
      {"[]", "BAD_JSON"},
      {"3", "BAD_JSON"},
      {"null x", "BAD_JSON"},
      {"{\"requestId\":\"\xff\"}", "BAD_JSON"},
      {"{} {}", "BAD_JSON"},
  };
  for (const auto& [json, field] : cases) {
    v1::TrainRequest request;
    EXPECT_EQ(FieldOf(json, request), field) << json;
  }
  v1::TrainRequest request;
  EXPECT_EQ(FieldOf(std::string(100'000, '['), request), "BAD_JSON");
  std::string deep;
  for (int i = 0; i < 100'000; ++i) {
    deep += "{\"data\":[";
  }
  v1::TrainRequest other;
  EXPECT_FALSE(ReadJson(deep, other).ok());
}

TEST(MessageJsonTest, NamesFieldsOfTheRequestItself) {
  v1::UpdateJobRequest update;
  EXPECT_EQ(FieldOf(R"({"job":[]})", update), "job");
  EXPECT_EQ(FieldOf(R"({"job":{"labels":["a"]}})", update), "job.labels");
  EXPECT_EQ(FieldOf(R"({"updateMask":["labels"]})", update), "update_mask");
  v1::PredictRequest predict;
  EXPECT_EQ(FieldOf(R"({"rows":{},"dataset":"datasets/a"})", predict), "dataset");
  EXPECT_EQ(FieldOf(R"({"dataset":"datasets/a","rows":{}})", predict), "rows");
  EXPECT_EQ(FieldOf(R"({"contributions":{}})", predict), "contributions");
  // What only looks like the library's words is a value.
  for (const char* text : {"is already set. Cannot set 'x' for type oneof",
                           ": invalid value Starting an object on a scalar field for type x"}) {
    EXPECT_EQ(FieldOf(absl::StrCat(R"({"contributions":")", text, "\"}"), predict),
              "contributions");
  }
}

TEST(MessageJsonTest, EmptyTextHasNoFields) {
  v1::ListJobsRequest request;
  EXPECT_TRUE(ReadJson("", request).ok());
  EXPECT_EQ(request.ByteSizeLong(), 0u);
}

TEST(MessageJsonTest, TakesBothSpellingsAndWritesOne) {
  v1::ListJobsRequest request;
  ASSERT_TRUE(
      ReadJson(R"({"page_size":3,"pageToken":"t","states":["JOB_STATE_RUNNING"]})", request).ok());
  EXPECT_EQ(*WriteJson(request),
            R"({"pageSize":3,"pageToken":"t","states":["JOB_STATE_RUNNING"]})");
}

}  // namespace
}  // namespace mercer::gateway
