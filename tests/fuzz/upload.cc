// Uploads: a sequence of messages, header and chunks in whatever order. A refused upload leaves nothing behind but the
// bytes of one that can be resumed.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>

#include "core/base/encoding/crc32c.h"
#include "core/base/status/errors.h"
#include "core/io/store/dataset_file.h"
#include "mercer/v1/dataset_service.pb.h"
#include "server/digest/sha256.h"
#include "server/storage/sqlite/sqlite_storage.h"
#include "server/uploads/dataset_upload.h"
#include "tests/fuzz/support/checks.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tests/fuzz/support/scratch_folder.h"
#include "tests/fuzz/support/server/answers.h"
#include "tests/fuzz/support/server/message_mutator.h"

namespace mercer::fuzz {
namespace {

constexpr int64_t kMaxDatasetBytes = int64_t{1} << 20;

// Without data sets. One for the process, because it takes longer to make one than to run an input.
server::Storage& EmptyStorage() {
  static const ScratchFolder folder("upload_storage");
  static const std::unique_ptr<server::Storage> storage = [] {
    server::SqliteOptions options;
    options.folder = folder.PathOf("");
    options.num_readers = 1;
    return server::OpenSqliteStorage(options).value();
  }();
  const auto left = storage->datasets().ListDatasets({});
  Require(left.ok(), "data sets are listed");
  for (const server::DatasetRecord& dataset : left->items) {
    Require(storage->datasets().DeleteDataset(dataset.id).ok(), "a data set is deleted");
  }
  return *storage;
}

// A server's part that takes uploads, anew for each input.
class Uploads {
 public:
  Uploads() : folder_("upload"), storage_(&EmptyStorage()) {
    std::filesystem::create_directories(folder_.PathOf("uploads"));
    auto blobs = server::OpenBlobStore(folder_.PathOf("blobs"));
    Require(blobs.ok(), "a blob store can be opened");
    blobs_ = *std::move(blobs);
    context_.storage = storage_;
    context_.blobs = blobs_.get();
    context_.upload_folder = folder_.PathOf("uploads");
    context_.limits.dataset_bytes = kMaxDatasetBytes;
  }

  absl::StatusOr<v1::Dataset> Send(const std::vector<std::string>& messages) {
    server::DatasetUpload upload(context_);
    for (const std::string& bytes : messages) {
      v1::UploadDatasetRequest message;
      if (!message.ParseFromString(bytes)) {
        continue;  // gRPC refuses it
      }
      const absl::Status added = upload.Add(message);
      if (!added.ok()) {
        return added;
      }
    }
    return upload.Finish([] { return false; });
  }

  void RequireNothingLeft(bool may_be_resumed) {
    Require(may_be_resumed || std::filesystem::is_empty(context_.upload_folder),
            "no file of an upload stays");
    const auto blobs = blobs_->List();
    const auto datasets = storage_->datasets().ListDatasets({});
    Require(blobs.ok() && blobs->empty() && datasets.ok() && datasets->items.empty(),
            "a refused upload has changed nothing");
  }

  void RequireStored(const v1::Dataset& dataset) {
    Require(std::filesystem::is_empty(context_.upload_folder), "no file of an upload stays");
    const auto path = blobs_->VerifiedPath(dataset.digest());
    Require(path.ok(), "the content is stored");
    const absl::StatusOr<Dataset> content = OpenDataset(*path);
    Require(content.ok() && content->rows == dataset.rows(), "the content has the rows");
  }

 private:
  ScratchFolder folder_;
  server::Storage* const storage_;
  std::unique_ptr<server::BlobStore> blobs_;
  server::DatasetContext context_;
};

bool HasUploadId(const std::vector<std::string>& messages) {
  return std::any_of(messages.begin(), messages.end(), [](const std::string& bytes) {
    v1::UploadDatasetRequest message;
    return message.ParseFromString(bytes) && !message.header().upload_id().empty();
  });
}

std::string ResumableSeed() {
  const std::string text = "a,y\n1,0\n2,1\n";
  v1::UploadDatasetRequest first;
  v1::UploadHeader& header = *first.mutable_header();
  header.set_upload_id("again");
  header.set_sha256(server::Sha256Hex(text));
  header.set_total_bytes(static_cast<int64_t>(text.size()));
  v1::CsvFormat& csv = *header.add_parts()->mutable_csv();
  (*csv.mutable_roles())["y"] = v1::COLUMN_ROLE_TARGET;
  std::vector<std::string> messages = {first.SerializeAsString()};
  const size_t half = text.size() / 2;
  for (const auto& [from, size] :
       {std::pair(size_t{0}, half), std::pair(half, text.size() - half)}) {
    v1::UploadDatasetRequest message;
    v1::UploadChunk& chunk = *message.mutable_chunk();
    chunk.set_data(text.substr(from, size));
    chunk.set_offset(static_cast<int64_t>(from));
    chunk.set_crc32c(Crc32c(chunk.data()));
    messages.push_back(message.SerializeAsString());
  }
  return JoinMessages(messages);
}

std::string ImageSeed() {
  v1::UploadDatasetRequest header;
  v1::ImagesFormat& images = *header.mutable_header()->add_parts()->mutable_images();
  v1::UploadDatasetRequest chunk;
  for (const std::string bytes : {"P2 2 2 9\n1 2 3 4\n", "P5 3 2 255\nabcdef"}) {
    v1::ImageFile& file = *images.add_files();
    file.set_name("image");
    file.set_label("sand");
    file.set_size_bytes(static_cast<int64_t>(bytes.size()));
    chunk.mutable_chunk()->mutable_data()->append(bytes);
  }
  v1::PatchSpec& patch = *images.mutable_patch();
  patch.set_rows(2);
  patch.set_columns(1);
  patch.set_count(1);
  patch.mutable_region()->set_column(1);
  return JoinMessages({header.SerializeAsString(), chunk.SerializeAsString()});
}

}  // namespace

void TestOneInput(std::string_view bytes) {
  SilenceProtobuf();
  const std::vector<std::string> messages = SplitMessages(bytes);
  Uploads uploads;
  const absl::StatusOr<v1::Dataset> dataset = uploads.Send(messages);
  if (!dataset.ok()) {
    RequireRefusal(dataset.status(),
                   {absl::StatusCode::kInvalidArgument, absl::StatusCode::kResourceExhausted,
                    absl::StatusCode::kDataLoss, absl::StatusCode::kAlreadyExists,
                    absl::StatusCode::kAborted});
    RequireTold(dataset.status());
    uploads.RequireNothingLeft(HasUploadId(messages));
    return;
  }
  RequireSendable(*dataset);
  uploads.RequireStored(*dataset);
  const absl::StatusOr<v1::Dataset> again = uploads.Send(messages);
  Require(again.ok() ? again->digest() == dataset->digest() : absl::IsAlreadyExists(again.status()),
          "the same upload gives the same data set");
}

std::vector<std::string> Seeds() {
  v1::UploadDatasetRequest csv_header;
  v1::UploadHeader& header = *csv_header.mutable_header();
  header.set_dataset_id("clouds");
  header.set_request_id("once");
  (*header.mutable_labels())["team"] = "blue";
  v1::CsvFormat& csv = *header.add_parts()->mutable_csv();
  (*csv.mutable_roles())["y"] = v1::COLUMN_ROLE_TARGET;
  csv.add_categorical("a");
  v1::BlockColumns& block = *csv.add_blocks();
  block.set_name("left");
  block.add_columns("a");
  v1::UploadDatasetRequest csv_chunk;
  csv_chunk.mutable_chunk()->set_data("a,b,y\nred,1,0\nblue,2,1\n");

  v1::UploadDatasetRequest dense_header;
  v1::DenseFormat& dense = *dense_header.mutable_header()->add_parts()->mutable_dense();
  dense.set_rows(2);
  dense.add_columns()->set_name("x");
  v1::DenseColumn& target = *dense.add_columns();
  target.set_name("y");
  target.set_role(v1::COLUMN_ROLE_TARGET);
  target.add_categories("no");
  target.add_categories("yes");
  v1::SquareFormat& square = *dense_header.mutable_header()->add_parts()->mutable_square();
  square.set_name("gram");
  square.set_kind(v1::SQUARE_KIND_KERNEL);
  square.set_columns(2);
  const double numbers[] = {1.5, 0, -2, 1};
  const std::string raw(reinterpret_cast<const char*>(numbers), sizeof(numbers));
  v1::UploadDatasetRequest first;
  first.mutable_chunk()->set_data(raw);
  v1::UploadDatasetRequest second;
  second.mutable_chunk()->set_part(1);
  second.mutable_chunk()->set_data(raw);

  v1::UploadDatasetRequest svmlight_header;
  svmlight_header.mutable_header()->add_parts()->mutable_svmlight()->set_num_columns(9);
  v1::UploadDatasetRequest svmlight_chunk;
  svmlight_chunk.mutable_chunk()->set_data("1 1:0.5 9:2\n-1 3:1\n");
  return {
      JoinMessages({csv_header.SerializeAsString(), csv_chunk.SerializeAsString()}),
      JoinMessages({dense_header.SerializeAsString(), first.SerializeAsString(),
                    second.SerializeAsString()}),
      JoinMessages({svmlight_header.SerializeAsString(), svmlight_chunk.SerializeAsString()}),
      ResumableSeed(),
      ImageSeed(),
  };
}

}  // namespace mercer::fuzz

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  return mercer::fuzz::MutateSequence(mercer::v1::UploadDatasetRequest::default_instance(), data,
                                      size, max_size, seed);
}
