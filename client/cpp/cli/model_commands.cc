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
  ListTexts texts;
  int limit = 50;
};

struct VersionListFlags {
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

struct RemoveModelFlags {
  std::string model;
};

struct ExportFlags {
  std::string model;
  std::string file;
};

std::string QualityText(const v1::ModelVersion& model) {
  const v1::Metric* const metric = MainMetric(model);
  return metric == nullptr ? "" : absl::StrCat(metric->name(), " ", FormatNumber(metric->value()));
}

// The cells that say how good a version is.
std::vector<std::string> CellsOf(const v1::ModelVersion& version) {
  return {version.learner(), version.target(), FormatTime(version.create_time()),
          FormatGap(version.certificate().accuracy()), QualityText(version)};
}

std::vector<std::string> RowOf(const v1::ModelVersion& version) {
  std::vector<std::string> cells = CellsOf(version);
  cells.insert(cells.begin(), version.name());
  return cells;
}

std::vector<std::string> RowOf(const v1::Model& model) {
  std::vector<std::string> cells = CellsOf(model.newest_version());
  cells.insert(cells.begin(), {model.name(), absl::StrCat(model.num_versions())});
  return cells;
}

// `table` is without rows, `none` what is said when there are none.
template <typename Item>
ExitCode PrintList(Session& session, Table table, const char* none, std::vector<Item> items,
                   int limit) {
  const bool more = CutToLimit(limit, items);
  for (const Item& item : items) {
    if (session.json()) {
      session.PrintJson(item);
    } else {
      table.AddRow(RowOf(item));
    }
  }
  if (!session.json()) {
    session.PrintTable(table, none);
  }
  return session.EndList(more, limit);
}

absl::StatusOr<ExitCode> ListModels(Session& session, const ModelListFlags& flags) {
  v1::ListModelsRequest filter;
  SetListTexts(flags.texts, filter);
  MERCER_ASSIGN_OR_RETURN(std::vector<v1::Model> models,
                          session.client().ListModels(std::move(filter), flags.limit + 1));
  return PrintList(session,
                   Table({"MODEL", "VERSIONS", "LEARNER", "TARGET", "NEWEST", "GAP", "QUALITY"}),
                   "no models", std::move(models), flags.limit);
}

absl::StatusOr<ExitCode> ListVersions(Session& session, const VersionListFlags& flags) {
  v1::ListModelVersionsRequest filter;
  filter.set_model(FullName("models", flags.model.empty() ? "-" : flags.model));
  filter.set_learner(flags.learner);
  for (const std::string& text : flags.labels) {
    MERCER_ASSIGN_OR_RETURN(const auto label, SplitAssignment("--label", text));
    (*filter.mutable_labels())[label.first] = label.second;
  }
  SetListTexts(flags.texts, filter);
  const bool all = !flags.search.empty() || !flags.sort.empty();  // are needed to choose the first
  MERCER_ASSIGN_OR_RETURN(
      std::vector<v1::ModelVersion> versions,
      session.client().ListModelVersions(std::move(filter), all ? kMaxListed : flags.limit + 1));
  if (!flags.search.empty()) {
    std::erase_if(versions, [&](const v1::ModelVersion& version) {
      return !Mentions(version, flags.search);
    });
  }
  SortModels(flags.sort, versions);
  return PrintList(session, Table({"VERSION", "LEARNER", "TARGET", "CREATED", "GAP", "QUALITY"}),
                   "no versions", std::move(versions), flags.limit);
}

absl::StatusOr<v1::ModelVersion> Find(Session& session, const ShowFlags& flags) {
  const std::string name = FullName("models", flags.model);
  if (flags.as_of.empty()) {
    const bool full = flags.full || !flags.picture.empty();
    return session.client().GetModelVersion(
        name, full ? v1::MODEL_VERSION_VIEW_FULL : v1::MODEL_VERSION_VIEW_BASIC);
  }
  absl::Time time;
  std::string error;
  if (!absl::ParseTime(absl::RFC3339_full, flags.as_of, &time, &error)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--as-of: must be a time like 2026-11-20T12:00:00Z, is '", flags.as_of, "'"));
  }
  return session.client().GetModelVersionAsOf(name, time);
}

absl::Status WritePicture(const v1::ModelVersion& model, const std::string& file) {
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
  MERCER_ASSIGN_OR_RETURN(v1::ModelVersion model, Find(session, flags));
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

absl::StatusOr<ExitCode> Remove(Session& session, const RemoveModelFlags& flags) {
  const std::string name = FullName("models", flags.model);
  MERCER_RETURN_IF_ERROR(IsWholeModel(name) ? session.client().DeleteModel(name)
                                            : session.client().DeleteModelVersion(name));
  session.PrintDeleted(name);
  return ExitCode::kOk;
}

void AddLimit(int& limit, CLI::App& command) {
  command.add_option("--limit", limit, "At most this many")
      ->check(CLI::Range(1, kMaxListed))
      ->capture_default_str();
}

void AddVersionList(CommandLine& line) {
  auto listed = std::make_shared<VersionListFlags>();
  CLI::App* list = line.Add(line.app, "versions", "List the versions of a model, or of all models",
                            listed, &ListVersions);
  list->add_option("MODEL", listed->model, "Only of this model");
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
  AddLimit(listed->limit, *list);
  AddVersionRemoval(line, *list);
}

}  // namespace

void AddModelCommands(CommandLine& line) {
  auto models = std::make_shared<ModelListFlags>();
  CLI::App* list = line.Add(line.app, "models", "List models, each with its newest version", models,
                            &ListModels);
  AddListTexts(models->texts, *list);
  AddLimit(models->limit, *list);
  AddVersionList(line);

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

  auto removed = std::make_shared<RemoveModelFlags>();
  line.Add(line.app, "rm", "Delete a version of a model, or a model with all versions", removed,
           &Remove)
      ->add_option("MODEL", removed->model, "NAME/versions/N, or NAME for all versions")
      ->required();
}

}  // namespace mercer::client
