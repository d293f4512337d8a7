#include "tests/integration/good_uploads.h"

#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/encoding/crc32c.h"
#include "server/digest/sha256.h"

namespace mercer::server {
namespace {

constexpr char kResumableUpload[] = "resumable";

Messages Parts(FieldWalkTest& test, v1::UploadPart table, const std::vector<std::string>& bytes) {
  auto header = std::make_shared<v1::UploadDatasetRequest>();
  header->mutable_header()->set_dataset_id(absl::StrCat("walked-", test.Count()));
  header->mutable_header()->set_display_name("for people");
  header->mutable_header()->set_request_id(absl::StrCat("request-", test.Count()));
  (*header->mutable_header()->mutable_labels())["team"] = "blue";
  *header->mutable_header()->add_parts() = std::move(table);
  Messages messages = {header};
  for (size_t part = 0; part < bytes.size(); ++part) {
    auto chunk = std::make_shared<v1::UploadDatasetRequest>();
    chunk->mutable_chunk()->set_part(static_cast<int>(part));
    chunk->mutable_chunk()->set_data(bytes[part]);
    messages.push_back(chunk);
  }
  return messages;
}

v1::UploadHeader& HeaderOf(Messages& messages) {
  return *static_cast<v1::UploadDatasetRequest&>(*messages[0]).mutable_header();
}

}  // namespace

std::string BytesOfNumbers(const std::vector<double>& numbers) {
  std::string bytes(numbers.size() * sizeof(double), '\0');
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

Messages CsvUpload(FieldWalkTest& test) {
  const std::string csv = "a;b;color;label\n1;2;red;0\n2;?;blue;1\n3;1;red;1\n";
  v1::UploadPart part;
  v1::CsvFormat& format = *part.mutable_csv();
  format.set_delimiter(";");
  (*format.mutable_roles())["label"] = v1::COLUMN_ROLE_TARGET;
  format.add_categorical("color");
  format.add_numeric("b");
  format.add_missing("?");
  format.set_allow_missing(true);
  v1::BlockColumns& block = *format.add_blocks();
  block.set_name("numbers");
  block.add_columns("a..b");
  Messages messages = Parts(test, part, {csv});
  HeaderOf(messages).set_sha256(Sha256Hex(csv));
  HeaderOf(messages).set_total_bytes(static_cast<int64_t>(csv.size()));
  v1::UploadChunk& chunk = *static_cast<v1::UploadDatasetRequest&>(*messages[1]).mutable_chunk();
  chunk.set_offset(0);
  chunk.set_crc32c(Crc32c(csv));
  return messages;
}

Messages ResumableUpload(FieldWalkTest& test) {
  Messages messages = CsvUpload(test);
  HeaderOf(messages).set_upload_id(kResumableUpload);
  return messages;
}

Messages UploadPage(FieldWalkTest& test) {
  test.EnsureUpload("half");
  test.EnsureUpload("other-half");
  auto request = std::make_shared<v1::ListUploadsRequest>();
  request->set_page_size(1);
  request->set_page_token(
      test.PageToken(test.datasets(), &v1::DatasetService::Stub::ListUploads, *request));
  return {request};
}

void DropUploads(FieldWalkTest& test) { test.DropUpload(kResumableUpload); }

Messages SvmlightUpload(FieldWalkTest& test) {
  v1::UploadPart part;
  part.mutable_svmlight()->set_num_columns(4);
  part.mutable_svmlight()->set_target_name("class");
  return Parts(test, part, {"1 1:0.5 3:2\n-1 2:1 4:1\n"});
}

Messages ImageUpload(FieldWalkTest& test) {
  const std::vector<std::string> images = {"P2 4 4 9\n1 2 3 4 5 6 7 8 9 8 7 6 5 4 3 2\n",
                                           "P5 4 4 255\n0123456789abcdef"};
  v1::UploadPart part;
  v1::ImagesFormat& format = *part.mutable_images();
  format.set_target_name("texture");
  format.set_group_name("image");
  for (const std::string& bytes : images) {
    v1::ImageFile& file = *format.add_files();
    file.set_name(absl::StrCat("image-", format.files_size()));
    file.set_label(absl::StrCat("class-", format.files_size()));
    file.set_size_bytes(static_cast<int64_t>(bytes.size()));
  }
  v1::PatchSpec& patch = *format.mutable_patch();
  patch.set_rows(1);
  patch.set_columns(1);
  patch.set_stride(1);
  patch.set_count(1);
  patch.set_seed(1);
  patch.mutable_region()->set_row(1);
  patch.mutable_region()->set_column(1);
  patch.mutable_region()->set_rows(1);
  patch.mutable_region()->set_columns(1);
  return Parts(test, part, {images[0] + images[1]});
}

Messages DenseUpload(FieldWalkTest& test) {
  v1::UploadPart part;
  v1::DenseFormat& format = *part.mutable_dense();
  format.add_columns()->set_name("x");
  format.mutable_columns(0)->add_categories("low");
  format.mutable_columns(0)->add_categories("high");
  format.add_columns()->set_name("y");
  format.mutable_columns(1)->set_role(v1::COLUMN_ROLE_TARGET);
  format.set_rows(2);
  format.add_blocks()->set_name("numbers");
  format.mutable_blocks(0)->add_columns("x");
  Messages messages =
      Parts(test, part, {BytesOfNumbers({0, 5, 1, 6}), BytesOfNumbers({2, 1, 1, 2})});
  v1::SquareFormat& square = *HeaderOf(messages).add_parts()->mutable_square();
  square.set_name("gram");
  square.set_kind(v1::SQUARE_KIND_KERNEL);
  square.set_columns(2);
  return messages;
}

void DropUploaded(FieldWalkTest& test) { test.DropUploadedDatasets(); }

}  // namespace mercer::server
