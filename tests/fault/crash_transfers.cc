// The uploads in pieces of a client of the crash suite: begun, cut by kills, resumed by the next stream or the next life of
// the server, finished or dropped. What the server has said to hold it holds; the whole is what it would be in one piece.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>

#include "client/cpp/errors.h"
#include "core/base/encoding/crc32c.h"
#include "server/digest/sha256.h"
#include "tests/fault/crash_client.h"
#include "tests/fault/crash_workload.h"

namespace mercer::server {
namespace {

constexpr int64_t kPieceBytes = 200;

const std::vector<std::string>& PartsOf(size_t content) {
  static const std::vector<std::vector<std::string>> parts = [] {
    std::vector<std::vector<std::string>> made;
    for (int i = 0; i < kTransferContents; ++i) {
      made.push_back(MakeTransferParts(i));
    }
    return made;
  }();
  return parts[content];
}

int64_t TotalBytes(size_t content) {
  int64_t total = 0;
  for (const std::string& part : PartsOf(content)) {
    total += static_cast<int64_t>(part.size());
  }
  return total;
}

// The piece that begins at a position of the whole, within one part and before `end`.
v1::UploadDatasetRequest PieceAt(size_t content, int64_t position, int64_t end) {
  const std::vector<std::string>& parts = PartsOf(content);
  int part = 0;
  int64_t offset = position;
  while (offset >= static_cast<int64_t>(parts[static_cast<size_t>(part)].size())) {
    offset -= static_cast<int64_t>(parts[static_cast<size_t>(part)].size());
    ++part;
  }
  v1::UploadDatasetRequest message;
  v1::UploadChunk& chunk = *message.mutable_chunk();
  chunk.set_part(part);
  chunk.set_offset(offset);
  chunk.set_data(parts[static_cast<size_t>(part)].substr(
      static_cast<size_t>(offset), static_cast<size_t>(std::min(kPieceBytes, end - position))));
  chunk.set_crc32c(Crc32c(chunk.data()));
  return message;
}

}  // namespace

v1::UploadHeader CrashClient::HeaderOf(const Transfer& transfer) const {
  v1::UploadHeader header = MakeTransferHeader();
  header.set_dataset_id(transfer.id);
  header.set_upload_id(transfer.id);
  header.set_total_bytes(TotalBytes(transfer.content));
  Sha256 hash;
  for (const std::string& part : PartsOf(transfer.content)) {
    hash.Update(part);
  }
  header.set_sha256(hash.FinishHex());
  return header;
}

void CrashClient::Forget(Transfer& transfer) {
  transfer.content = Draw(random_, kTransferContents);
  transfer.kept = -1;
  transfer.sent = 0;
  transfer.dataset.reset();
}

void CrashClient::NoteDataset(Transfer& transfer, const v1::Dataset& dataset) {
  EXPECT_EQ(dataset.name(), absl::StrCat("datasets/", transfer.id));
  EXPECT_EQ(dataset.digest(), reference_.transfer_digests[transfer.content]) << transfer.id;
  if (transfer.dataset.has_value()) {
    EXPECT_EQ(Difference(*transfer.dataset, dataset), "");
  }
  transfer.dataset = dataset;
}

void CrashClient::ReadTransfer(Transfer& transfer, bool may_be_gone) {
  grpc::ClientContext context;
  v1::GetUploadRequest request;
  request.set_name(absl::StrCat("uploads/", transfer.id));
  v1::Upload upload;
  const absl::Status status =
      client::ToAbslStatus(connection_->datasets->GetUpload(&context, request, &upload));
  if (Lost(status)) {
    return;
  }
  if (!status.ok()) {
    EXPECT_TRUE(absl::IsNotFound(status)) << status;
    EXPECT_TRUE(may_be_gone || (transfer.kept < 0 && !transfer.dataset.has_value()))
        << transfer.id << " is lost, with " << transfer.kept << " bytes";
    Forget(transfer);
  } else if (upload.dataset().empty()) {
    EXPECT_FALSE(transfer.dataset.has_value()) << transfer.id << " was finished";
    EXPECT_GE(upload.received_bytes(), transfer.kept) << transfer.id;
    EXPECT_LE(upload.received_bytes(), transfer.sent) << transfer.id;
    transfer.kept = upload.received_bytes();
  } else {
    EXPECT_EQ(transfer.sent, TotalBytes(transfer.content)) << transfer.id << " is not all there";
    const absl::StatusOr<v1::Dataset> dataset =
        connection_->client.GetDataset(upload.dataset(), v1::DATASET_VIEW_FULL);
    if (!Lost(dataset.status())) {
      ASSERT_TRUE(dataset.ok()) << dataset.status();
      NoteDataset(transfer, *dataset);
    }
  }
}

void CrashClient::Send(Transfer& transfer, int64_t begin, int64_t end) {
  const int64_t total = TotalBytes(transfer.content);
  transfer.sent = std::max(transfer.sent, end);
  grpc::ClientContext context;
  v1::Dataset dataset;
  const auto writer = connection_->datasets->UploadDataset(&context, &dataset);
  v1::UploadDatasetRequest message;
  *message.mutable_header() = HeaderOf(transfer);
  bool open = writer->Write(message);
  for (int64_t position = begin; open && position < end;) {
    message = PieceAt(transfer.content, position, end);
    position += static_cast<int64_t>(message.chunk().data().size());
    open = writer->Write(message);
  }
  // Not broken off: a cancelled call may still take effect after later ones have, which only a kill excludes.
  writer->WritesDone();
  const absl::Status status = client::ToAbslStatus(writer->Finish());
  if (Lost(status)) {
    doubt_ = [this, &transfer] { ReadTransfer(transfer, /*may_be_gone=*/false); };
  } else if (end == total) {
    ASSERT_TRUE(status.ok()) << transfer.id << ": " << status;
    NoteDataset(transfer, dataset);
  } else {
    EXPECT_EQ(client::ReadErrorReport(status).reason, "BAD_SIZE") << status;
    transfer.kept = std::max(transfer.kept, end);
  }
}

void CrashClient::TransferSome() {
  Transfer& transfer = AnyTransfer();
  if (transfer.dataset.has_value() && OneIn(2)) {
    return DeleteTransferred(transfer);
  }
  if (transfer.dataset.has_value()) {
    // A finished upload answers to its header alone.
    return Send(transfer, transfer.sent, transfer.sent);
  }
  ReadTransfer(transfer, /*may_be_gone=*/false);
  if (lost_ || transfer.dataset.has_value()) {
    return;
  }
  const int64_t total = TotalBytes(transfer.content);
  const int64_t kept = std::max(transfer.kept, int64_t{0});
  const int64_t end =
      OneIn(3) ? total
               : kept + static_cast<int64_t>(Draw(random_, static_cast<size_t>(total - kept) + 1));
  const int64_t again = static_cast<int64_t>(Draw(random_, static_cast<size_t>(kept) + 1));
  on_moment_(Moment::kTransfer);
  Send(transfer, OneIn(2) ? kept : again, end);
}

void CrashClient::DeleteTransferred(Transfer& transfer) {
  on_moment_(Moment::kDelete);
  const absl::Status status = connection_->client.DeleteDataset(transfer.dataset->name());
  if (Lost(status)) {
    doubt_ = [this, &transfer] { ReadTransfer(transfer, /*may_be_gone=*/true); };
    return;
  }
  EXPECT_TRUE(status.ok()) << status;
  Forget(transfer);
}

void CrashClient::DropTransfer() {
  Transfer& transfer = AnyTransfer();
  if (transfer.dataset.has_value()) {
    return;
  }
  grpc::ClientContext context;
  v1::DeleteUploadRequest request;
  request.set_name(absl::StrCat("uploads/", transfer.id));
  google::protobuf::Empty answer;
  on_moment_(Moment::kTransfer);
  const absl::Status status =
      client::ToAbslStatus(connection_->datasets->DeleteUpload(&context, request, &answer));
  if (Lost(status)) {
    doubt_ = [this, &transfer] { ReadTransfer(transfer, /*may_be_gone=*/true); };
    return;
  }
  EXPECT_TRUE(status.ok() || (absl::IsNotFound(status) && transfer.kept < 0)) << status;
  Forget(transfer);
}

void CrashClient::CheckTransfers() {
  constexpr int kManyUploads = 100'000;
  const absl::StatusOr<std::vector<v1::Upload>> uploads =
      connection_->client.ListUploads(kManyUploads);
  if (Lost(uploads.status())) {
    return;
  }
  ASSERT_TRUE(uploads.ok()) << uploads.status();
  for (const Transfer& transfer : transfers_) {
    const std::string name = absl::StrCat("uploads/", transfer.id);
    const auto listed =
        std::find_if(uploads->begin(), uploads->end(),
                     [&](const v1::Upload& upload) { return upload.name() == name; });
    if (listed != uploads->end()) {
      EXPECT_FALSE(transfer.dataset.has_value()) << name << " was finished";
      EXPECT_GE(listed->received_bytes(), transfer.kept) << name;
      EXPECT_LE(listed->received_bytes(), transfer.sent) << name;
    } else {
      EXPECT_TRUE(transfer.dataset.has_value() || transfer.kept < 0) << name << " is not listed";
    }
  }
}

void CrashClient::FinishTransfer(Transfer& transfer) {
  ReadTransfer(transfer, /*may_be_gone=*/false);
  if (!lost_ && !transfer.dataset.has_value()) {
    Send(transfer, std::max(transfer.kept, int64_t{0}), TotalBytes(transfer.content));
  }
}

}  // namespace mercer::server
