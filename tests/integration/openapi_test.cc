// The document of OpenAPI that the server answers is that of its own routes and messages.
#include <memory>
#include <set>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "server/gateway/routes.h"
#include "tests/integration/access_fixture.h"
#include "tests/support/server/http_client.h"

namespace mercer::server {
namespace {

using nlohmann::json;

class OpenApiTest : public AccessTest {
 protected:
  void SetUp() override {
    AddToken("ada", "admin");
    Start();
    client_ = std::make_unique<HttpClient>(server_->http_port());
    const HttpReply reply = client_->Get("/v1/openapi.json");  // everybody may read it
    ASSERT_EQ(reply.status, 200) << reply.body;
    EXPECT_EQ(reply.Find("Content-Type"), "application/json");
    document_ = json::parse(reply.body);
  }

  // What a reference stands for.
  const json& SchemaOf(const google::protobuf::Descriptor& type) {
    return document_["components"]["schemas"][type.full_name().substr(sizeof("mercer.v1.") - 1)];
  }

  std::set<std::string> ParametersOf(const std::string& path, const std::string& verb) {
    std::set<std::string> names;
    for (const json& parameter : document_["paths"][path][verb]["parameters"]) {
      names.insert(parameter["name"].get<std::string>());
    }
    return names;
  }

  std::unique_ptr<HttpClient> client_;
  json document_;
};

TEST_F(OpenApiTest, HasEveryRouteAndNoOtherCall) {
  std::set<std::string> missing;
  for (const gateway::Route& route : gateway::AllRoutes()) {
    missing.insert(absl::StrCat(route.verb, " ", route.path));
  }
  std::set<std::string> more;
  for (const auto& [path, operations] : document_["paths"].items()) {
    for (const auto& [verb, operation] : operations.items()) {
      const std::string way = absl::StrCat(absl::AsciiStrToUpper(verb), " ", path);
      if (missing.erase(way) == 0) {
        more.insert(way);
      }
    }
  }
  EXPECT_THAT(missing, testing::IsEmpty()) << "run ./dev docs";
  EXPECT_THAT(more,
              testing::UnorderedElementsAre("GET /healthz", "GET /readyz", "GET /v1/openapi.json"));
}

TEST_F(OpenApiTest, SchemasHaveTheFieldsOfTheMessages) {
  for (const gateway::Route& route : gateway::AllRoutes()) {
    const google::protobuf::Descriptor& type = *route.descriptor->input_type();
    if (!route.has_body || route.kind != gateway::CallKind::kUnary) {
      continue;
    }
    std::set<std::string> missing;
    for (int i = 0; i < type.field_count(); ++i) {
      missing.insert(type.field(i)->json_name());
    }
    for (const auto& [name, schema] : SchemaOf(type)["properties"].items()) {
      EXPECT_EQ(missing.erase(name), 1U) << type.full_name() << " " << name;
    }
    EXPECT_THAT(missing, testing::IsEmpty()) << type.full_name() << ": run ./dev docs";
  }
}

// What is beside the rows in JSON is in the query where the body is CSV.
TEST_F(OpenApiTest, PredictionsOfCsvHaveTheOtherFieldsInTheQuery) {
  const google::protobuf::Descriptor& type = *v1::PredictRequest::descriptor();
  std::set<std::string> missing;
  for (int i = 0; i < type.field_count(); ++i) {
    missing.insert(type.field(i)->json_name());
  }
  for (const char* elsewhere : {"model", "rows", "dataset"}) {
    EXPECT_EQ(missing.erase(elsewhere), 1U) << elsewhere;
  }
  const json& operation = document_["paths"]["/v1/models/{model}:predict"]["post"];
  EXPECT_TRUE(operation["requestBody"]["content"].contains("text/csv"));
  for (const json& parameter : operation["parameters"]) {
    if (parameter["in"] == "query") {
      EXPECT_EQ(missing.erase(parameter["name"].get<std::string>()), 1U) << parameter;
    }
  }
  EXPECT_THAT(missing, testing::IsEmpty()) << "run ./dev docs";
}

TEST_F(OpenApiTest, EventsHaveTheFieldsOfWatchJobsInTheQuery) {
  EXPECT_THAT(ParametersOf("/v1/events", "get"),
              testing::UnorderedElementsAre("jobs", "job", "states", "labels", "kinds",
                                            "afterSequence", "Last-Event-ID"));
}

TEST_F(OpenApiTest, UploadsHaveTheFieldsOfTheirHeaderInTheQuery) {
  EXPECT_THAT(ParametersOf("/v1/datasets:upload", "post"),
              testing::UnorderedElementsAre("format", "target", "delimiter", "header", "datasetId",
                                            "displayName", "labels", "sha256", "requestId"));
}

TEST_F(OpenApiTest, DeletionsOfAliasesHaveNoVersion) {
  EXPECT_THAT(ParametersOf("/v1/models/{model}/aliases/{alias}", "delete"),
              testing::UnorderedElementsAre("model", "alias", "etag", "requestId"));
}

TEST_F(OpenApiTest, UpdatesNeedTheirResource) {
  int updates = 0;
  for (const gateway::Route& route : gateway::AllRoutes()) {
    if (route.verb != "PATCH") {
      continue;
    }
    const google::protobuf::Descriptor& type = *route.descriptor->input_type();
    const std::string resource =
        type.FindFieldByName(route.field.substr(0, route.field.find('.')))->json_name();
    EXPECT_EQ(document_["paths"][route.path]["patch"]["requestBody"]["required"], true)
        << route.path << ": run ./dev docs";
    EXPECT_EQ(SchemaOf(type)["required"], json::array({resource}))
        << route.path << ": run ./dev docs";
    ++updates;
  }
  EXPECT_GT(updates, 0);
}

TEST_F(OpenApiTest, IsForReading) {
  const HttpReply compressed = client_->Get("/v1/openapi.json", {{"Accept-Encoding", "gzip"}});
  EXPECT_EQ(compressed.Find("Content-Encoding"), "gzip");
  EXPECT_EQ(client_
                ->Get("/v1/openapi.json",
                      {{"If-None-Match", compressed.Find("ETag")}, {"Accept-Encoding", "gzip"}})
                .status,
            304);
  EXPECT_EQ(client_->Call("POST", "/v1/openapi.json", {{"X-Mercer", "1"}}, "{}").status, 405);
}

}  // namespace
}  // namespace mercer::server
