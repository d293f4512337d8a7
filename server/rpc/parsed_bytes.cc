#include "server/rpc/parsed_bytes.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include "core/base/numeric/hash_table.h"

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
// Of a list of integers, which takes as long as one string or message.
constexpr int64_t kPackedBytesPerField = 16;
// As deep as the parser goes.
constexpr int kMaxDepth = 100;

// Adds up one message. It need not be exact: bytes that the parser will refuse are counted as far as they can be read.
class Scan {
 public:
  // Reads no further when there are more bytes in memory, or more fields, than that.
  Scan(CodedInputStream& input, int64_t most_bytes, int64_t most_fields)
      : input_(input), most_bytes_(most_bytes), most_fields_(most_fields) {}

  int64_t bytes() const { return bytes_; }
  int64_t fields() const { return fields_; }

  // To the end of the message. False: that is enough, or the bytes make no sense any more.
  bool AddMessage(const Descriptor& type, int depth) {
    if (depth > kMaxDepth) {
      return false;
    }
    bytes_ += EmptyBytes(type);
    int groups = 0;  // that are open: their fields are unknown
    while (const uint32_t tag = input_.ReadTag()) {
      ++fields_;
      if (bytes_ > most_bytes_ || fields_ > most_fields_) {
        return false;
      }
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

  int64_t PackedBytes(const FieldDescriptor& field, int64_t length) {
    const bool is_fixed = field.type() == FieldDescriptor::TYPE_DOUBLE ||
                          field.type() == FieldDescriptor::TYPE_FLOAT ||
                          field.type() == FieldDescriptor::TYPE_FIXED32 ||
                          field.type() == FieldDescriptor::TYPE_FIXED64;
    fields_ += is_fixed ? 0 : length / kPackedBytesPerField;
    return is_fixed ? 2 * length : kNumber * length;
  }

  CodedInputStream& input_;
  const int64_t most_bytes_;
  const int64_t most_fields_;
  HashMap<const Descriptor*, int64_t> empty_bytes_;
  int64_t bytes_ = 0;
  int64_t fields_ = 0;
};

constexpr int64_t kUnbounded = std::numeric_limits<int64_t>::max();

}  // namespace

int64_t ParsedBytes(const Message& type, google::protobuf::io::ZeroCopyInputStream& bytes,
                    int64_t most_bytes) {
  CodedInputStream input(&bytes);
  Scan scan(input, most_bytes, kUnbounded);
  scan.AddMessage(*type.GetDescriptor(), 0);
  return scan.bytes();
}

bool HasMoreFields(const Message& type, google::protobuf::io::ZeroCopyInputStream& bytes,
                   int64_t fields) {
  CodedInputStream input(&bytes);
  Scan scan(input, kUnbounded, fields);
  scan.AddMessage(*type.GetDescriptor(), 0);
  return scan.fields() > fields;
}

}  // namespace mercer::server
