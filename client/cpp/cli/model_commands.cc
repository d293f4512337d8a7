#include <fstream>

#include "absl/strings/str_cat.h"

#include "client/cpp/cli/commands.h"
#include "client/cpp/cli/filter_picture.h"
#include "client/cpp/cli/list_texts.h"
#include "client/cpp/cli/model_text.h"
#include "client/cpp/cli/model_versions.h"
#include "client/cpp/cli/table_picture.h"
#include "client/cpp/cli/table_text.h"
#include "client/cpp/cli/text.h"
#include "core/base/status/status_macros.h"

namespace mercer::client {
namespace {

constexpr int kMostOutputs = 1'000'000;  // more than any model has

struct ModelListFlags {
  std::string model;
  std::vector<std::string> labels;
  std::string learner;
  ListTexts texts;
  std::string search;
  std::string sort;
  int limit = 50;
};

struct ShowFlags {
  std::string model;
  std::string as_of;
  std::string picture;
  int kernels = 20;
  int output = 0;
  bool full = false;
};

struct ExportFlags {
  std::string model;
  std::string file;
};

std::string QualityText(const v1::Model& model) {
  const v1::Metric* const metric = MainMetric(model);
  return metric == nullptr ? "" : absl::StrCat(metric->name(), " ", FormatNumber(metric->value()));
}

absl::StatusOr<ExitCode> List(Session& session, const ModelListFlags& flags) {
  v1::ListModelsRequest filter;
  filter.set_model(flags.model.empty() ? "" : FullName("models", flags.model));
  filter.set_learner(flags.learner);
  for (const std::string& text : flags.labels) {
    MERCER_ASSIGN_OR_RETURN(const auto label, SplitAssignment("--label", text));
    (*filter.mutable_labels())[label.first] = label.second;
  }
  SetListTexts(flags.texts, filter);
  const bool all = !flags.search.empty() || !flags.sort.empty();  // are needed to choose the first
  MERCER_ASSIGN_OR_RETURN(
      std::vector<v1::Model> models,
      session.client().ListModels(std::move(filter), all ? kMaxListed : flags.limit + 1));
  if (!flags.search.empty()) {
    std::erase_if(models, [&](const v1::Model& model) { return !Mentions(model, flags.search); });
  }
  SortModels(flags.sort, models);
  const bool more = CutToLimit(flags.limit, models);
  Table table({"MODEL", "LEARNER", "TARGET", "CREATED", "GAP", "QUALITY"});
  for (const v1::Model& model : models) {
    if (session.json()) {
      session.PrintJson(model);
    } else {
      table.AddRow({model.name(), model.learner(), model.target(), FormatTime(model.create_time()),
                    FormatGap(model.certificate().accuracy()), QualityText(model)});
    }
  }
  if (!session.json()) {
    session.PrintTable(table, "no models");
  }
  return session.EndList(more, flags.limit);
}

absl::StatusOr<v1::Model> Find(Session& session, const ShowFlags& flags) {
  const std::string name = FullName("models", flags.model);
  if (flags.as_of.empty()) {
    const bool full = flags.full || !flags.picture.empty();
    return session.client().GetModel(name, full ? v1::MODEL_VIEW_FULL : v1::MODEL_VIEW_SUMMARY);
  }
  absl::Time time;
  std::string error;
  if (!absl::ParseTime(absl::RFC3339_full, flags.as_of, &time, &error)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--as-of: must be a time like 2026-11-20T12:00:00Z, is '", flags.as_of, "'"));
  }
  return session.client().GetModelAsOf(name, time);
}

absl::Status WritePicture(const v1::Model& model, const std::string& file) {
  absl::StatusOr<GrayImage> image = DrawFilters(model);
  if (absl::IsFailedPrecondition(image.status())) {
    image = DrawHeatMap(model);
  }
  MERCER_RETURN_IF_ERROR(image.status());
  MERCER_ASSIGN_OR_RETURN(const std::string bytes, EncodePng(*image));
  std::ofstream out(file, std::ios::binary);
  out << bytes << std::flush;
  return out ? absl::OkStatus()
             : absl::UnavailableError(absl::StrCat("--picture: cannot write to '", file, "'"));
}

absl::StatusOr<ExitCode> Show(Session& session, const ShowFlags& flags) {
  MERCER_ASSIGN_OR_RETURN(v1::Model model, Find(session, flags));
  if (!flags.picture.empty()) {
    MERCER_RETURN_IF_ERROR(WritePicture(model, flags.picture));
    if (!flags.full) {
      model.clear_function();
      model.clear_preprocessing();
    }
  }
  const int outputs = CountOutputsOfTables(model);
  if (flags.output > outputs) {
    return absl::InvalidArgumentError(
        absl::StrCat("--output: must be 1 to ", outputs, ", is ", flags.output));
  }
  if (session.json()) {
    session.PrintJson(model);
  } else {
    session.out() << FormatModel(model, session.terminal(), flags.kernels, flags.output)
                  << std::flush;
  }
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> Export(Session& session, const ExportFlags& flags) {
  const std::stop_token interrupt = session.CatchInterrupts();
  const absl::StatusOr<v1::ExportHeader> header =
      session.client().ExportModel(FullName("models", flags.model), flags.file, interrupt);
  if (!header.ok() && interrupt.stop_requested()) {
    session.PrintNote("interrupted");
    return ExitCode::kInterrupted;
  }
  MERCER_RETURN_IF_ERROR(header.status());
  std::ostream& out = session.BesideFile(flags.file);
  if (session.json()) {
    out << Session::JsonLine(*header) << std::flush;
  } else {
    out << header->model() << " written to " << flags.file << "  "
        << FormatBytes(header->size_bytes()) << "  sha256 " << header->digest() << std::endl;
  }
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> Remove(Session& session, const ModelListFlags& flags) {
  const std::string name = FullName("models", flags.model);
  MERCER_RETURN_IF_ERROR(session.client().DeleteModel(name));
  session.PrintDeleted(name);
  return ExitCode::kOk;
}

}  // namespace

void AddModelCommands(CommandLine& line) {
  auto listed = std::make_shared<ModelListFlags>();
  CLI::App* list =
      line.Add(line.app, "models", "List models, or the versions of one", listed, &List);
  list->add_option("MODEL", listed->model, "List the versions of this model, newest first");
  list->add_option("--label", listed->labels, "Only with this label, NAME=VALUE (repeatable)")
      ->allow_extra_args(false);
  list->add_option("--learner", listed->learner, "Only of this learner");
  AddListTexts(listed->texts, *list);
  list->add_option("--search", listed->search,
                   "Only with this text in name, target, learner, labels or description");
  list->add_option("--sort", listed->sort,
                   "name, created (newest first), gap (smallest first) or quality (best first)")
      ->check(CLI::IsMember({"name", "created", "gap", "quality"}))
      ->excludes("--order-by");
  list->add_option("--limit", listed->limit, "At most this many")
      ->check(CLI::Range(1, kMaxListed))
      ->capture_default_str();
  AddModelRemoval(line, *list);

  auto shown = std::make_shared<ShowFlags>();
  CLI::App* show = line.Add(
      line.app, "show", "Certificate, metrics, weights and other tables of a model", shown, &Show);
  show->add_option("MODEL", shown->model, "NAME, NAME/versions/N or NAME@ALIAS")->required();
  show->add_option(
          "--kernels", shown->kernels,
          "Rows to show of weights and other tables, the largest, of curves the first; 0: all")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  show->add_option("--output", shown->output,
                   "Without --json: of several outputs or tasks the weights and tables of this "
                   "one, from 1; 0: means over all, and the tables of the first")
      ->check(CLI::Range(0, kMostOutputs))
      ->capture_default_str();
  CLI::Option* full =
      show->add_flag("--full", shown->full, "With --json: the whole function, not a summary");
  show->add_option(
      "--picture", shown->picture,
      "Also draw the chosen Gabor filters, the most important first, or the first table that is a "
      "heat map, to this PNG file");
  show->add_option("--as-of", shown->as_of,
                   "With an alias: what it was at this time, like 2026-11-20T12:00:00Z")
      ->excludes(full)
      ->excludes("--picture");

  auto exported = std::make_shared<ExportFlags>();
  CLI::App* command =
      line.Add(line.app, "export", "Write a model's stored form to a file", exported, &Export);
  command->add_option("MODEL", exported->model, "NAME, NAME/versions/N or NAME@ALIAS")->required();
  command->add_option("FILE", exported->file, "File to write")->required();

  auto removed = std::make_shared<ModelListFlags>();
  line.Add(line.app, "rm", "Delete a version of a model, or a model with all versions", removed,
           &Remove)
      ->add_option("MODEL", removed->model, "NAME/versions/N, or NAME for all versions")
      ->required();
}

}  // namespace mercer::client
