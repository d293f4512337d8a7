#include <filesystem>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "client/cpp/cli/commands.h"
#include "client/cpp/cli/file_format.h"
#include "client/cpp/cli/prediction_csv.h"
#include "client/cpp/cli/task_flags.h"
#include "client/cpp/cli/text.h"
#include "client/cpp/cli/time_limit.h"
#include "client/cpp/output_file.h"
#include "client/cpp/table_rows.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"

namespace mercer::client {
namespace {

// What becomes of rows with a category that training did not know.
constexpr char kUnseenError[] = "error";
constexpr char kUnseenZeros[] = "zeros";
constexpr char kUnseenSkip[] = "skip";

constexpr size_t kMostErrorsShown = 20;

struct PredictFlags {
  std::string model;
  std::string input;
  std::string output;
  TaskFlags tasks;
  bool values = false;
  bool contributions = false;
  bool gradients = false;
  bool projections = false;
  std::optional<std::string> delimiter;
  std::string format;
  bool no_header = false;
  std::vector<std::string> ignored;
  std::vector<std::string> kept;
  std::string unseen = kUnseenError;
  std::vector<std::string> squares;
  std::optional<std::string> into;
  bool detach = false;
  std::string time_limit;
};

bool IsDataset(const PredictFlags& flags) {
  std::error_code error;
  return absl::StartsWith(flags.input, "datasets/") && !std::filesystem::exists(flags.input, error);
}

// What each kind of input does not read.
absl::Status CheckInputFlags(const PredictFlags& flags) {
  if (!flags.into.has_value()) {
    MERCER_RETURN_IF_ERROR(
        RefuseFlags({{"--detach", flags.detach}, {"--time-limit", !flags.time_limit.empty()}},
                    "is for --into"));
  }
  if (IsDataset(flags)) {
    return RefuseFlags({{"--square", !flags.squares.empty()},
                        {"--ignore", !flags.ignored.empty()},
                        {"--keep", !flags.kept.empty() && !flags.into.has_value()},
                        {"--format", !flags.format.empty()},
                        {"--no-header", flags.no_header},
                        {"--delimiter", flags.delimiter.has_value()}},
                       absl::StrCat("is for files, '", flags.input, "' is a stored data set"));
  }
  if (flags.input.empty()) {
    return RefuseFlags({{"--ignore", !flags.ignored.empty()},
                        {"--keep", !flags.kept.empty()},
                        {"--format", !flags.format.empty()},
                        {"--no-header", flags.no_header}},
                       "is about FILE, which is not given");
  }
  if (IsSvmlight(flags.input, flags.format)) {
    return RefuseFlags({{"--ignore", !flags.ignored.empty()},
                        {"--keep", !flags.kept.empty()},
                        {"--no-header", flags.no_header},
                        {"--delimiter", flags.delimiter.has_value() && flags.squares.empty()}},
                       "is for CSV files, FILE is svmlight");
  }
  return absl::OkStatus();
}

absl::Status AddTable(const PredictFlags& flags, char delimiter, KeptCells& kept,
                      RowBatches& batches) {
  MERCER_ASSIGN_OR_RETURN(std::unique_ptr<ByteSource> file, OpenInflated(flags.input));
  if (IsSvmlight(flags.input, flags.format)) {
    batches.Add(flags.input, OpenSvmlightRows(std::move(file)));
    return absl::OkStatus();
  }
  CsvRowsOptions options;
  options.delimiter = delimiter;
  options.has_header = !flags.no_header;
  options.ignored = flags.ignored;
  options.kept = flags.kept;
  if (!flags.kept.empty()) {
    options.keep = [&kept](std::vector<std::string> cells) {
      kept.rows.push_back(std::move(cells));
    };
  }
  MERCER_ASSIGN_OR_RETURN(std::unique_ptr<RowReader> rows, OpenCsvRows(std::move(file), options));
  batches.Add(flags.input, std::move(rows));
  return absl::OkStatus();
}

// "NAME=FILE"; what kind of matrix it is, as 'data upload' wants it, the model knows.
absl::Status AddSquare(const std::string& text, char delimiter, RowBatches& batches) {
  MERCER_ASSIGN_OR_RETURN(auto assignment, SplitAssignment("--square", text));
  auto& [name, path] = assignment;
  for (const std::string kind : {":kernel", ":distance"}) {
    if (absl::EndsWith(path, kind)) {
      path.resize(path.size() - kind.size());
      break;
    }
  }
  MERCER_ASSIGN_OR_RETURN(std::unique_ptr<ByteSource> file, OpenInflated(path));
  batches.Add(
      path, OpenSquareRows(name, std::move(file), delimiter == kGuessDelimiter ? ',' : delimiter));
  return absl::OkStatus();
}

absl::StatusOr<RowBatches> OpenFiles(const PredictFlags& flags, KeptCells& kept) {
  if (flags.input.empty() && flags.squares.empty()) {
    return absl::InvalidArgumentError("nothing to predict: give a FILE, or --square NAME=FILE");
  }
  MERCER_ASSIGN_OR_RETURN(const char delimiter,
                          ParseDelimiter(flags.delimiter.value_or(kDefaultDelimiter)));
  RowBatches batches;
  if (!flags.input.empty()) {
    MERCER_RETURN_IF_ERROR(AddTable(flags, delimiter, kept, batches));
  }
  for (const std::string& square : flags.squares) {
    MERCER_RETURN_IF_ERROR(AddSquare(square, delimiter, batches));
  }
  return batches;
}

absl::Status PredictAll(Session& session, const PredictFlags& flags, KeptCells& kept,
                        const PredictionSink& sink, const std::stop_token& stop) {
  v1::PredictHeader header;
  header.set_model(FullName("models", flags.model));
  header.set_contributions(flags.contributions);
  header.set_gradients(flags.gradients);
  header.set_projections(flags.projections);
  header.set_task(flags.tasks.task);
  header.set_task_rule(RuleOf(flags.tasks));
  header.set_unseen(flags.unseen == kUnseenZeros ? v1::UNSEEN_ROWS_ZEROS
                                                 : v1::UNSEEN_ROWS_ROW_ERROR);
  if (IsDataset(flags)) {
    header.set_dataset(flags.input);
    return session.client().PredictDataset(header, sink, stop);
  }
  MERCER_ASSIGN_OR_RETURN(RowBatches batches, OpenFiles(flags, kept));
  return session.client().Predict(
      header, [&batches] { return batches.Next(); }, sink, stop);
}

// The rows that were not predicted: how many, and the first of them in words.
struct UnpredictedRows {
  int64_t count = 0;
  std::vector<std::string> messages = {};

  // `rows_before`: of earlier responses.
  void Add(const v1::PredictResponse& response, int64_t rows_before) {
    for (const v1::RowError& error : response.row_errors()) {
      ++count;
      if (messages.size() < kMostErrorsShown) {
        messages.push_back(absl::StrCat("row ", rows_before + error.row(), ", ", error.message()));
      }
    }
  }
  void Show(Session& session) const {
    for (const std::string& message : messages) {
      session.PrintNote(Printable(message));
    }
    if (const int64_t more = count - static_cast<int64_t>(messages.size()); more > 0) {
      session.PrintNote(absl::StrCat("and ", more, " more"));
    }
  }
};

// Into a new data set, by a job of the server.
absl::StatusOr<ExitCode> PredictInto(Session& session, const PredictFlags& flags) {
  if (!IsDataset(flags)) {
    return absl::InvalidArgumentError("--into needs a stored data set, datasets/ID");
  }
  MERCER_RETURN_IF_ERROR(RefuseFlags({{"--output", !flags.output.empty()},
                                      {"--values", flags.values},
                                      {"--contributions", flags.contributions},
                                      {"--gradients", flags.gradients},
                                      {"--projections", flags.projections}},
                                     "is not for --into"));
  if (flags.unseen == kUnseenSkip) {
    return absl::InvalidArgumentError(
        "--unseen skip is not for --into, whose data set has all rows; with error their values are "
        "missing");
  }
  v1::PredictDatasetRequest request;
  request.set_model(FullName("models", flags.model));
  request.set_dataset(flags.input);
  request.set_task(flags.tasks.task);
  request.set_task_rule(RuleOf(flags.tasks));
  request.set_unseen(flags.unseen == kUnseenZeros ? v1::UNSEEN_ROWS_ZEROS
                                                  : v1::UNSEEN_ROWS_ROW_ERROR);
  request.mutable_keep_columns()->Assign(flags.kept.begin(), flags.kept.end());
  request.set_display_name(*flags.into);
  MERCER_RETURN_IF_ERROR(SetTimeLimit(flags.time_limit, request));
  MERCER_ASSIGN_OR_RETURN(const v1::Job job, session.client().StartPrediction(request));
  if (!flags.detach) {
    return WatchToTheEnd(session, job.name());
  }
  if (session.json()) {
    session.PrintJson(job);
  } else {
    session.out() << job.name() << std::endl
                  << "Watch it: mercer watch " << job.name() << std::endl;
  }
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> Predict(Session& session, const PredictFlags& flags) {
  MERCER_RETURN_IF_ERROR(CheckInputFlags(flags));
  if (flags.into.has_value()) {
    return PredictInto(session, flags);
  }
  if (session.json()) {
    MERCER_RETURN_IF_ERROR(RefuseFlags({{"--keep", !flags.kept.empty()}}, "is not for --json"));
  }
  const std::stop_token interrupt = session.CatchInterrupts();
  std::unique_ptr<OutputFile> file;
  if (!flags.output.empty()) {
    MERCER_ASSIGN_OR_RETURN(file, OutputFile::Create(flags.output));
  }
  std::ostream& out = file == nullptr ? session.out() : file->stream();
  KeptCells kept{flags.kept};
  PredictionCsv csv(out, flags.values, &kept, flags.unseen == kUnseenSkip);
  UnpredictedRows unpredicted;
  int64_t rows = 0;
  int64_t rows_by_mean = 0;
  std::string model;
  const auto sink = [&](const v1::PredictResponse& response) {
    unpredicted.Add(response, rows);
    rows += response.decision_values().rows();
    rows_by_mean += response.rows_by_mean();
    model = response.model();
    if (session.json()) {
      out << Session::JsonLine(response);
    } else {
      MERCER_RETURN_IF_ERROR(csv.Write(response));
    }
    return out.good() ? absl::OkStatus() : absl::DataLossError("the predictions cannot be written");
  };
  const absl::Status status = PredictAll(session, flags, kept, sink, interrupt);
  if (!status.ok() && interrupt.stop_requested()) {
    session.PrintNote("interrupted");
    return ExitCode::kInterrupted;
  }
  MERCER_RETURN_IF_ERROR(status);
  if (rows == 0) {
    const std::string shown = flags.input == kStandardInput ? std::string("the standard input")
                                                            : absl::StrCat("'", flags.input, "'");
    return WithReason(absl::InvalidArgumentError(absl::StrCat(shown, " has no rows")), "NO_ROWS");
  }
  if (file != nullptr) {
    MERCER_RETURN_IF_ERROR(file->Commit());
    if (!session.json()) {
      session.BesideFile(flags.output) << rows - unpredicted.count << " rows predicted by " << model
                                       << ", written to " << flags.output << std::endl;
    }
  }
  if (!session.json()) {
    unpredicted.Show(session);
    if (rows_by_mean > 0 && RuleOf(flags.tasks) != v1::TASK_RULE_MEAN) {
      session.PrintNote(
          absl::StrCat(rows_by_mean, " rows were predicted by the mean over all tasks"));
    }
  }
  return unpredicted.count == 0 || flags.unseen == kUnseenSkip ? ExitCode::kOk
                                                               : ExitCode::kBadInput;
}

}  // namespace

void AddPredictCommand(CommandLine& line) {
  auto flags = std::make_shared<PredictFlags>();
  CLI::App* command =
      line.Add(line.app, "predict", "Predict rows: CSV in, CSV out", flags, &Predict);
  command->add_option("MODEL", flags->model, "NAME, NAME/versions/N or NAME@ALIAS")->required();
  command->add_option(
      "FILE", flags->input,
      "CSV or svmlight, may be compressed with gzip; - for the standard input; or a "
      "stored data set, datasets/ID");
  command->add_option("--output", flags->output,
                      "Write the predictions to this file, which is left alone unless all succeed");
  command->add_option("--into", flags->into,
                      "Predict a stored data set into a new one of this name, by a job of the "
                      "server, which is watched to its end; Ctrl-C detaches, the job goes on");
  command->add_flag("--detach", flags->detach, "With --into: do not watch the job");
  command->add_option("--time-limit", flags->time_limit,
                      absl::StrCat("With --into: ", kTimeLimitHelp));
  AddTaskFlags(*command, flags->tasks);
  command->add_flag("--values", flags->values, "Also the decision values, one column per output");
  command->add_flag("--contributions", flags->contributions,
                    "Also each kernel's share of each decision value");
  command->add_flag(
      "--gradients", flags->gradients,
      "Also the gradients that the model has learned, one column for each of its own");
  command->add_flag("--projections", flags->projections,
                    "Also the rows in the coordinates of the leading directions of the gradients");
  command
      ->add_option("--delimiter", flags->delimiter,
                   "Between cells of files: one character or tab; guess: as the first line tells, "
                   "with --square a comma")
      ->default_str(kDefaultDelimiter);
  command->add_option("--format", flags->format, "csv or svmlight; default: by the file's name")
      ->check(CLI::IsMember({"csv", "svmlight"}));
  command->add_flag("--no-header", flags->no_header,
                    "The first line of FILE holds values too; its columns are named c1, c2, ...");
  command->add_option("--ignore", flags->ignored, "Columns of FILE that the model does not know")
      ->delimiter(',')
      ->allow_extra_args(false);
  command
      ->add_option("--keep", flags->kept,
                   "Columns of FILE, or with --into of the data set, to write beside the "
                   "predictions; beside --ignore where the "
                   "model does not know them")
      ->delimiter(',')
      ->allow_extra_args(false);
  command
      ->add_option("--unseen", flags->unseen,
                   "Rows with a category that training did not know: error names them, leaves "
                   "their predictions empty and ends with exit code 3; skip leaves them out; zeros "
                   "predicts them with 0 in all features of the column. All others are predicted")
      ->check(CLI::IsMember({kUnseenError, kUnseenZeros, kUnseenSkip}))
      ->capture_default_str();
  command
      ->add_option("--square", flags->squares,
                   "NAME=FILE: kernel values or distances between these rows and all training "
                   "rows, as text without a header (repeatable)")
      ->allow_extra_args(false);
}

}  // namespace mercer::client
