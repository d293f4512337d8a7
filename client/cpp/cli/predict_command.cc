#include <filesystem>
#include <fstream>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "client/cpp/cli/commands.h"
#include "client/cpp/cli/prediction_csv.h"
#include "client/cpp/table_rows.h"
#include "core/base/status_macros.h"

namespace mercer::client {
namespace {

struct PredictFlags {
  std::string model;
  std::string input;
  std::string output;
  bool values = false;
  bool contributions = false;
  std::string delimiter = ",";
  std::string format;
  std::vector<std::string> ignored;
};

bool IsDataset(const PredictFlags& flags) {
  std::error_code error;
  return absl::StartsWith(flags.input, "datasets/") && !std::filesystem::exists(flags.input, error);
}

absl::Status PredictSvmlight(Session& session, const PredictFlags& flags,
                             const v1::PredictHeader& header, const PredictionSink& sink) {
  MERCER_ASSIGN_OR_RETURN(std::unique_ptr<ByteSource> file, OpenFileSource(flags.input));
  MERCER_ASSIGN_OR_RETURN(v1::Rows rows, ReadSvmlightRows(*file));
  const auto next = [&rows]() -> absl::StatusOr<v1::Rows> {
    return std::exchange(rows, v1::Rows());
  };
  return session.client().Predict(header, next, sink);
}

absl::Status PredictCsv(Session& session, const PredictFlags& flags,
                        const v1::PredictHeader& header, const PredictionSink& sink) {
  RowsOptions options;
  MERCER_ASSIGN_OR_RETURN(options.delimiter, ParseDelimiter(flags.delimiter));
  options.ignored = flags.ignored;
  MERCER_ASSIGN_OR_RETURN(std::unique_ptr<ByteSource> file, OpenFileSource(flags.input));
  MERCER_ASSIGN_OR_RETURN(CsvRows rows,
                          CsvRows::Open(MakeInflatingSource(std::move(file), SIZE_MAX), options));
  const absl::Status status = session.client().Predict(
      header, [&rows] { return rows.Next(); }, sink);
  // The server counts the rows of a batch.
  if (!status.ok() && rows.rows() > options.batch_rows && !session.json()) {
    const int64_t first = (rows.rows() - 1) / options.batch_rows * options.batch_rows + 1;
    session.err() << "in rows " << first << " to " << rows.rows() << " of " << flags.input
                  << ", counted from 1:" << std::endl;
  }
  return status;
}

absl::Status PredictAll(Session& session, const PredictFlags& flags, const PredictionSink& sink) {
  v1::PredictHeader header;
  header.set_model(FullName("models", flags.model));
  header.set_contributions(flags.contributions);
  if (IsDataset(flags)) {
    header.set_dataset(flags.input);
    return session.client().PredictDataset(header, sink);
  }
  std::error_code error;
  if (!std::filesystem::is_regular_file(flags.input, error)) {
    return absl::NotFoundError(absl::StrCat("there is no file '", flags.input, "'"));
  }
  return flags.format == "svmlight" ? PredictSvmlight(session, flags, header, sink)
                                    : PredictCsv(session, flags, header, sink);
}

absl::StatusOr<ExitCode> Predict(Session& session, const PredictFlags& flags) {
  std::ofstream file;
  if (!flags.output.empty()) {
    file.open(flags.output, std::ios::binary | std::ios::trunc);
    if (!file) {
      return absl::InvalidArgumentError(
          absl::StrCat("--output: cannot write the file '", flags.output, "'"));
    }
  }
  std::ostream& out = flags.output.empty() ? session.out() : file;
  PredictionCsv csv(out, flags.values);
  int64_t rows = 0;
  std::string model;
  MERCER_RETURN_IF_ERROR(PredictAll(session, flags, [&](const v1::PredictResponse& response) {
    rows += response.decision_values().rows();
    model = response.model();
    if (session.json()) {
      session.PrintJson(response);
    } else {
      csv.Write(response);
    }
    return absl::OkStatus();
  }));
  out.flush();
  if (!out) {
    return absl::DataLossError("the predictions could not be written");
  }
  if (!flags.output.empty() && !session.json()) {
    session.out() << rows << " rows predicted by " << model << ", written to " << flags.output
                  << std::endl;
  }
  return ExitCode::kOk;
}

}  // namespace

void AddPredictCommand(CommandLine& line) {
  auto flags = std::make_shared<PredictFlags>();
  CLI::App* command =
      line.Add(line.app, "predict", "Predict rows: CSV in, CSV out", flags, &Predict);
  command->add_option("MODEL", flags->model, "NAME, NAME/versions/N or NAME@ALIAS")->required();
  command
      ->add_option(
          "FILE", flags->input,
          "CSV with a header, may be compressed with gzip; or a stored data set, datasets/ID")
      ->required();
  command->add_option("--output", flags->output, "Write the predictions to this file");
  command->add_flag("--values", flags->values, "Also the decision values, one column per output");
  command->add_flag("--contributions", flags->contributions,
                    "Also each kernel's share of each decision value");
  command
      ->add_option("--delimiter", flags->delimiter, "Between cells of FILE: one character or tab")
      ->capture_default_str();
  command->add_option("--format", flags->format, "Of FILE: csv (default) or svmlight")
      ->check(CLI::IsMember({"csv", "svmlight"}));
  command->add_option("--ignore", flags->ignored, "Columns of FILE that the model does not know")
      ->delimiter(',');
}

}  // namespace mercer::client
