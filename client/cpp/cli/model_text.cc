#include "client/cpp/cli/model_text.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

#include "client/cpp/cli/table_text.h"
#include "client/cpp/cli/text.h"
#include "client/cpp/field_text.h"

namespace mercer::client {
namespace {

constexpr int kLabelWidth = 16;
constexpr int kWarningLabelWidth = 9;
constexpr size_t kMaxShownNames = 12;

std::string Line(const std::string& label, const std::string& text) {
  return text.empty() ? "" : absl::StrCat("  ", Pad(label, kLabelWidth), text, "\n");
}

// Behind a label.
std::string Wrapped(const std::string& text, const Terminal& terminal) {
  return Wrap(Printable(text), terminal.width, kLabelWidth + 2);
}

std::string SettingText(const v1::OptionSetting& setting) {
  switch (setting.value_case()) {
    case v1::OptionSetting::kBoolValue:
      return setting.bool_value() ? "true" : "false";
    case v1::OptionSetting::kIntegerValue:
      return absl::StrCat(setting.integer_value());
    case v1::OptionSetting::kRealValue:
      return FormatNumber(setting.real_value());
    case v1::OptionSetting::kTextValue:
      return setting.text_value();
    case v1::OptionSetting::kRealsValue:
      return absl::StrJoin(setting.reals_value().values(), ",", [](std::string* out, double v) {
        absl::StrAppend(out, FormatNumber(v));
      });
    default:
      return "";
  }
}

std::string OptionsText(const v1::ModelVersion& model) {
  return absl::StrJoin(model.options(), ", ",
                       [](std::string* out, const v1::OptionSetting& setting) {
                         absl::StrAppend(out, setting.name(), " = ", SettingText(setting));
                       });
}

std::string ScopeText(v1::CertificateScope scope) {
  switch (scope) {
    case v1::CERTIFICATE_SCOPE_LOW_RANK_PROBLEM:
      return " (of the problem with low-rank kernels)";
    case v1::CERTIFICATE_SCOPE_LISTED_FEATURES:
      return " (of the problem with the listed features)";
    default:
      return "";
  }
}

// The first of them.
std::string NamesText(const google::protobuf::RepeatedPtrField<std::string>& names) {
  const size_t shown = std::min(static_cast<size_t>(names.size()), kMaxShownNames);
  return absl::StrCat(absl::StrJoin(names.begin(), names.begin() + static_cast<int>(shown), ", "),
                      shown < static_cast<size_t>(names.size()) ? ", ..." : "");
}

std::string ClassesText(const google::protobuf::RepeatedPtrField<std::string>& classes) {
  return classes.empty() ? ""
                         : absl::StrCat(", ", classes.size(), " classes: ", NamesText(classes));
}

// "a, b, c (column subject)"; of many also how many they are.
std::string TasksText(const v1::TaskCoding& tasks) {
  if (tasks.names().empty()) {
    return "";
  }
  const bool many = static_cast<size_t>(tasks.names_size()) > kMaxShownNames;
  return absl::StrCat(many ? absl::StrCat(tasks.names_size(), " tasks: ") : "",
                      NamesText(tasks.names()), " (column ", tasks.column(), ")");
}

// Metrics of a path, whose table says more: "path.best".
constexpr char kPathPrefix[] = "path.";
// Metrics of a single task, behind those of all rows: "folds.task.ann.rmse".
constexpr char kTaskPrefix[] = "task.";
// What always the same answer scores, behind those of the model: "held_out.baseline.accuracy".
constexpr char kBaselinePrefix[] = "baseline.";
// A limit that ended the search, and what an early end left out, which warnings tell.
constexpr char kLimitPrefix[] = "limit_reached.";
constexpr char kLeftOutPrefix[] = "left_out.";

// A line below that of the model's own metrics. `metrics`: "accuracy 0.7".
std::string FormatBaseline(const std::vector<std::string>& metrics) {
  if (metrics.empty()) {
    return "";
  }
  const bool of_classes = absl::StartsWith(metrics[0], "accuracy");
  return absl::StrCat(Pad("  baseline", 13), " ", absl::StrJoin(metrics, "  "),
                      of_classes ? "  always the most frequent class" : "  always the mean", "\n");
}

// A line for each task, with a column for each of its metrics; not every task has all of them. `metrics`: "task.ann.rmse"; a task's
// name may have dots.
std::string FormatTaskMetrics(const std::vector<std::pair<std::string, double>>& metrics) {
  if (metrics.empty()) {
    return "";
  }
  constexpr size_t kBegin = std::size(kTaskPrefix) - 1;
  std::vector<std::string> header = {"", "task"};
  std::vector<std::vector<std::string>> rows;
  for (const auto& [name, value] : metrics) {
    const size_t dot = name.rfind('.');
    const std::string task = Printable(name.substr(kBegin, dot - kBegin));
    const auto column = std::find(header.begin(), header.end(), name.substr(dot + 1));
    const auto place = static_cast<size_t>(column - header.begin());
    if (column == header.end()) {
      header.push_back(name.substr(dot + 1));
    }
    if (rows.empty() || rows.back()[1] != task) {
      rows.push_back({"", task});
    }
    rows.back().resize(std::max(rows.back().size(), place + 1));
    rows.back()[place] = absl::StrFormat("%.4g", value);
  }
  Table table(header);
  for (std::vector<std::string>& row : rows) {
    row.resize(header.size());
    table.AddRow(std::move(row));
  }
  return table.ToString();
}

std::string LabelsText(const v1::ModelVersion& model) {
  const std::map<std::string, std::string> sorted(model.labels().begin(), model.labels().end());
  return absl::StrJoin(sorted, ", ", absl::PairFormatter("="));
}

}  // namespace

std::string FormatCertificate(const v1::Certificate& certificate) {
  std::string text = absl::StrCat("certificate  recomputed from the data after the training",
                                  ScopeText(certificate.scope()), "\n");
  if (certificate.kind() == v1::CERTIFICATE_KIND_GAP) {
    const double percent = certificate.accuracy() < 0.0 ? 0.0 : 100.0 * certificate.accuracy();
    absl::StrAppend(
        &text, Line("objective", FormatNumber(certificate.primal()) + "  value at the model"),
        Line("optimum", absl::StrCat("at least ", FormatNumber(certificate.dual()))),
        Line("relative gap", absl::StrFormat("%s  the objective is within %.2g %% of the optimum",
                                             FormatGap(certificate.accuracy()), percent)));
    if (certificate.outputs_size() > 1) {
      absl::StrAppend(&text, Line("worst output", FormatGap(certificate.worst_accuracy())));
    }
    return text;
  }
  return certificate.kind() == v1::CERTIFICATE_KIND_STATIONARITY
             ? text + Line("stationarity", FormatGap(certificate.accuracy()))
             : "certificate  none: the method solves no optimisation problem\n";
}

std::string FormatMetrics(const google::protobuf::RepeatedPtrField<v1::Metric>& metrics) {
  std::map<std::string, std::vector<std::string>> groups;
  std::map<std::string, std::vector<std::string>> baselines;
  std::map<std::string, std::vector<std::pair<std::string, double>>> of_tasks;
  for (const v1::Metric& metric : metrics) {
    if (absl::StartsWith(metric.name(), kPathPrefix) ||
        absl::StartsWith(metric.name(), kLimitPrefix) ||
        absl::StartsWith(metric.name(), kLeftOutPrefix)) {
      continue;  // its table, FormatWarnings
    }
    const size_t dot = metric.name().find('.');
    const std::string group = dot == std::string::npos ? "metrics" : metric.name().substr(0, dot);
    const std::string name =
        dot == std::string::npos ? metric.name() : metric.name().substr(dot + 1);
    if (absl::StartsWith(name, kTaskPrefix) && name.rfind('.') >= std::size(kTaskPrefix)) {
      of_tasks[group].emplace_back(name, metric.value());
      continue;
    }
    if (absl::StartsWith(name, kBaselinePrefix)) {
      baselines[group].push_back(
          absl::StrFormat("%s %.4g", name.substr(std::size(kBaselinePrefix) - 1), metric.value()));
      continue;
    }
    groups[group].push_back(absl::StrFormat("%s %.4g", name, metric.value()));
  }
  std::string text;
  for (const auto& [group, values] : groups) {
    const std::string label = group == "held_out" ? "held-out rows" : group;
    absl::StrAppend(&text, Pad(label, 13), " ", absl::StrJoin(values, "  "), "\n",
                    FormatBaseline(baselines[group]), FormatTaskMetrics(of_tasks[group]));
  }
  return text;
}

std::string FormatWarnings(const google::protobuf::RepeatedPtrField<v1::Warning>& warnings,
                           const Terminal& terminal) {
  std::string text;
  for (const v1::Warning& warning : warnings) {
    const bool is_decision = warning.code() == v1::WARNING_CODE_NUMERIC_TARGET ||
                             warning.code() == v1::WARNING_CODE_OPTION_CHOSEN;
    const std::string label = Pad(is_decision ? "note" : "warning", kWarningLabelWidth);
    absl::StrAppend(&text, is_decision ? label : Paint(terminal, Colour::kYellow, label),
                    Wrap(Printable(warning.message()), terminal.width, kWarningLabelWidth), "\n");
  }
  return text;
}

std::string FormatModel(const v1::ModelVersion& model, const Terminal& terminal, int max_rows,
                        int output) {
  const v1::TrainRequest& request = model.lineage().request();
  std::string data = absl::StrJoin(
      request.data(), ", ",
      [](std::string* out, const v1::DataInput& input) { absl::StrAppend(out, input.dataset()); });
  std::string text =
      absl::StrCat(Paint(terminal, Colour::kBold, model.name()), "  ", model.learner(), "\n");
  absl::StrAppend(
      &text, Line("trained by", absl::StrCat(model.lineage().job(), " on ", data)),
      Line("created", FormatTime(model.create_time())), Line("owner", OwnerText(model.owner())),
      Line("target", Wrapped(model.target() + ClassesText(model.coding().classes()), terminal)),
      Line("tasks", Wrapped(TasksText(model.tasks()), terminal)),
      Line("options", Wrapped(OptionsText(model), terminal)),
      Line("rows", absl::StrCat(model.num_training_rows(), " trained on, ",
                                model.num_support_vectors(), " support vectors")),
      Line("stored", absl::StrCat(FormatBytes(model.size_bytes()), ", sha256 ",
                                  model.digest().substr(0, 16), "…")),
      Line("stopped", EnumWord(*v1::StopReason_descriptor(), model.stop_reason())),
      Line("aliases", Wrapped(absl::StrJoin(model.aliases(), ", "), terminal)),
      Line("labels", Wrapped(LabelsText(model), terminal)),
      Line("description", Wrapped(model.description(), terminal)));
  absl::StrAppend(&text, FormatCertificate(model.certificate()), FormatMetrics(model.metrics()),
                  FormatWarnings(model.warnings(), terminal));
  return text + FormatTables(model, terminal, max_rows, output);
}

}  // namespace mercer::client
