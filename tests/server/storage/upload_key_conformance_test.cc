// Which upload has made a data set: the store itself lets no second one make another.
#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/server/storage/storage_conformance.h"

namespace mercer::server {
namespace {

class UploadKeyConformance : public StorageConformance {
 protected:
  absl::StatusOr<DatasetRecord> Create(const std::string& id, const std::string& request_key,
                                       const std::string& upload_key) {
    DatasetRecord dataset = MakeDataset(id);
    dataset.request_key = request_key;
    dataset.upload_key = upload_key;
    return storage_->datasets().CreateDataset(std::move(dataset));
  }
  std::string IdOf(const std::string& key) {
    const auto found = storage_->datasets().FindByKey(key);
    EXPECT_TRUE(found.ok()) << found.status();
    return found.ok() && found->has_value() ? (*found)->id : "none";
  }
};

TEST_F(UploadKeyConformance, OneDataSetHasAKey) {
  ASSERT_TRUE(Create("a", "request 1", "upload 1").ok());
  EXPECT_EQ(IdOf("request 1"), "a");
  EXPECT_EQ(IdOf("upload 1"), "a");
  EXPECT_EQ(IdOf("request 2"), "none");
  EXPECT_EQ(storage_->datasets().GetDataset("a")->upload_key, "upload 1");
  for (const auto& [request, upload] : std::vector<std::pair<std::string, std::string>>{
           {"request 1", ""}, {"", "upload 1"}, {"request 2", "upload 1"}}) {
    const absl::Status refused = Create("b", request, upload).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kAlreadyExists);
    EXPECT_EQ(GetReason(refused), "UPLOAD_KNOWN");
    EXPECT_EQ(MetadataOf(refused, "dataset"), "a");
  }
  EXPECT_EQ(storage_->datasets().GetDataset("b").status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(Create("b", "request 2", "").ok());
  EXPECT_TRUE(Create("c", "", "").ok());
  EXPECT_TRUE(Create("d", "", "").ok()) << "none is no key";
}

TEST_F(UploadKeyConformance, KeyIsFreeAgainWithTheEndOfItsDataSet) {
  ASSERT_TRUE(Create("deleted", "request 1", "").ok());
  ASSERT_TRUE(storage_->datasets().DeleteDataset("deleted").ok());
  ASSERT_TRUE(Create("hidden", "request 1", "").ok());
  ASSERT_TRUE(storage_->datasets().HideDataset("hidden").ok());
  EXPECT_EQ(IdOf("request 1"), "none");
  ASSERT_TRUE(Create("third", "request 1", "").ok());
  EXPECT_EQ(IdOf("request 1"), "third");
}

TEST_F(UploadKeyConformance, OfManyAtTheSameTimeOneMakesIt) {
  std::atomic<int> made{0};
  std::vector<std::thread> servers;
  for (int i = 0; i < 8; ++i) {
    servers.emplace_back([&, i] {
      const auto created = Create("set-" + std::to_string(i), "", "upload");
      made += created.ok() ? 1 : 0;
      EXPECT_TRUE(created.ok() || GetReason(created.status()) == "UPLOAD_KNOWN");
    });
  }
  for (std::thread& server : servers) {
    server.join();
  }
  EXPECT_EQ(made, 1);
}

TEST_F(UploadKeyConformance, OfManyAtTheSameTimeAsManyAreStoredAsTheLimitAllows) {
  constexpr int64_t kBytes = 1234;  // of MakeDataset
  std::atomic<int> made{0};
  std::vector<std::thread> servers;
  for (int i = 0; i < 8; ++i) {
    servers.emplace_back([&, i] {
      const auto created =
          storage_->datasets().CreateDataset(MakeDataset("set-" + std::to_string(i)), 3 * kBytes);
      made += created.ok() ? 1 : 0;
      EXPECT_TRUE(created.ok() || GetReason(created.status()) == "STORAGE_QUOTA_EXCEEDED");
    });
  }
  for (std::thread& server : servers) {
    server.join();
  }
  EXPECT_EQ(made, 3);
  EXPECT_EQ(*storage_->datasets().StoredBytes(""), 3 * kBytes);
}

}  // namespace
}  // namespace mercer::server
