#include "server/translation/option_translator.h"

#include <algorithm>
#include <optional>
#include <set>
#include <variant>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include <google/protobuf/descriptor.h>

#include "core/base/status/near_names.h"
#include "core/base/status/shorten.h"
#include "core/training/recipe/default_kernels.h"
#include "server/translation/whole_message.h"

namespace mercer::server {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr size_t kMessageBytes = 300;  // of what is wrong with a text, which is quoted in it

// The path of an option of a learner that is named.
std::string OptionOfOther(std::string_view name) {
  return absl::StrCat("learner.other.options['", std::string(name), "']");
}

// "OuterLoop" becomes OUTER_LOOP.
std::string UpperSnake(const std::string& camel) {
  std::string result;
  for (size_t i = 0; i < camel.size(); ++i) {
    if (i > 0 && absl::ascii_isupper(static_cast<unsigned char>(camel[i]))) {
      result.push_back('_');
    }
    result.push_back(absl::ascii_toupper(static_cast<unsigned char>(camel[i])));
  }
  return result;
}

std::vector<double> ReadReals(const Message& message, const FieldDescriptor& field) {
  const Reflection& reflection = *message.GetReflection();
  std::vector<double> values;
  for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
    values.push_back(reflection.GetRepeatedDouble(message, &field, i));
  }
  return values;
}

// Returns false when the field says nothing or cannot be an option.
bool ReadField(const Message& message, const FieldDescriptor& field, OptionValue& value) {
  const Reflection& reflection = *message.GetReflection();
  if (field.is_repeated()) {
    if (field.cpp_type() != FieldDescriptor::CPPTYPE_DOUBLE ||
        reflection.FieldSize(message, &field) == 0) {
      return false;
    }
    value = ReadReals(message, field);
    return true;
  }
  if (!reflection.HasField(message, &field)) {
    return false;
  }
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      value = reflection.GetBool(message, &field);
      return true;
    case FieldDescriptor::CPPTYPE_INT32:
      value = int64_t{reflection.GetInt32(message, &field)};
      return true;
    case FieldDescriptor::CPPTYPE_INT64:
      value = reflection.GetInt64(message, &field);
      return true;
    case FieldDescriptor::CPPTYPE_DOUBLE:
      value = reflection.GetDouble(message, &field);
      return true;
    case FieldDescriptor::CPPTYPE_STRING:
      value = reflection.GetString(message, &field);
      return true;
    case FieldDescriptor::CPPTYPE_ENUM: {
      const auto* chosen =
          field.enum_type()->FindValueByNumber(reflection.GetEnumValue(message, &field));
      if (chosen == nullptr || chosen->number() == 0) {
        return false;
      }
      value = ChoiceWord(*chosen);
      return true;
    }
    default:
      return false;
  }
}

std::string CompareField(const FieldDescriptor& field, const OptionField& option) {
  const bool repeated = field.is_repeated();
  bool agrees = false;
  switch (option.type) {
    case OptionType::kBool:
      agrees = !repeated && field.cpp_type() == FieldDescriptor::CPPTYPE_BOOL;
      break;
    case OptionType::kInteger:
      agrees = !repeated && (field.cpp_type() == FieldDescriptor::CPPTYPE_INT64 ||
                             field.cpp_type() == FieldDescriptor::CPPTYPE_INT32);
      break;
    case OptionType::kReal:
      agrees = !repeated && field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE;
      break;
    case OptionType::kText:
      agrees = !repeated && field.cpp_type() == FieldDescriptor::CPPTYPE_STRING;
      break;
    case OptionType::kReals:
      agrees = repeated && field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE;
      break;
    case OptionType::kChoice:
      agrees = !repeated && field.cpp_type() == FieldDescriptor::CPPTYPE_ENUM;
      break;
  }
  if (!agrees) {
    return absl::StrCat(field.full_name(), ": the option is of type ",
                        std::string(OptionTypeName(option.type)));
  }
  if (!repeated && !field.has_presence()) {
    return absl::StrCat(field.full_name(), ": must be optional");
  }
  if (option.type == OptionType::kChoice) {
    std::set<std::string> words;
    for (int i = 0; i < field.enum_type()->value_count(); ++i) {
      words.insert(ChoiceWord(*field.enum_type()->value(i)));
    }
    std::set<std::string> choices(option.choices.begin(), option.choices.end());
    choices.insert("");
    if (words != choices) {
      return absl::StrCat(field.full_name(), ": its values are not the choices of the option");
    }
  }
  return "";
}

v1::OptionType TypeToProto(OptionType type) {
  switch (type) {
    case OptionType::kBool:
      return v1::OPTION_TYPE_BOOL;
    case OptionType::kInteger:
      return v1::OPTION_TYPE_INTEGER;
    case OptionType::kReal:
      return v1::OPTION_TYPE_REAL;
    case OptionType::kChoice:
      return v1::OPTION_TYPE_CHOICE;
    case OptionType::kText:
      return v1::OPTION_TYPE_TEXT;
    case OptionType::kReals:
      return v1::OPTION_TYPE_REALS;
  }
  return v1::OPTION_TYPE_UNSPECIFIED;
}

}  // namespace

std::string ChoiceWord(const google::protobuf::EnumValueDescriptor& value) {
  if (value.number() == 0) {
    return "";
  }
  const std::string prefix = UpperSnake(value.type()->name()) + "_";
  const std::string& name = value.name();
  return absl::AsciiStrToLower(name.rfind(prefix, 0) == 0 ? name.substr(prefix.size()) : name);
}

OptionValues ReadOptions(const Message& learner) {
  OptionValues values;
  const google::protobuf::Descriptor& descriptor = *learner.GetDescriptor();
  for (int i = 0; i < descriptor.field_count(); ++i) {
    OptionValue value;
    if (ReadField(learner, *descriptor.field(i), value)) {
      values[OptionName(*descriptor.field(i))] = std::move(value);
    }
  }
  return values;
}

OptionValues ReadOptionTexts(const v1::OtherLearner& learner, const LearnerEntry& entry,
                             FieldViolations& violations) {
  OptionValues values;
  for (const auto& [name, text] : learner.options()) {
    const auto field =
        std::find_if(entry.fields.begin(), entry.fields.end(),
                     [&name = name](const OptionField& each) { return each.name == name; });
    absl::StatusOr<OptionValue> value =
        field == entry.fields.end()
            ? absl::StatusOr<OptionValue>(absl::InvalidArgumentError("unknown option"))
            : ParseOptionText(*field, text);
    if (value.ok()) {
      values[name] = *std::move(value);
    } else {
      violations.Add(OptionOfOther(Shorten(name, kQuotedBytes)),
                     Shorten(std::string(value.status().message()), kMessageBytes));
    }
  }
  return values;
}

bool NeedsOther(const std::string& learner) {
  return v1::Learner::descriptor()->FindFieldByName(learner) == nullptr;
}

bool IsBelow(std::string_view path, std::string_view prefix) {
  return path.starts_with(prefix) && (path.size() == prefix.size() || prefix.back() == '[' ||
                                      path[prefix.size()] == '.' || path[prefix.size()] == '[');
}

const std::string& OptionName(const FieldDescriptor& field) {
  return field.has_json_name() ? field.json_name() : field.name();
}

const FieldDescriptor* FieldOfOption(const google::protobuf::Descriptor& message,
                                     std::string_view option) {
  for (int i = 0; i < message.field_count(); ++i) {
    if (OptionName(*message.field(i)) == option) {
      return message.field(i);
    }
  }
  return nullptr;
}

std::string LearnerPath(std::string_view chosen, std::string_view field) {
  if (chosen == "other" && !field.empty() && !IsBelow(field, "kernels")) {
    return OptionOfOther(field);
  }
  std::string path = "learner";
  for (const std::string_view part : {chosen, field}) {
    if (!part.empty()) {
      path += absl::StrCat(".", std::string(part));
    }
  }
  return path;
}

std::vector<std::string> CompareOptions(const google::protobuf::Descriptor& message,
                                        const LearnerEntry& entry) {
  std::vector<std::string> differences;
  std::set<std::string> described;
  for (const OptionField& option : entry.fields) {
    described.insert(option.name);
    const FieldDescriptor* field = FieldOfOption(message, option.name);
    const std::string difference =
        field == nullptr ? absl::StrCat(message.full_name(), ": no field for option ", option.name)
                         : CompareField(*field, option);
    if (!difference.empty()) {
      differences.push_back(difference);
    }
  }
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE &&
        described.count(OptionName(field)) == 0) {
      differences.push_back(absl::StrCat(field.full_name(), ": the learner has no such option"));
    }
  }
  return differences;
}

namespace {

void DescribeDefaultPath(const LearnerEntry& entry, const OptionField& field,
                         v1::OptionDescription& option) {
  const std::optional<DefaultPath> path =
      entry.default_path == nullptr ? std::nullopt : entry.default_path({});
  if (!path.has_value()) {
    return;
  }
  if (path->option == field.name) {
    option.mutable_default_path()->Assign(path->values.begin(), path->values.end());
  }
  option.set_prevents_default_path(
      !entry.default_path({{field.name, field.default_value}}).has_value());
}

}  // namespace

v1::LearnerDescription DescribeLearner(const LearnerEntry& entry) {
  v1::LearnerDescription description;
  description.set_name(entry.name);
  description.set_title(entry.title);
  description.set_summary(entry.summary);
  description.set_classification(entry.classification);
  description.set_regression(entry.regression);
  description.set_uses_kernels(entry.uses_kernels);
  description.set_kernels_optional(entry.uses_kernels);
  if (entry.uses_kernels) {
    description.set_default_kernels(entry.selects_columns ? kKernelsOfColumnsText
                                    : entry.one_kernel    ? kOneKernelText
                                                          : kDefaultKernelsText);
  }
  description.set_several_tasks(entry.several_tasks);
  description.set_ranks_columns(entry.ranks_columns);
  description.set_needs_other(NeedsOther(entry.name));
  for (const OptionField& field : entry.fields) {
    v1::OptionDescription& option = *description.add_options();
    option.set_name(field.name);
    option.set_type(TypeToProto(field.type));
    option.set_meaning(field.doc.meaning);
    option.set_unit(field.doc.unit);
    option.set_default_value(FormatOptionValue(field.default_value));
    option.set_min(field.doc.min);
    option.set_max(field.doc.max);
    option.set_min_open(field.doc.min_open);
    option.set_max_open(field.doc.max_open);
    option.mutable_choices()->Assign(field.choices.begin(), field.choices.end());
    option.set_range(FormatOptionRange(field));
    option.set_source(field.doc.source);
    DescribeDefaultPath(entry, field, option);
  }
  return description;
}

void WriteOptions(const OptionValues& values,
                  google::protobuf::RepeatedPtrField<v1::OptionSetting>* settings) {
  struct Writer {
    v1::OptionSetting& setting;
    void operator()(bool value) { setting.set_bool_value(value); }
    void operator()(int64_t value) { setting.set_integer_value(value); }
    void operator()(double value) { setting.set_real_value(value); }
    void operator()(const std::string& value) { setting.set_text_value(value); }
    void operator()(const std::vector<double>& value) {
      v1::RealList& reals = Choose(setting, &v1::OptionSetting::mutable_reals_value);
      reals.mutable_values()->Assign(value.begin(), value.end());
    }
  };
  for (const auto& [name, value] : values) {
    v1::OptionSetting& setting = *settings->Add();
    setting.set_name(name);
    std::visit(Writer{setting}, value);
  }
}

std::string UnknownLearner(const std::string& asked,
                           absl::Span<const LearnerEntry* const> learners) {
  std::vector<std::string> names;
  for (const LearnerEntry* const entry : learners) {
    names.push_back(entry->name);
  }
  std::string advice = DidYouMean(asked, names);
  if (advice.empty() && !names.empty()) {
    advice = absl::StrCat("; it has ", absl::StrJoin(names, ", "));
  }
  return absl::StrCat("this server does not have the learner '", Shorten(asked, kQuotedBytes), "'",
                      advice);
}

}  // namespace mercer::server
