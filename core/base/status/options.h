// One description per option. An options struct lists its fields once, in Fields(); parsing,
// validation, documentation, forms and provenance are derived from that list.
//
//   struct RidgeOptions {
//     double lambda = 1.0;
//     static const OptionSchema<RidgeOptions>& Fields();
//   };
//   const OptionSchema<RidgeOptions>& RidgeOptions::Fields() {
//     static const auto& schema =
//         *new OptionSchema<RidgeOptions>(OptionSchema<RidgeOptions>().Real(
//             "lambda", &RidgeOptions::lambda,
//             {.meaning = "Weight of the squared norm.", .min = 0, .min_open = true}));
//     return schema;
//   }
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "core/base/numeric/variant.h"
#include "core/base/status/errors.h"

namespace mercer {

enum class OptionType { kBool, kInteger, kReal, kChoice, kText, kReals };

// The value of one option. kChoice and kText hold a string, kReals a list.
using OptionValue = Variant<bool, int64_t, double, std::string, std::vector<double>>;
// Option values by name; what a request gives, and what a model records.
using OptionValues = std::map<std::string, OptionValue>;

// What a reader is told about an option. Designated initialisers name the parts that apply.
struct OptionDoc {
  std::string meaning;    // one or two sentences: the inequality it enters, when to change it, the
                          // cost of doing so
  std::string unit = {};  // empty when it has none
  double min = -kInfinity;  // numeric types: smallest allowed value
  double max = kInfinity;   // numeric types: largest allowed value
  bool min_open = false;    // the bound itself is not allowed
  bool max_open = false;
  // Where the default comes from: the paper and its table, a measurement, or "chosen here".
  std::string source = {};
  // True: the option is refused, rather than ignored, when it is given for classification.
  bool regression_only = false;
  std::vector<std::string> classification_choices = {};  // kChoice: refused for regression
  std::vector<std::string> regression_choices = {};      // kChoice: refused for classification
};

struct OptionField {
  std::string name;
  OptionType type;
  OptionDoc doc;
  std::vector<std::string> choices;  // kChoice only
  OptionValue default_value;
};

std::string_view OptionTypeName(OptionType type);
// A value as a person writes it: "0.001", "newton", "[1, 2]", "true".
std::string FormatOptionValue(const OptionValue& value);
// The allowed values as a person reads them: "(0, inf)", "one of newton, alternation".
std::string FormatOptionRange(const OptionField& field);
// Whether a choice of the field may be made for regression, or for classification.
bool FitsKind(const OptionField& field, const std::string& choice, bool regression);
// Checks type (an integer is accepted for a real), range and choices; the message says what is
// allowed. NaN and -infinity are never allowed, infinity only where a closed range ends with it.
// `value` is converted to the field's own type.
absl::Status CheckOptionValue(const OptionField& field, OptionValue& value);
// Reads the text form of a value ("1e-3", "inf", "true", "1,2,3"), as a command line gives it, and
// what FormatOptionValue makes of one ("[1, 2, 3]").
absl::StatusOr<OptionValue> ParseOptionText(const OptionField& field, std::string_view text);

// The fields of the options struct `Options`, in the order of documentation.
template <typename Options>
class OptionSchema {
 public:
  OptionSchema& Bool(std::string name, bool Options::*member, OptionDoc doc) {
    return Add<bool>(std::move(name), OptionType::kBool, member, std::move(doc));
  }
  OptionSchema& Integer(std::string name, int64_t Options::*member, OptionDoc doc) {
    return Add<int64_t>(std::move(name), OptionType::kInteger, member, std::move(doc));
  }
  OptionSchema& Real(std::string name, double Options::*member, OptionDoc doc) {
    return Add<double>(std::move(name), OptionType::kReal, member, std::move(doc));
  }
  OptionSchema& Text(std::string name, std::string Options::*member, OptionDoc doc) {
    return Add<std::string>(std::move(name), OptionType::kText, member, std::move(doc));
  }
  OptionSchema& Reals(std::string name, std::vector<double> Options::*member, OptionDoc doc) {
    return Add<std::vector<double>>(std::move(name), OptionType::kReals, member, std::move(doc));
  }
  // An enumeration; `choices` pairs each allowed word with its value.
  template <typename Enum>
  OptionSchema& Choice(std::string name, Enum Options::*member,
                       std::vector<std::pair<std::string, Enum>> choices, OptionDoc doc) {
    Entry entry;
    entry.get = [member, choices](const Options& options) {
      for (const auto& [word, value] : choices) {
        if (value == options.*member) {
          return OptionValue(word);
        }
      }
      return OptionValue(std::string());
    };
    entry.set = [member, choices](Options& options, const OptionValue& chosen) {
      for (const auto& [word, value] : choices) {
        if (word == std::get<std::string>(chosen)) {
          options.*member = value;
        }
      }
    };
    OptionField field{
        std::move(name), OptionType::kChoice, std::move(doc), {}, entry.get(Options())};
    for (const auto& choice : choices) {
      field.choices.push_back(choice.first);
    }
    fields_.push_back(std::move(field));
    entries_.push_back(std::move(entry));
    return *this;
  }

  const std::vector<OptionField>& fields() const { return fields_; }

  // Options with `values` in place of defaults. Errors: kInvalidArgument with one FieldViolation
  // for each unknown name, wrong type or value out of range.
  absl::StatusOr<Options> Parse(const OptionValues& values) const {
    Options options;
    FieldViolations violations;
    for (const auto& [name, given] : values) {
      size_t i = 0;
      while (i < fields_.size() && fields_[i].name != name) {
        ++i;
      }
      if (i == fields_.size()) {
        violations.Add(name, "unknown option");
        continue;
      }
      OptionValue value = given;
      const absl::Status checked = CheckOptionValue(fields_[i], value);
      if (!checked.ok()) {
        violations.Add(name, std::string(checked.message()));
        continue;
      }
      entries_[i].set(options, value);
    }
    if (!violations.empty()) {
      return violations.ToStatus();
    }
    return options;
  }

  // The value of every field, defaults included: what a model records.
  OptionValues Values(const Options& options) const {
    OptionValues values;
    for (size_t i = 0; i < fields_.size(); ++i) {
      values[fields_[i].name] = entries_[i].get(options);
    }
    return values;
  }

 private:
  struct Entry {
    std::function<OptionValue(const Options&)> get;
    std::function<void(Options&, const OptionValue&)> set;
  };

  template <typename T>
  OptionSchema& Add(std::string name, OptionType type, T Options::*member, OptionDoc doc) {
    fields_.push_back({std::move(name), type, std::move(doc), {}, OptionValue(Options().*member)});
    entries_.push_back({[member](const Options& options) { return OptionValue(options.*member); },
                        [member](Options& options, const OptionValue& value) {
                          options.*member = std::get<T>(value);
                        }});
    return *this;
  }

  std::vector<OptionField> fields_;
  std::vector<Entry> entries_;
};

}  // namespace mercer
