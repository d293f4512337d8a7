#include "server/rpc/request_intake.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include "core/base/memory/memory_reserve.h"
#include "core/base/process/run_safely.h"
#include "core/base/status/errors.h"
#include "server/rpc/parsed_bytes.h"

namespace mercer::server {
namespace {

// About a millisecond.
constexpr int64_t kQuickFields = 20'000;

// What the message holds, which is empty then.
std::unique_ptr<google::protobuf::Message> TakeOut(google::protobuf::Message& message) {
  std::unique_ptr<google::protobuf::Message> taken(message.New());
  taken->GetReflection()->Swap(taken.get(), &message);
  return taken;
}

// Of a message with many fields, which are in as many small blocks.
void Destroy(std::unique_ptr<google::protobuf::Message> message, int64_t bytes,
             FreedMemory& freed) {
  message.reset();
  freed.Add(bytes);
}

}  // namespace

absl::Status RequestTooLarge(const char* what, int64_t bytes, int64_t limit_bytes) {
  return WithReason(
      absl::ResourceExhaustedError(
          absl::StrCat("the request ", what, " ", bytes, " bytes, at most ", limit_bytes)),
      "REQUEST_TOO_LARGE",
      {{"limit_bytes", absl::StrCat(limit_bytes)}, {"got_bytes", absl::StrCat(bytes)}});
}

absl::Status RequestIntake::Parse(grpc::ByteBuffer& bytes, google::protobuf::Message& message) {
  if (std::exchange(had_many_fields_, false)) {
    Destroy(TakeOut(message), share_.amount(),
            *environment_.freed_requests);  // Clear() keeps the memory of repeated fields
  } else {
    message.Clear();
  }
  share_.Release();
  const auto size = static_cast<int64_t>(bytes.Length());
  load_.Receive(size);
  if (size > limit_bytes_) {
    return RequestTooLarge("has", size, limit_bytes_);
  }
  grpc::ByteBuffer copy = bytes;  // of references
  grpc::ProtoBufferReader reader(&copy);
  const int64_t all = environment_.request_memory_bytes;
  const int64_t parsed = ParsedBytes(message, reader, all);
  if (parsed > all) {
    return RequestTooLarge("takes in memory at least", parsed, all);
  }
  share_ = environment_.request_memory.NewShare();
  if (share_.Grow(parsed, {all}).has_value()) {
    return WithReason(absl::ResourceExhaustedError(absl::StrCat(
                          "the requests that are being answered fill the memory for them, ", all,
                          " bytes; try again soon")),
                      "REQUESTS_FILL_MEMORY", {{"limit_bytes", absl::StrCat(all)}});
  }
  RequireMemory(parsed);
  const ScopedAllocations scope(Allocations::kNeeded);  // see whole_message.h
  using Traits = grpc::SerializationTraits<google::protobuf::Message>;
  if (!Traits::Deserialize(&bytes, &message).ok()) {
    return WithReason(
        absl::InvalidArgumentError(absl::StrCat("the request is no message of the type ",
                                                message.GetDescriptor()->full_name())),
        "MALFORMED_MESSAGE");
  }
  return absl::OkStatus();
}

bool RequestIntake::TakesLong(const grpc::ByteBuffer& bytes,
                              const google::protobuf::Message& message) {
  bool has_many_fields = false;
  if (bytes.Length() > kQuickBytes) {
    grpc::ByteBuffer copy = bytes;  // of references
    grpc::ProtoBufferReader reader(&copy);
    has_many_fields = HasMoreFields(message, reader, kQuickFields);
  }
  had_many_fields_ = std::exchange(has_many_fields_, has_many_fields);
  return has_many_fields_ || had_many_fields_;
}

void RequestIntake::Release(google::protobuf::Message& message) {
  if (!std::exchange(has_many_fields_, false)) {
    return;
  }
  RunNeeded("the end of a request", [&] {
    environment_.intake->Post([share = std::move(share_), taken = TakeOut(message),
                               freed = environment_.freed_requests]() mutable {
      Destroy(std::move(taken), share.amount(), *freed);
    });
  }).IgnoreError();  // destroyed here then
}

}  // namespace mercer::server
