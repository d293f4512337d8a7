// Another store of blobs, for doubles that change one kind of call.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "server/blobs/blob_store.h"

namespace mercer::server {

class ForwardingBlobStore : public BlobStore {
 public:
  // `inner` may be null for doubles that answer all calls that come.
  explicit ForwardingBlobStore(BlobStore* inner) : inner_(inner) {}

  absl::StatusOr<std::unique_ptr<BlobWriter>> NewBlob() override { return inner_->NewBlob(); }
  absl::StatusOr<std::unique_ptr<MappedFile>> Read(const std::string& digest,
                                                   const CancellationToken& cancellation) override {
    return inner_->Read(digest, cancellation);
  }
  absl::StatusOr<std::string> VerifiedPath(const std::string& digest) override {
    return inner_->VerifiedPath(digest);
  }
  absl::StatusOr<FileIdentity> Verify(const std::string& digest,
                                      const CancellationToken& cancellation) override {
    return inner_->Verify(digest, cancellation);
  }
  absl::StatusOr<FileIdentity> Identify(const std::string& digest) override {
    return inner_->Identify(digest);
  }
  absl::StatusOr<PinnedBlob> Pin(const std::string& digest) override { return inner_->Pin(digest); }
  absl::StatusOr<std::shared_ptr<void>> HoldDeletions() override { return inner_->HoldDeletions(); }
  absl::StatusOr<std::vector<std::string>> List() override { return inner_->List(); }
  absl::StatusOr<bool> DeleteIf(const std::string& digest,
                                absl::FunctionRef<absl::StatusOr<bool>()> unreferenced) override {
    return inner_->DeleteIf(digest, unreferenced);
  }

 protected:
  BlobStore* const inner_;
};

}  // namespace mercer::server
