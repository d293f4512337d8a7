#include "client/cpp/cli/prediction_csv.h"

#include <algorithm>
#include <set>

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

// By division: rows x columns may not fit.
bool HasRows(const v1::Matrix& matrix, int64_t rows) {
  const int64_t values = matrix.values_size();
  return matrix.rows() == rows && matrix.columns() >= 0 &&
         (rows <= 0 ? values == 0 : values % rows == 0 && values / rows == matrix.columns());
}

bool IsConsistent(const v1::PredictResponse& response) {
  const int64_t rows = response.decision_values().rows();
  const bool has_labels = response.labels_size() > 0;
  return rows >= 0 && HasRows(response.decision_values(), rows) &&
         (has_labels ? response.labels_size() == rows
                     : rows == 0 || response.decision_values().columns() > 0) &&
         std::all_of(response.contributions().begin(), response.contributions().end(),
                     [&](const v1::Contribution& contribution) {
                       return HasRows(contribution.values(), rows);
                     }) &&
         std::all_of(
             response.gradients().begin(), response.gradients().end(),
             [&](const v1::LearnedGradient& gradient) {
               const v1::Matrix& values = gradient.values();
               return (!gradient.has_values() ||
                       (HasRows(values, rows) && values.columns() == gradient.columns_size())) &&
                      (!gradient.has_projections() || HasRows(gradient.projections(), rows));
             });
}

double At(const v1::Matrix& matrix, int64_t row, int64_t column) {
  return matrix.values(static_cast<int>(row * matrix.columns() + column));
}

void AppendRow(const v1::Matrix& matrix, int64_t row, bool failed, std::string& line) {
  for (int64_t c = 0; c < matrix.columns(); ++c) {
    absl::StrAppend(&line, ",", failed ? "" : Exact(At(matrix, row, c)));
  }
}

// Rows from 0 that the server could not predict.
std::set<int64_t> FailedRows(const v1::PredictResponse& response) {
  std::set<int64_t> rows;
  for (const v1::RowError& error : response.row_errors()) {
    rows.insert(error.row() - 1);
  }
  return rows;
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
  std::string line;
  for (const std::string& column : kept_ == nullptr ? std::vector<std::string>() : kept_->columns) {
    absl::StrAppend(&line, CsvCellText(column), ",");
  }
  absl::StrAppend(&line, IsClassification(response) ? "label" : "prediction");
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
  for (const v1::LearnedGradient& gradient : response.gradients()) {
    const std::string of = response.outputs_size() > 1 ? absl::StrCat(" ", gradient.output()) : "";
    for (int c = 0; c < gradient.values().columns(); ++c) {
      absl::StrAppend(&line, ",",
                      CsvCellText(absl::StrCat("gradient", of, " ", gradient.columns(c))));
    }
    for (int k = 0; k < gradient.projections().columns(); ++k) {
      absl::StrAppend(&line, ",", CsvCellText(absl::StrCat("direction ", k + 1, of)));
    }
  }
  out_ << line << "\n";
}

std::string PredictionCsv::TakeKept() {
  std::string cells;
  if (kept_ != nullptr && !kept_->rows.empty()) {
    for (const std::string& cell : kept_->rows.front()) {
      absl::StrAppend(&cells, CsvCellText(cell), ",");
    }
    kept_->rows.pop_front();
  }
  return cells;
}

absl::Status PredictionCsv::Write(const v1::PredictResponse& response) {
  if (!IsConsistent(response)) {
    return absl::DataLossError("the server's answer holds other numbers than it says");
  }
  if (!has_header_) {
    WriteHeader(response);
    has_header_ = true;
  }
  const std::set<int64_t> failed_rows = FailedRows(response);
  for (int64_t r = 0; r < response.decision_values().rows(); ++r) {
    std::string line = TakeKept();
    const bool failed = failed_rows.count(r) > 0;
    if (failed && skip_errors_) {
      continue;
    }
    if (!failed) {
      line += IsClassification(response) ? CsvCellText(response.labels(static_cast<int>(r)))
                                         : Exact(At(response.decision_values(), r, 0));
    }
    if (values_) {
      AppendRow(response.decision_values(), r, failed, line);
    }
    for (const v1::Contribution& contribution : response.contributions()) {
      AppendRow(contribution.values(), r, failed, line);
    }
    for (const v1::LearnedGradient& gradient : response.gradients()) {
      AppendRow(gradient.values(), r, failed, line);
      AppendRow(gradient.projections(), r, failed, line);
    }
    out_ << line << "\n";
  }
  return absl::OkStatus();
}

}  // namespace mercer::client
