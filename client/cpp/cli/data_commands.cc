#include <algorithm>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include "client/cpp/cli/commands.h"
#include "client/cpp/cli/dataset_text.h"
#include "client/cpp/cli/file_format.h"
#include "client/cpp/cli/list_texts.h"
#include "client/cpp/cli/model_versions.h"
#include "client/cpp/cli/text.h"
#include "client/cpp/cli/update_flags.h"
#include "client/cpp/cli/upload_parts.h"
#include "client/cpp/field_text.h"
#include "client/cpp/table_rows.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"

namespace mercer::client {
namespace {

struct UploadFlags {
  std::string file;
  std::string format;
  std::optional<std::string> delimiter;
  bool no_header = false;
  bool allow_missing = false;
  std::string target;
  std::vector<std::string> roles;
  std::vector<std::string> categorical;
  std::vector<std::string> numeric;
  std::vector<std::string> blocks;
  std::vector<std::string> squares;
  HeaderFlags header;
};

struct NameFlags {
  std::string name;
};

struct DropFlags {
  std::string name;
  std::string caller;
};

struct RemoveFlags {
  std::string name;
  bool when_unused = false;
};

struct DatasetListFlags {
  ListTexts texts;
  int limit = 50;
};

// Between the numbers of square matrices.
absl::StatusOr<char> SquareDelimiter(const UploadFlags& flags) {
  MERCER_ASSIGN_OR_RETURN(const char given,
                          ParseDelimiter(flags.delimiter.value_or(kDefaultDelimiter)));
  return given == kGuessDelimiter ? ',' : given;
}

// Between the cells of the table.
absl::StatusOr<char> TableDelimiter(const UploadFlags& flags) {
  MERCER_ASSIGN_OR_RETURN(const char given,
                          ParseDelimiter(flags.delimiter.value_or(kDefaultDelimiter)));
  if (given != kGuessDelimiter) {
    return given;
  }
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<ByteSource> file, OpenInflated(flags.file));
  MERCER_ASSIGN_OR_RETURN(const std::string line, ReadFirstLine(*file));
  return GuessDelimiter(line);
}

// The other flags are about the columns of CSV files.
absl::Status CheckSvmlightFlags(const UploadFlags& flags) {
  return RefuseFlags({{"--role", !flags.roles.empty()},
                      {"--categorical", !flags.categorical.empty()},
                      {"--numeric", !flags.numeric.empty()},
                      {"--block", !flags.blocks.empty()},
                      {"--no-header", flags.no_header},
                      {"--allow-missing", flags.allow_missing},
                      {"--delimiter", flags.delimiter.has_value() && flags.squares.empty()}},
                     "is for CSV files, FILE is svmlight");
}

// The rows of svmlight begin with their target, and their columns are called 1, 2, ...: a number is a column that was meant to
// be the target, and cannot be.
absl::Status CheckSvmlightTarget(const std::string& target) {
  int64_t column = 0;
  FieldViolations violations;
  violations.Check(
      !absl::SimpleAtoi(target, &column), "--target",
      absl::StrCat("the target of an svmlight file is what its rows begin with; --target "
                   "gives it another name than label, and '",
                   target, "' is the name of a column"));
  return violations.ToStatus();
}

absl::Status AddRole(const std::string& text, v1::CsvFormat& csv) {
  MERCER_ASSIGN_OR_RETURN(const auto assignment, SplitAssignment("--role", text));
  const int role = EnumNumber(*v1::ColumnRole_descriptor(), assignment.second);
  if (role < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--role: must be one of feature, target, task, weight, group, split, ignored, "
                     "is '",
                     assignment.second, "'"));
  }
  (*csv.mutable_roles())[assignment.first] = static_cast<v1::ColumnRole>(role);
  return absl::OkStatus();
}

absl::StatusOr<v1::CsvFormat> MakeCsvFormat(const UploadFlags& flags) {
  v1::CsvFormat csv;
  MERCER_ASSIGN_OR_RETURN(const char delimiter, TableDelimiter(flags));
  csv.set_delimiter(std::string(1, delimiter));
  csv.set_no_header(flags.no_header);
  csv.set_allow_missing(flags.allow_missing);
  csv.mutable_categorical()->Assign(flags.categorical.begin(), flags.categorical.end());
  csv.mutable_numeric()->Assign(flags.numeric.begin(), flags.numeric.end());
  for (const std::string& role : flags.roles) {
    MERCER_RETURN_IF_ERROR(AddRole(role, csv));
  }
  if (!flags.target.empty()) {
    (*csv.mutable_roles())[flags.target] = v1::COLUMN_ROLE_TARGET;
  }
  for (const std::string& text : flags.blocks) {
    MERCER_ASSIGN_OR_RETURN(const auto assignment, SplitAssignment("--block", text));
    v1::BlockColumns& block = *csv.add_blocks();
    block.set_name(assignment.first);
    std::vector<std::string> columns;
    MERCER_RETURN_IF_ERROR(SplitList(assignment.second, columns));
    block.mutable_columns()->Assign(columns.begin(), columns.end());
  }
  return csv;
}

// "name=FILE:kernel"
absl::Status AddSquare(const std::string& text, char delimiter, UploadParts& parts) {
  MERCER_ASSIGN_OR_RETURN(const auto assignment, SplitAssignment("--square", text));
  const size_t colon = assignment.second.rfind(':');
  const std::string kind = colon == std::string::npos ? "" : assignment.second.substr(colon + 1);
  if (kind != "kernel" && kind != "distance") {
    return absl::InvalidArgumentError(
        absl::StrCat("--square: must be NAME=FILE:kernel or NAME=FILE:distance, is '", text, "'"));
  }
  MERCER_ASSIGN_OR_RETURN(std::unique_ptr<ByteSource> file,
                          OpenInflated(assignment.second.substr(0, colon)));
  MERCER_ASSIGN_OR_RETURN(SquareValues values, ReadSquareText(*file, delimiter));
  v1::SquareFormat& square = *parts.header.add_parts()->mutable_square();
  square.set_name(assignment.first);
  square.set_kind(kind == "kernel" ? v1::SQUARE_KIND_KERNEL : v1::SQUARE_KIND_DISTANCE);
  square.set_columns(values.columns);
  parts.bytes += static_cast<int64_t>(values.bytes.size());
  parts.sources.push_back(MemorySource(std::move(values.bytes)));
  return absl::OkStatus();
}

absl::StatusOr<UploadParts> MakeParts(const UploadFlags& flags) {
  UploadParts parts;
  MERCER_ASSIGN_OR_RETURN(parts.bytes, RegularFileSize(flags.file));
  MERCER_ASSIGN_OR_RETURN(parts.header, MakeHeader(flags.header, flags.file));
  v1::UploadHeader& header = parts.header;
  if (IsSvmlight(flags.file, flags.format)) {
    MERCER_RETURN_IF_ERROR(CheckSvmlightFlags(flags));
    MERCER_RETURN_IF_ERROR(CheckSvmlightTarget(flags.target));
    header.add_parts()->mutable_svmlight()->set_target_name(flags.target);
  } else {
    MERCER_ASSIGN_OR_RETURN(*header.add_parts()->mutable_csv(), MakeCsvFormat(flags));
  }
  parts.sources.push_back(FileSource(flags.file));
  MERCER_ASSIGN_OR_RETURN(const char delimiter, SquareDelimiter(flags));
  for (const std::string& square : flags.squares) {
    MERCER_RETURN_IF_ERROR(AddSquare(square, delimiter, parts));
  }
  return parts;
}

absl::StatusOr<ExitCode> Upload(Session& session, const UploadFlags& flags) {
  MERCER_ASSIGN_OR_RETURN(UploadParts parts, MakeParts(flags));
  const v1::CsvFormat& csv = parts.header.parts(0).csv();
  if (!session.json() && !flags.delimiter.has_value() && parts.header.parts(0).has_csv() &&
      csv.delimiter() != ",") {
    session.PrintNote(absl::StrCat("cells are taken to be separated by ",
                                   csv.delimiter() == "\t" ? "tabs" : "'" + csv.delimiter() + "'",
                                   "; --delimiter chooses"));
  }
  const auto& roles = csv.roles();
  const bool has_target = std::any_of(roles.begin(), roles.end(), [](const auto& role) {
    return role.second == v1::COLUMN_ROLE_TARGET;
  });
  if (!session.json() && parts.header.parts(0).has_csv() && !has_target) {
    session.PrintNote("no column is the one to predict; --target COLUMN says which one is");
  }
  return SendUpload(session, std::move(parts));
}

absl::StatusOr<ExitCode> List(Session& session, const DatasetListFlags& flags) {
  v1::ListDatasetsRequest filter;
  SetListTexts(flags.texts, filter);
  MERCER_ASSIGN_OR_RETURN(std::vector<v1::Dataset> datasets,
                          session.client().ListDatasets(std::move(filter), flags.limit + 1));
  const bool more = CutToLimit(flags.limit, datasets);
  Table table({"DATA SET", "ROWS", "COLUMNS", "SIZE", "CREATED", "NAME"});
  for (const v1::Dataset& dataset : datasets) {
    if (session.json()) {
      session.PrintJson(dataset);
    } else {
      table.AddRow({dataset.name(), absl::StrCat(dataset.rows()),
                    absl::StrCat(dataset.num_columns()), FormatBytes(dataset.size_bytes()),
                    FormatTime(dataset.create_time()), dataset.display_name()});
    }
  }
  if (!session.json()) {
    session.PrintTable(table, "no data sets");
  }
  return session.EndList(more, flags.limit);
}

absl::StatusOr<ExitCode> ListUnfinished(Session& session, const DatasetListFlags& flags) {
  MERCER_ASSIGN_OR_RETURN(std::vector<v1::Upload> uploads,
                          session.client().ListUploads(flags.limit + 1));
  const bool more = CutToLimit(flags.limit, uploads);
  Table table({"UPLOAD", "CALLER", "RECEIVED", "SIZE", "KEPT UNTIL", "NAME"});
  for (const v1::Upload& upload : uploads) {
    if (session.json()) {
      session.PrintJson(upload);
    } else {
      table.AddRow({upload.name(), upload.caller(), FormatBytes(upload.received_bytes()),
                    FormatBytes(upload.total_bytes()), FormatTime(upload.expire_time()),
                    upload.display_name()});
    }
  }
  if (!session.json()) {
    session.PrintTable(table, "no unfinished uploads");
  }
  return session.EndList(more, flags.limit);
}

absl::StatusOr<ExitCode> Drop(Session& session, const DropFlags& flags) {
  const std::string name = FullName("uploads", flags.name);
  MERCER_RETURN_IF_ERROR(session.client().DeleteUpload(name, flags.caller));
  session.PrintDeleted(name);
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> Show(Session& session, const NameFlags& flags) {
  MERCER_ASSIGN_OR_RETURN(
      const v1::Dataset dataset,
      session.client().GetDataset(FullName("datasets", flags.name), v1::DATASET_VIEW_FULL));
  if (session.json()) {
    session.PrintJson(dataset);
  } else {
    session.out() << FormatDatasetSummary(dataset)
                  << FormatDatasetColumns(dataset, session.terminal())
                  << FormatDatasetQuality(dataset) << std::flush;
  }
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> UpdateDataset(Session& session, const UpdateFlags& flags) {
  v1::UpdateDatasetRequest request;
  MERCER_RETURN_IF_ERROR(ReadUpdateFlags(flags, FullName("datasets", flags.name),
                                         *request.mutable_dataset(),
                                         *request.mutable_update_mask()));
  return PrintUpdated(session, session.client().UpdateDataset(request));
}

absl::StatusOr<ExitCode> Remove(Session& session, const RemoveFlags& flags) {
  const std::string name = FullName("datasets", flags.name);
  std::vector<std::string> models;
  if (!session.json()) {
    models = ModelsTrainedOn(session, name);  // the digest is gone with the data set
  }
  MERCER_RETURN_IF_ERROR(session.client().DeleteDataset(name, flags.when_unused));
  session.PrintDeleted(name);
  if (!models.empty()) {
    session.out() << "trained on it, and still there to predict: "
                  << ShortList(GroupByModel(models))
                  << "\n'mercer verify' of them needs the same data uploaded again" << std::endl;
  }
  return ExitCode::kOk;
}

void AddUpload(CommandLine& line, CLI::App& data) {
  auto flags = std::make_shared<UploadFlags>();
  CLI::App* command = line.Add(data, "upload", "Store a data set", flags, &Upload);
  command->add_option("FILE", flags->file, "CSV or svmlight, may be compressed with gzip")
      ->required();
  command->add_option("--target", flags->target,
                      "Column to be predicted; svmlight: a name for it, default label");
  command->add_option("--format", flags->format, "csv or svmlight; default: by the file's name")
      ->check(CLI::IsMember({"csv", "svmlight"}));
  command
      ->add_option("--delimiter", flags->delimiter,
                   "Between cells: one character or tab; guess: of , ; tab and | the one "
                   "that the first line has most of")
      ->default_str(kDefaultDelimiter);
  command->add_flag("--no-header", flags->no_header,
                    "The first line holds values; names are c1, c2, ...");
  command->add_flag("--allow-missing", flags->allow_missing,
                    "Keep missing cells, for 'train --impute'; else they are errors");
  command
      ->add_option("--role", flags->roles,
                   "COLUMN=ROLE: feature, target, task, weight, group, split, ignored (repeatable)")
      ->allow_extra_args(false);
  command
      ->add_option("--categorical", flags->categorical,
                   "Columns of categories, though they look like numbers")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option("--numeric", flags->numeric, "Columns that must hold numbers")
      ->delimiter(',')
      ->allow_extra_args(false);
  command
      ->add_option("--block", flags->blocks,
                   "NAME=COLUMN,FIRST..LAST: a feature block of these columns (repeatable)")
      ->allow_extra_args(false);
  command
      ->add_option("--square", flags->squares,
                   "NAME=FILE:kernel or NAME=FILE:distance: a matrix over the rows, as text "
                   "without a header (repeatable)")
      ->allow_extra_args(false);
  AddHeaderFlags(*command, flags->header, "the file's name");
}

}  // namespace

void AddDataCommands(CommandLine& line) {
  CLI::App* data = line.app.add_subcommand("data", "Store, list, describe and delete data sets");
  data->require_subcommand(1);
  AddUpload(line, *data);
  AddImageUpload(line, *data);
  auto list = std::make_shared<DatasetListFlags>();
  CLI::App* listing = line.Add(*data, "list", "List data sets, newest first", list, &List);
  AddListTexts(list->texts, *listing);
  listing->add_option("--limit", list->limit, "At most this many")
      ->check(CLI::Range(1, kMaxListed))
      ->capture_default_str();
  auto shown = std::make_shared<NameFlags>();
  line.Add(*data, "show", "Columns, statistics and classes of a data set", shown, &Show)
      ->add_option("DATA", shown->name, "Name of the data set")
      ->required();
  auto updated = std::make_shared<UpdateFlags>();
  CLI::App* update = line.Add(*data, "update", "Change labels or display name of a data set",
                              updated, &UpdateDataset);
  update->add_option("DATA", updated->name, "Name of the data set")->required();
  AddUpdateFlags(*update, *updated);
  auto removed = std::make_shared<RemoveFlags>();
  CLI::App* remove = line.Add(*data, "rm", "Delete a data set", removed, &Remove);
  remove->add_option("DATA", removed->name, "Name of the data set")->required();
  remove->add_flag("--when-unused", removed->when_unused,
                   "If a job needs it: hide it now, delete it when the last such job has ended");
  auto unfinished = std::make_shared<DatasetListFlags>();
  line.Add(*data, "uploads", "List unfinished uploads that can be resumed", unfinished,
           &ListUnfinished)
      ->add_option("--limit", unfinished->limit, "At most this many")
      ->check(CLI::Range(1, kMaxListed))
      ->capture_default_str();
  auto dropped = std::make_shared<DropFlags>();
  CLI::App* drop = line.Add(*data, "drop", "Drop an unfinished upload", dropped, &Drop);
  drop->add_option("UPLOAD", dropped->name, "Name of the upload")->required();
  drop->add_option("--caller", dropped->caller, "Who began it; default: you");
}

}  // namespace mercer::client
