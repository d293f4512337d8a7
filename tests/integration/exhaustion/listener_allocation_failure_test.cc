// A connection for which there is no memory is closed, and nothing else ends.
#include <cstring>
#include <memory>
#include <netinet/in.h>
#include <pthread.h>
#include <string>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "server/app/listener.h"
#include "tests/support/exhaustion/failing_allocations.h"

namespace mercer::server {
namespace {

bool IsNotOfTheListener() {
  char name[16] = {};
  pthread_getname_np(pthread_self(), name, sizeof(name));
  return std::strcmp(name, Listener::kAcceptingThread) != 0 &&
         std::strcmp(name, Listener::kGuardingThread) != 0;
}

// A connection; false when the server closes it before its first word.
bool Connects(int port) {
  const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  char byte = 0;
  const bool served = read(client, &byte, 1) == 1;  // gRPC's settings come first
  close(client);
  return served;
}

TEST(ListenerAllocationFailureTest, AConnectionWithoutMemoryIsClosedAndOthersAreServed) {
  ConnectionLoads loads;
  auto listener = Listener::Open("127.0.0.1:0", {100, 100}, loads, nullptr);
  ASSERT_TRUE(listener.ok()) << listener.status();
  const int port = (*listener)->port();
  grpc::CallbackGenericService service;
  grpc::ServerBuilder builder;
  builder.RegisterCallbackGenericService(&service);
  auto acceptor = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
      grpc::InsecureServerCredentials());
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  ASSERT_NE(server, nullptr);
  (*listener)->Start(std::move(acceptor));
  EXPECT_TRUE(Connects(port));
  {
    const FailingAllocations failing(SeldomFailures{.one_in = 1, .spares = IsNotOfTheListener});
    for (int i = 0; i < 20; ++i) {
      EXPECT_FALSE(Connects(port));
    }
  }
  EXPECT_TRUE(Connects(port));
  (*listener)->Stop();
  server->Shutdown();
  server->Wait();
}

}  // namespace
}  // namespace mercer::server
