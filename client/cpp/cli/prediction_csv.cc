#include "client/cpp/cli/prediction_csv.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace mercer::client {
namespace {

// As many digits as bring the same double back.
std::string Exact(double value) {
  for (const int digits : {15, 16}) {
    std::string text = absl::StrFormat("%.*g", digits, value);
    double read = 0.0;
    if (absl::SimpleAtod(text, &read) && read == value) {
      return text;
    }
  }
  return absl::StrFormat("%.17g", value);
}

double At(const v1::Matrix& matrix, int64_t row, int64_t column) {
  const int64_t position = row * matrix.columns() + column;
  return position < matrix.values_size() ? matrix.values(static_cast<int>(position)) : 0.0;
}

void AppendRow(const v1::Matrix& matrix, int64_t row, std::string& line) {
  for (int64_t c = 0; c < matrix.columns(); ++c) {
    absl::StrAppend(&line, ",", Exact(At(matrix, row, c)));
  }
}

bool IsClassification(const v1::PredictResponse& response) { return response.labels_size() > 0; }

}  // namespace

std::string CsvCellText(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) {
    return text;
  }
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

void PredictionCsv::WriteHeader(const v1::PredictResponse& response) {
  std::string line = IsClassification(response) ? "label" : "prediction";
  if (values_) {
    for (const std::string& output : response.outputs()) {
      absl::StrAppend(&line, ",", CsvCellText("value " + output));
    }
  }
  for (const v1::Contribution& contribution : response.contributions()) {
    for (const std::string& output : response.outputs()) {
      absl::StrAppend(
          &line, ",",
          CsvCellText(response.outputs_size() > 1 ? absl::StrCat(contribution.name(), " ", output)
                                                  : contribution.name()));
    }
  }
  out_ << line << "\n";
}

void PredictionCsv::Write(const v1::PredictResponse& response) {
  if (!has_header_) {
    WriteHeader(response);
    has_header_ = true;
  }
  for (int64_t r = 0; r < response.decision_values().rows(); ++r) {
    std::string line = IsClassification(response)
                           ? CsvCellText(response.labels(static_cast<int>(r)))
                           : Exact(At(response.decision_values(), r, 0));
    if (values_) {
      AppendRow(response.decision_values(), r, line);
    }
    for (const v1::Contribution& contribution : response.contributions()) {
      AppendRow(contribution.values(), r, line);
    }
    out_ << line << "\n";
  }
}

}  // namespace mercer::client
