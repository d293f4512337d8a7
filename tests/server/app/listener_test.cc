#include "server/app/listener.h"

#include <cerrno>
#include <memory>
#include <netinet/in.h>
#include <string>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "core/base/status/errors.h"

namespace mercer::server {
namespace {

class ListenerTest : public ::testing::Test {
 protected:
  ~ListenerTest() override {
    if (server_ != nullptr) {
      listener_->Stop();
      server_->Shutdown(std::chrono::system_clock::now());
      server_->Wait();
    }
    for (const int client : clients_) {
      close(client);
    }
  }

  void Serve(size_t total, size_t per_peer = 1000) {
    auto listener = Listener::Open("127.0.0.1:0", {total, per_peer}, loads_, nullptr);
    ASSERT_TRUE(listener.ok()) << listener.status();
    listener_ = *std::move(listener);
    grpc::ServerBuilder builder;
    builder.RegisterCallbackGenericService(&service_);
    auto acceptor = builder.experimental().AddExternalConnectionAcceptor(
        grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
        grpc::InsecureServerCredentials());
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
    listener_->Start(std::move(acceptor));
  }
  // A connection; false when the server closes it before its first word.
  bool Connects(in_addr_t from = INADDR_LOOPBACK) {
    const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(from);
    EXPECT_EQ(bind(client, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    address.sin_port = htons(static_cast<uint16_t>(listener_->port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    char byte = 0;
    const bool served = read(client, &byte, 1) == 1;  // gRPC's settings come first
    clients_.push_back(client);
    return served;
  }
  void Disconnect() {
    close(clients_.front());
    clients_.erase(clients_.begin());
  }
  bool ConnectsInTime() {
    const absl::Time limit = absl::Now() + absl::Minutes(1);
    bool connected = false;
    while (!connected && absl::Now() < limit) {
      connected = Connects();
    }
    return connected;
  }

  ConnectionLoads loads_;
  std::unique_ptr<Listener> listener_;
  grpc::CallbackGenericService service_;
  std::unique_ptr<grpc::Server> server_;
  std::vector<int> clients_;
};

TEST_F(ListenerTest, TheLimitHoldsAndPlacesAreFreedByThoseWhoLeave) {
  Serve(3);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(Connects());
  }
  for (int i = 0; i < 20; ++i) {
    EXPECT_FALSE(Connects());
  }
  Disconnect();
  EXPECT_TRUE(ConnectsInTime());
  EXPECT_FALSE(Connects());
}

TEST_F(ListenerTest, OnePeerCannotTakeAllConnections) {
  Serve(6, 3);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(Connects());
  }
  for (int i = 0; i < 20; ++i) {
    EXPECT_FALSE(Connects());
  }
  constexpr in_addr_t kOther = INADDR_LOOPBACK + 1;
  EXPECT_TRUE(Connects(kOther));
  Disconnect();
  EXPECT_TRUE(ConnectsInTime());
  EXPECT_TRUE(Connects(kOther));
}

TEST_F(ListenerTest, ListensOnWhenTheSystemHasHadNoRoomForAConnection) {
  Serve(1000);
  EXPECT_TRUE(Connects());
  rlimit limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const int next = dup(0);  // the lowest number that is free
  close(next);
  // Room for the client's end of the connection and not for the server's.
  rlimit tight = limit;
  tight.rlim_cur = static_cast<rlim_t>(next) + 1;
  const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(client, next);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &tight), 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(listener_->port()));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  timeval wait = {0, 200'000};  // longer than the listener pauses
  setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
  char byte = 0;
  EXPECT_LT(read(client, &byte, 1), 0) << "it was accepted";
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  wait = {60, 0};
  setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
  EXPECT_EQ(read(client, &byte, 1), 1) << "who waited is served";
  close(client);
  EXPECT_TRUE(Connects());
}

// gRPC would begin the calls in it.
TEST(OpenConnectionsTest, WhatHasComeOverAConnectionThatIsBrokenOffIsLost) {
  const auto sockets = ListeningSockets::Open("127.0.0.1:0", absl::ZeroDuration());
  ASSERT_TRUE(sockets.ok()) << sockets.status();
  const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(sockets->port()));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  int server = -1;
  while ((server = accept4(sockets->sockets()[0], nullptr, nullptr, SOCK_CLOEXEC)) < 0) {
  }
  ConnectionLoads loads;
  OpenConnections connections(loads);
  connections.Add(server, "host", "peer");
  absl::Time now = absl::FromUnixSeconds(1'800'000'000);
  std::string piece(1000, 'x');
  ASSERT_EQ(send(client, piece.data(), piece.size(), MSG_NOSIGNAL), 1000);
  // All but the last piece is read.
  while (connections.BreakOffFloods(now += absl::Milliseconds(1)).empty()) {
    ASSERT_EQ(send(client, piece.data(), piece.size(), MSG_NOSIGNAL), 1000);
    ASSERT_EQ(recv(server, piece.data(), piece.size(), MSG_WAITALL), 1000);
  }
  EXPECT_TRUE(connections.IsShutOut("host", now));
  char byte = 0;
  EXPECT_LT(recv(server, &byte, 1, MSG_DONTWAIT), 0);
  EXPECT_LT(recv(client, &byte, 1, 0), 0);
  EXPECT_EQ(errno, ECONNRESET);
  close(client);
  close(server);
}

TEST(ResetConnectionTest, AnotherFileWithTheNumberGoesOn) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  struct stat file = {};
  ASSERT_EQ(fstat(ends[0], &file), 0);
  EXPECT_FALSE(ResetConnection(ends[0], file.st_ino + 1));
  char byte = 'x';
  EXPECT_EQ(write(ends[0], &byte, 1), 1);
  EXPECT_EQ(read(ends[1], &byte, 1), 1);
  EXPECT_TRUE(ResetConnection(ends[0], file.st_ino));
  EXPECT_EQ(read(ends[1], &byte, 1), 0) << "shut down";
  close(ends[0]);
  EXPECT_FALSE(ResetConnection(ends[0], file.st_ino));
  close(ends[1]);
}

TEST_F(ListenerTest, APortThatIsTakenIsRefused) {
  Serve(3);
  const absl::Status status =
      Listener::Open(absl::StrCat("127.0.0.1:", listener_->port()), {3, 3}, loads_, nullptr)
          .status();
  EXPECT_EQ(GetReason(status), "ADDRESS_IN_USE") << status;
  EXPECT_EQ(GetReason(Listener::Open("no.such.host.invalid:0", {3, 3}, loads_, nullptr).status()),
            "HOST_NOT_FOUND");
}

TEST_F(ListenerTest, AHostWithSeveralAddressesHasOnePort) {
  for (int i = 0; i < 20; ++i) {
    const auto listener = Listener::Open("localhost:0", {3, 3}, loads_, nullptr);
    ASSERT_TRUE(listener.ok()) << listener.status();
    EXPECT_GT((*listener)->port(), 0);
  }
}

}  // namespace
}  // namespace mercer::server
