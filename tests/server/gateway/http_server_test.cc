// The port itself: limits of connections, slow and half-closed clients, bodies piece by piece, TLS.
#include "server/gateway/http/http_server.h"

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "server/gateway/http/error_answer.h"
#include "tests/support/server/certificates.h"
#include "tests/support/server/http_client.h"

namespace mercer::gateway {
namespace {

Answer TextOf(std::string text) {
  Answer answer;
  answer.body = std::move(text);
  return answer;
}

constexpr int64_t kAllBodies = 1'000'000;

// Answers a body with its length.
void CountBody(const std::shared_ptr<Exchange>& exchange, const server::Budget& budget) {
  const auto share = std::make_shared<BodyShare>(budget, kAllBodies);
  ReadBody(exchange, 1'000'000, *share, [exchange, share](absl::StatusOr<std::string> body) {
    exchange->Send(body.ok() ? TextOf(absl::StrCat(body->size())) : BodyErrorAnswer(body.status()));
  });
}

class HttpServerTest : public testing::Test {
 protected:
  void Start(HttpServer::Handler handler) {
    if (server_ == nullptr) {
      Open();
    }
    server_->Start(std::move(handler), nullptr);
  }
  void Open() {
    auto server = HttpServer::Open(options_);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  static std::string Request(const std::string& path) {
    return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
  }

  HttpServerOptions options_;
  const server::Budget budget_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpServerTest, TakesBodiesOfEachCoding) {
  Start([this](const std::shared_ptr<Exchange>& exchange) { CountBody(exchange, budget_); });
  HttpClient client(server_->port());
  EXPECT_EQ(client.Post("/", std::string(900'000, 'x')).body, "900000");
  client.SendText("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n");
  for (int i = 0; i < 100; ++i) {
    client.SendText("3e8\r\n" + std::string(1000, 'y') + "\r\n");
  }
  client.SendText("0\r\n\r\n");
  EXPECT_EQ(client.Read().body, "100000");
  client.SendText("POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
  EXPECT_EQ(client.Read().status, 100);
  client.SendText("hello");
  EXPECT_EQ(client.Read().body, "5");
}

TEST_F(HttpServerTest, BodiesTogetherKeepWithinTheirBudget) {
  Start([this](const std::shared_ptr<Exchange>& exchange) { CountBody(exchange, budget_); });
  {
    BodyShare others(budget_, kAllBodies);
    EXPECT_TRUE(others.Grow(600'000).ok());
    EXPECT_FALSE(others.Grow(400'001).ok());
    const HttpReply refused = HttpClient(server_->port()).Post("/", std::string(500'000, 'x'));
    EXPECT_EQ(refused.status, 503);
    EXPECT_NE(refused.Find("Retry-After"), "");
    EXPECT_EQ(HttpClient(server_->port()).Post("/", std::string(400'000, 'x')).body, "400000");
  }
  EXPECT_EQ(HttpClient(server_->port()).Post("/", std::string(900'000, 'x')).body, "900000");
}

// A client that does not read keeps what was set aside for his answer, and so do no others: 30 MB fill every buffer on the way.
TEST_F(HttpServerTest, AnAnswersMemoryIsKeptUntilItIsRead) {
  constexpr size_t kBytes = 30'000'000;
  std::weak_ptr<const void> kept;
  absl::Notification sent;
  Start([&](const std::shared_ptr<Exchange>& exchange) {
    Answer answer = TextOf(std::string(kBytes, 'x'));
    answer.memory = std::make_shared<int>();
    kept = answer.memory;
    exchange->Send(std::move(answer));
    sent.Notify();
  });
  HttpClient client(server_->port());
  client.SendText(Request("/"));
  sent.WaitForNotification();
  // Only a whole round of the network's thread later the answer is on its way.
  EXPECT_EQ(HttpClient(server_->port()).SendText("x"), true);
  EXPECT_FALSE(kept.expired());
  EXPECT_EQ(client.Read().body.size(), kBytes);
  while (!kept.expired()) {
    absl::SleepFor(absl::Milliseconds(1));
  }
}

TEST_F(HttpServerTest, ABodyThatNobodyReadsEndsTheConnectionAfterTheAnswer) {
  Start([](const std::shared_ptr<Exchange>& exchange) { exchange->Send(TextOf("no")); });
  HttpClient client(server_->port());
  const HttpReply reply = client.Post("/", std::string(3'000'000, 'x'));
  EXPECT_EQ(reply.body, "no");
  EXPECT_EQ(reply.Find("Connection"), "close");
}

TEST_F(HttpServerTest, AnExchangeThatIsDroppedIsAnswered) {
  Start([](const std::shared_ptr<Exchange>&) {});
  HttpClient client(server_->port());
  EXPECT_EQ(client.Get("/").status, 500);
  // A stream that is dropped breaks off.
  HttpServerOptions other;
  auto server = HttpServer::Open(other);
  ASSERT_TRUE(server.ok());
  (*server)->Start(
      [](const std::shared_ptr<Exchange>& exchange) {
        exchange->Begin({200, {}, std::nullopt});
        exchange->Write("begun", [](bool) {});
      },
      nullptr);
  HttpClient streamed((*server)->port());
  streamed.SendText(Request("/"));
  EXPECT_EQ(streamed.Read().status, 0);
}

TEST_F(HttpServerTest, PiecesOfAStreamAreTakenAsTheClientReads) {
  absl::Mutex mutex;
  int pieces = 0;
  std::function<void(const std::shared_ptr<Exchange>&)> write =
      [&](const std::shared_ptr<Exchange>& exchange) {
        exchange->Write(std::string(1'000'000, 'x'), [&, exchange](bool ok) {
          absl::MutexLock lock(&mutex);
          if (ok && ++pieces < 100) {
            write(exchange);
          } else {
            exchange->End(ok);
          }
        });
      };
  Start([&](const std::shared_ptr<Exchange>& exchange) {
    exchange->Begin({200, {}, uint64_t{100'000'000}});
    write(exchange);
  });
  HttpClient client(server_->port());
  client.SendText(Request("/"));
  EXPECT_EQ(client.ReadHead().Find("Content-Length"), "100000000");
  {
    absl::MutexLock lock(&mutex);
    EXPECT_LT(pieces, 50);  // what the sockets hold
  }
  EXPECT_EQ(client.ReadBodyUntil([](const std::string&) { return false; }).size(), 100'000'000u);
}

TEST_F(HttpServerTest, WhoeverWaitsHearsThatTheClientHasGone) {
  absl::Notification gone;
  absl::Notification asked;
  Start([&](const std::shared_ptr<Exchange>& exchange) {
    exchange->OnGone([&gone, exchange] { gone.Notify(); });
    asked.Notify();
  });
  HttpClient client(server_->port());
  client.SendText(Request("/"));
  asked.WaitForNotification();
  client.Close();
  EXPECT_TRUE(gone.WaitForNotificationWithTimeout(absl::Seconds(30)));
}

// Whoever still holds the exchange before may ask for something late.
TEST_F(HttpServerTest, WhatIsAskedOfAnEndedExchangeDoesNothingToTheNextOne) {
  std::shared_ptr<Exchange> ended;
  absl::Notification gone;
  absl::Notification set;
  Start([&](const std::shared_ptr<Exchange>& exchange) {
    if (ended == nullptr) {
      ended = exchange;
      exchange->Send(TextOf("first"));
      return;
    }
    exchange->OnGone([&gone, exchange] { gone.Notify(); });
    ended->OnGone([] { ADD_FAILURE() << "of the exchange that was answered"; });
    ended->ReadSome([&set](const absl::StatusOr<std::string>& bytes) {
      EXPECT_TRUE(absl::IsCancelled(bytes.status())) << bytes.status();
      set.Notify();
    });
  });
  HttpClient client(server_->port());
  client.SendText(Request("/"));
  EXPECT_EQ(client.Read().body, "first");
  client.SendText(Request("/"));
  EXPECT_TRUE(set.WaitForNotificationWithTimeout(absl::Seconds(30)));
  client.Close();
  EXPECT_TRUE(gone.WaitForNotificationWithTimeout(absl::Seconds(30)));
}

TEST_F(HttpServerTest, ABodyThatBreaksOffIsNoWholeBody) {
  absl::Notification failed;
  Start([&](const std::shared_ptr<Exchange>& exchange) {
    const auto share = std::make_shared<BodyShare>(budget_, kAllBodies);
    ReadBody(exchange, 1000, *share, [&failed, exchange, share](absl::StatusOr<std::string> body) {
      if (absl::IsCancelled(body.status())) {
        failed.Notify();
      }
    });
  });
  HttpClient client(server_->port());
  client.SendText("POST / HTTP/1.1\r\nContent-Length: 100\r\n\r\nhalf");
  client.ShutDownSending();
  EXPECT_TRUE(failed.WaitForNotificationWithTimeout(absl::Seconds(30)));
}

TEST_F(HttpServerTest, SlowClientsAreTold) {
  options_.limits.head = absl::Milliseconds(200);
  options_.limits.body = absl::Milliseconds(200);
  options_.limits.idle = absl::Milliseconds(200);
  Start([this](const std::shared_ptr<Exchange>& exchange) { CountBody(exchange, budget_); });
  HttpClient slow_head(server_->port());
  slow_head.SendText("GET / HTTP/1.1\r\nHost: loc");
  EXPECT_EQ(slow_head.Read().status, 408);
  EXPECT_TRUE(slow_head.ReadToEnd());
  HttpClient slow_body(server_->port());
  slow_body.SendText("POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\nhal");
  EXPECT_EQ(slow_body.Read().status, 408);
  HttpClient silent(server_->port());
  EXPECT_TRUE(silent.ReadToEnd());
  HttpClient idle(server_->port());
  EXPECT_EQ(idle.Post("/", "abc").body, "3");
  EXPECT_TRUE(idle.ReadToEnd());
}

TEST_F(HttpServerTest, AClientThatDoesNotReadIsCutOff) {
  options_.limits.write = absl::Milliseconds(300);
  absl::Notification ended;
  Start([&](const std::shared_ptr<Exchange>& exchange) {
    exchange->Begin({200, {}, std::nullopt});
    exchange->Write(std::string(100'000'000, 'x'), [&ended, exchange](bool ok) {
      EXPECT_FALSE(ok);
      ended.Notify();
    });
  });
  HttpClient client(server_->port());
  client.SendText(Request("/"));
  EXPECT_TRUE(ended.WaitForNotificationWithTimeout(absl::Seconds(60)));
}

TEST_F(HttpServerTest, AboveTheLimitThereAreSpareConnectionsForTheNewest) {
  options_.max_connections = 3;
  options_.spare_connections = 2;
  options_.limits.spare = absl::Minutes(1);
  Start([](const std::shared_ptr<Exchange>& exchange) {
    exchange->Send(TextOf(exchange->peer().spare ? "spare" : "usual"));
  });
  std::vector<std::unique_ptr<HttpClient>> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(std::make_unique<HttpClient>(server_->port()));
    EXPECT_EQ(clients.back()->Get("/").body, "usual");
  }
  for (int i = 0; i < 5;
       ++i) {  // each is closed after its answer, so that there is room for the next
    HttpClient spare(server_->port());
    const HttpReply reply = spare.Get("/");
    EXPECT_EQ(reply.body, "spare");
    EXPECT_EQ(reply.Find("Connection"), "close");
    EXPECT_TRUE(spare.ReadToEnd());
  }
  HttpClient fourth(server_->port());
  HttpClient fifth(server_->port());
  HttpClient sixth(server_->port());
  EXPECT_TRUE(fourth.ReadToEnd());
  EXPECT_EQ(sixth.Get("/").body, "spare");
  EXPECT_EQ(fifth.Get("/").body, "spare");
  EXPECT_EQ(clients[0]->Get("/").body, "usual");
}

TEST_F(HttpServerTest, OneHostCannotTakeAllConnections) {
  options_.max_connections = 5;
  options_.max_connections_per_host = 2;
  options_.limits.spare = absl::Minutes(1);
  Start([](const std::shared_ptr<Exchange>& exchange) {
    exchange->Send(TextOf(exchange->peer().spare ? "spare" : "usual"));
  });
  const auto connect = [this](const char* from) {
    return std::make_unique<HttpClient>(server_->port(), HttpSource{from});
  };
  std::vector<std::unique_ptr<HttpClient>> greedy;
  for (int i = 0; i < 2; ++i) {
    greedy.push_back(connect("127.0.0.2"));
    EXPECT_EQ(greedy.back()->Get("/").body, "usual");
  }
  // Neither these nor those that were answered count.
  const auto silent = connect("127.0.0.2");
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(connect("127.0.0.2")->Get("/").body, "spare");
  }
  std::vector<std::unique_ptr<HttpClient>> others;
  for (const char* from : {"127.0.0.1", "127.0.0.1", "127.0.0.3"}) {
    others.push_back(connect(from));
    EXPECT_EQ(others.back()->Get("/").body, "usual") << from;
  }
  EXPECT_EQ(connect("127.0.0.4")->Get("/").body, "spare") << "all together are five";
  greedy.pop_back();
  const absl::Time limit = absl::Now() + absl::Minutes(1);
  std::string body;
  while (body != "usual" &&
         absl::Now() < limit) {  // the server hears of an end when it hears of it
    body = connect("127.0.0.2")->Get("/").body;
  }
  EXPECT_EQ(body, "usual");
}

TEST_F(HttpServerTest, PeersHaveTheNamesThatGrpcGivesThem) {
  options_.address = "[::]:0";  // where an address of IPv4 comes within one of IPv6
  Start([](const std::shared_ptr<Exchange>& exchange) {
    exchange->Send(TextOf(exchange->peer().address));
  });
  EXPECT_EQ(HttpClient(server_->port()).Get("/").body.find("ipv4:127.0.0.1:"), 0u);
}

TEST_F(HttpServerTest, AStopLetsRequestsEndAndTakesNoMore) {
  absl::Notification asked;
  std::shared_ptr<Exchange> held;
  Start([&](std::shared_ptr<Exchange> exchange) {
    held = std::move(exchange);
    asked.Notify();
  });
  HttpClient idle(server_->port());
  HttpClient busy(server_->port());
  busy.SendText(Request("/"));
  asked.WaitForNotification();
  absl::Notification stopped;
  std::thread stop([&] {
    server_->Stop(absl::Seconds(60));
    stopped.Notify();
  });
  EXPECT_TRUE(idle.ReadToEnd());
  EXPECT_FALSE(stopped.HasBeenNotified());
  held->Send(TextOf("late"));
  held.reset();
  const HttpReply reply = busy.Read();
  EXPECT_EQ(reply.body, "late");
  EXPECT_EQ(reply.Find("Connection"), "close");
  busy.Close();
  stop.join();
  EXPECT_FALSE(HttpClient(server_->port()).connected());
}

TEST_F(HttpServerTest, AStopAtTheMomentOfATickEnds) {
  absl::Notification asked;
  Start([&asked](const std::shared_ptr<Exchange>& exchange) {
    asked.Notify();
    // Longer than a tick: the next one and the stop are both due when the network's thread goes on.
    absl::SleepFor(absl::Milliseconds(300));
    exchange->Send(TextOf("late"));
  });
  HttpClient client(server_->port());
  client.SendText(Request("/"));
  asked.WaitForNotification();
  server_->Stop(absl::ZeroDuration());
  server_.reset();
}

TEST_F(HttpServerTest, TheSamePortIsTakenOnce) {
  Open();
  HttpServerOptions other;
  other.address = absl::StrCat("127.0.0.1:", server_->port());
  const auto second = HttpServer::Open(other);
  EXPECT_EQ(GetReason(second.status()), "ADDRESS_IN_USE");
}

}  // namespace
}  // namespace mercer::gateway
