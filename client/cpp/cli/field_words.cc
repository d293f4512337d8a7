#include "client/cpp/cli/field_words.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/types/span.h"

namespace mercer::client {
namespace {

struct Words {
  const char* path = "";
  const char* flag = "";
};

// The first that is the path, or that the path goes on from with "." or "[", says its flag.
constexpr Words kFlags[] = {
    {"data[0]", "DATA"},
    {"data[", "--with-task"},
    {"target_kind", "--regression"},
    {"target_scaling", "--target-scaling"},
    {"coding", "--one-vs-one"},
    {"validation.hold_out", "--hold-out"},
    {"validation.folds", "--folds"},
    {"validation", "--hold-out and --folds"},
    {"class_weights", "--class-weights"},
    {"preprocessing.scaling", "--scaling"},
    {"preprocessing.imputation", "--impute"},
    {"preprocessing.unseen_category", "--unseen-zeros"},
    {"preprocessing.square_repair", "--square-repair"},
    {"preprocessing.blocks", "--block"},
    {"stopping.relative_gap", "--gap"},
    {"stopping.max_iterations", "--max-iterations"},
    {"stopping.time_limit", "--time-limit"},
    {"time_limit", "--time-limit"},
    {"path.keep_all", "--keep-path"},
    {"path", "--path"},
    {"stability", "--stability"},
    {"ranking_test", "--test-ranking"},
    {"learner.kernels", "--kernel"},
    {"learner.other.name", "LEARNER"},
    {"labels", "--label"},
    {"target", "--target"},
    {"task", "--task"},
    {"task_rule", "--task-rule"},
    {"seed", "--seed"},
    {"threads", "--threads"},
    {"priority", "--priority"},
    {"display_name", "--display-name"},
    {"request_id", "--request-id"},
    {"dataset_id", "--id"},
    {"filter", "--filter"},
    {"order_by", "--order-by"},
    {"csv.delimiter", "--delimiter"},
    {"csv.roles", "--role"},
    {"csv.categorical", "--categorical"},
    {"csv.numeric", "--numeric"},
    {"csv.blocks", "--block"},
    {"csv.allow_missing", "--allow-missing"},
    {"csv.no_header", "--no-header"},
    {"svmlight.target_name", "--target"},
    {"square", "--square"},
};

constexpr Words kRemedies[] = {
    {"csv.allow_missing",
     "'data upload --allow-missing' keeps missing cells, which 'train --impute' then fills in"},
    {"csv.no_header", "with --no-header the first line holds values"},
    {"csv.delimiter", "--delimiter says what separates the cells"},
    {"csv.categorical", "--categorical COLUMN says that a column holds names"},
    {"preprocessing.imputation", "a model that is trained with 'train --impute' fills them in"},
    {"preprocessing.square_repair",
     "'train --square-repair' check says how large the violation is, shift, clip and flip repair "
     "it"},
};

// By the reason of the error: which words of this program do what its message advises.
constexpr Words kWaysOut[] = {
    {"DATASET_EXISTS", "--id takes another id, and 'mercer data rm ID' deletes a data set"},
};

std::string TextOf(absl::Span<const Words> list, const std::string& key) {
  for (const Words& words : list) {
    if (key == words.path) {
      return words.flag;
    }
  }
  return "";
}

bool GoesOnFrom(const std::string& path, const std::string& prefix) {
  return absl::StartsWith(path, prefix) &&
         (path.size() == prefix.size() || prefix.back() == '[' || path[prefix.size()] == '.' ||
          path[prefix.size()] == '[');
}

// Without the message that holds the request: "header.parts[0].csv.roles" is "csv.roles".
std::string WithinRequest(std::string path) {
  for (const char* outer : {"training.", "header."}) {
    if (absl::StartsWith(path, outer)) {
      path.erase(0, std::string(outer).size());
    }
  }
  const size_t end = absl::StartsWith(path, "parts[") ? path.find("].") : std::string::npos;
  return end == std::string::npos ? path : path.substr(end + 2);
}

// "kernels[1].bandwidth" is "--kernel 2 bandwidth".
std::string KernelWords(const std::string& path) {
  const size_t bracket = path.find(']');
  int number = 0;
  if (bracket == std::string::npos ||
      !absl::SimpleAtoi(path.substr(sizeof("kernels[") - 1, bracket - sizeof("kernels[") + 1),
                        &number)) {
    return "--kernel";
  }
  const std::string rest = path.substr(bracket + 1);
  return absl::StrCat("--kernel ", number + 1,
                      absl::StrReplaceAll(rest, {{".normalization.", " "}, {".", " "}}));
}

// "learner.lp_mkl.p" and "learner.other.options['p']" are "--p".
std::string LearnerWords(const std::string& path) {
  const size_t dot = path.find('.', sizeof("learner.") - 1);
  if (dot == std::string::npos) {
    return "LEARNER";
  }
  const std::string option = path.substr(dot + 1);
  constexpr absl::string_view kEntry = "options['";
  if (absl::StartsWith(option, kEntry) && absl::EndsWith(option, "']")) {
    return absl::StrCat("--", option.substr(kEntry.size(), option.size() - kEntry.size() - 2));
  }
  return GoesOnFrom(option, "kernels") ? KernelWords(option) : absl::StrCat("--", option);
}

// "rows.columns[3].name" is "FILE, column 4".
std::string ColumnWords(const std::string& path) {
  const size_t begin = sizeof("rows.columns[") - 1;
  int number = 0;
  return absl::SimpleAtoi(path.substr(begin, path.find(']') - begin), &number)
             ? absl::StrCat("FILE, column ", number + 1)
             : path;
}

}  // namespace

std::string FlagOfField(const std::string& path) {
  const std::string field = WithinRequest(path);
  for (const Words& words : kFlags) {
    if (GoesOnFrom(field, words.path)) {
      return words.flag;
    }
  }
  if (absl::StartsWith(field, "learner.")) {
    return LearnerWords(field);
  }
  return absl::StartsWith(field, "rows.columns[") ? ColumnWords(field) : path;
}

std::string RemedyInFlags(const std::string& path) { return TextOf(kRemedies, path); }

std::string WayOutInFlags(const std::string& reason) { return TextOf(kWaysOut, reason); }

const FieldWords kFlagWords = {&FlagOfField, &RemedyInFlags};

}  // namespace mercer::client
