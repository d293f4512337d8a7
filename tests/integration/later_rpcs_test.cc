// Every RPC that the services declare is called: the server has it.
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>

#include "mercer/v1/admin_service.pb.h"
#include "tests/integration/test_server.h"
#include "tests/support/server/raw_call.h"

namespace mercer::server {
namespace {

using testing::IsEmpty;

class LaterRpcsTest : public ServerTest {
 protected:
  LaterRpcsTest() { StartServer(); }
};

TEST_F(LaterRpcsTest, NoneIsMissing) {
  const google::protobuf::DescriptorPool& pool =
      *google::protobuf::DescriptorPool::generated_pool();
  std::set<std::string> missing;
  for (const char* name :
       {"mercer.v1.AdminService", "mercer.v1.DatasetService", "mercer.v1.ModelService",
        "mercer.v1.PredictionService", "mercer.v1.ServerService", "mercer.v1.TrainingService"}) {
    const google::protobuf::ServiceDescriptor* service = pool.FindServiceByName(name);
    ASSERT_NE(service, nullptr) << name;
    for (int m = 0; m < service->method_count(); ++m) {
      const std::string& method = service->method(m)->name();
      const grpc::Status status = CallRaw(channel_, {.path = std::string("/") + name + "/" + method,
                                                     .message = MessageOf(""),
                                                     .until_first_answer = true});
      if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED) {
        missing.insert(method);
      }
    }
  }
  EXPECT_THAT(missing, IsEmpty());
}

}  // namespace
}  // namespace mercer::server
