// A fixed sequence of changes of all stores, as a server makes them for one job, and how far stores have come with it.
#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "server/blobs/blob_store.h"
#include "server/storage/storage.h"

namespace mercer::server {

struct Stores {
  std::unique_ptr<Storage> storage;
  std::unique_ptr<BlobStore> blobs;
};
absl::StatusOr<Stores> OpenStores(const std::string& folder);

// The steps are numbered from 1. Each is there afterwards or not, never half.
inline constexpr int kStoreSteps = 10;
absl::Status RunStoreStep(int step, Stores& stores);

// The number of the last step that is done. Expects that what the steps have made is whole: the job agrees with its
// events, whose numbers have no gaps, and every blob that something names has its content.
int ReadProgress(Stores& stores);

// Expects that the blobs that something names are there, and after a collection no others.
void ExpectNoLeftovers(Stores& stores);

}  // namespace mercer::server
