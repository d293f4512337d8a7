#include "server/blobs/blob_store.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

#include "core/base/memory/memory_reserve.h"
#include "core/base/numeric/hash_table.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "server/blobs/owned_folder.h"
#include "server/digest/sha256.h"

namespace mercer::server {
namespace {

// Two changes of a file within this time may leave it with the same time stamp: the clock of file systems ticks with
// the kernel, every 10 ms at the longest.
constexpr absl::Duration kTimeStampGrain = absl::Milliseconds(20);

bool IsDigest(const std::string& text) {
  return text.size() == 64 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

absl::Status CheckDigest(const std::string& digest) {
  return IsDigest(digest)
             ? absl::OkStatus()
             : absl::InvalidArgumentError(absl::StrCat("not a digest: '", digest, "'"));
}

// Tells whether bytes are what they were, at the speed of memory, where a digest takes several times as long. Every step
// is one to one in the word and in the lane: damage of a single word shows for certain. So many lanes that the processor
// waits for no product.
class QuickChecksum {
 public:
  using Lanes = std::array<uint64_t, 8>;

  // All pieces but the last are multiples of 64 bytes.
  void Update(std::string_view piece) {
    Lanes lanes = lanes_;
    size_t at = 0;
    for (; at + sizeof(lanes) <= piece.size(); at += sizeof(lanes)) {
      AddWords(piece.data() + at, lanes, std::make_index_sequence<std::tuple_size_v<Lanes>>());
    }
    for (; at < piece.size(); ++at) {
      Add(static_cast<unsigned char>(piece[at]), lanes[0]);
    }
    lanes_ = lanes;
  }
  const Lanes& value() const { return lanes_; }

 private:
  // One word for each lane, unrolled.
  template <size_t... kLane>
  static void AddWords(const char* words, Lanes& lanes, std::index_sequence<kLane...> /*all*/) {
    (Add(WordAt(words + kLane * sizeof(uint64_t)), lanes[kLane]), ...);
  }
  static uint64_t WordAt(const char* bytes) {
    uint64_t word = 0;
    std::memcpy(&word, bytes, sizeof(word));
    return word;
  }
  static void Add(uint64_t word, uint64_t& lane) {
    lane = (lane ^ word) * 0x9E3779B97F4A7C15U;
    lane ^= lane >> 32;
  }

  Lanes lanes_ = {1, 2, 3, 4, 5, 6, 7, 8};
};

// In pieces, between which `cancellation` is looked at: a large file takes seconds.
template <typename Hash>
absl::Status UpdateInPieces(std::string_view content, const CancellationToken& cancellation,
                            Hash& hash) {
  constexpr size_t kPiece = size_t{16} << 20;
  for (size_t begin = 0; begin < content.size(); begin += kPiece) {
    if (cancellation.cancelled()) {
      return absl::CancelledError("cancelled while a stored file was verified");
    }
    hash.Update(content.substr(begin, kPiece));
  }
  return absl::OkStatus();
}

absl::Status CheckContent(const std::string& digest, std::string_view content,
                          const CancellationToken& cancellation) {
  Sha256 hash;
  MERCER_RETURN_IF_ERROR(UpdateInPieces(content, cancellation, hash));
  if (hash.FinishHex() != digest) {
    return WithReason(absl::DataLossError(absl::StrCat(
                          "the blob ", digest, " is damaged: its content has another digest")),
                      "BLOB_DAMAGED", {{"blob", digest}});
  }
  return absl::OkStatus();
}

class DiskBlobStore final : public BlobStore {
 public:
  DiskBlobStore(std::string folder, FileSystem* files, const std::shared_ptr<OwnedFolder>& own)
      : folder_(std::move(folder)), files_(files), pins_(std::make_shared<PinTable>(files, own)) {}

  absl::Status Prepare() {
    // The folder's own name is in the folder above: without it all that is synced below is lost with the power.
    MERCER_RETURN_IF_ERROR(
        files_->SyncFolder(std::filesystem::absolute(folder_).parent_path().string()));
    MERCER_RETURN_IF_ERROR(files_->SyncFolder(folder_));
    MERCER_ASSIGN_OR_RETURN(const std::vector<std::string> folders, files_->List(folder_));
    absl::MutexLock lock(&folders_mutex_);
    folders_.insert(folders.begin(), folders.end());
    return absl::OkStatus();
  }

  absl::StatusOr<std::unique_ptr<BlobWriter>> NewBlob() override;

  absl::StatusOr<std::unique_ptr<MappedFile>> Read(const std::string& digest,
                                                   const CancellationToken& cancellation) override {
    MERCER_RETURN_IF_ERROR(CheckDigest(digest));
    MERCER_ASSIGN_OR_RETURN(std::unique_ptr<MappedFile> file, files_->Map(BlobPath(digest)));
    MERCER_RETURN_IF_ERROR(CheckContent(digest, file->contents(), cancellation));
    return file;
  }

  absl::StatusOr<std::string> VerifiedPath(const std::string& digest) override {
    MERCER_ASSIGN_OR_RETURN(const FileIdentity identity, Identify(digest));
    {
      absl::MutexLock lock(&verified_mutex_);
      const auto known = verified_.find(digest);
      if (known != verified_.end() && known->second.file == identity) {
        return BlobPath(digest);
      }
    }
    MERCER_RETURN_IF_ERROR(Verify(digest, CancellationToken()).status());
    return BlobPath(digest);
  }

  absl::StatusOr<FileIdentity> Verify(const std::string& digest,
                                      const CancellationToken& cancellation) override {
    MERCER_ASSIGN_OR_RETURN(const FileIdentity identity, Identify(digest));
    MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<MappedFile> file, files_->Map(BlobPath(digest)));
    const std::string_view content = file->contents();
    QuickChecksum checksum;
    MERCER_RETURN_IF_ERROR(UpdateInPieces(content, cancellation, checksum));
    {
      absl::MutexLock lock(&verified_mutex_);
      const auto known = verified_.find(digest);
      if (known != verified_.end() && known->second.file == identity &&
          known->second.checksum == checksum.value()) {
        return identity;
      }
    }
    const absl::Status found = CheckContent(digest, content, cancellation);
    absl::MutexLock lock(&verified_mutex_);
    if (found.ok()) {
      verified_[digest] = {identity, checksum.value()};
    } else if (absl::IsDataLoss(found)) {
      verified_.erase(digest);
    }
    MERCER_RETURN_IF_ERROR(found);
    return identity;
  }

  absl::StatusOr<FileIdentity> Identify(const std::string& digest) override {
    MERCER_RETURN_IF_ERROR(CheckDigest(digest));
    return files_->Identify(BlobPath(digest));
  }

  absl::StatusOr<PinnedBlob> Pin(const std::string& digest) override {
    MERCER_RETURN_IF_ERROR(CheckDigest(digest));
    std::shared_ptr<void> pin;
    absl::StatusOr<FileIdentity> identity;
    {
      absl::MutexLock lock(&pins_->mutex);
      MERCER_ASSIGN_OR_RETURN(pin, TakePin(pins_, digest));
      identity = files_->Identify(BlobPath(digest));
    }
    MERCER_RETURN_IF_ERROR(identity.status());
    return PinnedBlob(digest, identity->size, std::move(pin));
  }

  absl::StatusOr<std::shared_ptr<void>> HoldDeletions() override {
    absl::MutexLock lock(&pins_->mutex);
    return TakePin(pins_, kPinsAll);
  }

  absl::StatusOr<std::vector<std::string>> List() override {
    std::vector<std::string> digests;
    MERCER_ASSIGN_OR_RETURN(const std::vector<std::string> folders, files_->List(folder_));
    for (const std::string& folder : folders) {
      if (folder.size() != 2) {
        continue;
      }
      MERCER_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                              files_->List(absl::StrCat(folder_, "/", folder)));
      std::copy_if(names.begin(), names.end(), std::back_inserter(digests), IsDigest);
    }
    return digests;
  }

  absl::StatusOr<bool> DeleteIf(
      const std::string& digest,
      absl::FunctionRef<absl::StatusOr<bool>()> is_unreferenced) override {
    MERCER_RETURN_IF_ERROR(CheckDigest(digest));
    const std::string deleted = NewTemporaryPath();
    MERCER_ASSIGN_OR_RETURN(const std::vector<std::string> others, pins_->own->Others());
    const auto is_free = [&]() -> absl::StatusOr<bool> {
      MERCER_ASSIGN_OR_RETURN(const bool pinned, IsPinnedElsewhere(*pins_, others, digest));
      return pinned ? absl::StatusOr<bool>(false) : is_unreferenced();
    };
    {
      absl::MutexLock lock(&pins_->mutex);
      if (pins_->counts.contains(kPinsAll) || pins_->counts.contains(digest)) {
        return false;
      }
      MERCER_ASSIGN_OR_RETURN(const bool unreferenced, is_free());
      if (!unreferenced) {
        return false;
      }
      absl::Status removed = files_->Rename(BlobPath(digest), deleted);
      if (absl::IsResourceExhausted(removed) && others.empty()) {
        removed =
            files_->Remove(BlobPath(digest));  // a full disk may have no room for the new name
      }
      if (absl::IsNotFound(removed)) {
        return false;
      }
      MERCER_RETURN_IF_ERROR(removed);
      // Another process may have stored the same content, and its row, since it was looked up: whoever does so from here on makes the
      // file anew.
      const absl::StatusOr<bool> still = others.empty() ? absl::StatusOr<bool>(true) : is_free();
      if (!still.ok() || !*still) {
        MERCER_RETURN_IF_ERROR(files_->Rename(deleted, BlobPath(digest)));
        return still;
      }
      absl::MutexLock verified_lock(&verified_mutex_);
      verified_.erase(digest);
    }
    // A large file takes seconds, for which no other blob shall wait. The next start removes what stays.
    files_->Remove(deleted).IgnoreError();
    return true;
  }

  FileSystem& files() { return *files_; }
  // Gives a written and synced temporary file its name; answers the pinned blob.
  absl::StatusOr<PinnedBlob> Adopt(const std::string& temporary, const std::string& digest,
                                   int64_t size) {
    MERCER_RETURN_IF_ERROR(EnsureFolder(digest));
    std::shared_ptr<void> pin;
    absl::Status renamed;
    {
      // Renaming over an equal file is harmless, and replaces one that was damaged.
      absl::MutexLock lock(&pins_->mutex);
      MERCER_ASSIGN_OR_RETURN(pin, TakePin(pins_, digest));  // before others can see the blob
      renamed = files_->Rename(temporary, BlobPath(digest));
    }
    MERCER_RETURN_IF_ERROR(renamed);  // behind the lock, which the end of a pin takes
    PinnedBlob blob(digest, size, std::move(pin));
    MERCER_RETURN_IF_ERROR(files_->SyncFolder(BlobFolder(digest)));
    RememberVerified(digest);
    return blob;
  }

 private:
  std::string NewTemporaryPath() {
    return absl::StrCat(pins_->own->path(), "/", ++last_temporary_);
  }
  std::string BlobFolder(const std::string& digest) const {
    return absl::StrCat(folder_, "/", digest.substr(0, 2));
  }
  std::string BlobPath(const std::string& digest) const {
    return absl::StrCat(BlobFolder(digest), "/", digest);
  }

  // The blob's bytes were hashed on their way to the disk: its first reader need not do that again.
  void RememberVerified(const std::string& digest) {
    const absl::StatusOr<FileIdentity> identity = files_->Identify(BlobPath(digest));
    // A file so fresh that a later change might not show is verified when it is read: it is small.
    const bool shows_changes =
        identity.ok() &&
        absl::Now() - absl::FromUnixNanos(identity->modified_nanoseconds) >= kTimeStampGrain;
    if (shows_changes) {
      absl::MutexLock lock(&verified_mutex_);
      verified_[digest] = {*identity};
    }
  }

  // Makes the folder of the blob when it is missing.
  absl::Status EnsureFolder(const std::string& digest) {
    absl::MutexLock lock(&folders_mutex_);
    const std::string name = digest.substr(0, 2);
    if (!folders_.contains(name)) {
      MERCER_RETURN_IF_ERROR(files_->MakeFolder(BlobFolder(digest)));
      MERCER_RETURN_IF_ERROR(files_->SyncFolder(folder_));
      folders_.insert(name);
    }
    return absl::OkStatus();
  }

  const std::string folder_;
  FileSystem* const files_;
  std::atomic<int64_t> last_temporary_{0};
  // Its mutex also orders adoption and deletion of files.
  const std::shared_ptr<PinTable> pins_;
  absl::Mutex folders_mutex_;
  HashSet<std::string> folders_
      ABSL_GUARDED_BY(folders_mutex_);  // names in folder_ that are there for sure
  absl::Mutex verified_mutex_;
  // The state in which a file's digest was found right.
  struct Verified {
    FileIdentity file;
    std::optional<QuickChecksum::Lanes> checksum = std::nullopt;  // once it was needed
  };
  HashMap<std::string, Verified> verified_ ABSL_GUARDED_BY(verified_mutex_);
};

class DiskBlobWriter final : public BlobWriter {
 public:
  DiskBlobWriter(DiskBlobStore* store, std::string path, std::unique_ptr<WritableFile> file)
      : store_(store), path_(std::move(path)), file_(std::move(file)) {}
  ~DiskBlobWriter() override {
    const ScopedAllocations scope(Allocations::kNeeded);
    file_.reset();
    if (!moved_) {
      store_->files().Remove(path_).IgnoreError();  // the next start removes it otherwise
    }
  }

  absl::Status Append(std::string_view bytes) override {
    MERCER_RETURN_IF_ERROR(file_->Append(bytes));
    hash_.Update(bytes);
    size_ += static_cast<int64_t>(bytes.size());
    return absl::OkStatus();
  }
  int64_t size() const override { return size_; }
  absl::StatusOr<std::unique_ptr<MappedFile>> Map() const override {
    return store_->files().Map(path_);
  }
  absl::StatusOr<PinnedBlob> Commit() override {
    const ScopedAllocations scope(Allocations::kNeeded);  // what is moved has its pin
    MERCER_RETURN_IF_ERROR(file_->Sync());
    MERCER_RETURN_IF_ERROR(file_->Close());
    MERCER_ASSIGN_OR_RETURN(PinnedBlob blob, store_->Adopt(path_, hash_.FinishHex(), size_));
    moved_ = true;
    return blob;
  }

 private:
  DiskBlobStore* const store_;
  const std::string path_;
  std::unique_ptr<WritableFile> file_;
  Sha256 hash_;
  int64_t size_ = 0;
  bool moved_ = false;  // the temporary file is no longer there
};

absl::StatusOr<std::unique_ptr<BlobWriter>> DiskBlobStore::NewBlob() {
  const std::string path = NewTemporaryPath();
  MERCER_ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file, files_->Create(path));
  return std::make_unique<DiskBlobWriter>(this, path, std::move(file));
}

}  // namespace

absl::StatusOr<PinnedBlob> BlobStore::Put(std::string_view bytes) {
  MERCER_ASSIGN_OR_RETURN(std::unique_ptr<BlobWriter> writer, NewBlob());
  MERCER_RETURN_IF_ERROR(writer->Append(bytes));
  return writer->Commit();
}

absl::Status BlobMissing(std::string_view digest) {
  return WithReason(absl::DataLossError(absl::StrCat("the stored file ", std::string(digest),
                                                     " is missing: was it removed by hand?")),
                    "BLOB_MISSING", {{"blob", std::string(digest)}});
}

absl::StatusOr<std::unique_ptr<BlobStore>> OpenBlobStore(const std::string& folder,
                                                         FileSystem& file_system) {
  const std::string temporary = absl::StrCat(folder, "/tmp");
  MERCER_RETURN_IF_ERROR(file_system.MakeFolder(folder));
  MERCER_RETURN_IF_ERROR(file_system.MakeFolder(temporary));
  MERCER_ASSIGN_OR_RETURN(const std::shared_ptr<OwnedFolder> own,
                          OwnedFolder::TakeEmpty(file_system, temporary));
  auto store = std::make_unique<DiskBlobStore>(folder, &file_system, own);
  MERCER_RETURN_IF_ERROR(store->Prepare());
  return store;
}

}  // namespace mercer::server
