#include "tests/integration/field_mutations.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include <google/protobuf/unknown_field_set.h>

#include "server/translation/option_translator.h"
#include "tests/support/server/option_fields.h"

namespace mercer::server {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

using FieldValue = std::variant<int64_t, uint64_t, double, bool, std::string>;
using FieldPath = std::vector<const FieldDescriptor*>;

constexpr int kManyEntries = 10'000;
constexpr int kUnknownFieldNumber = 536'870'000;

// Adds `value` to a list, or sets a single field to it.
void PutValue(Message& parent, const FieldDescriptor& field, const FieldValue& value) {
  const Reflection& reflection = *parent.GetReflection();
  const auto put = [&](auto set, auto add, auto converted) {
    if (field.is_repeated()) {
      (reflection.*add)(&parent, &field, converted);
    } else {
      (reflection.*set)(&parent, &field, converted);
    }
  };
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return put(&Reflection::SetInt32, &Reflection::AddInt32,
                 static_cast<int32_t>(std::get<int64_t>(value)));
    case FieldDescriptor::CPPTYPE_INT64:
      return put(&Reflection::SetInt64, &Reflection::AddInt64, std::get<int64_t>(value));
    case FieldDescriptor::CPPTYPE_UINT32:
      return put(&Reflection::SetUInt32, &Reflection::AddUInt32,
                 static_cast<uint32_t>(std::get<uint64_t>(value)));
    case FieldDescriptor::CPPTYPE_UINT64:
      return put(&Reflection::SetUInt64, &Reflection::AddUInt64, std::get<uint64_t>(value));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return put(&Reflection::SetDouble, &Reflection::AddDouble, std::get<double>(value));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return put(&Reflection::SetFloat, &Reflection::AddFloat,
                 static_cast<float>(std::get<double>(value)));
    case FieldDescriptor::CPPTYPE_BOOL:
      return put(&Reflection::SetBool, &Reflection::AddBool, std::get<bool>(value));
    case FieldDescriptor::CPPTYPE_ENUM:
      return put(&Reflection::SetEnumValue, &Reflection::AddEnumValue,
                 static_cast<int>(std::get<int64_t>(value)));
    case FieldDescriptor::CPPTYPE_STRING:
      return put(&Reflection::SetString, &Reflection::AddString, std::get<std::string>(value));
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return;
  }
}

std::vector<FieldValue> SignedValues(int64_t smallest, int64_t largest) {
  return {int64_t{-1}, int64_t{0}, int64_t{1}, smallest, largest};
}

std::vector<FieldValue> TextValues(const MutationOptions& options) {
  using std::string_literals::operator""s;
  std::vector<FieldValue> values = {
      ""s,     std::string(10'000, 'x'), "no-such"s, "../../etc/passwd"s,    "datasets/../x"s,
      "a\0b"s, "\x01\n\x1b[31m\x7f"s,    "%s%n"s,    "\xC3\xA4\xE2\x82\xAC"s};
  values.insert(values.end(), options.foreign_texts.begin(), options.foreign_texts.end());
  return values;
}

std::vector<FieldValue> ValuesOf(const FieldDescriptor& field, const MutationOptions& options) {
  using Real = std::numeric_limits<double>;
  using std::string_literals::operator""s;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return SignedValues(std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max());
    case FieldDescriptor::CPPTYPE_INT64:
      return SignedValues(std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max());
    case FieldDescriptor::CPPTYPE_UINT32:
    case FieldDescriptor::CPPTYPE_UINT64:
      return {uint64_t{0}, uint64_t{1}, std::numeric_limits<uint64_t>::max()};
    case FieldDescriptor::CPPTYPE_DOUBLE:
    case FieldDescriptor::CPPTYPE_FLOAT:
      return {-1.0,
              0.0,
              -0.0,
              Real::quiet_NaN(),
              Real::infinity(),
              -Real::infinity(),
              Real::max(),
              Real::lowest(),
              Real::denorm_min()};
    case FieldDescriptor::CPPTYPE_BOOL:
      return {false, true};
    case FieldDescriptor::CPPTYPE_ENUM: {
      std::vector<FieldValue> values = {int64_t{-1}, int64_t{9999}};
      for (int v = 0; v < field.enum_type()->value_count(); ++v) {
        values.emplace_back(int64_t{field.enum_type()->value(v)->number()});
      }
      return values;
    }
    case FieldDescriptor::CPPTYPE_STRING:
      if (field.type() == FieldDescriptor::TYPE_BYTES) {
        return {""s, "\xff\xfe\x80\0\xc0"s, std::string(10'000, '\xff')};
      }
      return TextValues(options);
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return {};
  }
  return {};
}

std::string TextOf(const FieldValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) {
    return absl::StrCat("'", text->substr(0, 40), "' of ", text->size(), " bytes");
  }
  return std::visit(
      [](const auto& number) -> std::string {
        if constexpr (std::is_arithmetic_v<std::decay_t<decltype(number)>>) {
          return absl::StrCat(number);
        }
        return "";
      },
      value);
}

// The message that holds the last field of the path; what is missing on the way is made.
Message* ParentOf(Message& root, const FieldPath& path) {
  Message* message = &root;
  for (size_t i = 0; i + 1 < path.size(); ++i) {
    const Reflection& reflection = *message->GetReflection();
    if (!path[i]->is_repeated()) {
      message = reflection.MutableMessage(message, path[i]);
    } else if (reflection.FieldSize(*message, path[i]) == 0) {
      message = reflection.AddMessage(message, path[i]);
    } else {
      message = reflection.MutableRepeatedMessage(message, path[i], 0);
    }
  }
  return message;
}

class Walker {
 public:
  Walker(const Message& good, const MutationOptions& options) : good_(good), options_(options) {}

  std::vector<FieldMutation> Run() {
    WalkMessage(*good_.GetDescriptor(), &good_);
    return std::move(mutations_);
  }

 private:
  // `present`: null when the good message has no such message.
  void WalkMessage(const Descriptor& type, const Message* present) {
    const bool was_in_good = std::exchange(in_good_, present != nullptr);
    FieldPath unknown = path_;
    unknown.push_back(nullptr);  // no field, but one of the message
    AddAt(unknown, "given a field of unknown number", [](Message& parent) {
      parent.GetReflection()->MutableUnknownFields(&parent)->AddVarint(kUnknownFieldNumber, 1);
    });
    for (int f = 0; f < type.field_count(); ++f) {
      path_.push_back(type.field(f));
      WalkField(*type.field(f), present);
      path_.pop_back();
    }
    in_good_ = was_in_good;
  }

  void WalkField(const FieldDescriptor& field, const Message* parent) {
    Add("cleared",
        [&field](Message& message) { message.GetReflection()->ClearField(&message, &field); });
    if (field.is_map()) {
      WalkMap(field);
    } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      WalkNested(field, parent);
    } else {
      WalkValues(field);
    }
  }

  // Where more is wrong than this field, two values do.
  std::vector<FieldValue> Values(const FieldDescriptor& field) const {
    std::vector<FieldValue> values = ValuesOf(field, options_);
    return in_good_ ? values : std::vector<FieldValue>{values.front(), values.back()};
  }

  void WalkValues(const FieldDescriptor& field) {
    for (const FieldValue& value : Values(field)) {
      Add("set to " + TextOf(value), [&field, value](Message& message) {
        message.GetReflection()->ClearField(&message, &field);
        PutValue(message, field, value);
      });
      if (field.is_repeated() && in_good_) {
        Add("with " + TextOf(value) + " behind",
            [&field, value](Message& message) { PutValue(message, field, value); });
      }
    }
    if (field.is_repeated()) {
      const FieldValue last = Values(field).back();
      Add("many times " + TextOf(last), [&field, last](Message& message) {
        for (int i = 0; i < kManyEntries; ++i) {
          PutValue(message, field, last);
        }
      });
    }
  }

  void WalkMap(const FieldDescriptor& field) {
    const FieldDescriptor& key = *field.message_type()->map_key();
    const FieldDescriptor& value = *field.message_type()->map_value();
    const auto put_entry = [&field](Message& message, const FieldDescriptor& part,
                                    const FieldValue& bad) {
      Message* const entry = message.GetReflection()->AddMessage(&message, &field);
      PutValue(*entry, part, bad);
    };
    for (const FieldDescriptor* part : {&key, &value}) {
      for (const FieldValue& bad : Values(*part)) {
        Add(absl::StrCat("with ", part->name(), " ", TextOf(bad)),
            [put_entry, part, bad](Message& message) { put_entry(message, *part, bad); });
      }
    }
    if (key.cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
      Add("of many entries", [put_entry, &key](Message& message) {
        for (int i = 0; i < kManyEntries; ++i) {
          put_entry(message, key, absl::StrCat("key-", i));
        }
      });
    }
  }

  void WalkNested(const FieldDescriptor& field, const Message* parent) {
    Add("set to an empty message", [&field](Message& message) {
      const Reflection& reflection = *message.GetReflection();
      reflection.ClearField(&message, &field);
      field.is_repeated() ? reflection.AddMessage(&message, &field)
                          : reflection.MutableMessage(&message, &field);
    });
    if (field.is_repeated()) {
      Add("of many entries", [&field](Message& message) { Repeat(message, field); });
    }
    const Message* const present = PresentIn(parent, field);
    const auto same_type = std::count_if(
        path_.begin(), path_.end(),
        [&](const FieldDescriptor* step) { return step->message_type() == field.message_type(); });
    if (static_cast<int>(path_.size()) < options_.max_depth && same_type <= 2 &&
        (present != nullptr || !options_.only_present)) {
      WalkMessage(*field.message_type(), present);
    }
  }

  static void Repeat(Message& message, const FieldDescriptor& field) {
    const Reflection& reflection = *message.GetReflection();
    if (reflection.FieldSize(message, &field) == 0) {
      reflection.AddMessage(&message, &field);
    }
    const std::unique_ptr<Message> first(reflection.GetRepeatedMessage(message, &field, 0).New());
    first->CopyFrom(reflection.GetRepeatedMessage(message, &field, 0));
    for (int i = 1; i < kManyEntries; ++i) {
      reflection.AddMessage(&message, &field)->CopyFrom(*first);
    }
  }

  static const Message* PresentIn(const Message* parent, const FieldDescriptor& field) {
    if (parent == nullptr) {
      return nullptr;
    }
    const Reflection& reflection = *parent->GetReflection();
    if (field.is_repeated()) {
      return reflection.FieldSize(*parent, &field) == 0
                 ? nullptr
                 : &reflection.GetRepeatedMessage(*parent, &field, 0);
    }
    return reflection.HasField(*parent, &field) ? &reflection.GetMessage(*parent, &field) : nullptr;
  }

  void Add(std::string what, std::function<void(Message&)> change) {
    AddAt(path_, std::move(what), std::move(change));
  }
  void AddAt(const FieldPath& path, std::string what, std::function<void(Message&)> change) {
    std::string name;
    for (const FieldDescriptor* step : path) {
      if (step != nullptr) {
        const bool within = step != path.back() && step->is_repeated();
        absl::StrAppend(&name, name.empty() ? "" : ".", OptionName(*step), within ? "[0]" : "");
      }
    }
    mutations_.push_back(
        {std::move(name), std::move(what), in_good_,
         [path, change = std::move(change)](Message& root) { change(*ParentOf(root, path)); }});
  }

  const Message& good_;
  const MutationOptions& options_;
  FieldPath path_;
  bool in_good_ = true;
  std::vector<FieldMutation> mutations_;
};

// The names on the path, without positions and keys.
std::vector<std::string> NamesOn(std::string_view path) {
  std::vector<std::string> names;
  while (!path.empty()) {
    const size_t end = path.find_first_of(".[");
    names.emplace_back(path.substr(0, end));
    path.remove_prefix(std::min(end, path.size()));
    if (!path.empty() && path[0] == '[') {
      // A key may hold anything, also what looks like the end of it.
      const size_t close = path[1] == '\'' ? path.rfind("']") + 1 : path.find(']');
      path.remove_prefix(std::min(close, path.size() - 1) + 1);
    }
    if (!path.empty()) {
      path.remove_prefix(1);
    }
  }
  return names;
}

}  // namespace

std::vector<FieldMutation> MutationsOf(const Message& good, const MutationOptions& options) {
  return Walker(good, options).Run();
}

bool IsFieldPath(const Descriptor& type, std::string_view path) {
  const Descriptor* message = &type;
  for (const std::string& name : NamesOn(path)) {
    const FieldDescriptor* const field =
        message == nullptr ? nullptr : FieldOfOption(*message, name);
    if (field == nullptr) {
      return false;
    }
    message = field->is_map() ? nullptr : field->message_type();
  }
  return true;
}

std::string PlainPath(std::string_view path) { return absl::StrJoin(NamesOn(path), "."); }

bool AreNested(std::string_view path, std::string_view other) {
  const std::vector<std::string> names = NamesOn(path);
  const std::vector<std::string> others = NamesOn(other);
  const auto shared = static_cast<ptrdiff_t>(std::min(names.size(), others.size()));
  return std::equal(names.begin(), names.begin() + shared, others.begin());
}

}  // namespace mercer::server
