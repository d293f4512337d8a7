#include "server/prediction/row_work.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "core/base/encoding/saved_fields.h"
#include "core/base/status/status_macros.h"

namespace mercer::server {
namespace {

constexpr std::string_view kMagic = "MRCRROWS";
// So many times as long as the last checkpoint has taken there is none: those of many rows are large.
constexpr int kWorkPerSaving = 20;
constexpr size_t kPieceBytes = size_t{16} << 20;

struct RowsHead {
  std::string magic{kMagic};
  std::string model;
  std::string dataset;
  double seconds_used = 0;
  int64_t rows = 0;
  int64_t unpredicted = 0;
  int64_t by_mean = 0;

  static void VisitFields(auto& visit, auto& self) {
    visit(self.magic, self.model, self.dataset, self.seconds_used, self.rows, self.unpredicted,
          self.by_mean);
    visit.Require([&] { return self.magic == kMagic && self.seconds_used >= 0; });
  }
};

// A string, behind which the rows come.
std::string EncodeHead(const RowsHead& head) {
  ByteWriter fields;
  WriteFields(head, fields);
  ByteWriter writer;
  writer.WriteString(fields.bytes());
  return std::move(writer).Take();
}

// The head, and what comes behind it.
std::optional<std::pair<RowsHead, std::string_view>> SplitHead(std::string_view bytes) {
  ByteReader reader(bytes);
  const std::string fields = reader.ReadString();
  ByteReader head_reader(fields);
  RowsHead head;
  ReadFields(head_reader, head);
  if (!reader.ok() || !head_reader.AtEnd()) {
    return std::nullopt;
  }
  return std::make_pair(std::move(head), bytes.substr(sizeof(uint64_t) + fields.size()));
}

}  // namespace

absl::Status RowWork::Resume(
    const LoadedModel& model, const OpenedDataset& dataset,
    absl::FunctionRef<absl::StatusOr<bool>(std::string_view saved)> restore) {
  model_ = model.blob;
  dataset_ = dataset.record.blob;
  rows_ = dataset.dataset->rows;
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<MappedFile> file, checkpoints_.Load());
  if (file == nullptr) {
    return absl::OkStatus();
  }
  const auto found = SplitHead(file->contents());
  const bool fits = found.has_value() && found->first.model == model_ &&
                    found->first.dataset == dataset_ && found->first.rows <= rows_;
  bool restored = false;
  if (fits) {
    const RowsHead& head = found->first;
    done_ = {static_cast<Index>(head.rows), head.unpredicted, head.by_mean};
    saved_rows_ = done_.rows;
    MERCER_ASSIGN_OR_RETURN(restored, restore(found->second));
  }
  if (!restored) {
    done_ = {};
    saved_rows_ = 0;
    checkpoints_.StartOver("the checkpoint cannot be used");
    return absl::OkStatus();
  }
  checkpoints_.GoOn();
  AddSecondsUsed(found->first.seconds_used);
  return absl::OkStatus();
}

absl::Status RowWork::OnBlock(const char* phase) {
  TellProgress(phase, static_cast<double>(done_.rows) / static_cast<double>(rows_));
  if (checkpoints_.IsDue(pause_)) {
    Save();
  }
  return CheckGoesOn();
}

void RowWork::KeepAfter(const absl::Status& error) {
  if (absl::IsCancelled(error) && IsDrained() && done_.rows > saved_rows_) {
    Save();
  }
}

absl::Status RowWork::Append(std::string_view bytes, BlobWriter& writer) const {
  while (!bytes.empty()) {
    if (!IsDrained()) {
      MERCER_RETURN_IF_ERROR(CheckGoesOn());
    }
    const std::string_view piece = bytes.substr(0, kPieceBytes);
    MERCER_RETURN_IF_ERROR(writer.Append(piece));
    bytes.remove_prefix(piece.size());
  }
  return absl::OkStatus();
}

bool RowWork::IsDrained() const {
  return frame_.interruption()->kind() == AttemptInterruptionKind::kDrain;
}

void RowWork::Save() {
  const Clock& clock = *frame_.dependencies().clock;
  const absl::Duration begin = clock.Monotonic();
  checkpoints_.Save([this]() -> absl::StatusOr<PinnedBlob> {
    MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<BlobWriter> writer, context_.blobs->NewBlob());
    const RowsHead head{std::string(kMagic), model_,       dataset_, SecondsUsed(), done_.rows,
                        done_.unpredicted,   done_.by_mean};
    MERCER_RETURN_IF_ERROR(writer->Append(EncodeHead(head)));
    MERCER_RETURN_IF_ERROR(SaveRows(*writer));
    return writer->Commit();
  });
  saved_rows_ = done_.rows;
  pause_ = kWorkPerSaving * (clock.Monotonic() - begin);
}

}  // namespace mercer::server
