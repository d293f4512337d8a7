#include "server/gateway/request_binding.h"

#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include <google/protobuf/descriptor.h>
#include <google/protobuf/util/json_util.h>

#include "core/base/memory/memory_reserve.h"
#include "server/gateway/message_json.h"

namespace mercer::gateway {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

const FieldDescriptor* FindField(const Descriptor& type, absl::string_view name) {
  const std::string text(name);
  if (const FieldDescriptor* field = type.FindFieldByName(text); field != nullptr) {
    return field;
  }
  for (int i = 0; i < type.field_count(); ++i) {
    if (type.field(i)->json_name() == text) {
      return type.field(i);
    }
  }
  return nullptr;
}

bool IsWellKnown(const Descriptor& type) {
  const std::string& name = type.full_name();
  return name == "google.protobuf.Timestamp" || name == "google.protobuf.Duration" ||
         name == "google.protobuf.FieldMask";
}

// Writes one value of text into a field, which is set or, in a list, grows.
class ValueSetter {
 public:
  ValueSetter(Message& message, const FieldDescriptor& field)
      : message_(message), reflection_(*message.GetReflection()), field_(field) {}

  // Empty: done; else what the value must be.
  std::string Set(const std::string& text) const {
    switch (field_.cpp_type()) {
      case FieldDescriptor::CPPTYPE_STRING:
        return SetText(text);
      case FieldDescriptor::CPPTYPE_BOOL:
        return SetBool(text);
      case FieldDescriptor::CPPTYPE_ENUM:
        return SetEnum(text);
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return SetWellKnown(text);
      default:
        return SetNumber(text);
    }
  }

 private:
  template <typename T>
  std::string Store(void (Reflection::*set)(Message*, const FieldDescriptor*, T) const,
                    void (Reflection::*add)(Message*, const FieldDescriptor*, T) const,
                    T value) const {
    (reflection_.*(field_.is_repeated() ? add : set))(&message_, &field_, std::move(value));
    return "";
  }

  std::string SetText(const std::string& text) const {
    std::string value = text;
    if (field_.type() == FieldDescriptor::TYPE_BYTES && !absl::Base64Unescape(text, &value)) {
      return "must be base64";
    }
    return Store<std::string>(&Reflection::SetString, &Reflection::AddString, std::move(value));
  }

  std::string SetBool(const std::string& text) const {
    if (text != "true" && text != "false") {
      return "must be true or false";
    }
    return Store<bool>(&Reflection::SetBool, &Reflection::AddBool, text == "true");
  }

  std::string SetEnum(const std::string& text) const {
    const EnumValueDescriptor* value = field_.enum_type()->FindValueByName(text);
    int number = 0;
    if (value == nullptr && absl::SimpleAtoi(text, &number)) {
      value = field_.enum_type()->FindValueByNumber(number);
    }
    if (value == nullptr) {
      return absl::StrCat("must be a value of ", field_.enum_type()->name());
    }
    return Store<const EnumValueDescriptor*>(&Reflection::SetEnum, &Reflection::AddEnum, value);
  }

  std::string SetNumber(const std::string& text) const {
    int32_t small = 0;
    uint32_t small_unsigned = 0;
    int64_t large = 0;
    uint64_t large_unsigned = 0;
    double real = 0;
    switch (field_.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return absl::SimpleAtoi(text, &small)
                   ? Store<int32_t>(&Reflection::SetInt32, &Reflection::AddInt32, small)
                   : "must be a whole number of 32 bits";
      case FieldDescriptor::CPPTYPE_UINT32:
        return absl::SimpleAtoi(text, &small_unsigned)
                   ? Store<uint32_t>(&Reflection::SetUInt32, &Reflection::AddUInt32, small_unsigned)
                   : "must be a whole number >= 0 of 32 bits";
      case FieldDescriptor::CPPTYPE_INT64:
        return absl::SimpleAtoi(text, &large)
                   ? Store<int64_t>(&Reflection::SetInt64, &Reflection::AddInt64, large)
                   : "must be a whole number of 64 bits";
      case FieldDescriptor::CPPTYPE_UINT64:
        return absl::SimpleAtoi(text, &large_unsigned)
                   ? Store<uint64_t>(&Reflection::SetUInt64, &Reflection::AddUInt64, large_unsigned)
                   : "must be a whole number >= 0 of 64 bits";
      default:
        break;
    }
    if (!absl::SimpleAtod(text, &real)) {
      return "must be a number";
    }
    return field_.cpp_type() == FieldDescriptor::CPPTYPE_FLOAT
               ? Store<float>(&Reflection::SetFloat, &Reflection::AddFloat,
                              static_cast<float>(real))
               : Store<double>(&Reflection::SetDouble, &Reflection::AddDouble, real);
  }

  // Times and the like, which JSON writes as texts.
  std::string SetWellKnown(const std::string& text) const {
    if (field_.is_repeated() || !IsWellKnown(*field_.message_type())) {
      return "is a message: name its fields, as in a.b=c";
    }
    const ScopedAllocations scope(Allocations::kNeeded);  // as in message_json.cc
    Message& value = *reflection_.MutableMessage(&message_, &field_);
    const std::string quoted = absl::StrCat("\"", absl::CHexEscape(text), "\"");
    const bool clean = text.find_first_of("\"\\") == std::string::npos;
    if (!clean || !google::protobuf::util::JsonStringToMessage(quoted, &value).ok()) {
      return absl::StrCat("must be a ", field_.message_type()->name(), " as JSON writes it");
    }
    return "";
  }

  Message& message_;
  const Reflection& reflection_;
  const FieldDescriptor& field_;
};

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
  Message& entry = *reflection.AddMessage(&message, &map);
  ValueSetter(entry, key_field).Set(key);
  return ValueSetter(entry, *map.message_type()->map_value()).Set(value);
}

// Empty: done; else what is wrong.
std::string BindOne(Message& message, absl::string_view path, const std::string& value) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(path, absl::MaxSplits('.', 1));
  const FieldDescriptor* field = FindField(*message.GetDescriptor(), parts.first);
  if (field == nullptr) {
    return "there is no such parameter";
  }
  if (field->is_map()) {
    return SetMapEntry(message, *field, std::string(parts.second), value);
  }
  const bool is_message = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
  if (!parts.second.empty()) {
    return is_message && !field->is_repeated()
               ? BindOne(*message.GetReflection()->MutableMessage(&message, field), parts.second,
                         value)
               : "there is no such parameter";
  }
  if (!field->is_repeated() && field->has_presence() &&
      message.GetReflection()->HasField(message, field)) {
    return "is given more than once";
  }
  return ValueSetter(message, *field).Set(value);
}

}  // namespace

void BindParameters(const Parameters& parameters, Message& message, FieldViolations& violations) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    const auto& [name, value] = parameters[i];
    if (const std::string wrong = BindOne(message, name, value); !wrong.empty()) {
      violations.Add(name, wrong);
    }
  }
}

void BindText(std::string_view path, const std::string& value, Message& message,
              FieldViolations& violations) {
  Message* owner = &message;
  const std::vector<std::string> names =
      absl::StrSplit(absl::string_view(path.data(), path.size()), '.');
  for (size_t i = 0; i + 1 < names.size(); ++i) {
    const FieldDescriptor* field = FindField(*owner->GetDescriptor(), names[i]);
    owner = owner->GetReflection()->MutableMessage(owner, field);
  }
  const FieldDescriptor* field = FindField(*owner->GetDescriptor(), names.back());
  const std::string given = owner->GetReflection()->GetString(*owner, field);
  violations.Check(given.empty() || given == value, {path.data(), path.size()},
                   absl::StrCat("is '", given, "', but the path says '", value, "'"));
  owner->GetReflection()->SetString(owner, field, value);
}

}  // namespace mercer::gateway
