// Predictions as CSV: a header, then one line per row.
#pragma once

#include <deque>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"

#include "mercer/v1/prediction_service.pb.h"

namespace mercer::client {

// Cells of the rows' own columns that go before the predictions: those of the next row first.
struct KeptCells {
  std::vector<std::string> columns = {};
  std::deque<std::vector<std::string>> rows = {};
};

// Columns: those of `kept`; `label` (classes) or `prediction` (numbers); with values the decision
// value of each output; of each contribution its share of each output. Rows with an error have empty
// cells, or with `skip_errors` no line.
class PredictionCsv {
 public:
  PredictionCsv(std::ostream& out, bool values, KeptCells* kept = nullptr, bool skip_errors = false)
      : out_(out), values_(values), kept_(kept), skip_errors_(skip_errors) {}

  // The first response also gives the header. Errors: kDataLoss, before anything is written (the response contradicts
  // itself: other numbers than rows x columns, or labels).
  absl::Status Write(const v1::PredictResponse& response);

 private:
  void WriteHeader(const v1::PredictResponse& response);
  // The cells that are kept of the next row, each followed by a comma.
  std::string TakeKept();

  std::ostream& out_;
  bool values_;
  KeptCells* kept_;  // may be null
  bool skip_errors_;
  bool has_header_ = false;
};

// A cell in quotes as in RFC 4180 where it needs them.
std::string CsvCellText(const std::string& text);

}  // namespace mercer::client
