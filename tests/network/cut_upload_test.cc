// Uploads over connections that are cut anywhere: before the first word, within a frame, before the answer.
#include <thread>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>

#include "core/base/numeric/random.h"
#include "tests/network/network_fixture.h"

namespace mercer::server {
namespace {

constexpr int kUploadColumns = 16;
constexpr int kUploadRows = 1 << 16;  // 8 MiB

class CutUploadTest : public NetworkTest {
 protected:
  CutUploadTest() {
    header_.set_dataset_id("numbers");
    v1::DenseFormat& dense = *header_.add_parts()->mutable_dense();
    for (int c = 0; c < kUploadColumns; ++c) {
      dense.add_columns()->set_name(absl::StrCat("x", c));
    }
    std::vector<double> values(static_cast<size_t>(kUploadRows) * kUploadColumns);
    RandomStream random(1, "cut-upload");
    for (double& value : values) {
      value = random.Uniform();
    }
    bytes_.assign(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double));
  }

  // The same content is stored once. A call whose connection was cut at its end may still write its own copy, which goes.
  void ExpectOneBlob() {
    EXPECT_TRUE(WaitFor([&] { return FilesIn("blobs") == 1; })) << FilesIn("blobs");
  }

  // Expects that the server holds the content of bytes_, and holds it once.
  void ExpectStoredOnce(const v1::Dataset& dataset) {
    EXPECT_EQ(dataset.rows(), kUploadRows);
    EXPECT_EQ(FilesIn("uploads"), 0u);
    v1::UploadHeader plain = header_;
    plain.set_dataset_id("plain");
    const auto uncut = direct_->UploadDataset(plain, {client::MemorySource(bytes_)});
    ASSERT_TRUE(uncut.ok()) << uncut.status();
    EXPECT_EQ(dataset.digest(), uncut->digest());
    ExpectOneBlob();
    const auto all = direct_->ListDatasets(10);
    ASSERT_TRUE(all.ok()) << all.status();
    EXPECT_EQ(all->size(), 2u) << "the repeated upload made no second data set";
  }

  v1::UploadHeader header_;
  std::string bytes_;
};

TEST_F(CutUploadTest, CutsAtRandomBytesInBothDirectionsLoseNothing) {
  constexpr int kUploadCuts = 24;
  RandomStream random(2, "offsets");
  int connections = 0;
  Start([&]() -> NetworkProxy::Plan {
    const int number = connections++;
    NetworkProxy::Plan plan;
    plan.ending = number % 2 == 0 ? NetworkProxy::Ending::kReset : NetworkProxy::Ending::kClose;
    if (number >= kUploadCuts) {
      return plan;
    }
    switch (number % 4) {
      case 0:  // within the greeting or the headers of the first call
        plan.to_server = 1 + static_cast<int64_t>(random.Below(600));
        break;
      case 1:  // within what the server says
        plan.to_client = 1 + static_cast<int64_t>(random.Below(400));
        break;
      default:
        plan.to_server = 1 + static_cast<int64_t>(random.Below(1'000'000));
    }
    return plan;
  });
  client::Client client(Patient(network_->address()));
  const auto dataset = client.UploadDataset(header_, {client::MemorySource(bytes_)});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(network_->counts().cut, kUploadCuts);
  ExpectStoredOnce(*dataset);
}

TEST_F(CutUploadTest, ResumedUploadSendsNoMoreThanWasLost) {
  constexpr int64_t kBehindHalf = 5 << 20;
  constexpr int64_t kFrames = 256 << 10;  // headers, frames and questions, over both connections
  Start();
  client::Client client(Patient(network_->address()));
  int64_t arrived = 0;
  const auto cut_behind_half = [&](int64_t sent) {
    if (sent != kBehindHalf || arrived > 0) {
      return;
    }
    // Sockets and windows may hold what was sent last.
    EXPECT_TRUE(WaitFor([&] { return BytesIn("uploads") >= kBehindHalf - (1 << 20); }));
    network_->Cut(NetworkProxy::Ending::kReset);
    EXPECT_TRUE(WaitFor([&] {
      const auto uploads = direct_->ListUploads(10);
      arrived = uploads.ok() && !uploads->empty() ? uploads->front().received_bytes() : 0;
      return arrived > 0;
    })) << "the server has not heard of the end of the connection";
  };
  const auto dataset =
      client.UploadDataset(header_, {client::MemorySource(bytes_)}, cut_behind_half);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_GE(arrived, kBehindHalf - (1 << 20));
  EXPECT_LT(network_->counts().to_server,
            kBehindHalf + static_cast<int64_t>(bytes_.size()) - arrived + kFrames);
  ExpectStoredOnce(*dataset);
}

// The client does not learn that it has succeeded, and says everything again.
TEST_F(CutUploadTest, UploadWhoseAnswerIsLostIsTheSameDataSetWhenRepeated) {
  Start();
  client::Client client(Patient(network_->address()));
  ASSERT_TRUE(client.ListDatasets(1).ok());  // connects
  network_->HoldAnswers();
  absl::StatusOr<v1::Dataset> repeated = absl::UnknownError("not finished");
  std::thread uploading([&] {
    repeated = client.UploadDataset(CsvHeader("clouds"), {client::MemorySource(CloudsCsv(200))});
  });
  absl::StatusOr<v1::Dataset> stored = absl::UnknownError("not asked");
  WaitFor([&] {
    return (stored = direct_->GetDataset("datasets/clouds", v1::DATASET_VIEW_FULL)).ok();
  });
  network_->Cut(NetworkProxy::Ending::kReset);
  uploading.join();
  ASSERT_TRUE(stored.ok()) << stored.status();
  ASSERT_TRUE(repeated.ok()) << repeated.status();
  EXPECT_EQ(repeated->SerializeAsString(), stored->SerializeAsString());
  ExpectOneBlob();
}

}  // namespace
}  // namespace mercer::server
