// Uploads whose connection is cut, and whose server is killed, again and again.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <mutex>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"

#include "client/cpp/upload.h"
#include "core/base/numeric/random.h"
#include "tests/fault/connection.h"
#include "tests/fault/fault_fixture.h"
#include "tests/support/server/cutting_proxy.h"

namespace mercer::server {
namespace {

constexpr int kCuts = 20;

int PortOf(const std::string& address) {
  int port = 0;
  EXPECT_TRUE(absl::SimpleAtoi(address.substr(address.rfind(':') + 1), &port)) << address;
  return port;
}

class ResumedUploadTest : public FaultTest {
 protected:
  ResumedUploadTest() {
    header_.set_dataset_id("numbers");
    v1::DenseFormat& dense = *header_.add_parts()->mutable_dense();
    for (int c = 0; c < kColumns; ++c) {
      dense.add_columns()->set_name(absl::StrCat("x", c));
    }
    std::vector<double> values(static_cast<size_t>(kRows) * kColumns);
    RandomStream random(1, "resumed-upload");
    for (double& value : values) {
      value = random.Uniform();
    }
    bytes_.assign(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double));
  }

  // As many attempts as it takes, in quick succession as long as they get somewhere: beside other programs the server may notice late
  // that a connection was cut, and what it has brought counts only then.
  static client::ClientOptions Patient(const std::string& address) {
    client::ClientOptions options;
    options.address = address;
    options.watch_retry.max_attempts = 1000;
    options.watch_retry.initial_backoff = absl::Milliseconds(20);
    options.watch_retry.max_backoff = absl::Seconds(2);
    return options;
  }

  // The digest of the same data set, uploaded without any trouble.
  static std::string PlainDigest(const std::string& address, v1::UploadHeader header,
                                 const std::string& bytes) {
    header.set_dataset_id("plain");
    client::Client client(OneTry(address));
    const auto dataset = client.UploadDataset(header, {client::MemorySource(bytes)});
    EXPECT_TRUE(dataset.ok()) << dataset.status();
    return dataset.ok() ? dataset->digest() : "";
  }

  static constexpr int kColumns = 16;
  static constexpr int kRows = 1 << 18;  // 32 MiB

  v1::UploadHeader header_;
  std::string bytes_;
};

TEST_F(ResumedUploadTest, TwentyCutsLoseNothing) {
  ServerProcess server(Options("data"));
  ASSERT_TRUE(server.WaitUntilListening()) << server.Log();
  RandomStream random(2, "cuts");
  std::mutex mutex;
  int connections = 0;
  CuttingProxy proxy([&] { return PortOf(server.address()); },
                     [&]() -> int64_t {
                       const std::lock_guard lock(mutex);
                       const bool cut = connections++ < kCuts;
                       // Some have brought a chunk of a MiB by then, and some have not.
                       return cut ? 10'000 + static_cast<int64_t>(random.Below(2'500'000)) : -1;
                     });
  client::Client client(Patient(proxy.address()));
  const auto dataset = client.UploadDataset(header_, {client::MemorySource(bytes_)});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(proxy.cuts(), kCuts);
  EXPECT_LT(proxy.passed().back(), static_cast<int64_t>(bytes_.size())) << "it was not resumed";
  EXPECT_EQ(dataset->rows(), kRows);
  EXPECT_EQ(CountFiles("data/uploads"), 0u);
  EXPECT_EQ(dataset->digest(), PlainDigest(server.address(), header_, bytes_));
  EXPECT_EQ(CountFiles("data/blobs"), 1u) << "the same content is stored once";
}

// Lets an upload come to a point and no further until it is told to.
class Gate {
 public:
  explicit Gate(int64_t point) : point_(point) {}
  // The upload has come to `position`.
  void Pass(int64_t position) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    position_ = position;
    const auto is_open = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return position < point_; };
    mutex_.Await(absl::Condition(&is_open));
  }
  void WaitForUpload() ABSL_LOCKS_EXCLUDED(mutex_) {
    const auto is_there = [&]()
                              ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return position_ >= point_; };
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&is_there));
  }
  void Open(int64_t point) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    point_ = point;
  }

 private:
  absl::Mutex mutex_;
  int64_t point_ ABSL_GUARDED_BY(mutex_);
  int64_t position_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Until the server has bytes of the upload that it does not lose when it is killed.
void WaitUntilVouched(const std::string& address, const std::string& upload_id) {
  const Connection connection(address);
  v1::GetUploadRequest request;
  request.set_name(absl::StrCat("uploads/", upload_id));
  const absl::Time deadline = absl::Now() + absl::Minutes(1);
  v1::Upload upload;
  while (upload.received_bytes() == 0 && absl::Now() < deadline) {
    grpc::ClientContext context;
    const grpc::Status status = connection.datasets->GetUpload(&context, request, &upload);
    ASSERT_TRUE(status.ok()) << status.error_message();
    absl::SleepFor(absl::Milliseconds(1));  // the server does not say when it has vouched for more
  }
  EXPECT_GT(upload.received_bytes(), 0);
}

TEST_F(ResumedUploadTest, KilledServersLoseNothing) {
  constexpr int kKills = 4;
  const auto size = static_cast<int64_t>(bytes_.size());
  const ServerProcessOptions options = Options("data");
  auto server = std::make_unique<ServerProcess>(options);
  ASSERT_TRUE(server->WaitUntilListening()) << server->Log();
  std::atomic<int> port = PortOf(server->address());
  CuttingProxy proxy([&] { return port.load(); }, [] { return int64_t{-1}; });
  Gate gate(size / (kKills + 1));
  absl::StatusOr<v1::Dataset> dataset = absl::UnknownError("not finished");
  const auto content = client::DigestSources({client::MemorySource(bytes_)});
  ASSERT_TRUE(content.ok()) << content.status();
  v1::UploadHeader header = header_;
  client::MakeResumable(*content, header);
  std::thread uploading([&] {
    client::Client client(Patient(proxy.address()));
    dataset = client.UploadDataset(header, {client::MemorySource(bytes_)},
                                   [&](int64_t sent) { gate.Pass(sent); });
  });
  for (int kill = 1; kill <= kKills; ++kill) {
    gate.WaitForUpload();
    if (kill == kKills) {
      WaitUntilVouched(server->address(), header.upload_id());
    }
    server->Kill();
    server->WaitForExit();
    server = std::make_unique<ServerProcess>(options);
    EXPECT_TRUE(server->WaitUntilListening()) << server->Log();
    port = PortOf(server->address());
    gate.Open(kill == kKills ? size + 1 : (kill + 1) * size / (kKills + 1));
  }
  uploading.join();
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_LT(proxy.passed().back(), size) << "it was not resumed";
  EXPECT_EQ(dataset->digest(), PlainDigest(server->address(), header_, bytes_));
  EXPECT_EQ(CountFiles("data/uploads"), 0u);
}

// The largest anonymous memory of a process while this object lives. Pages of mapped files are the system's to take back.
class AnonymousPeak {
 public:
  explicit AnonymousPeak(pid_t pid)
      : pid_(pid), begin_(Now()), thread_([this](const std::stop_token& stop) {
          while (!stop.stop_requested()) {
            peak_ = std::max<int64_t>(peak_, Now());
            absl::SleepFor(absl::Milliseconds(20));
          }
        }) {}
  int64_t growth() const { return peak_ - begin_; }

 private:
  int64_t Now() const { return StatusBytes(pid_, "RssAnon"); }

  const pid_t pid_;
  const int64_t begin_;
  std::atomic<int64_t> peak_ = 0;
  std::jthread thread_;
};

// A long run: MERCER_UPLOAD_BYTES=5368709120 bin/tests/fault_test --gtest_filter='*LargeUpload*'
TEST_F(ResumedUploadTest, LargeUploadTakesConstantMemoryOverTwentyCuts) {
  int64_t size = int64_t{96} << 20;
  const char* wanted = std::getenv("MERCER_UPLOAD_BYTES");
  ASSERT_TRUE(wanted == nullptr || absl::SimpleAtoi(wanted, &size));
  size = std::max(size / static_cast<int64_t>(bytes_.size()), int64_t{1}) *
         static_cast<int64_t>(bytes_.size());
  const std::string file = folder_ / "numbers";
  {
    std::ofstream out(file, std::ios::binary);
    for (int64_t written = 0; written < size; written += static_cast<int64_t>(bytes_.size())) {
      out.write(bytes_.data(), static_cast<std::streamsize>(bytes_.size()));
    }
  }
  ServerProcessOptions options = Options("data");
  options.flags = {"--max-upload", absl::StrCat(size)};
  ServerProcess server(options);
  ASSERT_TRUE(server.WaitUntilListening()) << server.Log();
  RandomStream random(3, "large-cuts");
  std::mutex mutex;
  int connections = 0;
  CuttingProxy proxy([&] { return PortOf(server.address()); },
                     [&]() -> int64_t {
                       const std::lock_guard lock(mutex);
                       const auto most = static_cast<uint64_t>(size / 12);
                       const bool cut = connections++ < kCuts;
                       return cut ? 10'000 + static_cast<int64_t>(random.Below(most)) : -1;
                     });
  header_.mutable_parts(0)->mutable_dense()->mutable_columns(3)->set_role(v1::COLUMN_ROLE_TARGET);
  client::Client client(Patient(proxy.address()));
  const AnonymousPeak peak(server.pid());
  int64_t transfer_growth = 0;
  const auto dataset = client.UploadDataset(header_, {client::FileSource(file)}, [&](int64_t sent) {
    transfer_growth = sent == size ? peak.growth() : transfer_growth;
  });
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(proxy.cuts(), kCuts);
  EXPECT_LT(transfer_growth, int64_t{64} << 20);
  EXPECT_EQ(dataset->rows(), size / (kColumns * static_cast<int64_t>(sizeof(double))));
  RecordProperty("transfer_growth_bytes", absl::StrCat(transfer_growth));
  RecordProperty("growth_bytes", absl::StrCat(peak.growth()));
  // 48 MiB for the transfer and the pieces of the table; a target, hashes of rows and a described column for each row.
  EXPECT_LT(peak.growth(), (int64_t{160} << 20) + dataset->rows() * 72);
}

}  // namespace
}  // namespace mercer::server
