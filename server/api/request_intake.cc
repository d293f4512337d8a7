#include "server/api/request_intake.h"

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include "core/base/errors.h"

namespace mercer::server {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::MessageFactory;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

// Of a field that the type does not have: its number, its kind, its value, in a list that doubles.
constexpr int64_t kUnknownField = 64;
// Of a string beside its bytes, and of what points to a message or a string.
constexpr int64_t kString = 48;
constexpr int64_t kPointer = 24;
// Numbers of a list that doubles.
constexpr int64_t kNumber = 16;
// As deep as the parser goes.
constexpr int kMaxDepth = 100;

// Adds up one message. It need not be exact: bytes that the parser will refuse are counted as far as they can be read.
class Scan {
 public:
  explicit Scan(CodedInputStream& input) : input_(input) {}

  int64_t bytes() const { return bytes_; }

  // To the end of the message. False: the bytes make no sense any more.
  bool AddMessage(const Descriptor& type, int depth) {
    if (depth > kMaxDepth) {
      return false;
    }
    bytes_ += EmptyBytes(type);
    int groups = 0;  // that are open: their fields are unknown
    while (const uint32_t tag = input_.ReadTag()) {
      const FieldDescriptor* const field =
          groups > 0 ? nullptr : type.FindFieldByNumber(WireFormatLite::GetTagFieldNumber(tag));
      switch (WireFormatLite::GetTagWireType(tag)) {
        case WireFormatLite::WIRETYPE_START_GROUP:
          bytes_ += kUnknownField;
          ++groups;
          break;
        case WireFormatLite::WIRETYPE_END_GROUP:
          --groups;
          break;
        case WireFormatLite::WIRETYPE_LENGTH_DELIMITED:
          if (!AddDelimited(field, depth)) {
            return false;
          }
          break;
        default:
          if (!WireFormatLite::SkipField(&input_, tag)) {
            return false;
          }
          bytes_ += field == nullptr ? kUnknownField : field->is_repeated() ? kNumber : 0;
      }
    }
    return input_.ConsumedEntireMessage();
  }

 private:
  int64_t EmptyBytes(const Descriptor& type) {
    int64_t& bytes = empty_bytes_[&type];
    if (bytes == 0) {
      const Message* const empty = MessageFactory::generated_factory()->GetPrototype(&type);
      bytes = static_cast<int64_t>(empty->SpaceUsedLong());
    }
    return bytes;
  }

  bool AddDelimited(const FieldDescriptor* field, int depth) {
    uint32_t length = 0;
    if (!input_.ReadVarint32(&length)) {
      return false;
    }
    if (field == nullptr) {
      bytes_ += kUnknownField + kString + length;
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      bytes_ += kPointer;
      const CodedInputStream::Limit limit = input_.PushLimit(static_cast<int>(length));
      const bool is_good = AddMessage(*field->message_type(), depth + 1);
      input_.PopLimit(limit);
      return is_good;
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
      bytes_ += kString + length;
    } else {
      bytes_ += field->is_repeated() ? PackedBytes(*field, length) : kUnknownField + length;
    }
    return input_.Skip(static_cast<int>(length));
  }

  static int64_t PackedBytes(const FieldDescriptor& field, int64_t length) {
    const bool is_fixed = field.type() == FieldDescriptor::TYPE_DOUBLE ||
                          field.type() == FieldDescriptor::TYPE_FLOAT ||
                          field.type() == FieldDescriptor::TYPE_FIXED32 ||
                          field.type() == FieldDescriptor::TYPE_FIXED64;
    return is_fixed ? 2 * length : kNumber * length;
  }

  CodedInputStream& input_;
  absl::flat_hash_map<const Descriptor*, int64_t> empty_bytes_;
  int64_t bytes_ = 0;
};

absl::Status RequestTooLarge(const char* what, int64_t bytes, int64_t limit_bytes) {
  return WithReason(
      absl::ResourceExhaustedError(
          absl::StrCat("the request ", what, " ", bytes, " bytes, at most ", limit_bytes)),
      "REQUEST_TOO_LARGE",
      {{"limit_bytes", absl::StrCat(limit_bytes)}, {"got_bytes", absl::StrCat(bytes)}});
}

}  // namespace

int64_t ParsedBytes(const Message& type, const grpc::ByteBuffer& bytes) {
  grpc::ByteBuffer copy = bytes;  // of references; a reader takes what is not const
  grpc::ProtoBufferReader reader(&copy);
  CodedInputStream input(&reader);
  Scan scan(input);
  scan.AddMessage(*type.GetDescriptor(), 0);
  return scan.bytes();
}

absl::Status RequestIntake::Parse(grpc::ByteBuffer& bytes, Message& message) {
  share_ = nullptr;
  message.Clear();
  const auto size = static_cast<int64_t>(bytes.Length());
  if (size > limit_bytes_) {
    return RequestTooLarge("has", size, limit_bytes_);
  }
  const int64_t parsed = ParsedBytes(message, bytes);
  const int64_t all = environment_.request_memory_bytes;
  if (parsed > all) {
    return RequestTooLarge("takes in memory", parsed, all);
  }
  share_ = environment_.request_memory->TryToTake(parsed, all);
  if (share_ == nullptr) {
    return WithReason(absl::ResourceExhaustedError(absl::StrCat(
                          "the requests that are being answered fill the memory for them, ", all,
                          " bytes; try again soon")),
                      "REQUESTS_FILL_MEMORY", {{"limit_bytes", absl::StrCat(all)}});
  }
  const grpc::Status read =
      grpc::SerializationTraits<Message>::Deserialize(&bytes, &message);  // clears the bytes
  if (!read.ok()) {
    return WithReason(
        absl::InvalidArgumentError(absl::StrCat("the request is no message of the type ",
                                                message.GetDescriptor()->full_name())),
        "MALFORMED_MESSAGE");
  }
  return absl::OkStatus();
}

}  // namespace mercer::server
