#include "tests/integration/any_call.h"

#include <grpcpp/generic/generic_stub.h>

namespace mercer::server {
namespace {

grpc::ByteBuffer RequestBytes(const google::protobuf::Message& message) {
  const grpc::Slice slice(message.SerializeAsString());
  return grpc::ByteBuffer(&slice, 1);
}

}  // namespace

AnyAnswer CallAnyMethod(const std::shared_ptr<grpc::Channel>& channel,
                        const google::protobuf::MethodDescriptor& method, const Messages& requests,
                        std::chrono::seconds limit, size_t max_answers) {
  grpc::CompletionQueue queue;
  const auto done = [&queue] {
    void* tag = nullptr;
    bool succeeded = false;
    return queue.Next(&tag, &succeeded) && succeeded;
  };
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + limit);
  grpc::GenericStub stub(channel);
  const std::string path = "/" + method.service()->full_name() + "/" + method.name();
  const auto call = stub.PrepareCall(&context, path, &queue);
  call->StartCall(nullptr);
  done();
  bool taken = true;
  for (size_t i = 0; taken && i < requests.size(); ++i) {
    call->Write(RequestBytes(*requests[i]), nullptr);
    taken = done();
  }
  if (taken) {
    call->WritesDone(nullptr);
    done();
  }
  AnyAnswer answer;
  bool enough = false;
  for (grpc::ByteBuffer message; !enough; message.Clear()) {
    call->Read(&message, nullptr);
    if (!done()) {
      break;
    }
    answer.messages.push_back(message);
    enough = answer.messages.size() >= max_answers;
  }
  if (enough) {
    context.TryCancel();
  }
  call->Finish(&answer.status, nullptr);
  done();
  if (enough && answer.status.error_code() == grpc::StatusCode::CANCELLED) {
    answer.status = grpc::Status::OK;
  }
  return answer;
}

}  // namespace mercer::server
