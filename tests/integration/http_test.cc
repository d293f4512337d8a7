// The API over HTTP: every unary RPC by its path, errors as over gRPC, what is no request.
#include <memory>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "mercer/v1/server_service.grpc.pb.h"
#include "server/app/server_options.h"
#include "server/gateway/routes.h"
#include "tests/integration/access_fixture.h"
#include "tests/support/server/http_client.h"

namespace mercer::server {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

std::string ReasonOfReply(const HttpReply& reply) {
  const json body = json::parse(reply.body, nullptr, /*allow_exceptions=*/false);
  if (!body.is_object() || !body.contains("error")) {
    return "";
  }
  for (const json& detail : body["error"]["details"]) {
    if (detail.contains("reason")) {
      return detail["reason"];
    }
  }
  return "";
}

class HttpTest : public AccessTest {
 protected:
  void StartBoth() {
    Start();
    client_ = std::make_unique<HttpClient>(server_->http_port());
  }
  json GetJson(const std::string& target) {
    const HttpReply reply = client_->Get(target);
    EXPECT_EQ(reply.status, 200) << target << ": " << reply.body;
    EXPECT_EQ(reply.Find("Content-Type"), "application/json");
    return json::parse(reply.body);
  }
  json PostJson(const std::string& target, const json& body) {
    const HttpReply reply = client_->Post(target, body.dump());
    EXPECT_EQ(reply.status, 200) << target << ": " << reply.body;
    return json::parse(reply.body);
  }
  void UploadClouds(const std::string& id) {
    const HttpReply reply =
        client_->Call("POST", "/v1/datasets:upload?target=label&datasetId=" + id,
                      {{"Content-Type", "text/csv"}}, CloudsCsv(80, 3, 1));
    ASSERT_EQ(reply.status, 200) << reply.body;
    EXPECT_EQ(json::parse(reply.body)["rows"], "80");
  }
  // A job that has ended, of the model models/clouds.
  std::string TrainClouds() {
    UploadClouds("clouds");
    const json job = PostJson(
        "/v1/jobs",
        {{"data", {{{"dataset", "datasets/clouds"}}}},
         {"model", "models/clouds"},
         {"learner",
          {{"lpMkl",
            {{"kernels", {{{"type", "KERNEL_TYPE_GAUSSIAN"}, {"bandwidths", {1, 2}}}}}}}}}});
    const std::string name = job["name"];
    EXPECT_EQ(WaitForEnd(name).state(), v1::JOB_STATE_SUCCEEDED);
    return name;
  }

  std::unique_ptr<HttpClient> client_;
};

TEST_F(HttpTest, ADataSetBecomesAModelThatPredicts) {
  StartBoth();
  const std::string job = TrainClouds();
  EXPECT_EQ(GetJson("/v1/" + job)["model"], "models/clouds/versions/1");
  EXPECT_EQ(GetJson("/v1/jobs?states=JOB_STATE_SUCCEEDED")["jobs"].size(), 1u);
  EXPECT_FALSE(GetJson("/v1/jobs?states=JOB_STATE_RUNNING").contains("jobs"));
  EXPECT_EQ(GetJson("/v1/jobs?filter=state%20%3D%20SUCCEEDED&orderBy=name%20desc")["jobs"].size(),
            1u);
  EXPECT_FALSE(GetJson("/v1/jobs?filter=NOT+state%3ASUCCEEDED").contains("jobs"));
  EXPECT_EQ(GetJson("/v1/models?filter=name%3Amodels/clouds&orderBy=create_time")["models"].size(),
            1u);
  EXPECT_FALSE(GetJson("/v1/models?filter=labels%3Anone").contains("models"));
  EXPECT_EQ(GetJson("/v1/datasets?filter=rows%3E1&order_by=name")["datasets"].size(), 1u);
  EXPECT_FALSE(GetJson("/v1/datasets?filter=rows%3C1").contains("datasets"));
  EXPECT_EQ(GetJson("/v1/models/-/versions")["versions"][0]["name"], "models/clouds/versions/1");

  const json alias =
      json::parse(client_
                      ->Call("PUT", "/v1/models/clouds/aliases/live", {{"X-Mercer", "1"}},
                             R"({"version":"models/clouds/versions/1"})")
                      .body);
  EXPECT_EQ(GetJson("/v1/models/clouds/aliases/live"), alias);
  const json prediction =
      PostJson("/v1/models/clouds/aliases/live:predict", {{"dataset", "datasets/clouds"}});
  EXPECT_EQ(prediction["model"], "models/clouds/versions/1");
  EXPECT_EQ(prediction["labels"].size(), 80u);
  const json evaluation = PostJson("/v1/models/clouds:evaluate", {{"dataset", "datasets/clouds"}});
  EXPECT_EQ(evaluation["rows"], "80");
  EXPECT_EQ(PostJson("/v1/models/clouds/versions/1:verify", json::object())["matches"], true);
  const HttpReply updated =
      client_->Call("PATCH", "/v1/models/clouds", {{"X-Mercer", "1"}},
                    R"({"model":{"description":"two clouds"},"updateMask":"description"})");
  EXPECT_EQ(updated.status, 200) << updated.body;
  EXPECT_EQ(GetJson("/v1/models/clouds")["description"], "two clouds");
}

TEST_F(HttpTest, RowsAsObjectsAndAsCsvArePredictedAsTheirColumnsAre) {
  StartBoth();
  TrainClouds();
  const std::string path = "/v1/models/clouds:predict";
  const json columns =
      PostJson(path, {{"rows",
                       {{"columns",
                         {{{"name", "x1"}, {"numbers", {{"values", {1.5, -2}}}}},
                          {{"name", "x2"}, {"numbers", {{"values", {0, 0.5}}}}},
                          {{"name", "x3"}, {"numbers", {{"values", {1, 1}}}}}}}}}});
  const json objects = PostJson(
      path,
      {{"rows", {{{"x1", 1.5}, {"x2", 0}, {"x3", 1}}, {{"x3", 1}, {"x2", 0.5}, {"x1", -2}}}}});
  EXPECT_EQ(objects["model"], "models/clouds/versions/1");
  ASSERT_EQ(objects["predictions"].size(), 2u);
  const std::string output = columns["outputs"][0];
  for (size_t row = 0; row < 2; ++row) {
    EXPECT_EQ(objects["predictions"][row]["label"], columns["labels"][row]);
    EXPECT_EQ(objects["predictions"][row]["decisionValues"][output],
              columns["decisionValues"]["values"][row]);
  }
  const HttpReply csv = client_->Call("POST", path + "?contributions=true",
                                      {{"Content-Type", "text/csv; charset=utf-8"}},
                                      "x1,x2,x3,label\n1.5,0,1,\n-2,0.5,1,\n");
  EXPECT_EQ(csv.status, 200) << csv.body;
  EXPECT_EQ(csv.Find("Content-Type"), "text/csv; charset=utf-8");
  EXPECT_EQ(csv.Find("Mercer-Model"), "models/clouds/versions/1");
  const std::string first_label = columns["labels"][0];
  EXPECT_THAT(csv.body, testing::StartsWith("label,value " + output + ",gaussian"));
  EXPECT_THAT(csv.body,
              HasSubstr(absl::StrCat("\n", first_label, ",",
                                     columns["decisionValues"]["values"][0].dump(), ",")));
}

TEST_F(HttpTest, RowsThatCannotBePredictedAreNamed) {
  StartBoth();
  TrainClouds();
  const auto error = [&](const std::string& type, const std::string& query,
                         const std::string& body) {
    const HttpReply reply =
        client_->Call("POST", "/v1/models/clouds:predict" + query, {{"Content-Type", type}}, body);
    EXPECT_EQ(reply.status, 400) << reply.body;
    return absl::StrCat(ReasonOfReply(reply), " ",
                        json::parse(reply.body)["error"]["message"].get<std::string>());
  };
  EXPECT_THAT(error("application/json", "", R"({"rows": [{"x1":1,"x2":1,"x3":"tall"}]})"),
              HasSubstr("BAD_CELL row 1, column 'x3': not a number: 'tall'"));
  EXPECT_THAT(error("application/json", "", R"({"rows": [{"x1":1,"x2":1,"x3":{}}]})"),
              HasSubstr("BAD_CELL row 1, column 'x3'"));
  EXPECT_THAT(error("application/json", "", R"({"rows": [{"x1":1,"x9":1}]})"), HasSubstr("'x9'"));
  EXPECT_THAT(error("application/json", "", R"({"rows": [{"x1":1}], "other": 1})"),
              HasSubstr("BAD_FIELDS"));
  EXPECT_THAT(
      error("application/json", "", R"({"rows": [{"x1":1}], "dataset": "datasets/clouds"})"),
      HasSubstr("BAD_"));
  EXPECT_THAT(error("application/json", "", R"({"rows": []})"), HasSubstr("at least one row"));
  EXPECT_THAT(error("text/csv", "", "x1,x2,x3\n1,2,3\n1,2\n"), HasSubstr("BAD_ROW row 2"));
  EXPECT_THAT(error("text/csv", "", "x1,x2,x3\n1,2,tall\n"),
              HasSubstr("BAD_CELL row 1, column 'x3': not a number: 'tall'"));
  EXPECT_THAT(error("text/csv", "?nonsense=1", "x1,x2,x3\n1,2,3\n"), HasSubstr("nonsense"));
  EXPECT_THAT(error("text/csv", "?dataset=datasets/clouds", "x1,x2,x3\n1,2,3\n"),
              HasSubstr("the body has the rows"));
  const HttpReply other =
      client_->Call("POST", "/v1/models/clouds:evaluate", {{"Content-Type", "text/csv"}}, "a\n1\n");
  EXPECT_EQ(other.status, 415);
}

TEST_F(HttpTest, AnExportIsTheFileOfGrpc) {
  StartBoth();
  TrainClouds();
  models_ = v1::ModelService::NewStub(channel_);
  grpc::ClientContext context;
  v1::ExportModelRequest request;
  request.set_name("models/clouds");
  const auto reader = models_->ExportModel(&context, request);
  std::string bytes;
  std::string digest;
  for (v1::ExportModelResponse response; reader->Read(&response);) {
    bytes += response.chunk();
    digest += response.header().digest();
  }
  ASSERT_TRUE(reader->Finish().ok());
  const HttpReply reply = client_->Get("/v1/models/clouds:export");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.Find("ETag"), absl::StrCat("\"", digest, "\""));
  EXPECT_EQ(reply.Find("Content-Length"), absl::StrCat(bytes.size()));
  EXPECT_THAT(reply.Find("Content-Disposition"), HasSubstr("clouds-1.mercer"));
  EXPECT_TRUE(reply.body == bytes);
  const HttpReply missing = client_->Get("/v1/models/nothing:export");
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(ReasonOfReply(missing), "NOT_FOUND");
}

// The path of a route with some resource that there is none of.
std::string PathOfRoute(const gateway::Route& route) {
  return absl::StrReplaceAll(absl::string_view(route.path.data(), route.path.size()),
                             {{"{job}", "none"},
                              {"{dataset}", "none"},
                              {"{upload}", "none"},
                              {"{model}", "none"},
                              {"{version}", "1"},
                              {"{alias}", "live"}});
}

TEST_F(HttpTest, EveryRouteAnswersAsItsRpcDoes) {
  StartBoth();
  for (const gateway::Route& route : gateway::AllRoutes()) {
    const std::string verb(route.verb);
    const HttpReply reply = client_->Call(verb, PathOfRoute(route), {{"X-Mercer", "1"}},
                                          verb == "GET" || verb == "DELETE" ? "" : "{}");
    SCOPED_TRACE(absl::StrCat(verb, " ", PathOfRoute(route), ": ", reply.body));
    EXPECT_EQ(reply.Find("Content-Type"), "application/json");
    const json body = json::parse(reply.body, nullptr, false);
    ASSERT_TRUE(body.is_object());
    EXPECT_TRUE(reply.status == 200 || reply.status == 400 || reply.status == 404);
    EXPECT_EQ(body.contains("error"), reply.status != 200);
    EXPECT_NE(ReasonOfReply(reply), "NO_SUCH_PATH");
    if (!client_->connected() || reply.Find("Connection") == "close") {
      client_ = std::make_unique<HttpClient>(server_->http_port());
    }
  }
}

TEST_F(HttpTest, ErrorsHaveTheDetailsOfGrpc) {
  StartBoth();
  const HttpReply reply = client_->Post(
      "/v1/jobs",
      R"({"learner":{"lpMkl":{"kernels":[{"type":"KERNEL_TYPE_GAUSSIAN","bandwidths":[-1]}]}}})");
  EXPECT_EQ(reply.status, 400);
  const json error = json::parse(reply.body)["error"];
  EXPECT_EQ(error["code"], 400);
  EXPECT_EQ(error["status"], "INVALID_ARGUMENT");
  std::set<std::string> fields;
  for (const json& detail : error["details"]) {
    if (detail["@type"] == "type.googleapis.com/google.rpc.BadRequest") {
      for (const json& violation : detail["fieldViolations"]) {
        fields.insert(violation["field"]);
      }
    }
  }
  v1::TrainRequest request;
  v1::KernelGrid& grid = *request.mutable_learner()->mutable_lp_mkl()->add_kernels();
  grid.set_type(v1::KERNEL_TYPE_GAUSSIAN);
  grid.add_bandwidths(-1);
  grpc::ClientContext context;
  v1::Job job;
  const grpc::Status status = training_->Train(&context, request, &job);
  EXPECT_EQ(error["message"], status.error_message());
  std::set<std::string> expected;
  for (const std::string& violation : ViolationsOf(status)) {
    expected.insert(violation.substr(0, violation.find(": ")));
  }
  EXPECT_FALSE(expected.empty());
  EXPECT_EQ(fields, expected);
}

TEST_F(HttpTest, BadRequestsAreRefusedByName) {
  StartBoth();
  struct Case {
    const char* verb;
    const char* target;
    const char* body;
    int status;
    const char* reason;
  };
  const Case cases[] = {
      {"POST", "/v1/jobs", "{", 400, "BAD_JSON"},
      {"POST", "/v1/jobs", "[1]", 400, "BAD_JSON"},
      {"POST", "/v1/jobs", R"({"unknown":1})", 400, "BAD_FIELDS"},
      {"POST", "/v1/jobs", R"({"seed":"x"})", 400, "BAD_FIELDS"},
      {"POST", "/v1/jobs/a:cancel", R"({"name":"jobs/b"})", 400, "BAD_FIELDS"},
      {"POST", "/v1/jobs/a:cancel", "", 404, "NOT_FOUND"},
      {"POST", "/v1/jobs?seed=1", "{}", 400, "BAD_FIELDS"},
      {"GET", "/v1/jobs?pageSize=x", "", 400, "BAD_FIELDS"},
      {"GET", "/v1/jobs?pageSize=-1", "", 400, "BAD_PAGE_SIZE"},
      {"GET", "/v1/jobs?a=%ff", "", 400, "BAD_QUERY"},
      {"GET", "/v1/jobs/%ff", "", 400, "MALFORMED_MESSAGE"},
      {"GET", "/v1/jobs", "{}", 400, "BAD_JSON"},
      {"GET", "/v1/nothing", "", 404, "NO_SUCH_PATH"},
      {"DELETE", "/v1/jobs", "", 405, "METHOD_NOT_ALLOWED"},
      {"POST", "/v1/server", "{}", 405, "METHOD_NOT_ALLOWED"},
      {"POST", "/", "{}", 405, "METHOD_NOT_ALLOWED"},
      {"BREW", "/v1/jobs", "{}", 405, "METHOD_NOT_ALLOWED"},
  };
  for (const Case& one : cases) {
    HttpClient client(server_->http_port());
    const HttpReply reply = client.Call(one.verb, one.target, {{"X-Mercer", "1"}}, one.body);
    EXPECT_EQ(reply.status, one.status) << one.verb << " " << one.target << " " << reply.body;
    EXPECT_EQ(ReasonOfReply(reply), one.reason)
        << one.verb << " " << one.target << " " << reply.body;
  }
  const HttpReply other_type = HttpClient(server_->http_port())
                                   .Call("POST", "/v1/jobs", {{"Content-Type", "text/csv"}}, "a,b");
  EXPECT_EQ(other_type.status, 415);
  EXPECT_EQ(ReasonOfReply(other_type), "NOT_JSON");
}

TEST_F(HttpTest, WordsOfAnUploadThatItCannotHeedAreRefused) {
  StartBoth();
  const std::string header = "header=%7B%22parts%22:%5B%7B%22csv%22:%7B%7D%7D%5D%7D&";
  const std::pair<std::string, std::string> cases[] = {
      {header + "delimiter=;", "delimiter"},  {header + "format=csv", "format"},
      {header + "target=y", "target"},        {"format=svmlight&delimiter=;", "delimiter"},
      {"format=svmlight&target=y", "target"}, {"format=png", "format"},
  };
  for (const auto& [query, field] : cases) {
    HttpClient client(server_->http_port());
    const HttpReply reply = client.Call("POST", "/v1/datasets:upload?" + query,
                                        {{"Content-Type", "text/csv"}}, "x;y\n1;2\n");
    EXPECT_EQ(reply.status, 400) << query;
    const json details = json::parse(reply.body)["error"]["details"];
    EXPECT_NE(details.dump().find("\"field\":\"" + field + "\""), std::string::npos)
        << query << " " << reply.body;
  }
}

TEST_F(HttpTest, ABodyAboveTheLimitIsRefused) {
  options_.max_message_bytes = 100'000;
  StartBoth();
  const HttpReply said = client_->Post("/v1/jobs", std::string(100'001, ' '));
  EXPECT_EQ(said.status, 413);
  EXPECT_EQ(ReasonOfReply(said), "BODY_TOO_LARGE");
  HttpClient chunked(server_->http_port());
  chunked.SendText(
      "POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nX-Mercer: 1\r\nTransfer-Encoding: "
      "chunked\r\n\r\n");
  for (int i = 0; i < 11; ++i) {
    chunked.SendText("2710\r\n" + std::string(10'000, ' ') + "\r\n");
  }
  EXPECT_EQ(ReasonOfReply(chunked.Read()), "BODY_TOO_LARGE");
}

TEST_F(HttpTest, WhatIsNoHttpIsRefusedAndClosed) {
  StartBoth();
  for (const std::string& text :
       {std::string("hello\r\n\r\n"), std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        "GET / HTTP/1.1\r\nX: " + std::string(20'000, 'a') + "\r\n\r\n"}) {
    HttpClient client(server_->http_port());
    client.SendText(text);
    const HttpReply reply = client.Read();
    EXPECT_GE(reply.status, 400) << text.substr(0, 20);
    EXPECT_EQ(reply.Find("Connection"), "close");
    EXPECT_NE(ReasonOfReply(reply), "");
    EXPECT_TRUE(client.ReadToEnd());
  }
}

TEST_F(HttpTest, RequestsOfOneConnectionAreAnsweredInOrder) {
  StartBoth();
  std::string requests;
  for (const char* path : {"/healthz", "/v1/jobs/a", "/v1/server", "/readyz"}) {
    requests += absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: localhost\r\n\r\n");
  }
  client_->SendText(requests);
  EXPECT_EQ(client_->Read().body, "ok\n");
  EXPECT_EQ(client_->Read().status, 404);
  EXPECT_THAT(client_->Read().body, HasSubstr("version"));
  EXPECT_EQ(client_->Read().body, "ready\n");
}

TEST_F(HttpTest, TokensAreThoseOfGrpc) {
  AddToken("ada", "read");
  StartBoth();
  EXPECT_EQ(GetJson("/v1/server")["tokens"], true);
  const HttpReply stranger = client_->Get("/v1/jobs");
  EXPECT_EQ(stranger.status, 401);
  EXPECT_EQ(ReasonOfReply(stranger), "TOKEN_MISSING");
  EXPECT_EQ(stranger.Find("WWW-Authenticate"), "Bearer");
  const HttpHeaders token = {{"Authorization", "Bearer secret-ada"}};
  EXPECT_EQ(client_->Get("/v1/jobs", token).status, 200);
  const HttpReply beyond = client_->Post("/v1/jobs", "{}", token);
  EXPECT_EQ(beyond.status, 403);
  EXPECT_EQ(ReasonOfReply(beyond), "SCOPE_MISSING");
  EXPECT_EQ(client_->Get("/v1/jobs", {{"Authorization", "Bearer \xff\x01"}}).status, 400);
  HttpClient other(server_->http_port());
  EXPECT_EQ(ReasonOfReply(other.Get("/v1/jobs", {{"Authorization", "Bearer \xe2\x82\xac"}})),
            "TOKEN_UNKNOWN");
  EXPECT_EQ(ReasonOfReply(other.Get("/v1/jobs", {token[0], token[0]})), "TOKEN_MALFORMED");
}

TEST_F(HttpTest, AServerSaysWhatItIsAndTakes) {
  AddToken("ada", "predict");  // any token will do
  options_.workers = 2;
  options_.threads = 3;
  options_.max_message_bytes = 5'000'000;
  options_.max_upload_bytes = 6'000'000;
  options_.memory_budget_bytes = 700'000'000;
  StartBoth();
  v1::ServerInfo info;
  const auto service = v1::ServerService::NewStub(channel_);
  const grpc::Status status = CallAs("ada", *service, &v1::ServerService::Stub::GetServerInfo,
                                     v1::GetServerInfoRequest(), &info);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(info.version(), kCodeVersion);
  EXPECT_EQ(info.code_version(), kCodeVersion);
  EXPECT_TRUE(info.tokens());
  EXPECT_EQ(info.learners(), info.learner_names_size());
  EXPECT_THAT(info.learner_names(), testing::Contains("lp_mkl"));
  EXPECT_EQ(info.workers(), 2);
  EXPECT_EQ(info.threads_per_job(), 3);
  EXPECT_GE(info.processors(), 1);
  EXPECT_EQ(info.limits().message_bytes(), 5'000'000);
  EXPECT_EQ(info.limits().dataset_bytes(), 6'000'000);
  EXPECT_EQ(info.limits().upload_space_bytes(), 24'000'000);
  EXPECT_EQ(info.limits().memory_budget_bytes(), 700'000'000);

  const HttpReply known = client_->Get("/v1/server", {{"Authorization", "Bearer secret-ada"}});
  EXPECT_EQ(known.status, 200);
  const json all = json::parse(known.body);
  EXPECT_EQ(all["limits"]["messageBytes"], "5000000");
  EXPECT_EQ(all["learnerNames"].size(), info.learners());
  // A stranger is told what it takes to ask for a token, under the same names.
  const json part = GetJson("/v1/server");
  EXPECT_EQ(part.size(), 4u) << part;
  for (const char* name : {"version", "started", "tokens", "learners"}) {
    EXPECT_EQ(part[name], all[name]) << name;
  }
  options_.max_upload_bytes = 8'000'000;
  server_->Reload(options_);
  CallAs("ada", *service, &v1::ServerService::Stub::GetServerInfo, v1::GetServerInfoRequest(),
         &info);
  EXPECT_EQ(info.limits().dataset_bytes(), 8'000'000);
}

TEST_F(HttpTest, WithoutTokensTheServerSaysThatItNeedsNone) {
  StartBoth();
  const json info = GetJson("/v1/server");
  EXPECT_EQ(info["tokens"], false);
  EXPECT_EQ(info["learners"], info["learnerNames"].size());
}

TEST_F(HttpTest, TheLogSaysWhoCalledAndFromWhere) {
  StartBoth();
  UploadClouds("clouds");
  client_->Call("DELETE", "/v1/datasets/clouds",
                {{"X-Mercer", "1"},
                 {"Mercer-Peer", "0 ipv4:1.2.3.4:5"},
                 {"traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}});
  grpc::ClientContext forged;
  forged.AddMetadata("mercer-peer", "ipv4:1.2.3.4:5");
  v1::DeleteDatasetRequest request;
  request.set_name("datasets/none");
  google::protobuf::Empty nothing;
  datasets_->DeleteDataset(&forged, request, &nothing);
  const std::string log = StopAndReadLog();
  EXPECT_THAT(log,
              testing::ContainsRegex(
                  "DeleteDataset resource=\"datasets/clouds\" code=OK .*peer=ipv4:127.0.0.1:[0-9]+ "
                  "trace=4bf92f3577b34da6a3ce929d0e0e4736"));
  EXPECT_THAT(log, testing::Not(HasSubstr("1.2.3.4")));
}

TEST_F(HttpTest, AnswersCannotBeFramedGuessedOrShared) {
  StartBoth();
  for (const char* path : {"/", "/healthz", "/v1/jobs", "/v1/nothing"}) {
    const HttpReply reply = client_->Get(path);
    EXPECT_EQ(reply.Find("X-Content-Type-Options"), "nosniff") << path;
    EXPECT_EQ(reply.Find("X-Frame-Options"), "DENY");
    EXPECT_EQ(reply.Find("Referrer-Policy"), "no-referrer");
    EXPECT_EQ(reply.Find("Access-Control-Allow-Origin"), "");
  }
  EXPECT_EQ(ReasonOfReply(client_->Get("/v1/jobs", {{"Host", "evil.example"}})), "FOREIGN_HOST");
  EXPECT_EQ(client_->Get("/healthz", {{"Host", "evil.example"}}).status, 200);
  EXPECT_EQ(client_->Call("HEAD", "/healthz").Find("Content-Length"), "3");
}

TEST_F(HttpTest, TheFileSaysThePortWhileTheServerListens) {
  StartBoth();
  std::ifstream file(folder_ / "data/http_port");
  int port = 0;
  file >> port;
  EXPECT_EQ(port, server_->http_port());
  DrainServer();
  EXPECT_FALSE(std::filesystem::exists(folder_ / "data/http_port"));
}

TEST_F(HttpTest, OffMeansNoPort) {
  options_.http = "off";
  Start();
  EXPECT_EQ(server_->http_port(), 0);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "data/http_port"));
}

}  // namespace
}  // namespace mercer::server
