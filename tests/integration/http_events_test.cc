// Server-sent events: what a job's stream over gRPC says, resumed, several in one, bounded, ended by a drain.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/integration/test_server.h"
#include "tests/support/server/http_client.h"

namespace mercer::server {
namespace {

using nlohmann::json;
using testing::HasSubstr;

struct Event {
  std::string id;
  std::string name;
  json data;
};

// Of a stream's text so far; comments are left out, and an event that no blank line ends yet.
std::vector<Event> EventsOf(const std::string& text) {
  std::vector<Event> events;
  const size_t end = text.rfind("\n\n");
  const absl::string_view whole = absl::string_view(text).substr(0, end == text.npos ? 0 : end);
  for (const absl::string_view part : absl::StrSplit(whole, "\n\n", absl::SkipEmpty())) {
    Event event;
    for (absl::string_view line : absl::StrSplit(part, '\n')) {
      if (absl::ConsumePrefix(&line, "id: ")) {
        event.id = std::string(line);
      } else if (absl::ConsumePrefix(&line, "event: ")) {
        event.name = std::string(line);
      } else if (absl::ConsumePrefix(&line, "data: ")) {
        event.data = json::parse(std::string(line), nullptr, false);
      }
    }
    if (!event.name.empty()) {
      events.push_back(event);
    }
  }
  return events;
}

// Each event's name and the job that it speaks of: "progress jobs/1"; "cancelled jobs/1" too, of a job shown as such.
std::set<std::string> NamesAndJobs(const std::vector<Event>& events) {
  std::set<std::string> all;
  for (const Event& event : events) {
    if (event.name != "job") {
      all.insert(absl::StrCat(event.name, " ", event.data.value("job", "")));
      continue;
    }
    const json& job = event.data["job"];
    all.insert(absl::StrCat("job ", job["name"].get<std::string>()));
    if (job["state"] == "JOB_STATE_CANCELLED") {
      all.insert(absl::StrCat("cancelled ", job["name"].get<std::string>()));
    }
  }
  return all;
}

class HttpEventsTest : public ServerTest {
 protected:
  void StartWithClouds(ServerOptions options = ServerOptions()) {
    options.heartbeat = absl::Milliseconds(200);
    StartServer(options);
    v1::Dataset dataset;
    ASSERT_TRUE(Upload(CloudsCsv(600, 3, 1), "clouds", &dataset).ok());
  }
  std::string Finished() {
    return WaitForEnd(TrainOk(MakeRequest("datasets/clouds")).name()).name();
  }
  std::string Endless() {
    const std::string job = TrainOk(MakeEndlessRequest("datasets/clouds")).name();
    WaitForStart(job);
    return job;
  }
  void Cancel(const std::string& job) {
    grpc::ClientContext context;
    v1::CancelJobRequest request;
    request.set_name(job);
    v1::Job answer;
    EXPECT_TRUE(training_->CancelJob(&context, request, &answer).ok());
  }
  std::unique_ptr<HttpClient> Open(const std::string& target, const HttpHeaders& headers = {}) {
    auto client = std::make_unique<HttpClient>(server_->http_port());
    std::string text = absl::StrCat("GET ", target, " HTTP/1.1\r\nHost: localhost\r\n");
    for (const auto& [name, value] : headers) {
      absl::StrAppend(&text, name, ": ", value, "\r\n");
    }
    client->SendText(text + "\r\n");
    head_ = client->ReadHead();
    return client;
  }
  static std::string ReadAll(HttpClient& client) {
    return client.ReadBodyUntil([](const std::string&) { return false; });
  }
  // When a heartbeat comes is a matter of time, and of no event.
  static std::string WithoutHeartbeats(const std::string& body) {
    return absl::StrReplaceAll(body, {{": heartbeat\n\n", ""}});
  }
  static std::string ReadUntil(HttpClient& client, const std::string& text) {
    return client.ReadBodyUntil(
        [&text](const std::string& body) { return absl::StrContains(body, text); });
  }
  template <typename Wanted>
  static std::vector<Event> ReadEventsUntil(HttpClient& client, const Wanted& wanted) {
    return EventsOf(client.ReadBodyUntil(
        [&wanted](const std::string& body) { return wanted(EventsOf(body)); }));
  }

  HttpReply head_;
};

TEST_F(HttpEventsTest, OfOneJobAreThoseOfGrpc) {
  StartWithClouds();
  const std::string job = Finished();
  std::vector<v1::ProgressEvent> expected;
  ASSERT_TRUE(Stream(job, 0, &expected).ok());
  const auto client = Open("/v1/" + job + "/events");
  EXPECT_EQ(head_.status, 200);
  EXPECT_EQ(head_.Find("Content-Type"), "text/event-stream");
  EXPECT_EQ(head_.Find("Cache-Control"), "no-store");
  const std::vector<Event> events = EventsOf(ReadAll(*client));
  ASSERT_EQ(events.size(), expected.size() + 1);
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(events[i].name, "progress");
    EXPECT_EQ(events[i].id, absl::StrCat(expected[i].sequence()));
    EXPECT_EQ(events[i].data["sequence"], absl::StrCat(expected[i].sequence()));
  }
  EXPECT_EQ(events.back().name, "end");
  const json& last = events[events.size() - 2].data;
  EXPECT_EQ(last["stateChange"]["state"], "JOB_STATE_SUCCEEDED");
}

TEST_F(HttpEventsTest, AllWhoWatchAJobAreToldTheSame) {
  StartWithClouds();
  const std::string job = Finished();
  const auto all_of_job = [&] {
    return WithoutHeartbeats(ReadAll(*Open(absl::StrCat("/v1/", job, "/events"))));
  };
  const std::string text = all_of_job();
  const std::vector<Event> alone = EventsOf(text);
  const std::vector<Event> page = EventsOf(ReadAll(*Open(absl::StrCat("/v1/events?job=", job))));
  ASSERT_GT(alone.size(), 2U);
  ASSERT_EQ(page.size(), alone.size());
  for (size_t i = 0; i + 1 < alone.size(); ++i) {  // the last one is "end"
    EXPECT_EQ(page[i].data, json({{"job", job}, {"event", alone[i].data}}));
    EXPECT_EQ(page[i].id, alone[i].id);
  }
  EXPECT_EQ(page.back().data, json({{"job", job}}));
  EXPECT_EQ(all_of_job(), text);
  const auto jobs = [&] {
    const std::string body = ReadUntil(*Open("/v1/events?jobs=1"), "event: existing");
    return WithoutHeartbeats(body.substr(0, body.find("event: existing")));
  };
  const std::string shown = jobs();
  EXPECT_THAT(shown, HasSubstr(job));
  EXPECT_EQ(jobs(), shown);
}

TEST_F(HttpEventsTest, GoOnBehindTheLastOne) {
  StartWithClouds();
  const std::string job = Finished();
  const auto whole = EventsOf(ReadAll(*Open("/v1/" + job + "/events")));
  for (const HttpHeaders& headers : {HttpHeaders{{"Last-Event-ID", "2"}}, HttpHeaders{}}) {
    // A client that connects again names the path of its first time.
    const std::string parameter = headers.empty() ? "?afterSequence=2" : "?afterSequence=0";
    const auto rest = EventsOf(ReadAll(*Open("/v1/" + job + "/events" + parameter, headers)));
    ASSERT_EQ(rest.size(), whole.size() - 2);
    EXPECT_EQ(rest[0].id, "3");
  }
}

// A page's stream breaks, and is made again as an EventSource does.
TEST_F(HttpEventsTest, APageMissesNothingThatHappensWhileItsStreamIsBroken) {
  StartWithClouds();
  const std::string first = Finished();
  const std::string target = absl::StrCat("/v1/events?jobs=1&job=", first);
  auto client = Open(target);
  const std::set<std::string> wanted = {"existing ", "end " + first};
  const std::vector<Event> before = ReadEventsUntil(*client, [&](const auto& so_far) {
    return std::ranges::includes(NamesAndJobs(so_far), wanted);
  });
  std::string last;
  for (const Event& event : before) {
    last = event.id.empty() ? last : event.id;  // the end of a source has none
  }
  const std::vector<std::string> numbers = absl::StrSplit(last, ',');
  ASSERT_EQ(numbers.size(), 2u) << last;
  client->Close();
  const std::string second = Finished();
  client = Open(target, {{"Last-Event-ID", last}});
  const std::vector<Event> after = ReadEventsUntil(*client, [&](const auto& so_far) {
    return !so_far.empty() && so_far.back().name == "job" &&
           so_far.back().data["job"]["name"] == second &&
           so_far.back().data["job"]["state"] == "JOB_STATE_SUCCEEDED";
  });
  for (const Event& event : after) {
    EXPECT_NE(event.name, "progress") << "all of it has come before";
    EXPECT_NE(event.name, "existing");
    if (event.name == "job") {
      // The end of the first may have come to the watch of all jobs behind that of its own stream.
      EXPECT_TRUE(event.data["job"]["name"] == second ||
                  event.data["job"]["state"] == "JOB_STATE_SUCCEEDED")
          << event.data;
      EXPECT_TRUE(absl::EndsWith(event.id, "," + numbers[1])) << event.id;
    }
  }
  // Of the jobs alone, where the parameter says the same.
  client = Open("/v1/events?jobs=1&afterSequence=" + numbers[0]);
  const std::string text = ReadUntil(*client, "JOB_STATE_SUCCEEDED");
  EXPECT_FALSE(absl::StrContains(text, "event: existing")) << text;
}

TEST_F(HttpEventsTest, ARestartedServerTellsOfAllJobsAgain) {
  StartWithClouds();
  const std::string job = Finished();
  auto client = Open("/v1/events?jobs=1");
  const std::vector<Event> before = ReadEventsUntil(*client, [](const auto& so_far) {
    return !so_far.empty() && so_far.back().name == "existing";
  });
  client->Close();
  KillServer();
  StartServer(ServerOptions());
  client = Open("/v1/events?jobs=1", {{"Last-Event-ID", before.back().id}});
  const std::vector<Event> after = ReadEventsUntil(*client, [](const auto& so_far) {
    return !so_far.empty() && so_far.back().name == "existing";
  });
  ASSERT_EQ(after.size(), 2u);
  EXPECT_EQ(after[0].data["job"]["name"], job);
  EXPECT_EQ(after[0].data["existing"], true);
  EXPECT_EQ(after[0].id, "0");
  EXPECT_NE(after[1].id, before.back().id);
}

TEST_F(HttpEventsTest, WhatCannotBeStreamedIsAnError) {
  StartWithClouds();
  const std::string job = Finished();
  struct Case {
    std::string target;
    HttpHeaders headers;
    int status;
  };
  const Case cases[] = {
      {"/v1/jobs/none/events", {}, 404},
      {"/v1/" + job + "/events?afterSequence=-1", {}, 400},
      {"/v1/" + job + "/events?afterSequence=999999", {}, 400},
      {"/v1/" + job + "/events", {{"Last-Event-ID", "x"}}, 400},
      {"/v1/" + job + "/events?other=1", {}, 400},
      {"/v1/events", {}, 400},
      {"/v1/events?jobs=1", {{"Last-Event-ID", "1,2"}}, 400},
      {"/v1/events?jobs=1&job=" + job, {{"Last-Event-ID", "1,"}}, 400},
      {"/v1/events?jobs=1&afterSequence=-1", {}, 400},
      {"/v1/events?jobs=0", {}, 400},
      {"/v1/events?job=" + job + ":x", {}, 400},
      {"/v1/events?job=" + job + "&states=JOB_STATE_RUNNING", {}, 400},
      {"/v1/events?jobs=1&states=RUNNING", {}, 400},
      {"/v1/events?job=jobs/none", {}, 404},
  };
  constexpr int kAttempts = 4;  // a server that gets no processor for 150 ms has begun by then
  for (const Case& one : cases) {
    int attempt = 0;
    do {
      Open(one.target, one.headers);
    } while (head_.status == 200 && ++attempt < kAttempts);
    EXPECT_EQ(head_.status, one.status) << one.target;
  }
}

TEST_F(HttpEventsTest, AllThatAPageShowsComesInOneStream) {
  StartWithClouds();
  const std::string first = Finished();
  const std::string second = Endless();
  const auto client =
      Open(absl::StrCat("/v1/events?jobs=1&job=", first, ":2&job=", second, "&job=jobs/none:0"));
  EXPECT_EQ(head_.status, 200);
  ReadUntil(*client, "event: existing");
  Cancel(second);
  const std::set<std::string> wanted = {
      "job " + first,       "job " + second, "cancelled " + second, "existing ",
      "progress " + second, "end " + first,  "end " + second,       "error jobs/none"};
  const std::vector<Event> events = ReadEventsUntil(*client, [&](const auto& so_far) {
    return std::ranges::includes(NamesAndJobs(so_far), wanted);
  });
  size_t progress_of_first = 0;
  for (const Event& event : events) {
    if (event.name == "progress" && event.data["job"] == first) {
      EXPECT_EQ(event.data["event"]["sequence"], absl::StrCat(3 + progress_of_first++));
    }
  }
  EXPECT_GT(progress_of_first, 0u);
}

TEST_F(HttpEventsTest, AJobThatIsNamedTwiceIsToldOfOnce) {
  StartWithClouds();
  const std::string job = Finished();
  const std::string twice = absl::StrCat("job=", job, ":3&job=", job, ":2&job=", job, ":4");
  const auto client = Open(absl::StrCat("/v1/events?", twice));
  std::vector<std::string> sequences;
  int ends = 0;
  for (const Event& event : EventsOf(ReadAll(*client))) {
    ends += event.name == "end" ? 1 : 0;
    if (event.name == "progress") {
      sequences.push_back(event.data["event"]["sequence"]);
    }
  }
  EXPECT_EQ(ends, 1);
  ASSERT_FALSE(sequences.empty());
  EXPECT_EQ(sequences.front(), "3");
  EXPECT_EQ(std::set(sequences.begin(), sequences.end()).size(), sequences.size());
}

// The sanitizers see what a stream touches that outlives its server.
TEST_F(HttpEventsTest, StreamsThatHaveJustBegunEndWithTheServer) {
  StartWithClouds();
  std::vector<std::unique_ptr<HttpClient>> clients;
  for (int i = 0; i < 5; ++i) {
    clients.push_back(Open("/v1/events?jobs=1"));
  }
  KillServer();
  for (const auto& client : clients) {
    EXPECT_TRUE(client->ReadToEnd());
  }
}

TEST_F(HttpEventsTest, IdleStreamsGiveSignsOfLifeAndCostNoThreads) {
  StartWithClouds();
  const auto threads = [] {
    size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
      count += entry.exists() ? 1 : 0;
    }
    return count;
  };
  std::vector<std::unique_ptr<HttpClient>> clients;
  for (int i = 0; i < 20; ++i) {
    clients.push_back(Open("/v1/events?jobs=1"));
  }
  const size_t before = threads();
  for (int i = 0; i < 300; ++i) {
    clients.push_back(Open("/v1/events?jobs=1"));
    ASSERT_EQ(head_.status, 200);
  }
  for (const auto& client : clients) {
    EXPECT_THAT(ReadUntil(*client, ": heartbeat\n\n"), HasSubstr(": heartbeat"));
  }
  EXPECT_LE(threads(), before + 8);  // gRPC's own few
}

TEST_F(HttpEventsTest, AClientThatGoesLeavesNothingBehind) {
  StartWithClouds();
  const std::string job = Endless();
  for (int i = 0; i < 50; ++i) {
    const auto client = Open(absl::StrCat("/v1/events?jobs=1&job=", job));
    ReadUntil(*client, "event: progress");
    client->Close();
  }
  Cancel(job);
  // The drain waits for calls, and would take its whole time for one that nobody ends.
  const absl::Time begin = absl::Now();
  DrainServer();
  EXPECT_LT(absl::Now() - begin, absl::Seconds(60));
}

TEST_F(HttpEventsTest, ADrainEndsThemWithAWord) {
  StartWithClouds();
  const auto watch = Open("/v1/events?jobs=1");
  const auto idle = Open("/v1/events?jobs=1");
  ReadUntil(*watch, "event: existing");
  std::thread drain([this] { DrainServer(); });
  const std::vector<Event> events = EventsOf(ReadAll(*watch));
  drain.join();
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.back().name, "error");
  EXPECT_EQ(events.back().data["error"]["status"], "UNAVAILABLE");
  EXPECT_EQ(events.back().data["error"]["code"], 503);
  ReadAll(*idle);
}

}  // namespace
}  // namespace mercer::server
