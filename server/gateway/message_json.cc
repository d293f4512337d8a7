#include "server/gateway/message_json.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include <google/protobuf/descriptor.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/type_resolver.h>
#include <google/protobuf/util/type_resolver_util.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include "core/base/memory/memory_reserve.h"
#include "core/base/status/errors.h"
#include "core/base/status/shorten.h"
#include "core/base/status/status_macros.h"
#include "core/base/status/utf8.h"
#include "server/translation/option_translator.h"
#include "server/translation/whole_message.h"

namespace mercer::gateway {
namespace {

namespace json = google::protobuf::util;

constexpr size_t kMaxQuotedBytes = 200;
constexpr char kTypePrefix[] = "type.googleapis.com";

absl::Status BadJson(const std::string& why) {
  return WithReason(
      absl::InvalidArgumentError(absl::StrCat("the body is not the JSON of this request: ",
                                              Shorten(why, kMaxQuotedBytes))),
      "BAD_JSON");
}

absl::Status BadField(const std::string& field, const std::string& why) {
  FieldViolations violations;
  violations.Add(field, Shorten(why, kMaxQuotedBytes));
  return violations.ToStatus();
}

// `why` is "invalid value "svm" for type type.googleapis.com/mercer.v1.Learner" where a message of ours is wanted, for which a
// text is easily taken when it is the name of a field of that message. Empty: something else is wrong.
std::string ObjectWanted(absl::string_view why, const google::protobuf::DescriptorPool& pool) {
  const std::string before_type = absl::StrCat(" for type ", kTypePrefix, "/");
  const size_t end = why.rfind(before_type);
  if (end == absl::string_view::npos) {
    return "";
  }
  const google::protobuf::Descriptor* type =
      pool.FindMessageTypeByName(std::string(why.substr(end + before_type.size())));
  if (type == nullptr || !absl::StartsWith(type->full_name(), "mercer.")) {
    return "";  // an enum; or a time, which is a text
  }
  absl::string_view value = why.substr(0, end);
  absl::ConsumePrefix(&value, "invalid value \"");
  absl::ConsumeSuffix(&value, "\"");
  const google::protobuf::FieldDescriptor* field = type->FindFieldByName(std::string(value));
  const bool is_object = field != nullptr && field->message_type() != nullptr;
  return absl::StrCat("must be an object (", type->name(), ")",
                      is_object ? absl::StrCat(", such as {\"", value, "\": {}}") : "");
}

// The path as people know it: the library names fields as the protos do, `learner.svm.c`, whose option is C, or as the JSON did.
std::string NamedForPeople(absl::string_view path, const google::protobuf::Descriptor* message) {
  std::vector<std::string> parts = absl::StrSplit(path, '.');
  for (std::string& part : parts) {
    const size_t end = std::min(part.find('['), part.size());
    const google::protobuf::FieldDescriptor* field =
        message == nullptr ? nullptr : message->FindFieldByName(part.substr(0, end));
    if (field == nullptr && message != nullptr) {
      field = message->FindFieldByCamelcaseName(part.substr(0, end));
    }
    if (field != nullptr) {
      part.replace(0, end, server::OptionName(*field));
    }
    message = field == nullptr ? nullptr : field->message_type();
  }
  return absl::StrJoin(parts, ".");
}

// What the library says of a field behind the path of the message that has it: the name stands between two texts, behind the last
// quote where there are any.
struct Complaint {
  absl::string_view before;
  absl::string_view behind;
  const char* why;
};
constexpr Complaint kComplaints[] = {
    {"", ": Proto field is not repeating, cannot start list.", "must not be a list"},
    {": invalid value Cannot bind a list to map for field '", "'. for type Map",
     "must be an object, not a list"},
    {": invalid value Starting an object on a scalar field for type ", "", "must not be an object"},
    {": invalid value oneof field '", "' for type oneof",
     "is set beside another field, and only one of them may be"},
};

// Adds the name of the field that the library complains of to `path`, and answers why; null: it complains of something else.
const char* FindComplaint(absl::string_view said, std::string& path) {
  for (const Complaint& complaint : kComplaints) {
    absl::string_view name = said;
    if (!absl::ConsumePrefix(&name, complaint.before) ||
        !absl::ConsumeSuffix(&name, complaint.behind)) {
      continue;
    }
    name.remove_prefix(name.rfind('\'') + 1);  // of "input' is already set. Cannot set 'rows"
    absl::ConsumePrefix(&name, " ");
    absl::StrAppend(&path, path.empty() ? "" : ".", name);
    return complaint.why;
  }
  return nullptr;
}

// The library says "(path.to) name: Cannot find field." of an unknown field and "(path.to.field): invalid value ..." of a
// bad value, with positions in lists; of lists and objects in the wrong place what kComplaints has.
absl::Status ErrorOfMessage(absl::string_view message, const google::protobuf::Descriptor& type) {
  absl::string_view rest = message;
  std::string path;
  if (absl::ConsumePrefix(&rest, "(")) {
    const size_t end = rest.find(')');
    path = std::string(rest.substr(0, end));
    rest.remove_prefix(end == absl::string_view::npos ? rest.size() : end + 1);
  }
  if (absl::ConsumeSuffix(&rest, ": Cannot find field.")) {
    absl::ConsumePrefix(&rest, " ");
    return BadField(absl::StrCat(NamedForPeople(path, &type), path.empty() ? "" : ".", rest),
                    "unknown field");
  }
  if (const char* const why = FindComplaint(rest, path); why != nullptr) {
    return BadField(NamedForPeople(path, &type), why);
  }
  path = NamedForPeople(path, &type);
  if (!path.empty() && rest == " : Proto fields must have a name.") {
    return BadField(path, "has a list where none belongs, or a field without a name");
  }
  if (!path.empty() && absl::ConsumePrefix(&rest, ": ")) {
    const std::string wanted = ObjectWanted(rest, *type.file()->pool());
    return BadField(path, wanted.empty() ? std::string(rest) : wanted);
  }
  absl::ConsumePrefix(&rest, ": ");
  return BadJson(std::string(rest.substr(0, rest.find('\n'))));
}

}  // namespace

absl::Status ReadJson(std::string_view text, google::protobuf::Message& message,
                      const WireCheck& check) {
  if (text.empty()) {
    return absl::OkStatus();
  }
  if (!IsUtf8(text)) {
    return BadJson("it is not UTF-8");
  }
  const google::protobuf::Descriptor& type = *message.GetDescriptor();
  const std::unique_ptr<json::TypeResolver> types(
      json::NewTypeResolverForDescriptorPool(kTypePrefix, type.file()->pool()));
  // protobuf's writers end the process when one that is not at its end is destroyed.
  RequireMemory(8 * static_cast<int64_t>(text.size()));
  const ScopedAllocations scope(Allocations::kNeeded);
  std::string wire;
  const auto status =
      json::JsonToBinaryString(types.get(), absl::StrCat(kTypePrefix, "/", type.full_name()),
                               {text.data(), text.size()}, &wire);
  if (!status.ok()) {
    const auto said = status.message();
    return ErrorOfMessage({said.data(), said.size()}, type);
  }
  if (check != nullptr) {
    MERCER_RETURN_IF_ERROR(check(message, wire));
  }
  return server::ParseWhole(wire, message)
             ? absl::OkStatus()
             : BadJson(
                   "an object is where a text or a number belongs, or a value is out of its range");
}

absl::StatusOr<std::string> WriteJson(const google::protobuf::Message& message) {
  RequireMemory(8 * static_cast<int64_t>(message.ByteSizeLong()));
  const ScopedAllocations scope(Allocations::kNeeded);  // as in what reads JSON
  std::string text;
  const auto status = json::MessageToJsonString(message, &text);
  if (!status.ok()) {
    return absl::InternalError(
        absl::StrCat("no JSON of ", message.GetTypeName(), ": ", status.ToString()));
  }
  return text;
}

grpc::ByteBuffer ToBytes(const google::protobuf::Message& message) {
  const grpc::Slice slice(message.SerializeAsString());
  return grpc::ByteBuffer(&slice, 1);
}

absl::Status FromBytes(grpc::ByteBuffer bytes, google::protobuf::Message& message) {
  RequireMemory(4 * static_cast<int64_t>(bytes.Length()));
  const ScopedAllocations scope(Allocations::kNeeded);  // see whole_message.h
  grpc::ProtoBufferReader reader(&bytes);
  return message.ParseFromZeroCopyStream(&reader)
             ? absl::OkStatus()
             : absl::InternalError(absl::StrCat("an answer is no ", message.GetTypeName()));
}

}  // namespace mercer::gateway
