// Every RPC that the services declare is called: the server has it.
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <grpcpp/generic/generic_stub.h>

#include "mercer/v1/admin_service.pb.h"
#include "tests/integration/test_server.h"

namespace mercer::server {
namespace {

using testing::IsEmpty;

class LaterRpcsTest : public ServerTest {
 protected:
  LaterRpcsTest() { StartServer(); }

  // Calls `path` ("/service/method"), of whatever kind, with one empty message, up to the first answer.
  grpc::Status CallWithEmptyMessage(const std::string& path) {
    grpc::CompletionQueue queue;
    const auto done = [&queue] {
      void* tag = nullptr;
      bool succeeded = false;
      return queue.Next(&tag, &succeeded) && succeeded;
    };
    grpc::ClientContext context;
    grpc::GenericStub stub(channel_);
    const auto call = stub.PrepareCall(&context, path, &queue);
    call->StartCall(nullptr);
    done();
    const grpc::Slice nothing;
    call->WriteLast(grpc::ByteBuffer(&nothing, 1), grpc::WriteOptions(), nullptr);
    done();
    grpc::ByteBuffer answer;
    call->Read(&answer, nullptr);
    while (done()) {
      context.TryCancel();  // some streams end with the client alone
      call->Read(&answer, nullptr);
    }
    grpc::Status status;
    call->Finish(&status, nullptr);
    done();
    return status;
  }
};

TEST_F(LaterRpcsTest, NoneIsMissing) {
  const google::protobuf::DescriptorPool& pool =
      *google::protobuf::DescriptorPool::generated_pool();
  std::set<std::string> missing;
  for (const char* name :
       {"mercer.v1.AdminService", "mercer.v1.DatasetService", "mercer.v1.ModelService",
        "mercer.v1.PredictionService", "mercer.v1.TrainingService"}) {
    const google::protobuf::ServiceDescriptor* service = pool.FindServiceByName(name);
    ASSERT_NE(service, nullptr) << name;
    for (int m = 0; m < service->method_count(); ++m) {
      const std::string& method = service->method(m)->name();
      const grpc::Status status = CallWithEmptyMessage(std::string("/") + name + "/" + method);
      if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED) {
        missing.insert(method);
      }
    }
  }
  EXPECT_THAT(missing, IsEmpty());
}

}  // namespace
}  // namespace mercer::server
