#include "client/cpp/field_text.h"

#include <cmath>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

#include "core/base/status/status_macros.h"

namespace mercer::client {
namespace {

using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// "OuterLoop" -> "OUTER_LOOP_"
std::string EnumPrefix(const EnumDescriptor& type) {
  std::string result;
  for (const char c : type.name()) {
    if (!result.empty() && absl::ascii_isupper(static_cast<unsigned char>(c))) {
      result.push_back('_');
    }
    result.push_back(absl::ascii_toupper(static_cast<unsigned char>(c)));
  }
  return result + "_";
}

absl::Status BadValue(const std::string& text, const std::string& allowed) {
  return absl::InvalidArgumentError(absl::StrCat("must be ", allowed, ", is '", text, "'"));
}

absl::StatusOr<double> ReadNumber(const std::string& text) {
  double value = 0.0;
  if (!absl::SimpleAtod(text, &value) || std::isnan(value)) {
    return BadValue(text, "a number");
  }
  return value;
}

template <typename Integer>
absl::StatusOr<Integer> ReadInteger(const std::string& text) {
  Integer value = 0;
  if (!absl::SimpleAtoi(text, &value)) {
    return BadValue(text, "an integer");
  }
  return value;
}

absl::StatusOr<bool> ReadBool(const std::string& text) {
  if (text.empty() || text == "true" || text == "yes" || text == "1") {
    return true;
  }
  if (text == "false" || text == "no" || text == "0") {
    return false;
  }
  return BadValue(text, "true or false");
}

absl::StatusOr<int> ReadEnum(const EnumDescriptor& type, const std::string& text) {
  const int number = EnumNumber(type, text);
  if (number < 0) {
    return BadValue(text, absl::StrCat("one of ", absl::StrJoin(EnumWords(type), ", ")));
  }
  return number;
}

// Sets the field, or adds an element to a repeated one.
absl::Status StoreOne(Message& message, const FieldDescriptor& field, const std::string& text) {
  const Reflection& reflection = *message.GetReflection();
  const bool repeated = field.is_repeated();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_DOUBLE: {
      MERCER_ASSIGN_OR_RETURN(const double value, ReadNumber(text));
      repeated ? reflection.AddDouble(&message, &field, value)
               : reflection.SetDouble(&message, &field, value);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_INT32: {
      MERCER_ASSIGN_OR_RETURN(const int32_t value, ReadInteger<int32_t>(text));
      repeated ? reflection.AddInt32(&message, &field, value)
               : reflection.SetInt32(&message, &field, value);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_INT64: {
      MERCER_ASSIGN_OR_RETURN(const int64_t value, ReadInteger<int64_t>(text));
      repeated ? reflection.AddInt64(&message, &field, value)
               : reflection.SetInt64(&message, &field, value);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_BOOL: {
      MERCER_ASSIGN_OR_RETURN(const bool value, ReadBool(text));
      repeated ? reflection.AddBool(&message, &field, value)
               : reflection.SetBool(&message, &field, value);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_STRING:
      repeated ? reflection.AddString(&message, &field, text)
               : reflection.SetString(&message, &field, text);
      return absl::OkStatus();
    case FieldDescriptor::CPPTYPE_ENUM: {
      MERCER_ASSIGN_OR_RETURN(const int value, ReadEnum(*field.enum_type(), text));
      repeated ? reflection.AddEnumValue(&message, &field, value)
               : reflection.SetEnumValue(&message, &field, value);
      return absl::OkStatus();
    }
    default:
      return absl::InvalidArgumentError("cannot be given as text");
  }
}

}  // namespace

std::string EnumWord(const EnumDescriptor& type, int number) {
  const auto* value = type.FindValueByNumber(number);
  if (value == nullptr || number == 0) {
    return "";
  }
  const std::string prefix = EnumPrefix(type);
  const bool has_prefix = value->name().rfind(prefix, 0) == 0;
  return absl::AsciiStrToLower(has_prefix ? value->name().substr(prefix.size()) : value->name());
}

std::vector<std::string> EnumWords(const EnumDescriptor& type) {
  std::vector<std::string> words;
  for (int i = 0; i < type.value_count(); ++i) {
    if (type.value(i)->number() != 0) {
      words.push_back(EnumWord(type, type.value(i)->number()));
    }
  }
  return words;
}

int EnumNumber(const EnumDescriptor& type, const std::string& word) {
  const std::string wanted = absl::StrReplaceAll(absl::AsciiStrToLower(word), {{"-", "_"}});
  for (int i = 0; i < type.value_count(); ++i) {
    const int number = type.value(i)->number();
    if (number != 0 && EnumWord(type, number) == wanted) {
      return number;
    }
  }
  return -1;
}

absl::Status SplitList(const std::string& text, std::vector<std::string>& elements) {
  elements.assign(1, "");
  bool quoted = false;
  for (const char c : text) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      elements.emplace_back();
    } else {
      elements.back().push_back(c);
    }
  }
  return quoted ? absl::InvalidArgumentError(absl::StrCat("a quote is not closed: '", text, "'"))
                : absl::OkStatus();
}

absl::Status SetFieldFromText(Message& message, const FieldDescriptor& field,
                              const std::string& text) {
  if (!field.is_repeated()) {
    return StoreOne(message, field, text);
  }
  std::vector<std::string> elements;
  MERCER_RETURN_IF_ERROR(SplitList(text, elements));
  message.GetReflection()->ClearField(&message, &field);
  for (const std::string& element : elements) {
    MERCER_RETURN_IF_ERROR(StoreOne(message, field, element));
  }
  return absl::OkStatus();
}

}  // namespace mercer::client
