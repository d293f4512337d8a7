#include "server/gateway/routes.h"

#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "mercer/v1/admin_service.pb.h"
#include "mercer/v1/dataset_service.pb.h"
#include "mercer/v1/model_service.pb.h"
#include "mercer/v1/prediction_service.pb.h"
#include "mercer/v1/server_service.pb.h"
#include "mercer/v1/training_service.pb.h"

namespace mercer::gateway {
namespace {

using google::protobuf::MethodDescriptor;
using testing::IsEmpty;

// Referred to by name alone, the files would not be linked.
void LinkServices() {
  v1::BackupRequest::descriptor();
  v1::GetDatasetRequest::descriptor();
  v1::GetModelVersionRequest::descriptor();
  v1::PredictRequest::descriptor();
  v1::GetServerInfoRequest::descriptor();
  v1::GetJobRequest::descriptor();
}

std::string NameOf(const MethodDescriptor& method) {
  return absl::StrCat(method.service()->name(), "/", method.name());
}

std::set<std::string> MethodsOf(bool unary) {
  LinkServices();
  std::set<std::string> methods;
  for (const char* service : {"AdminService", "DatasetService", "ModelService", "PredictionService",
                              "ServerService", "TrainingService"}) {
    const auto* descriptor = google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(
        absl::StrCat("mercer.v1.", service));
    EXPECT_NE(descriptor, nullptr) << service;
    for (int m = 0; descriptor != nullptr && m < descriptor->method_count(); ++m) {
      const MethodDescriptor& method = *descriptor->method(m);
      if (unary == (!method.client_streaming() && !method.server_streaming())) {
        methods.insert(NameOf(method));
      }
    }
  }
  return methods;
}

TEST(RoutesTest, EveryUnaryRpcHasOne) {
  std::set<std::string> missing = MethodsOf(/*unary=*/true);
  for (const Route& route : AllRoutes()) {
    missing.erase(std::string(route.method));
  }
  EXPECT_THAT(missing, IsEmpty());
}

TEST(RoutesTest, EveryStreamHasOneOrIsKnownToHaveNone) {
  std::set<std::string> missing = MethodsOf(/*unary=*/false);
  for (const Route& route : AllRoutes()) {
    missing.erase(std::string(route.method));
  }
  EXPECT_THAT(missing, testing::UnorderedElementsAre(
                           "AdminService/Backup",                // for operators, over gRPC
                           "PredictionService/PredictStream"));  // Predict, call by call
}

TEST(RoutesTest, EachLeadsToAnRpcOfItsKindAndAFieldOfItsRequest) {
  LinkServices();
  for (const Route& route : AllRoutes()) {
    const MethodDescriptor* method = route.descriptor;
    EXPECT_EQ(NameOf(*method), route.method);
    EXPECT_EQ(route.kind == CallKind::kUnary,
              !method->client_streaming() && !method->server_streaming())
        << route.path;
    const google::protobuf::Descriptor* type = method->input_type();
    std::string field(route.field);
    if (const size_t dot = field.find('.'); dot != std::string::npos) {
      ASSERT_NE(type->FindFieldByName(field.substr(0, dot)), nullptr) << route.path;
      type = type->FindFieldByName(field.substr(0, dot))->message_type();
      field = field.substr(dot + 1);
    }
    EXPECT_EQ(field.empty(), route.value.empty()) << route.path;
    if (!field.empty()) {
      const auto* descriptor = type->FindFieldByName(field);
      ASSERT_NE(descriptor, nullptr) << route.path;
      EXPECT_EQ(descriptor->type(), google::protobuf::FieldDescriptor::TYPE_STRING) << route.path;
    }
  }
}

TEST(RoutesTest, TheRequestIsTheBodyWhereTheVerbHasOne) {
  for (const Route& route : AllRoutes()) {
    EXPECT_EQ(route.has_body, route.verb != "GET" && route.verb != "DELETE") << route.path;
  }
}

TEST(RoutesTest, EachThingHasTheNameOfItsCollection) {
  std::set<std::string> variables;
  for (const Route& route : AllRoutes()) {
    EXPECT_EQ(route.path.find('*'), std::string::npos) << route.path;
    for (size_t open = route.path.find('{'); open != std::string::npos;
         open = route.path.find('{', open + 1)) {
      variables.insert(route.path.substr(open, route.path.find('}', open) + 1 - open));
    }
  }
  EXPECT_THAT(variables, testing::UnorderedElementsAre("{job}", "{dataset}", "{upload}", "{model}",
                                                       "{version}", "{alias}"));
}

TEST(RoutesTest, NoTwoAreTheSame) {
  std::set<std::string> seen;
  for (const Route& route : AllRoutes()) {
    EXPECT_TRUE(
        seen.insert(absl::StrCat(std::string(route.verb), " ", std::string(route.path))).second)
        << route.path;
  }
}

struct Case {
  const char* verb;
  const char* path;
  const char* method;
  const char* value;
};

TEST(RoutesTest, VariablesBecomeTheNameOfTheResource) {
  const Case cases[] = {
      {"GET", "/v1/jobs", "TrainingService/ListJobs", ""},
      {"POST", "/v1/jobs", "TrainingService/Train", ""},
      {"POST", "/v1/jobs:estimate", "TrainingService/EstimateCost", ""},
      {"GET", "/v1/jobs/j-1", "TrainingService/GetJob", "jobs/j-1"},
      {"DELETE", "/v1/jobs/j-1", "TrainingService/DeleteJob", "jobs/j-1"},
      {"PATCH", "/v1/jobs/j-1", "TrainingService/UpdateJob", "jobs/j-1"},
      {"PATCH", "/v1/datasets/d", "DatasetService/UpdateDataset", "datasets/d"},
      {"POST", "/v1/jobs/j-1:stop", "TrainingService/StopJob", "jobs/j-1"},
      {"GET", "/v1/jobs/j-1/events", "TrainingService/StreamProgress", "jobs/j-1"},
      {"GET", "/v1/events", "TrainingService/WatchJobs", ""},
      {"GET", "/v1/models/spam", "ModelService/GetModel", "models/spam"},
      {"PATCH", "/v1/models/spam", "ModelService/UpdateModel", "models/spam"},
      {"DELETE", "/v1/models/spam", "ModelService/DeleteModel", "models/spam"},
      {"GET", "/v1/models/spam/versions", "ModelService/ListModelVersions", "models/spam"},
      {"GET", "/v1/models/-/versions", "ModelService/ListModelVersions", "models/-"},
      {"GET", "/v1/models/spam/versions/3", "ModelService/GetModelVersion",
       "models/spam/versions/3"},
      {"GET", "/v1/models/spam:version", "ModelService/GetModelVersion", "models/spam"},
      {"GET", "/v1/models/spam/aliases/live:version", "ModelService/GetModelVersion",
       "models/spam/aliases/live"},
      {"GET", "/v1/models/spam/aliases/live", "ModelService/GetAlias", "models/spam/aliases/live"},
      {"PATCH", "/v1/models/spam/versions/3", "ModelService/UpdateModelVersion",
       "models/spam/versions/3"},
      {"DELETE", "/v1/models/spam/versions/3", "ModelService/DeleteModelVersion",
       "models/spam/versions/3"},
      {"POST", "/v1/models/spam/versions/3:predict", "PredictionService/Predict",
       "models/spam/versions/3"},
      {"POST", "/v1/models/spam/aliases/live:predict", "PredictionService/Predict",
       "models/spam/aliases/live"},
      {"GET", "/v1/models/spam:export", "ModelService/ExportModel", "models/spam"},
      {"PUT", "/v1/models/spam/aliases/live", "ModelService/SetAlias", "models/spam/aliases/live"},
      {"GET", "/v1/models/spam/aliases/live/history", "ModelService/ListAliasHistory",
       "models/spam/aliases/live"},
      {"POST", "/v1/models/spam/aliases/live:rollback", "ModelService/RollbackAlias",
       "models/spam/aliases/live"},
  };
  for (const Case& one : cases) {
    const absl::StatusOr<RouteMatch> match = FindRoute(one.verb, one.path);
    ASSERT_TRUE(match.ok()) << one.path << ": " << match.status();
    EXPECT_EQ(match->route->method, one.method) << one.path;
    EXPECT_EQ(match->value, one.value) << one.path;
  }
}

TEST(RoutesTest, OtherPathsAreRefused) {
  for (const char* path : {"/v1", "/v1/", "/v1/jobs/", "/v1//jobs", "/v1/jobs/a/b",
                           "/v1/jobs/:cancel", "/v1/jobs/a%", "/v1/jobs/a%2Fb", "/v1/jobs/a%zz",
                           "/v2/jobs", "/v1/jobs:other", "/v1/models/a/versions/"}) {
    const absl::StatusOr<RouteMatch> match = FindRoute("GET", path);
    EXPECT_EQ(GetReason(match.status()), "NO_SUCH_PATH") << path;
  }
}

TEST(RoutesTest, AnotherVerbIsToldWhichThereAre) {
  const absl::StatusOr<RouteMatch> match = FindRoute("DELETE", "/v1/jobs");
  EXPECT_EQ(GetReason(match.status()), "METHOD_NOT_ALLOWED");
  EXPECT_EQ(GetErrorMetadata(match.status()), (ErrorMetadata{{"allow", "POST, GET"}}));
  EXPECT_EQ(GetErrorMetadata(FindRoute("POST", "/v1/events").status()),
            (ErrorMetadata{{"allow", "GET"}}));
}

}  // namespace
}  // namespace mercer::gateway
