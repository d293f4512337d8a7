#include "core/base/status/options.h"

#include <algorithm>
#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

#include "core/base/status/status_macros.h"

namespace mercer {
namespace {

std::string FormatReal(double value) {
  // The shortest of the two forms that reads back exactly. absl::StrFormat ends the process when it
  // finds no memory.
  std::array<char, 32> text;
  double back = 0;
  absl::SNPrintF(text.data(), text.size(), "%.15g", value);
  if (!absl::SimpleAtod(text.data(), &back) || back != value) {
    absl::SNPrintF(text.data(), text.size(), "%.17g", value);
  }
  return text.data();
}

// A range without a lower end does not contain -infinity.
bool IsOpenBelow(const OptionDoc& doc) { return doc.min_open || doc.min == -kInfinity; }

absl::Status CheckNumber(const OptionField& field, double value) {
  const OptionDoc& doc = field.doc;
  const bool above = IsOpenBelow(doc) ? value > doc.min : value >= doc.min;
  const bool below = doc.max_open ? value < doc.max : value <= doc.max;
  if (!above || !below) {  // false for NaN too
    return absl::InvalidArgumentError(
        absl::StrCat("must be in ", FormatOptionRange(field), ", is ", FormatReal(value)));
  }
  return absl::OkStatus();
}

absl::Status WrongType(const OptionField& field, const OptionValue& value) {
  return absl::InvalidArgumentError(absl::StrCat("must be of type ",
                                                 std::string(OptionTypeName(field.type)), ", is ",
                                                 FormatOptionValue(value)));
}

// Integers stand for reals, so that a client may send 2 where 2.0 is meant.
void WidenIntegers(const OptionField& field, OptionValue& value) {
  if (const auto* integer = std::get_if<int64_t>(&value);
      integer != nullptr && field.type == OptionType::kReal) {
    value = static_cast<double>(*integer);
  }
}

}  // namespace

std::string_view OptionTypeName(OptionType type) {
  switch (type) {
    case OptionType::kBool:
      return "bool";
    case OptionType::kInteger:
      return "integer";
    case OptionType::kReal:
      return "real";
    case OptionType::kChoice:
      return "choice";
    case OptionType::kText:
      return "text";
    case OptionType::kReals:
      return "list of reals";
  }
  return "unknown";
}

std::string FormatOptionValue(const OptionValue& value) {
  struct Visitor {
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(int64_t v) const { return absl::StrCat(v); }
    std::string operator()(double v) const { return FormatReal(v); }
    std::string operator()(const std::string& v) const { return v; }
    std::string operator()(const std::vector<double>& v) const {
      return absl::StrCat(
          "[", absl::StrJoin(v, ", ", [](std::string* out, double x) { *out += FormatReal(x); }),
          "]");
    }
  };
  return std::visit(Visitor{}, value);
}

std::string FormatOptionRange(const OptionField& field) {
  switch (field.type) {
    case OptionType::kBool:
      return "true or false";
    case OptionType::kChoice:
      return absl::StrCat("one of ", absl::StrJoin(field.choices, ", "));
    case OptionType::kText:
      return "any text";
    default:
      break;
  }
  const OptionDoc& doc = field.doc;
  return absl::StrCat(IsOpenBelow(doc) ? "(" : "[", FormatReal(doc.min), ", ", FormatReal(doc.max),
                      doc.max_open ? ")" : "]");
}

bool FitsKind(const OptionField& field, const std::string& choice, bool regression) {
  const std::vector<std::string>& others =
      regression ? field.doc.classification_choices : field.doc.regression_choices;
  return std::find(others.begin(), others.end(), choice) == others.end();
}

absl::Status CheckOptionValue(const OptionField& field, OptionValue& value) {
  WidenIntegers(field, value);
  switch (field.type) {
    case OptionType::kBool:
      return std::holds_alternative<bool>(value) ? absl::OkStatus() : WrongType(field, value);
    case OptionType::kInteger:
      if (const auto* integer = std::get_if<int64_t>(&value)) {
        return CheckNumber(field, static_cast<double>(*integer));
      }
      return WrongType(field, value);
    case OptionType::kReal:
      if (const auto* real = std::get_if<double>(&value)) {
        return CheckNumber(field, *real);
      }
      return WrongType(field, value);
    case OptionType::kText:
      return std::holds_alternative<std::string>(value) ? absl::OkStatus()
                                                        : WrongType(field, value);
    case OptionType::kChoice: {
      const auto* word = std::get_if<std::string>(&value);
      if (word != nullptr &&
          std::find(field.choices.begin(), field.choices.end(), *word) != field.choices.end()) {
        return absl::OkStatus();
      }
      return absl::InvalidArgumentError(
          absl::StrCat("must be ", FormatOptionRange(field), ", is ", FormatOptionValue(value)));
    }
    case OptionType::kReals: {
      const auto* reals = std::get_if<std::vector<double>>(&value);
      if (reals == nullptr) {
        return WrongType(field, value);
      }
      for (const double real : *reals) {
        MERCER_RETURN_IF_ERROR(CheckNumber(field, real));
      }
      return absl::OkStatus();
    }
  }
  return WrongType(field, value);
}

absl::StatusOr<OptionValue> ParseOptionText(const OptionField& field, std::string_view text) {
  const absl::string_view view(text.data(), text.size());
  OptionValue value;
  bool parsed = true;
  switch (field.type) {
    case OptionType::kBool: {
      bool flag = false;
      parsed = absl::SimpleAtob(view, &flag);
      value = flag;
      break;
    }
    case OptionType::kInteger: {
      int64_t integer = 0;
      parsed = absl::SimpleAtoi(view, &integer);
      value = integer;
      break;
    }
    case OptionType::kReal: {
      double real = 0;
      parsed = absl::SimpleAtod(view, &real);
      value = real;
      break;
    }
    case OptionType::kChoice:
    case OptionType::kText:
      value = std::string(text);
      break;
    case OptionType::kReals: {
      absl::string_view list = absl::StripAsciiWhitespace(view);
      const bool in_brackets = absl::ConsumePrefix(&list, "[");
      parsed = absl::ConsumeSuffix(&list, "]") == in_brackets;
      std::vector<absl::string_view> parts = absl::StrSplit(list, ',');
      if (in_brackets && absl::StripAsciiWhitespace(list).empty()) {
        parts.clear();
      }
      std::vector<double> reals;
      for (const absl::string_view part : parts) {
        double real = 0;
        parsed = parsed && absl::SimpleAtod(part, &real);
        reals.push_back(real);
      }
      value = std::move(reals);
      break;
    }
  }
  if (!parsed) {
    return absl::InvalidArgumentError(absl::StrCat("must be of type ",
                                                   std::string(OptionTypeName(field.type)), " in ",
                                                   FormatOptionRange(field), ", is '", view, "'"));
  }
  MERCER_RETURN_IF_ERROR(CheckOptionValue(field, value));
  return value;
}

}  // namespace mercer
