#include "server/translation/unknown_fields.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include <google/protobuf/descriptor.h>
#include <google/protobuf/unknown_field_set.h>

namespace mercer::server {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

std::string Join(const std::string& prefix, const std::string& name) {
  return prefix.empty() ? name : absl::StrCat(prefix, ".", name);
}

void CheckEnum(const FieldDescriptor& field, int value, const std::string& path,
               FieldViolations& violations) {
  if (field.enum_type()->FindValueByNumber(value) == nullptr) {
    violations.Add(path, absl::StrCat("unknown value ", value, " of ", field.enum_type()->name()));
  }
}

void Walk(const Message& message, const std::string& prefix, FieldViolations& violations);

// Position of an entry of a list, key of one of a map.
std::string ElementPath(const Message& message, const FieldDescriptor& field, int index,
                        const std::string& path) {
  if (!field.is_map() ||
      field.message_type()->map_key()->cpp_type() != FieldDescriptor::CPPTYPE_STRING) {
    return absl::StrCat(path, "[", index, "]");
  }
  const Message& entry = message.GetReflection()->GetRepeatedMessage(message, &field, index);
  const std::string key = entry.GetReflection()->GetString(entry, field.message_type()->map_key());
  return absl::StrCat(path, "['", key, "']");
}

void WalkRepeated(const Message& message, const FieldDescriptor& field, const std::string& path,
                  FieldViolations& violations) {
  const Reflection& reflection = *message.GetReflection();
  const int size = reflection.FieldSize(message, &field);
  for (int i = 0; i < size; ++i) {
    const std::string element = ElementPath(message, field, i, path);
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      Walk(reflection.GetRepeatedMessage(message, &field, i), element, violations);
    } else {
      CheckEnum(field, reflection.GetRepeatedEnumValue(message, &field, i), element, violations);
    }
  }
}

void Walk(const Message& message, const std::string& prefix, FieldViolations& violations) {
  const Reflection& reflection = *message.GetReflection();
  const google::protobuf::UnknownFieldSet& unknown = reflection.GetUnknownFields(message);
  for (int i = 0; i < unknown.field_count(); ++i) {
    violations.Add(prefix, absl::StrCat("unknown field number ", unknown.field(i).number(), " of ",
                                        message.GetDescriptor()->name()));
  }
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const bool is_message = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (!is_message && field->cpp_type() != FieldDescriptor::CPPTYPE_ENUM) {
      continue;
    }
    // The value of an entry of a map is known by the entry's path.
    const std::string path =
        message.GetDescriptor()->options().map_entry() ? prefix : Join(prefix, field->name());
    if (field->is_repeated()) {
      WalkRepeated(message, *field, path, violations);
    } else if (is_message) {
      Walk(reflection.GetMessage(message, field), path, violations);
    } else {
      CheckEnum(*field, reflection.GetEnumValue(message, field), path, violations);
    }
  }
}

}  // namespace

void CheckUnknownFields(const Message& message, FieldViolations& violations) {
  Walk(message, "", violations);
}

}  // namespace mercer::server
