#include "client/cpp/kernel_syntax.h"

#include <set>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/substitute.h"
#include "absl/types/span.h"

#include "client/cpp/field_text.h"
#include "core/base/status/near_names.h"
#include "core/base/status/status_macros.h"
#include "core/kernels/spec/kernel_formula.h"

namespace mercer::client {
namespace {

using google::protobuf::FieldDescriptor;

// Words separated by spaces outside double quotes; the quotes stay.
absl::StatusOr<std::vector<std::string>> SplitWords(const std::string& text) {
  std::vector<std::string> words;
  bool quoted = false;
  bool inside = false;
  for (const char c : text) {
    if (!quoted && (c == ' ' || c == '\t')) {
      inside = false;
      continue;
    }
    quoted = (c == '"') != quoted;
    if (!inside) {
      words.emplace_back();
    }
    inside = true;
    words.back().push_back(c);
  }
  if (quoted) {
    return absl::InvalidArgumentError(absl::StrCat("kernel '", text, "': a quote is not closed"));
  }
  return words;
}

std::vector<std::string> KnownNames() {
  std::vector<std::string> names = {"median"};
  for (const auto* type : {v1::KernelGrid::descriptor(), v1::KernelNormalization::descriptor()}) {
    for (int i = 0; i < type->field_count(); ++i) {
      const std::string& name = type->field(i)->name();
      if (name != "type" && name != "normalization") {
        names.push_back(name);
      }
    }
  }
  return names;
}

// "1..100:12"; returns false when `text` has another form.
bool ParseRange(const std::string& text, v1::BandwidthRule rule, v1::KernelGrid& grid) {
  const size_t dots = text.find("..");
  const size_t colon = text.find(':');
  double min = 0.0;
  double max = 0.0;
  int count = 0;
  if (dots == std::string::npos || colon == std::string::npos || colon < dots ||
      !absl::SimpleAtod(text.substr(0, dots), &min) ||
      !absl::SimpleAtod(text.substr(dots + 2, colon - dots - 2), &max) ||
      !absl::SimpleAtoi(text.substr(colon + 1), &count)) {
    return false;
  }
  grid.set_rule(rule);
  grid.set_min_bandwidth(min);
  grid.set_max_bandwidth(max);
  grid.set_count(count);
  return true;
}

absl::Status SetMultiples(const std::string& value, v1::KernelGrid& grid) {
  grid.set_rule(v1::BANDWIDTH_RULE_MEDIAN_MULTIPLES);
  const auto* multiples = v1::KernelGrid::descriptor()->FindFieldByName("bandwidths");
  return value.empty() ? absl::OkStatus() : SetFieldFromText(grid, *multiples, value);
}

// The kernel or parameter that other programs call `word`; empty where there is none.
template <typename Named>
std::string NameHere(absl::Span<const Named> all, const std::string& word) {
  for (const Named& one : all) {
    for (const std::string_view elsewhere : one.names_elsewhere) {
      if (elsewhere == word) {
        return std::string(one.name);
      }
    }
  }
  return "";
}

// What other programs call gamma; of kernels that they do not have, it is what their most common
// one, the Gaussian, has.
std::string GammaInWords(const std::string& value, v1::KernelType type) {
  GammaWords words = FormulaOf(static_cast<KernelType>(type - 1)).gamma;
  if (words.parameter.empty()) {
    words = FormulaOf(KernelType::kGaussian).gamma;
  }
  if (words.value == nullptr) {
    const std::string name(words.parameter);
    return absl::StrCat("is called ", name, " here: ", name, "=", value.empty() ? "S" : value);
  }
  double gamma = 0.0;
  const bool is_number = absl::SimpleAtod(value, &gamma) && gamma > 0.0;
  return absl::StrCat("kernels have a bandwidth, ", std::string(words.formula),
                      is_number ? absl::StrCat(": bandwidth=", words.value(gamma))
                                : "; 'median' takes it from the data");
}

absl::Status UnknownWord(const std::string& name, const std::string& value, v1::KernelType type) {
  if (name == "gamma") {
    return absl::InvalidArgumentError(GammaInWords(value, type));
  }
  const std::string here = NameHere(AllKernelParameters(), name);
  return absl::InvalidArgumentError(
      absl::StrCat("unknown word; allowed are ", absl::StrJoin(KnownNames(), ", "),
                   here.empty() ? DidYouMean(name, KnownNames())
                                : absl::StrCat("; did you mean '", here, "'?")));
}

// A text may stand in quotes, as a name with spaces must.
absl::Status SetText(const std::string& value, const FieldDescriptor& field, v1::KernelGrid& grid) {
  const std::string text = absl::StrReplaceAll(value, {{"\"", ""}});
  return text.empty() ? absl::InvalidArgumentError("is empty")
                      : SetFieldFromText(grid, field, text);
}

absl::Status SetWord(const std::string& name, const std::string& value, v1::KernelGrid& grid) {
  if ((name == "median" || name == "bandwidths") && value.find("..") != std::string::npos) {
    const v1::BandwidthRule rule =
        name == "median" ? v1::BANDWIDTH_RULE_MEDIAN_MULTIPLES : v1::BANDWIDTH_RULE_LOG_SPACED;
    return ParseRange(value, rule, grid) ? absl::OkStatus()
                                         : absl::InvalidArgumentError(absl::StrCat(
                                               "must be FIRST..LAST:COUNT, is '", value, "'"));
  }
  if (name == "median") {
    return SetMultiples(value, grid);
  }
  const FieldDescriptor* field = v1::KernelGrid::descriptor()->FindFieldByName(name);
  if (field != nullptr && field->type() == FieldDescriptor::TYPE_STRING && !field->is_repeated()) {
    return SetText(value, *field, grid);
  }
  if (field != nullptr && name != "type" && name != "normalization") {
    MERCER_RETURN_IF_ERROR(SetFieldFromText(grid, *field, value));
    if (name == "min_bandwidth" || name == "max_bandwidth" || name == "count") {
      grid.set_rule(v1::BANDWIDTH_RULE_LOG_SPACED);
    }
    return absl::OkStatus();
  }
  field = v1::KernelNormalization::descriptor()->FindFieldByName(name);
  if (field == nullptr) {
    return UnknownWord(name, value, grid.type());
  }
  return SetFieldFromText(*grid.mutable_normalization(), *field, value);
}

// Words that say where the bandwidths come from. One of them is enough, and two would contradict
// each other.
class WidthWords {
 public:
  absl::Status Add(const std::string& name, const std::string& value) {
    const bool sets_rule = name == "median" || IsRange(name) ||
                           (name == "bandwidths" && value.find("..") != std::string::npos);
    if (name != "bandwidth" && name != "bandwidths" && name != "rule" && !sets_rule) {
      return absl::OkStatus();
    }
    for (const auto& [other, other_sets_rule] : words_) {
      const bool together = (IsRange(name) && IsRange(other)) ||
                            (name == "rule" && !other_sets_rule) || (other == "rule" && !sets_rule);
      if (!together) {
        return absl::InvalidArgumentError(
            absl::StrCat("'", other,
                         "' has said which bandwidths already; give one of bandwidth=W, "
                         "bandwidths=W,W, bandwidths=A..B:N, median, median=M,M, median=A..B:N"));
      }
    }
    words_.emplace_back(name, sets_rule);
    return absl::OkStatus();
  }

 private:
  static bool IsRange(const std::string& name) {
    return name == "min_bandwidth" || name == "max_bandwidth" || name == "count";
  }

  std::vector<std::pair<std::string, bool>> words_;  // and whether they set KernelGrid.rule
};

absl::Status SetWords(const std::vector<std::string>& words, v1::KernelGrid& grid) {
  std::set<std::string> seen;
  WidthWords widths;
  for (size_t i = 1; i < words.size(); ++i) {
    const size_t equals = words[i].find('=');
    const std::string name = absl::StrReplaceAll(words[i].substr(0, equals), {{"-", "_"}});
    const std::string value = equals == std::string::npos ? "" : words[i].substr(equals + 1);
    absl::Status status = seen.insert(name).second ? widths.Add(name, value)
                                                   : absl::InvalidArgumentError("is given twice");
    if (status.ok()) {
      status = SetWord(name, value, grid);
    }
    if (!status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(name, ": ", status.message()));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<v1::KernelGrid> ParseKernel(const std::string& text) {
  MERCER_ASSIGN_OR_RETURN(const std::vector<std::string> words, SplitWords(text));
  const auto& types = *v1::KernelType_descriptor();
  const int type = words.empty() ? -1 : EnumNumber(types, words[0]);
  if (type < 0) {
    const std::string wrong = words.empty() ? "" : words[0];
    const std::string here = NameHere(AllFormulas(), absl::AsciiStrToLower(wrong));
    return absl::InvalidArgumentError(absl::StrCat(
        "kernel '", text, "': must begin with one of ", absl::StrJoin(EnumWords(types), ", "),
        here.empty() ? DidYouMean(wrong, EnumWords(types))
                     : absl::StrCat("; did you mean '", here, "'?")));
  }
  v1::KernelGrid grid;
  grid.set_type(static_cast<v1::KernelType>(type));
  const absl::Status status = SetWords(words, grid);
  if (!status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("kernel '", text, "': ", status.message()));
  }
  return grid;
}

std::string KernelSyntaxHelp() {
  return absl::Substitute(
      R"(Kernels: --kernel 'TYPE WORD...', repeated for several families; each makes one kernel for every
column set and bandwidth.
  TYPE      $0
  WORDS     bandwidth=W               one width, in the unit of the distance
            bandwidths=W,W,...        several
            bandwidths=A..B:N         N widths from A to B with equal ratios
            median  median=M,M,...    the median distance of the training rows, or multiples of it
            median=A..B:N             N multiples of it from A to B with equal ratios
                                      (only one of these, and no word twice; without: median)
            (exp(-gamma |x-z|^2) of other programs is gaussian bandwidth=1/sqrt(2 gamma))
            degree=D scale=S offset=O (polynomial)  (S x'z + O)^D
            columns=C,C,...  block=B  on these columns, on this block, instead of on all
            per_column                one kernel per column instead of one on all together
            unit_diagonal             k(x,z) / sqrt(k(x,x) k(z,z))
            scaling=none|trace|mean_diagonal|variance|centred_trace
            name=N                    what people see in the place of gaussian(bandwidth=...)
            group=G                   the group that they are in, for learners that weigh groups
  examples  --kernel 'gaussian bandwidths=1..100:12'   --kernel 'gaussian bandwidth=0.5 per_column'
            --kernel 'polynomial degree=2 columns=age,"first name"'
            --kernel 'gaussian bandwidths=0.1..10:5 block=hsv group=colour name=hue'
)",
      absl::StrJoin(EnumWords(*v1::KernelType_descriptor()), ", "));
}

}  // namespace mercer::client
