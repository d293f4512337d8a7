#include "server/gateway/http/request_guard.h"

#include <string>

#include <gtest/gtest.h>

#include "core/base/status/errors.h"

namespace mercer::gateway {
namespace {

// The reason of the refusal; empty: none.
std::string Check(const std::string& method, const std::string& target, std::vector<Header> headers,
                  GuardRules rules = {}) {
  RequestHead head;
  head.method = method;
  head.target = target;
  head.headers = std::move(headers);
  return GetReason(CheckSite(head, rules));
}

const Header kHost = {"host", "localhost:7380"};
const Header kJson = {"content-type", "application/json; charset=utf-8"};

TEST(RequestGuardTest, NamesOfThisMachineAreTakenOnLoopback) {
  for (const char* host : {"localhost", "localhost:7380", "LOCALHOST:1", "127.0.0.1:7380",
                           "127.9.9.9", "[::1]", "[::1]:7380"}) {
    EXPECT_EQ(Check("GET", "/v1/jobs", {{"host", host}}), "") << host;
  }
  for (const char* host : {"evil.example", "evil.example:7380", "127.0.0.1.evil.example",
                           "127.0.0.256", "localhost.evil.example", "10.0.0.1", ""}) {
    EXPECT_EQ(Check("GET", "/v1/jobs", {{"host", host}}), "FOREIGN_HOST") << host;
    EXPECT_EQ(Check("GET", "/", {{"host", host}}), "FOREIGN_HOST") << host;
  }
}

TEST(RequestGuardTest, OtherNamesAreTakenWithTokensOrFromOtherMachines) {
  EXPECT_EQ(Check("GET", "/v1/jobs", {{"host", "mercer.example"}}, {true, true}), "");
  EXPECT_EQ(Check("GET", "/v1/jobs", {{"host", "mercer.example"}}, {false, false}), "");
}

TEST(RequestGuardTest, OneHostIsNeeded) {
  EXPECT_EQ(Check("GET", "/", {}), "BAD_HOST");
  EXPECT_EQ(Check("GET", "/", {kHost, kHost}), "BAD_HOST");
}

TEST(RequestGuardTest, ChangesNeedAHeaderThatOtherSitesCannotSend) {
  for (const char* method : {"POST", "PUT", "PATCH", "DELETE"}) {
    EXPECT_EQ(Check(method, "/v1/jobs", {kHost}), "CROSS_SITE_POSSIBLE") << method;
    EXPECT_EQ(Check(method, "/v1/jobs", {kHost, kJson}), "");
    EXPECT_EQ(Check(method, "/v1/jobs", {kHost, {"x-mercer", "1"}}), "");
    EXPECT_EQ(Check(method, "/v1/jobs", {kHost, {"authorization", "Bearer x"}}), "");
    EXPECT_EQ(Check(method, "/v1/datasets:upload", {kHost, {"content-type", "text/csv"}}), "");
    for (const char* type :
         {"text/plain", "TEXT/PLAIN;x=application/json", "multipart/form-data; boundary=x",
          "application/x-www-form-urlencoded", " text/plain ", ""}) {
      EXPECT_EQ(Check(method, "/v1/jobs", {kHost, {"content-type", type}}), "CROSS_SITE_POSSIBLE")
          << type;
    }
  }
  EXPECT_EQ(Check("GET", "/v1/jobs", {kHost}), "");
}

TEST(RequestGuardTest, BrowsersSayWhenAnotherSiteAsks) {
  for (const char* site : {"cross-site", "same-site"}) {
    EXPECT_EQ(Check("POST", "/v1/jobs", {kHost, kJson, {"sec-fetch-site", site}}), "CROSS_SITE");
    EXPECT_EQ(Check("GET", "/v1/jobs", {kHost, {"sec-fetch-site", site}}), "CROSS_SITE");
    EXPECT_EQ(Check("GET", "/", {kHost, {"sec-fetch-site", site}}), "");  // a link
  }
  for (const char* site : {"none", "same-origin"}) {
    EXPECT_EQ(Check("POST", "/v1/jobs", {kHost, kJson, {"sec-fetch-site", site}}), "");
  }
  for (const char* origin : {"http://evil.example", "null", "http://localhost",
                             "http://localhost:73801", "localhost:7380"}) {
    EXPECT_EQ(Check("POST", "/v1/jobs", {kHost, kJson, {"origin", origin}}), "CROSS_SITE")
        << origin;
  }
  EXPECT_EQ(Check("POST", "/v1/jobs", {kHost, kJson, {"origin", "http://localhost:7380"}}), "");
}

}  // namespace
}  // namespace mercer::gateway
