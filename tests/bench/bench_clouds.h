// The data that the benchmarks of the service train on, and quantiles of what they measure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include <grpcpp/client_context.h>

#include "core/base/numeric/random.h"
#include "mercer/v1/dataset_service.grpc.pb.h"

namespace mercer::server {

inline constexpr int kColumns = 20;

// Two classes of `rows` points, apart in two of `columns` columns, as CSV with the target "y". `id` names the draw.
inline std::string CloudsAsCsv(const std::string& id, int rows, int columns = kColumns) {
  std::string csv;
  for (int c = 0; c < columns; ++c) {
    absl::StrAppend(&csv, "x", c, ",");
  }
  csv += "y\n";
  RandomStream random(1, id);
  for (int r = 0; r < rows; ++r) {
    for (int c = 0; c < columns; ++c) {
      absl::StrAppend(&csv, random.Normal() + (c < 2 && r % 2 == 1 ? 2.0 : 0.0), ",");
    }
    absl::StrAppend(&csv, r % 2, "\n");
  }
  return csv;
}

// Uploads `csv`, which has the target "y", as the data set `id`.
inline grpc::Status UploadCsv(v1::DatasetService::Stub& datasets, const std::string& id,
                              const std::string& csv) {
  grpc::ClientContext context;
  v1::Dataset dataset;
  auto writer = datasets.UploadDataset(&context, &dataset);
  v1::UploadDatasetRequest message;
  message.mutable_header()->set_dataset_id(id);
  (*message.mutable_header()->add_parts()->mutable_csv()->mutable_roles())["y"] =
      v1::COLUMN_ROLE_TARGET;
  writer->Write(message);
  constexpr size_t kChunk = size_t{1} << 20;
  for (size_t begin = 0; begin < csv.size(); begin += kChunk) {
    message.mutable_chunk()->set_offset(static_cast<int64_t>(begin));
    message.mutable_chunk()->set_data(csv.substr(begin, kChunk));
    writer->Write(message);
  }
  writer->WritesDone();
  return writer->Finish();
}

inline grpc::Status UploadClouds(v1::DatasetService::Stub& datasets, const std::string& id,
                                 int rows) {
  return UploadCsv(datasets, id, CloudsAsCsv(id, rows));
}

// The smallest value that a share of them does not exceed; 0 of none.
template <typename Number = double>
double Quantile(std::vector<Number> values, double share) {
  if (values.empty()) {
    return 0;
  }
  std::sort(values.begin(), values.end());
  return static_cast<double>(values[std::min(
      values.size() - 1, static_cast<size_t>(share * static_cast<double>(values.size())))]);
}

}  // namespace mercer::server
