// Predictions as CSV: a header, then one line per row.
#pragma once

#include <ostream>
#include <string>

#include "absl/status/status.h"

#include "mercer/v1/prediction_service.pb.h"

namespace mercer::client {

// Columns: `label` (classes) or `prediction` (numbers); with values the decision value of each
// output; of each contribution its share of each output.
class PredictionCsv {
 public:
  PredictionCsv(std::ostream& out, bool values) : out_(out), values_(values) {}

  // The first response also gives the header. Errors: kDataLoss, before anything is written (the response contradicts
  // itself: other numbers than rows x columns, or labels).
  absl::Status Write(const v1::PredictResponse& response);

 private:
  void WriteHeader(const v1::PredictResponse& response);

  std::ostream& out_;
  bool values_;
  bool has_header_ = false;
};

// A cell in quotes as in RFC 4180 where it needs them.
std::string CsvCellText(const std::string& text);

}  // namespace mercer::client
