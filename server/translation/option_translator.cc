#include "server/translation/option_translator.h"

#include <algorithm>
#include <optional>
#include <variant>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include <google/protobuf/descriptor.h>
#include <google/protobuf/reflection.h>

#include "core/base/status/near_names.h"
#include "core/base/status/shorten.h"
#include "core/training/recipe/default_kernels.h"
#include "server/translation/enum_translator.h"
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

// Returns false when the field says nothing or cannot be an option.
bool ReadField(const Message& message, const FieldDescriptor& field, OptionValue& value) {
  const Reflection& reflection = *message.GetReflection();
  if (field.is_repeated()) {
    if (field.cpp_type() != FieldDescriptor::CPPTYPE_DOUBLE ||
        reflection.FieldSize(message, &field) == 0) {
      return false;
    }
    const auto reals = reflection.GetRepeatedFieldRef<double>(message, &field);
    value = std::vector<double>(reals.begin(), reals.end());
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

static_assert(Agree(v1::OPTION_TYPE_REALS, OptionType::kReals));

}  // namespace

std::string ChoiceWord(const google::protobuf::EnumValueDescriptor& value) {
  return value.number() == 0 ? "" : absl::AsciiStrToLower(EnumeratorWord(value));
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

bool IsBelow(std::string_view path, std::string_view prefix) {
  return path.starts_with(prefix) && (path.size() == prefix.size() || prefix.back() == '[' ||
                                      path[prefix.size()] == '.' || path[prefix.size()] == '[');
}

const std::string& OptionName(const FieldDescriptor& field) {
  return field.has_json_name() ? field.json_name() : field.name();
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
  description.set_needs_other(v1::Learner::descriptor()->FindFieldByName(entry.name) == nullptr);
  for (const OptionField& field : entry.fields) {
    v1::OptionDescription& option = *description.add_options();
    option.set_name(field.name);
    option.set_type(ToApiEnum<v1::OptionType>(field.type));
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
