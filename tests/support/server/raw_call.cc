#include "tests/support/server/raw_call.h"

#include <grpcpp/generic/generic_stub.h>

namespace mercer::server {

grpc::Status CallRaw(const std::shared_ptr<grpc::Channel>& channel, const RawCall& call) {
  grpc::CompletionQueue queue;
  const auto done = [&queue] {
    void* tag = nullptr;
    bool succeeded = false;
    return queue.Next(&tag, &succeeded) && succeeded;
  };
  grpc::ClientContext context;
  context.set_compression_algorithm(call.compression);
  context.set_deadline(std::chrono::system_clock::now() + call.limit);
  for (const auto& [name, value] : call.headers) {
    context.AddMetadata(name, value);
  }
  grpc::GenericStub stub(channel);
  const auto stream = stub.PrepareCall(&context, call.path, &queue);
  stream->StartCall(nullptr);
  done();
  stream->WriteLast(call.message, grpc::WriteOptions(), nullptr);
  done();
  grpc::ByteBuffer answer;
  stream->Read(&answer, nullptr);
  while (done()) {
    if (call.until_first_answer) {
      context.TryCancel();
    }
    stream->Read(&answer, nullptr);
  }
  grpc::Status status;
  stream->Finish(&status, nullptr);
  done();
  return status;
}

grpc::ByteBuffer MessageOf(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return {&slice, 1};
}

}  // namespace mercer::server
