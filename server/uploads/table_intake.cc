#include "server/uploads/table_intake.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/synchronization/notification.h"

#include "core/base/process/run_safely.h"
#include "core/base/status/status_macros.h"
#include "core/io/store/dataset_file.h"
#include "server/translation/dataset_translator.h"
#include "server/uploads/table_splitter.h"

namespace mercer::server {
namespace {

// A smaller table is read from its file in no time.
constexpr int64_t kMinTableBytes = int64_t{4} << 20;
constexpr int64_t kMaxRowBytes = int64_t{1} << 20;
// Gathered, visited, hashed and written while they are in the processor's
// second cache.
constexpr size_t kGatheredBytes = size_t{128} << 10;
// Of all tables that are taken in at the same time; what has no room is read
// afterwards.
constexpr int64_t kIntakeBytes = int64_t{256} << 20;

class IntakeSink final : public ByteSink {
 public:
  explicit IntakeSink(BlobWriter& blob) : blob_(blob) {}
  absl::Status Write(std::string_view bytes) override { return blob_.Append(bytes); }

 private:
  BlobWriter& blob_;
};

// The number of rows of the one part, a table that is worth it; 0: it is not.
int64_t AnnouncedRows(const v1::UploadHeader& header) {
  if (header.parts_size() != 1 || !header.parts(0).has_dense()) {
    return 0;
  }
  const v1::DenseFormat& format = header.parts(0).dense();
  const int64_t row_bytes = int64_t{format.columns_size()} * static_cast<int64_t>(sizeof(double));
  if (row_bytes == 0 || row_bytes > kMaxRowBytes) {
    return 0;
  }
  const int64_t stated = header.total_bytes() / row_bytes;
  const int64_t rows = format.rows() > 0 ? format.rows() : stated;
  // The product fits: the announced size was compared with the limit before.
  return rows * row_bytes >= kMinTableBytes ? rows : 0;
}

int64_t IntakeMemory(int64_t rows, size_t role_columns, size_t columns) {
  constexpr int64_t kPerRow = 64;  // its hash, and what is found out of the data set afterwards
  constexpr int64_t kPerColumn = 1024;             // its scan, its place, its names more than once
  constexpr int64_t kPerTable = int64_t{4} << 20;  // a thread, a file and a piece of the table
  return kPerTable + rows * (kPerRow + static_cast<int64_t>(sizeof(double) * role_columns)) +
         kPerColumn * static_cast<int64_t>(columns);
}

}  // namespace

std::unique_ptr<TableIntake> TableIntake::Begin(const v1::UploadHeader& header,
                                                const DatasetContext& context) {
  const int64_t rows = AnnouncedRows(header);
  if (rows == 0) {
    return nullptr;
  }
  const v1::DenseFormat& format = header.parts(0).dense();
  const absl::StatusOr<CsvLayout> layout = ReadDenseLayout(format);
  if (!layout.ok() || layout->blocks.size() != 1) {
    return nullptr;
  }
  Places places;
  for (size_t c = 0; c < layout->columns.size(); ++c) {
    const ColumnRole role = layout->columns[c].role;
    if (role == ColumnRole::kIgnored) {
      return nullptr;
    }
    if (role != ColumnRole::kFeature) {
      places.roles.push_back(c);
    }
  }
  const int64_t room = std::min<int64_t>(kIntakeBytes, context.limits.dataset_bytes / 4);
  std::optional<Budget::Share> memory = context.intake_budget.TryToTake(
      IntakeMemory(rows, places.roles.size(), layout->columns.size()), room);
  const int64_t table_bytes = rows * int64_t{format.columns_size()} * int64_t{sizeof(double)};
  if (!memory.has_value() || !CheckDiskRoom(context, 2 * table_bytes).ok()) {
    return nullptr;
  }
  std::vector<std::vector<Index>> order;
  Dataset shape = ShapeOfTable(*layout, ReadDenseSchemas(format), rows, &order);
  places.features.assign(order[0].begin(), order[0].end());
  for (size_t c = 0; c < places.features.size(); ++c) {
    if (shape.blocks[0].columns[c].categorical) {
      places.categorical.push_back(c);
    }
  }
  std::unique_ptr<TableIntake> intake;
  const absl::Status begun = RunSafely("taking in a table", [&] {
    // It may have no thread.
    intake.reset(new TableIntake(std::move(shape), std::move(places), format.allow_missing()));
    intake->memory_ = *std::move(memory);
    return intake->BeginFile(*context.blobs);
  });
  return begun.ok() ? std::move(intake) : nullptr;
}

TableIntake::TableIntake(Dataset shape, Places places, bool allow_missing)
    : places_(std::move(places)),
      allow_missing_(allow_missing),
      row_bytes_((places_.features.size() + places_.roles.size()) * sizeof(double)),
      dataset_(std::move(shape)),
      block_scan_(static_cast<Index>(places_.features.size()), 0),
      row_hashes_(quality::HashedRows(dataset_.rows)) {
  const size_t rows_at_once = std::max<size_t>(1, kGatheredBytes / row_bytes_);
  piece_.resize(rows_at_once * places_.features.size());
  // Its numbers are those in the file, once they are there.
  dataset_.blocks[0].values =
      SharedMatrix(nullptr, nullptr, dataset_.rows, static_cast<Index>(places_.features.size()));
}

absl::Status TableIntake::BeginFile(BlobStore& blobs) {
  MERCER_ASSIGN_OR_RETURN(blob_, blobs.NewBlob());
  IntakeSink sink(*blob_);
  MERCER_RETURN_IF_ERROR(EncodeBeginning(dataset_, sink));
  offset_ = static_cast<size_t>(blob_->size());
  return absl::OkStatus();
}

// Hashing and writing twice the same bytes, and waiting for the disk, have nothing to do with each other.
absl::Status TableIntake::AddWhile(const v1::UploadChunk& chunk,
                                   const std::function<absl::Status()>& receive) {
  if (failed_) {
    return receive();
  }
  absl::Status added = absl::OkStatus();
  absl::Notification has_added;
  helper_.Post([&] {
    added = RunSafely("taking in a table", [&] { return Add(chunk); });
    has_added.Notify();
  });
  const absl::Status received = RunSafely("receiving a chunk", receive);
  has_added.WaitForNotification();
  failed_ = !added.ok() || !received.ok();
  if (failed_) {
    blob_.reset();
    memory_.Release();
  }
  return received;
}

absl::Status TableIntake::Add(const v1::UploadChunk& chunk) {
  const int64_t offset = chunk.has_offset() ? chunk.offset() : bytes_;
  const std::string_view bytes = chunk.data();
  if (offset > bytes_) {
    return absl::OutOfRangeError("the beginning came with another stream");
  }
  const auto known = static_cast<size_t>(bytes_ - offset);
  return known < bytes.size() ? AddBytes(bytes.substr(known)) : absl::OkStatus();
}

absl::Status TableIntake::AddBytes(std::string_view bytes) {
  bytes_ += static_cast<int64_t>(bytes.size());
  if (!part_of_row_.empty()) {
    const size_t missing = std::min(row_bytes_ - part_of_row_.size(), bytes.size());
    part_of_row_.append(bytes.substr(0, missing));
    bytes.remove_prefix(missing);
    if (part_of_row_.size() < row_bytes_) {
      return absl::OkStatus();
    }
    MERCER_RETURN_IF_ERROR(AddRows(part_of_row_));
  }
  const size_t rows_at_once = piece_.size() / places_.features.size();
  while (bytes.size() >= row_bytes_) {
    const size_t rows = std::min(rows_at_once, bytes.size() / row_bytes_);
    MERCER_RETURN_IF_ERROR(AddRows(bytes.substr(0, rows * row_bytes_)));
    bytes.remove_prefix(rows * row_bytes_);
  }
  part_of_row_ = std::string(bytes);
  return absl::OkStatus();
}

absl::Status TableIntake::AddRows(std::string_view bytes) {
  const auto rows = static_cast<Index>(bytes.size() / row_bytes_);
  if (rows > dataset_.rows - rows_) {
    return absl::InvalidArgumentError("more rows than were announced");
  }
  Gather(bytes, rows);
  if (!HoldsCodes(rows)) {
    return absl::InvalidArgumentError("a value is no code of its categories");
  }
  const auto width = static_cast<Index>(places_.features.size());
  const auto hashed = static_cast<Index>(row_hashes_.size());
  const Index first = std::clamp<Index>(hashed - rows_, 0, rows);
  block_scan_.Add(piece_.data(), first, width, row_hashes_.data() + rows_);
  block_scan_.Add(piece_.data() + first * width, rows - first, width, nullptr);
  const auto numbers = static_cast<size_t>(rows * width);
  if (allow_missing_) {
    MakeMissingAlike(piece_.data(), numbers);
  }
  rows_ += rows;
  return blob_->Append(
      std::string_view(reinterpret_cast<const char*>(piece_.data()), numbers * sizeof(double)));
}

void TableIntake::Gather(std::string_view bytes, Index rows) {
  const std::vector<size_t>& features = places_.features;
  const size_t width = features.size();
  const bool side_by_side = features.back() - features.front() + 1 == width &&
                            std::is_sorted(features.begin(), features.end());
  double* numbers = piece_.data();
  for (Index row = 0; row < rows; ++row, numbers += width) {
    const char* cells = bytes.data() + static_cast<size_t>(row) * row_bytes_;
    if (side_by_side) {
      std::memcpy(numbers, cells + features.front() * sizeof(double), width * sizeof(double));
    }
    for (size_t c = 0; c < width && !side_by_side; ++c) {
      std::memcpy(&numbers[c], cells + features[c] * sizeof(double), sizeof(double));
    }
    for (size_t c = 0; c < places_.roles.size(); ++c) {
      std::memcpy(&dataset_.role_columns[c].values(rows_ + row),
                  cells + places_.roles[c] * sizeof(double), sizeof(double));
    }
  }
}

bool TableIntake::HoldsCodes(Index rows) const {
  const size_t width = places_.features.size();
  return std::all_of(
      places_.categorical.begin(), places_.categorical.end(), [&](const size_t column) {
        const auto size = static_cast<double>(dataset_.blocks[0].columns[column].categories.size());
        for (size_t row = 0; row < static_cast<size_t>(rows); ++row) {
          const double code = piece_[row * width + column];
          const bool is_code = code >= 0 && code < size && code == std::floor(code);
          if (!is_code && !std::isnan(code)) {
            return false;
          }
        }
        return true;
      });
}

bool TableIntake::IsPlain() const {
  const std::vector<quality::ColumnScan>& columns = block_scan_.columns();
  return !failed_ && rows_ == dataset_.rows && part_of_row_.empty() &&
         std::all_of(columns.begin(), columns.end(), [&](const quality::ColumnScan& column) {
           const bool finite = column.min > -kInfinity && column.max < kInfinity;
           return finite && (column.missing == 0 || allow_missing_);
         });
}

absl::StatusOr<std::optional<WrittenDataset>> TableIntake::Finish(
    const std::function<bool()>& is_cancelled) {
  if (!IsPlain()) {
    return std::nullopt;
  }
  WrittenDataset written;
  MERCER_RETURN_IF_ERROR(quality::ScanRoleColumns(dataset_, is_cancelled, written.scan));
  const bool misses_roles =
      std::any_of(written.scan.role_columns.begin(), written.scan.role_columns.end(),
                  [](const quality::ColumnScan& column) { return column.missing > 0; });
  IntakeSink sink(*blob_);
  if ((misses_roles && !allow_missing_) || !ValidateAroundDenseValues(dataset_).ok() ||
      !EncodeRest(dataset_, sink).ok()) {
    return std::nullopt;
  }
  MERCER_ASSIGN_OR_RETURN(const std::shared_ptr<const MappedFile> file, blob_->Map());
  dataset_.blocks[0].values =
      SharedMatrix(file, reinterpret_cast<const double*>(file->contents().data() + offset_),
                   dataset_.rows, static_cast<Index>(places_.features.size()));
  written.dataset = std::move(dataset_);
  written.scan.blocks.push_back(block_scan_.TakeColumns());
  written.scan.row_hashes = std::move(row_hashes_);
  written.blob = std::move(blob_);
  written.memory = std::move(memory_);
  return std::optional<WrittenDataset>(std::move(written));
}

}  // namespace mercer::server
