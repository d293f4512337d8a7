// Rows to predict from svmlight files.
#include <algorithm>
#include <utility>

#include "client/cpp/errors.h"
#include "client/cpp/table_rows.h"
#include "core/base/status/status_macros.h"
#include "core/io/text/record_reader.h"

namespace mercer::client {
namespace {

// Of an entry in the message: its value, and an index of up to four bytes.
constexpr size_t kEntryBytes = 12;

// Blank lines and comments, which ReadSvmlight skips.
bool IsNoRow(std::string_view line) {
  return line.substr(0, line.find('#')).find_first_not_of(" \t\r") == std::string_view::npos;
}

void CopySparse(const SparseRows& rows, v1::SparseBlock& block) {
  block.mutable_row_starts()->Assign(rows.row_starts.begin(), rows.row_starts.end());
  block.mutable_column_indices()->Assign(rows.column_indices.begin(), rows.column_indices.end());
  block.mutable_values()->Assign(rows.values.begin(), rows.values.end());
}

void CopyDense(ConstRowMatrixRef values, v1::SparseBlock& block) {
  block.add_row_starts(0);
  for (Index r = 0; r < values.rows(); ++r) {
    for (Index c = 0; c < values.cols(); ++c) {
      if (values(r, c) != 0.0) {
        block.add_column_indices(static_cast<int32_t>(c));
        block.add_values(values(r, c));
      }
    }
    block.add_row_starts(block.values_size());
  }
}

// Collects the lines of a batch and lets the reader of the core parse them, so that there is one parser.
class SvmlightRowReader : public RowReader {
 public:
  explicit SvmlightRowReader(std::unique_ptr<ByteSource> source)
      : source_(std::move(source)), lines_(*source_, /*quotes=*/false, ' ') {}

  void Begin(v1::Rows&) override {
    text_.clear();
    rows_before_ = rows_;
  }

  absl::StatusOr<size_t> Add(v1::Rows&) override {
    std::string_view line;
    do {
      MERCER_ASSIGN_OR_RETURN(const bool any, lines_.Next(&line));
      if (!any) {
        return 0;
      }
    } while (IsNoRow(line));
    ++rows_;
    text_.append(line).push_back('\n');
    const auto entries = static_cast<size_t>(std::count(line.begin(), line.end(), ':'));
    return 1 + kEntryBytes * entries;
  }

  absl::Status End(v1::Rows& batch) override {
    const std::unique_ptr<ByteSource> text = MakeMemorySource(std::exchange(text_, ""));
    const absl::StatusOr<Dataset> dataset = ReadSvmlight(*text, SvmlightOptions());
    MERCER_RETURN_IF_ERROR(ShiftErrorRow(dataset.status(), rows_before_));
    const FeatureBlock& block = dataset->blocks.at(0);
    v1::SparseBlock& sparse = *batch.add_sparse();
    if (block.is_sparse) {
      CopySparse(block.sparse, sparse);
    } else {
      CopyDense(block.values.view(), sparse);
    }
    return absl::OkStatus();
  }

 private:
  std::unique_ptr<ByteSource> source_;
  RecordReader lines_;
  std::string text_;  // of the current batch
  int64_t rows_ = 0;
  int64_t rows_before_ = 0;  // the current batch
};

}  // namespace

std::unique_ptr<RowReader> OpenSvmlightRows(std::unique_ptr<ByteSource> source) {
  return std::make_unique<SvmlightRowReader>(std::move(source));
}

}  // namespace mercer::client
