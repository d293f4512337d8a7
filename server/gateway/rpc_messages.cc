#include "server/gateway/rpc_messages.h"

#include <charconv>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include <google/protobuf/util/json_util.h>

#include "core/base/memory/memory_reserve.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "mercer/v1/http_query.pb.h"
#include "server/gateway/http/error_answer.h"

namespace mercer::gateway {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

namespace {

constexpr char kNoSuchParameter[] = "there is no such parameter";

const FieldDescriptor* FindField(const Descriptor& type, absl::string_view name) {
  const std::string text(name);
  const FieldDescriptor* field = type.FindFieldByName(text);
  return field != nullptr ? field : type.FindFieldByCamelcaseName(text);
}

bool IsWellKnown(const Descriptor& type) {
  const std::string& name = type.full_name();
  return name == "google.protobuf.Timestamp" || name == "google.protobuf.Duration" ||
         name == "google.protobuf.FieldMask";
}

std::string WantedBy(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      return "must be base64";  // of the other texts none is wrong
    case FieldDescriptor::CPPTYPE_BOOL:
      return "must be true or false";
    case FieldDescriptor::CPPTYPE_ENUM:
      return absl::StrCat("must be a value of ", field.enum_type()->name());
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return absl::StrCat("must be a ", field.message_type()->name(), " as JSON writes it");
    case FieldDescriptor::CPPTYPE_INT32:
      return "must be a whole number of 32 bits";
    case FieldDescriptor::CPPTYPE_UINT32:
      return "must be a whole number >= 0 of 32 bits";
    case FieldDescriptor::CPPTYPE_INT64:
      return "must be a whole number of 64 bits";
    case FieldDescriptor::CPPTYPE_UINT64:
      return "must be a whole number >= 0 of 64 bits";
    default:
      return "must be a number";
  }
}

// Texts and whole numbers, of which most queries are made, at once: as JSON each would take some 15 us. False: it is neither.
bool SetPlain(Message& message, const FieldDescriptor& field, const std::string& value) {
  const Reflection& reflection = *message.GetReflection();
  int64_t number = 0;
  const char* const end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, number);
  const bool is_number = !field.is_repeated() && error == std::errc() && stop == end;
  if (field.type() == FieldDescriptor::TYPE_STRING && !field.is_repeated()) {
    reflection.SetString(&message, &field, value);
  } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_INT64 && is_number) {
    reflection.SetInt64(&message, &field, number);
  } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_INT32 && is_number &&
             number == static_cast<int32_t>(number)) {
    reflection.SetInt32(&message, &field, static_cast<int32_t>(number));
  } else {
    return false;
  }
  return true;
}

// Sets a field, or adds to a list or map, what `json` is. False: it is not of the field's type.
bool SetJson(Message& message, const FieldDescriptor& field, const std::string& json) {
  const std::unique_ptr<Message> one(message.New());
  const std::string object =
      absl::StrCat("{\"", field.name(), "\":", field.is_repeated() && !field.is_map() ? "[" : "",
                   json, field.is_repeated() && !field.is_map() ? "]}" : "}");
  if (!google::protobuf::util::JsonStringToMessage(object, one.get()).ok()) {
    return false;
  }
  if (field.is_repeated()) {
    message.MergeFrom(*one);
  } else {
    message.GetReflection()->SwapFields(&message, one.get(), {&field});
  }
  return true;
}

// Empty: done; else what is wrong.
std::string SetMapEntry(Message& message, const FieldDescriptor& map, const std::string& key,
                        const std::string& value) {
  const FieldDescriptor& key_field = *map.message_type()->map_key();
  const Reflection& reflection = *message.GetReflection();
  if (key_field.cpp_type() != FieldDescriptor::CPPTYPE_STRING || key.empty()) {
    return "needs a key, as in labels.team=a";
  }
  for (int i = 0; i < reflection.FieldSize(message, &map); ++i) {
    const Message& entry = reflection.GetRepeatedMessage(message, &map, i);
    if (entry.GetReflection()->GetString(entry, &key_field) == key) {
      return "is given more than once";
    }
  }
  const std::string entry = absl::StrCat("{", JsonText(key), ":", JsonText(value), "}");
  return SetJson(message, map, entry) ? "" : WantedBy(*map.message_type()->map_value());
}

std::string BindOne(Message& message, absl::string_view path, const std::string& value) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(path, absl::MaxSplits('.', 1));
  const FieldDescriptor* field = FindField(*message.GetDescriptor(), parts.first);
  if (field == nullptr) {
    return kNoSuchParameter;
  }
  if (field->is_map()) {
    return SetMapEntry(message, *field, std::string(parts.second), value);
  }
  const bool is_message = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
  if (!parts.second.empty()) {
    return is_message && !field->is_repeated()
               ? BindOne(*message.GetReflection()->MutableMessage(&message, field), parts.second,
                         value)
               : kNoSuchParameter;
  }
  if (!field->is_repeated() && field->has_presence() &&
      message.GetReflection()->HasField(message, field)) {
    return "is given more than once";
  }
  if (is_message && (field->is_repeated() || !IsWellKnown(*field->message_type()))) {
    return "is a message: name its fields, as in a.b=c";
  }
  const bool is_odd_bool = field->cpp_type() == FieldDescriptor::CPPTYPE_BOOL && value != "true" &&
                           value != "false";  // protobuf takes 1 and yes
  const bool is_set = SetPlain(message, *field, value) ||
                      (!is_odd_bool && SetJson(message, *field, JsonText(value)));
  return is_set ? "" : WantedBy(*field);
}

}  // namespace

void PrepareMessages() {
  std::vector<const google::protobuf::FileDescriptor*> waiting = {
      google::protobuf::DescriptorPool::generated_pool()->FindFileByName(
          "google/rpc/error_details.proto"),
      v1::WatchJobsQuery::descriptor()->file()};
  for (const Route& route : AllRoutes()) {
    waiting.push_back(route.descriptor->file());
  }
  std::set<const google::protobuf::FileDescriptor*> prepared;
  while (!waiting.empty()) {
    const google::protobuf::FileDescriptor* const file = waiting.back();
    waiting.pop_back();
    if (file == nullptr || !prepared.insert(file).second) {
      continue;
    }
    for (int i = 0; i < file->message_type_count(); ++i) {
      google::protobuf::MessageFactory::generated_factory()
          ->GetPrototype(file->message_type(i))
          ->GetReflection();
    }
    for (int i = 0; i < file->dependency_count(); ++i) {
      waiting.push_back(file->dependency(i));
    }
  }
}

std::unique_ptr<Message> NewMessage(const google::protobuf::Descriptor& type) {
  return std::unique_ptr<Message>(
      google::protobuf::MessageFactory::generated_factory()->GetPrototype(&type)->New());
}

void BindParameters(const Parameters& parameters, Message& message, FieldViolations& violations) {
  const ScopedAllocations scope(Allocations::kNeeded);  // as in message_json.cc
  for (const auto& [name, value] : parameters) {
    if (const std::string wrong = BindOne(message, name, value); !wrong.empty()) {
      violations.Add(name, wrong);
    }
  }
}

Parameters BindKnown(const Parameters& parameters, Message& message, FieldViolations& violations) {
  Parameters others;
  for (const auto& parameter : parameters) {
    const absl::string_view path = parameter.first;
    if (FindField(*message.GetDescriptor(), path.substr(0, path.find('.'))) == nullptr) {
      others.push_back(parameter);
    } else {
      BindParameters({parameter}, message, violations);
    }
  }
  return others;
}

void BindText(std::string_view path, const std::string& value, Message& message,
              FieldViolations& violations) {
  Message* owner = &message;
  const std::vector<std::string> names = absl::StrSplit(View(path), '.');
  for (size_t i = 0; i + 1 < names.size(); ++i) {
    const FieldDescriptor* field = FindField(*owner->GetDescriptor(), names[i]);
    owner = owner->GetReflection()->MutableMessage(owner, field);
  }
  const FieldDescriptor* field = FindField(*owner->GetDescriptor(), names.back());
  const std::string given = owner->GetReflection()->GetString(*owner, field);
  violations.Check(given.empty() || given == value, path,
                   absl::StrCat("is '", given, "', but the path says '", value, "'"));
  owner->GetReflection()->SetString(owner, field, value);
}

namespace {

// The parameters that the route takes; of a removal those that would set something are none.
Parameters TakenBy(const Route& route, const Parameters& parameters, FieldViolations& violations) {
  if (!route.removes) {
    return parameters;
  }
  Parameters taken;
  for (const auto& parameter : parameters) {
    const std::string& name = parameter.first;
    if (violations.Check(
            name == route.field || name == "etag" || name == "request_id" || name == "requestId",
            name, kNoSuchParameter)) {
      taken.push_back(parameter);
    }
  }
  return taken;
}

// Where the path names what the body changes, "job.name", the path alone would make an empty `job` of it, which erases all that the
// real one says.
absl::Status CheckResource(const Route& route, const Message& message) {
  const size_t dot = route.field.find('.');
  if (!route.has_body || dot == std::string::npos) {
    return absl::OkStatus();
  }
  const FieldDescriptor* const field =
      FindField(*message.GetDescriptor(), absl::string_view(route.field).substr(0, dot));
  FieldViolations violations;
  violations.Check(message.GetReflection()->HasField(message, field), field->name(), "is missing");
  return violations.ToStatus();
}

}  // namespace

absl::Status BindRequest(const RouteMatch& match, const RequestHead& head, bool has_json,
                         Message& message) {
  MERCER_ASSIGN_OR_RETURN(const Parameters parameters, ParseQuery(QueryOf(head.target)));
  FieldViolations violations;
  if (has_json && !parameters.empty()) {
    violations.Add(parameters.front().first, "belongs into the body");
  }
  BindParameters(TakenBy(*match.route, parameters, violations), message, violations);
  if (!match.route->field.empty()) {
    BindText(match.route->field, match.value, message, violations);
  }
  return violations.ToStatus();
}

absl::StatusOr<std::unique_ptr<Message>> MakeRequestMessage(const RouteMatch& match,
                                                            const RequestHead& head,
                                                            std::string_view body,
                                                            const WireCheck& check) {
  std::unique_ptr<Message> message = NewMessage(*match.route->descriptor->input_type());
  const bool has_body = match.route->has_body;
  if (!has_body && !body.empty()) {
    return WithReason(absl::InvalidArgumentError("this method takes no body, but a query"),
                      "BAD_JSON");
  }
  MERCER_RETURN_IF_ERROR(ReadJson(body, *message, check));
  MERCER_RETURN_IF_ERROR(CheckResource(*match.route, *message));
  MERCER_RETURN_IF_ERROR(BindRequest(match, head, has_body, *message));
  return message;
}

}  // namespace mercer::gateway
