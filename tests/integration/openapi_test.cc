// The document of OpenAPI that the server answers is that of its own routes and messages.
#include <memory>
#include <set>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "server/gateway/routes.h"
#include "server/gateway/rpc_messages.h"
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
  EXPECT_THAT(more, testing::UnorderedElementsAre("GET /healthz", "GET /readyz", "GET /v1/events",
                                                  "GET /v1/openapi.json"));
}

TEST_F(OpenApiTest, SchemasHaveTheFieldsOfTheMessages) {
  for (const gateway::Route& route : gateway::AllRoutes()) {
    const google::protobuf::Descriptor& type = *gateway::FindMethod(route.method)->input_type();
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
