#include <charconv>
#include <cmath>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include "core/base/numeric/hash_table.h"
#include "core/base/status/status_macros.h"
#include "server/gateway/rows/row_texts.h"

namespace mercer::gateway {
namespace {

bool HasShape(const v1::Matrix& matrix, int64_t rows, int64_t columns) {
  return matrix.rows() == rows && matrix.columns() == columns &&
         matrix.values_size() == rows * columns;
}

// Errors: kInternal.
absl::Status CheckShapes(const v1::PredictResponse& response) {
  const int64_t rows = response.decision_values().rows();
  bool good = HasShape(response.decision_values(), rows, response.outputs_size()) &&
              (response.labels_size() == rows || response.labels_size() == 0) &&
              (response.labels_size() > 0 || response.outputs_size() == 1 || rows == 0) &&
              (!response.has_probabilities() ||
               HasShape(response.probabilities(), rows, response.classes_size()));
  for (const v1::Contribution& contribution : response.contributions()) {
    good = good && HasShape(contribution.values(), rows, response.outputs_size());
  }
  for (const v1::LearnedGradient& gradient : response.gradients()) {
    good = good &&
           (!gradient.has_values() || HasShape(gradient.values(), rows, gradient.columns_size())) &&
           (!gradient.has_projections() ||
            HasShape(gradient.projections(), rows, gradient.projections().columns()));
  }
  for (const v1::RowError& error : response.row_errors()) {
    good = good && error.row() >= 1 && error.row() <= rows;
  }
  return good ? absl::OkStatus() : absl::InternalError("an answer contradicts itself");
}

double At(const v1::Matrix& matrix, int64_t row, int column) {
  return matrix.values(static_cast<int>(row * matrix.columns()) + column);
}

// The shortest text that reads back exactly.
void AppendNumber(double value, std::string& text) {
  char digits[32];
  const auto [end, error] = std::to_chars(digits, digits + sizeof(digits), value);
  text.append(digits, end);
}

void AppendJsonText(std::string_view value, std::string& text) {
  text.push_back('"');
  for (const char c : value) {
    if (c == '"' || c == '\\') {
      text.push_back('\\');
      text.push_back(c);
    } else if (static_cast<unsigned char>(c) < 0x20) {
      absl::StrAppendFormat(&text, "\\u%04x", static_cast<unsigned>(c));
    } else {
      text.push_back(c);
    }
  }
  text.push_back('"');
}

void AppendJsonNumber(double value, std::string& text) {
  std::isfinite(value) ? AppendNumber(value, text) : void(text += "null");
}

using Names = google::protobuf::RepeatedPtrField<std::string>;

// {"name": number, ...} of one row.
void AppendJsonRow(const Names& names, const v1::Matrix& matrix, int64_t row, std::string& text) {
  text.push_back('{');
  for (int c = 0; c < names.size(); ++c) {
    text += c == 0 ? "" : ",";
    AppendJsonText(names[c], text);
    text.push_back(':');
    AppendJsonNumber(At(matrix, row, c), text);
  }
  text.push_back('}');
}

// "direction 1", ...: names of the columns of projections.
Names DirectionNames(const v1::LearnedGradient& gradient) {
  Names names;
  for (int64_t k = 0; k < gradient.projections().columns(); ++k) {
    *names.Add() = absl::StrCat("direction ", k + 1);
  }
  return names;
}

// ,"gradients":{output: {column: number}} and ,"projections":{output: {direction: number}} of one row.
void AppendGradients(const v1::PredictResponse& response, int64_t row, std::string& text) {
  std::string gradients;
  std::string projections;
  const auto append = [&](const std::string& output, const Names& names, const v1::Matrix& matrix,
                          std::string& out) {
    out += out.empty() ? "{" : ",";
    AppendJsonText(output, out);
    out.push_back(':');
    AppendJsonRow(names, matrix, row, out);
  };
  for (const v1::LearnedGradient& gradient : response.gradients()) {
    if (gradient.has_values()) {
      append(gradient.output(), gradient.columns(), gradient.values(), gradients);
    }
    if (gradient.has_projections()) {
      append(gradient.output(), DirectionNames(gradient), gradient.projections(), projections);
    }
  }
  text += gradients.empty() ? "" : absl::StrCat(",\"gradients\":", gradients, "}");
  text += projections.empty() ? "" : absl::StrCat(",\"projections\":", projections, "}");
}

void AppendPrediction(const v1::PredictResponse& response, int64_t row, std::string_view error,
                      std::string& text) {
  if (response.labels_size() > 0) {
    text += "{\"label\":";
    AppendJsonText(response.labels(static_cast<int>(row)), text);
    text += ",\"decisionValues\":";
    AppendJsonRow(response.outputs(), response.decision_values(), row, text);
  } else {
    text += "{\"prediction\":";
    AppendJsonNumber(At(response.decision_values(), row, 0), text);
  }
  if (response.has_probabilities()) {
    text += ",\"probabilities\":";
    AppendJsonRow(response.classes(), response.probabilities(), row, text);
  }
  if (response.contributions_size() > 0) {
    text += ",\"contributions\":";
    char before = '{';
    for (const v1::Contribution& contribution : response.contributions()) {
      text.push_back(before);
      before = ',';
      AppendJsonText(contribution.name(), text);
      text.push_back(':');
      AppendJsonRow(response.outputs(), contribution.values(), row, text);
    }
    text.push_back('}');
  }
  AppendGradients(response, row, text);
  if (!error.empty()) {
    text += ",\"error\":";
    AppendJsonText(error, text);
  }
  text.push_back('}');
}

void AppendCell(std::string_view cell, std::string& text) {
  if (cell.find_first_of(",\"\r\n") == std::string_view::npos) {
    text.append(cell);
    return;
  }
  text.push_back('"');
  for (const char c : cell) {
    text.append(c == '"' ? 2 : 1, c);
  }
  text.push_back('"');
}

void AppendCells(const v1::Matrix& matrix, int64_t row, std::string& text) {
  for (int c = 0; c < matrix.columns(); ++c) {
    text.push_back(',');
    AppendNumber(At(matrix, row, c), text);
  }
}

std::string CsvHeader(const v1::PredictResponse& response) {
  std::string text = response.labels_size() > 0 ? "label" : "prediction";
  const auto add = [&](const std::string& name) {
    text.push_back(',');
    AppendCell(name, text);
  };
  if (response.labels_size() > 0) {
    for (const std::string& output : response.outputs()) {
      add("value " + output);
    }
  }
  for (const std::string& name : response.classes()) {
    add("probability " + name);
  }
  for (const v1::Contribution& contribution : response.contributions()) {
    for (const std::string& output : response.outputs()) {
      add(response.outputs_size() > 1 ? absl::StrCat(contribution.name(), " ", output)
                                      : contribution.name());
    }
  }
  for (const v1::LearnedGradient& gradient : response.gradients()) {
    const std::string of = response.outputs_size() > 1 ? absl::StrCat(" ", gradient.output()) : "";
    if (gradient.has_values()) {
      for (const std::string& column : gradient.columns()) {
        add(absl::StrCat("gradient", of, " ", column));
      }
    }
    for (const std::string& direction : DirectionNames(gradient)) {
      add(absl::StrCat(direction, of));
    }
  }
  if (response.row_errors_size() > 0) {
    add("error");
  }
  return text + "\n";
}

void AppendLine(const v1::PredictResponse& response, int64_t row, std::string_view error,
                std::string& text) {
  if (response.labels_size() > 0) {
    AppendCell(response.labels(static_cast<int>(row)), text);
    AppendCells(response.decision_values(), row, text);
  } else {
    AppendNumber(At(response.decision_values(), row, 0), text);
  }
  if (response.has_probabilities()) {
    AppendCells(response.probabilities(), row, text);
  }
  for (const v1::Contribution& contribution : response.contributions()) {
    AppendCells(contribution.values(), row, text);
  }
  for (const v1::LearnedGradient& gradient : response.gradients()) {
    AppendCells(gradient.values(), row, text);
    AppendCells(gradient.projections(), row, text);
  }
  if (response.row_errors_size() > 0) {
    text.push_back(',');
    AppendCell(error, text);
  }
  text.push_back('\n');
}

// No less than as a cell of CSV.
size_t JsonTextBytes(std::string_view value) {
  std::string text;
  AppendJsonText(value, text);
  return text.size();
}

// What all rows take at most. Without its label and error, and with the longest numbers, the first is as long as any other.
size_t BytesOfRows(const v1::PredictResponse& response, size_t first_row) {
  constexpr size_t kNumber = 24;  // -1.7976931348623157e+308
  constexpr std::string_view kFrame = R"(,"error":,)";
  int64_t numbers = int64_t{response.outputs_size()} * (1 + response.contributions_size()) +
                    response.classes_size();
  for (const v1::LearnedGradient& gradient : response.gradients()) {
    numbers += gradient.values().columns() + gradient.projections().columns();
  }
  size_t bytes = static_cast<size_t>(response.decision_values().rows()) *
                 (first_row + kNumber * static_cast<size_t>(numbers) + kFrame.size());
  for (const std::string& label : response.labels()) {
    bytes += JsonTextBytes(label);
  }
  for (const v1::RowError& error : response.row_errors()) {
    bytes += JsonTextBytes(error.message());
  }
  return bytes;
}

using RowWriter = void (*)(const v1::PredictResponse&, int64_t row, std::string_view error,
                           std::string& text);

absl::Status AppendRows(const v1::PredictResponse& response, RowWriter append,
                        std::string_view separator, const MemoryCheck& memory, std::string& text) {
  HashMap<int64_t, std::string_view> errors;
  for (const v1::RowError& error : response.row_errors()) {
    errors.emplace(error.row() - 1, error.message());
  }
  for (int64_t row = 0; row < response.decision_values().rows(); ++row) {
    const auto error = errors.find(row);
    const std::string_view message = error == errors.end() ? std::string_view() : error->second;
    const size_t begin = text.size();
    text += row == 0 ? std::string_view() : separator;
    append(response, row, message, text);
    if (row == 0) {
      const size_t label = response.labels_size() > 0 ? response.labels(0).size() : 0;
      const size_t bytes = BytesOfRows(response, text.size() - begin - label - message.size());
      MERCER_RETURN_IF_ERROR(memory(bytes));
      text.reserve(text.size() + bytes);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> WriteJsonRows(const v1::PredictResponse& response,
                                          const MemoryCheck& memory) {
  MERCER_RETURN_IF_ERROR(CheckShapes(response));
  std::string text = "{\"model\":";
  AppendJsonText(response.model(), text);
  text += ",\"predictions\":[";
  MERCER_RETURN_IF_ERROR(AppendRows(response, AppendPrediction, ",", memory, text));
  text += "]}";
  return text;
}

absl::StatusOr<std::string> WriteCsvRows(const v1::PredictResponse& response,
                                         const MemoryCheck& memory) {
  MERCER_RETURN_IF_ERROR(CheckShapes(response));
  std::string text = CsvHeader(response);
  MERCER_RETURN_IF_ERROR(AppendRows(response, AppendLine, "", memory, text));
  return text;
}

}  // namespace mercer::gateway
