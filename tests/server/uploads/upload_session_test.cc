// What an upload on its way leaves on the disk, and which files it holds open.
#include "server/uploads/upload_session.h"

#include <filesystem>
#include <memory>
#include <string>
#include <unistd.h>
#include <utility>

#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "tests/support/server/real_file_system.h"

namespace mercer::server {
namespace {

// Counts the files that are open for writing; the journals are written, but not to the disk, when that is wanted.
class CountingFiles final : public RealFileSystem {
 public:
  absl::StatusOr<std::unique_ptr<WritableFile>> Create(const std::string& path) override {
    return Count(path, RealFileSystem::Create(path));
  }
  absl::StatusOr<std::unique_ptr<WritableFile>> Reopen(const std::string& path,
                                                       int64_t size) override {
    return Count(path, RealFileSystem::Reopen(path, size));
  }

  int open = 0;
  bool journals_fail = false;

 private:
  class Counted final : public WritableFile {
   public:
    Counted(CountingFiles& files, bool journal, std::unique_ptr<WritableFile> file)
        : files_(files), journal_(journal), file_(std::move(file)) {
      ++files_.open;
    }
    ~Counted() override { --files_.open; }
    absl::Status Append(std::string_view bytes) override { return file_->Append(bytes); }
    absl::Status Sync() override {
      return journal_ && files_.journals_fail ? absl::InternalError("no sync") : file_->Sync();
    }
    absl::Status Close() override { return file_->Close(); }

   private:
    CountingFiles& files_;
    const bool journal_;
    std::unique_ptr<WritableFile> file_;
  };

  absl::StatusOr<std::unique_ptr<WritableFile>> Count(
      const std::string& path, absl::StatusOr<std::unique_ptr<WritableFile>> file) {
    if (!file.ok()) {
      return file;
    }
    const bool journal = std::filesystem::path(path).extension() == ".journal";
    return std::make_unique<Counted>(*this, journal, *std::move(file));
  }
};

class UploadSessionTest : public testing::Test {
 protected:
  UploadSessionTest()
      : folder_(std::filesystem::temp_directory_path() /
                ("upload_session_" + std::to_string(getpid()) + "_" +
                 testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    header_.set_upload_id("u");
    header_.set_total_bytes(100);
    header_.add_parts();
    header_.add_parts();
  }
  ~UploadSessionTest() override { std::filesystem::remove_all(folder_); }

  UploadSessionOptions Options() {
    UploadPolicy policy;
    policy.upload_bytes = 1000;
    policy.space_bytes = policy.caller_space_bytes = 1000;
    policy.files = &files_;
    return {folder_ / "r-u", "anna", policy, Budget()};
  }
  std::shared_ptr<UploadSession> Create() {
    auto session = UploadSession::Create(header_, Options());
    EXPECT_TRUE(session.ok()) << session.status();
    return session.ok() ? *session : nullptr;
  }
  std::shared_ptr<UploadSession> Load() {
    auto session = UploadSession::Load(Options());
    EXPECT_TRUE(session.ok()) << session.status();
    return session.ok() ? *session : nullptr;
  }
  static v1::UploadChunk Chunk(int part, int64_t offset, const std::string& data) {
    v1::UploadChunk chunk;
    chunk.set_part(part);
    chunk.set_offset(offset);
    chunk.set_data(data);
    return chunk;
  }
  static v1::Upload Describe(const UploadSession& session) {
    v1::Upload upload;
    session.Describe(absl::Hours(1), upload);
    return upload;
  }

  const std::filesystem::path folder_;
  CountingFiles files_;
  v1::UploadHeader header_;
};

TEST_F(UploadSessionTest, HoldsNoFileOpenWithoutAStream) {
  const auto session = Create();
  ASSERT_NE(session, nullptr);
  const auto ticket = session->Attach();
  ASSERT_TRUE(ticket.ok()) << ticket.status();
  ASSERT_TRUE(session->Append(*ticket, Chunk(0, 0, "abc")).ok());
  EXPECT_EQ(files_.open, 2);
  session->Detach(*ticket);
  EXPECT_EQ(files_.open, 0);
  EXPECT_EQ(GetReason(session->Append(*ticket, Chunk(0, 3, "d"))), "UPLOAD_TAKEN_OVER");
  const auto loaded = Load();
  ASSERT_NE(loaded, nullptr);
  EXPECT_EQ(files_.open, 0);
  EXPECT_EQ(Describe(*loaded).offset(), 3);
}

// The journal then says more than is there, and the next process would believe it.
TEST_F(UploadSessionTest, FailedSyncOfTheJournalLosesNothingThatWasVouchedFor) {
  const auto session = Create();
  ASSERT_NE(session, nullptr);
  const auto first = session->Attach();
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_TRUE(session->Append(*first, Chunk(0, 0, "abc")).ok());
  session->Detach(*first);
  for (const bool next_part : {false, true}) {
    SCOPED_TRACE(next_part);
    const auto ticket = session->Attach();
    ASSERT_TRUE(ticket.ok()) << ticket.status();
    files_.journals_fail = true;
    if (next_part) {
      EXPECT_FALSE(session->Append(*ticket, Chunk(1, 0, "def")).ok());
    } else {
      ASSERT_TRUE(session->Append(*ticket, Chunk(0, 3, "def")).ok());
      session->Detach(*ticket);
    }
    EXPECT_FALSE(session->Attach().ok()) << "the journal cannot be mended";
    files_.journals_fail = false;
    EXPECT_EQ(files_.open, 0);
    const auto again = session->Attach();
    ASSERT_TRUE(again.ok()) << again.status();
    session->Detach(*again);
    const auto loaded = Load();
    ASSERT_NE(loaded, nullptr);
    const v1::Upload upload = Describe(*loaded);
    EXPECT_EQ(upload.part(), 0);
    EXPECT_EQ(upload.offset(), 3);
  }
}

}  // namespace
}  // namespace mercer::server
