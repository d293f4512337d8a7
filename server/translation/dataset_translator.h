// Data sets between the API and the core.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/status/errors.h"
#include "core/data/table/dataset.h"
#include "core/io/quality/quality_scan.h"
#include "core/io/text/csv_layout.h"
#include "core/io/text/readers.h"
#include "mercer/v1/dataset.pb.h"
#include "server/storage/records.h"

namespace mercer::server {

// Translates and checks; violations are named below `path`.
CsvOptions ReadCsvFormat(const v1::CsvFormat& format, const std::string& path,
                         FieldViolations& violations);
SvmlightOptions ReadSvmlightFormat(const v1::SvmlightFormat& format, const std::string& path,
                                   FieldViolations& violations);
// Errors: BAD_HEADER.
absl::StatusOr<CsvLayout> ReadDenseLayout(const v1::DenseFormat& format);
// Of each column of the table.
std::vector<ColumnSchema> ReadDenseSchemas(const v1::DenseFormat& format);

// Schema, statistics and counts (view FULL): blocks, squares, role_columns, rows, num_columns.
// `scan` is of `dataset`. `is_cancelled` is asked again and again. Errors: kCancelled.
absl::StatusOr<v1::Dataset> DescribeDataset(const Dataset& dataset, const quality::Scan& scan,
                                            const std::function<bool()>& is_cancelled);

// What a data set's row keeps besides its columns: the description, and what makes an upload
// idempotent.
struct DatasetInfo {
  v1::Dataset description;
  std::string request_id;
  std::string upload_digest;  // of the header's meaning and all bytes
  std::string upload_id;      // of an upload that could be resumed
};

std::string EncodeDatasetInfo(const DatasetInfo& info);
// Errors: kDataLoss.
absl::StatusOr<DatasetInfo> DecodeDatasetInfo(std::string_view bytes);

// The resource in the given view (not UNSPECIFIED). Errors: kDataLoss.
absl::StatusOr<v1::Dataset> WriteDataset(const DatasetRecord& record, v1::DatasetView view);

}  // namespace mercer::server
