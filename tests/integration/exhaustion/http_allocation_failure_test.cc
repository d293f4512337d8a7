// As call_allocation_failure_test.cc, through the doors of HTTP: every route, bodies of JSON and CSV, uploads, exports and streams of
// events, while allocations of the server fail at random. A request may end with an error or a connection that breaks; the process,
// its network and later requests go on, and in the end no call is left that a drain would wait for.
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>

#include "core/base/memory/memory_reserve.h"
#include "core/base/process/crash_note.h"
#include "server/gateway/routes.h"
#include "tests/integration/field_walk_fixture.h"
#include "tests/support/exhaustion/failing_allocations.h"
#include "tests/support/sanitized.h"
#include "tests/support/server/http_client.h"

namespace mercer::server {
namespace {

constexpr int64_t kHttpRates[] = {1000, 100, 15};  // of so many allocations one fails
constexpr int kRequestsOfRate = kSanitized ? 2 : 10;

thread_local bool is_client = false;

// Jobs run on, and the test's own client: it is what answers requests that fails here.
bool IsSpared() { return is_client || CurrentCrashNote() != nullptr; }

struct HttpRequest {
  std::string method;
  std::string target;
  HttpHeaders headers;
  std::string body;
};

class HttpAllocationFailure : public FieldWalkTest {
 protected:
  void SetUp() override {
    KeepMemoryInReserve(int64_t{16} << 20);
    is_client = true;
    FieldWalkTest::SetUp();
  }

  HttpReply Send(const HttpRequest& request) {
    HttpHeaders headers = request.headers;
    headers.emplace_back("X-Mercer", "1");
    return HttpClient(server_->http_port())
        .Call(request.method, request.target, headers, request.body);
  }

  // Sends what `make` makes again and again, at last without failures. `is_good`: what is to come then.
  void ExpectItEndsAlone(const std::function<HttpRequest()>& make,
                         const std::function<bool(const HttpReply&)>& is_good) {
    uint64_t seed = 1;
    for (const int64_t rate : kHttpRates) {
      for (int i = 0; i < kRequestsOfRate; ++i, ++seed) {
        const HttpRequest request = make();
        HttpReply reply;
        {
          const FailingAllocations failing(SeldomFailures{seed, rate, IsSpared});
          reply = Send(request);
        }
        failed_ += is_good(reply) ? 0 : 1;
        // 0: the connection was broken off. A stream that has begun says that it ends.
        EXPECT_TRUE(is_good(reply) || reply.status == 0 || reply.status >= 400 ||
                    absl::StrContains(reply.body, "event: error"))
            << request.target << ": " << reply.status << " " << reply.body;
      }
    }
    const HttpRequest request = make();
    const HttpReply reply = Send(request);
    EXPECT_TRUE(is_good(reply)) << request.target << ": " << reply.status << " " << reply.body;
    EXPECT_EQ(HttpClient(server_->http_port()).Get("/healthz").status, 200);
  }
  void ExpectItEndsAlone(const HttpRequest& request, int status = 200) {
    ExpectItEndsAlone([&] { return request; },
                      [status](const HttpReply& reply) { return reply.status == status; });
  }

  int failed_ = 0;  // requests
};

std::string TextOf(const google::protobuf::Message& message, std::string_view path) {
  const size_t dot = path.find('.');
  const auto* const field =
      message.GetDescriptor()->FindFieldByName(std::string(path.substr(0, dot)));
  const auto& reflection = *message.GetReflection();
  return dot == std::string_view::npos
             ? reflection.GetString(message, field)
             : TextOf(reflection.GetMessage(message, field), path.substr(dot + 1));
}

// The request of a route with the content of `message`, or of another resource of its kind where the path is for one of another form.
HttpRequest RequestOf(const gateway::Route& route, const google::protobuf::Message& message) {
  const std::string named =
      route.field.empty() ? "" : TextOf(message, std::string_view(route.field));
  const size_t slash = named.find('/');
  const std::string id = slash == std::string::npos ? "" : named.substr(slash + 1);
  const bool is_plain = id.find_first_of("/@") == std::string::npos;
  const std::string path(route.path);
  HttpRequest request;
  request.method = std::string(route.verb);
  request.target = absl::StrReplaceAll(path, {{"{job}", id},
                                              {"{dataset}", id},
                                              {"{upload}", id},
                                              {"{model}", is_plain && !id.empty() ? id : "clouds"},
                                              {"{version}", "1"},
                                              {"{alias}", "live"}});
  if (request.method == "DELETE" && absl::EndsWith(path, "/models/{model}")) {
    request.target = "/v1/models/absent";  // that of all other requests stays
  }
  if (request.method != "GET" && request.method != "DELETE") {
    const std::unique_ptr<google::protobuf::Message> body(message.New());
    body->CopyFrom(message);
    if (const auto* field = body->GetDescriptor()->FindFieldByName(std::string(route.field))) {
      body->GetReflection()->ClearField(body.get(), field);
    } else if (route.field == "model.name") {
      request.target = absl::StrCat("/v1/", named);
    }
    EXPECT_TRUE(google::protobuf::util::MessageToJsonString(*body, &request.body).ok());
    request.headers = {{"Content-Type", "application/json"}};
  }
  return request;
}

// Jobs that run are no route's matter, so that what Train has accepted is cancelled.
class EveryRoute : public HttpAllocationFailure, public testing::WithParamInterface<size_t> {};

TEST_P(EveryRoute, EndsTheRequestAlone) {
  const gateway::Route& route = gateway::AllRoutes()[GetParam()];
  const GoodRequest& good = GoodRequests().at(std::string(route.method)).front();
  // Neither a name of another form than the path nor a condition that the body then says twice need be met.
  const auto is_answered = [](const HttpReply& reply) {
    return reply.status == 200 || reply.status == 400 || reply.status == 404 || reply.status == 409;
  };
  ExpectItEndsAlone(
      [&] {
        for (const GoodRequest::Hook& hook : {good.after_success, good.after_refusal}) {
          if (hook) {
            hook(*this);
          }
        }
        return RequestOf(route, *good.make(*this).front());
      },
      is_answered);
  CancelWaitingJobs();
  DrainServer();
}

std::vector<size_t> RoutesOfMessages() {
  std::vector<size_t> numbers;
  for (size_t i = 0; i < gateway::AllRoutes().size(); ++i) {
    if (gateway::AllRoutes()[i].kind != gateway::CallKind::kUpload) {
      numbers.push_back(i);
    }
  }
  return numbers;
}

INSTANTIATE_TEST_SUITE_P(Routes, EveryRoute, testing::ValuesIn(RoutesOfMessages()),
                         [](const auto& parameter) {
                           const gateway::Route& route = gateway::AllRoutes()[parameter.param];
                           return absl::StrCat(
                               std::string(route.method.substr(route.method.find('/') + 1)),
                               parameter.param);
                         });

TEST_F(HttpAllocationFailure, RowsInEveryForm) {
  const std::string predict = "/v1/models/clouds:predict";
  ExpectItEndsAlone({"POST", predict, {{"Content-Type", "text/csv"}}, CloudsCsv(2000, 2, 5)});
  std::string rows = R"({"rows":[{"x1":1,"x2":2})";
  for (int i = 0; i < 500; ++i) {
    absl::StrAppend(&rows, R"(,{"x1":)", i, R"(,"x2":0.5})");
  }
  ExpectItEndsAlone(
      {"POST", predict, {{"Content-Type", "application/json"}}, absl::StrCat(rows, "]}")});
  ExpectItEndsAlone({"POST",
                     predict,
                     {{"Content-Type", "application/json"}},
                     R"({"contributions":true,"dataset":"datasets/clouds"})"});
  EXPECT_GT(failed_, 0);
  DrainServer();
}

TEST_F(HttpAllocationFailure, UploadsAndWhatTheyLeave) {
  const std::string csv = CloudsCsv(3000, 2, 5);
  const auto upload = [&](const std::string& more) {
    ExpectItEndsAlone(
        [&] {
          DropUploadedDatasets();
          return HttpRequest{"POST",
                             "/v1/datasets:upload?datasetId=sent&target=label" + more,
                             {{"Content-Type", "text/csv"}},
                             csv};
        },
        [](const HttpReply& reply) { return reply.status == 200; });
  };
  upload("");
  upload("&labels.team=a&labels.site=b");
  EXPECT_GT(failed_, 0);
  DrainServer();
}

TEST_F(HttpAllocationFailure, StreamsOfEvents) {
  ExpectItEndsAlone(
      [&] {
        return HttpRequest{"GET", absl::StrCat("/v1/", finished_job(), "/events"), {}, ""};
      },
      [](const HttpReply& reply) { return absl::StrContains(reply.body, "event: end"); });
  // Without jobs=1 a page ends with its jobs.
  ExpectItEndsAlone(
      [&] {
        return HttpRequest{"GET", absl::StrCat("/v1/events?job=", finished_job()), {}, ""};
      },
      [](const HttpReply& reply) { return absl::StrContains(reply.body, "event: end"); });
  // One that would go on is left by its client.
  for (uint64_t seed = 1; seed <= kRequestsOfRate; ++seed) {
    const FailingAllocations failing(SeldomFailures{seed, 15, IsSpared});
    HttpClient client(server_->http_port());
    client.SendText("GET /v1/events?jobs=1 HTTP/1.1\r\nHost: localhost\r\n\r\n");
    if (client.ReadHead().status == 200) {
      client.ReadBodyUntil(
          [](const std::string& body) { return absl::StrContains(body, "event: "); });
    }
  }
  EXPECT_GT(failed_, 0);
  DrainServer();
}

TEST_F(HttpAllocationFailure, WhatIsNoCall) {
  ExpectItEndsAlone({"GET", "/healthz", {}, ""});
  ExpectItEndsAlone({"GET", "/v1/server", {}, ""});
  ExpectItEndsAlone({"GET", "/metrics", {}, ""});
  ExpectItEndsAlone({"GET", "/v1/none", {}, ""}, 404);
  ExpectItEndsAlone({"PUT", "/v1/jobs", {}, ""}, 405);
  ExpectItEndsAlone({"POST", "/v1/jobs", {{"Content-Type", "application/json"}}, "{\"a\":"}, 400);
  ExpectItEndsAlone({"POST", "/v1/jobs", {{"Content-Type", "text/plain"}}, "?"}, 415);
  ExpectItEndsAlone({"GET", "/v1/jobs?pageSize=x&labels.a=b&labels.a=c", {}, ""}, 400);
  ExpectItEndsAlone({"GET", "/v1/jobs?states=%zz", {}, ""}, 400);
  EXPECT_GT(failed_, 0);
  DrainServer();
}

}  // namespace
}  // namespace mercer::server
