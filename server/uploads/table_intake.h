// A table of numbers that becomes the stored data set while its bytes come.
//
// The bytes of an upload are kept in files of their own, for their stream may break off. Of a plain table (one block of features
// and columns with a role, no further parts, its number of rows announced) the content that is kept in the end, its digest and
// what is known of the columns can follow from the rows one by one; nothing of that is left to do then when the last one is
// there. Whatever is not plain, a value that is to be refused too, is found out from the files afterwards. Both ways make the
// same data set.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/data/table/dataset.h"
#include "core/io/quality/dense_scan.h"
#include "core/io/quality/quality_scan.h"
#include "mercer/v1/dataset_service.pb.h"
#include "server/jobs/executor.h"
#include "server/uploads/dataset_context.h"

namespace mercer::server {

// A data set, and its content, which is written but not committed.
struct WrittenDataset {
  Dataset dataset;  // its numbers may be in files that have no name any more
  quality::Scan scan;
  std::unique_ptr<BlobWriter> blob;
  Budget::Share memory;
};

// Not thread-safe; the calls block on files. Destroying it removes what it has written.
class TableIntake {
 public:
  // Null: the table must be read from its files when all of it is there.
  static std::unique_ptr<TableIntake> Begin(const v1::UploadHeader& header,
                                            const DatasetContext& context);

  // Takes in a chunk while `receive` puts it where it is kept; answers what that says. Bytes that came before are ignored.
  absl::Status AddWhile(const v1::UploadChunk& chunk, const std::function<absl::Status()>& receive);
  // None: as null from Begin. Only the destructor may follow. Errors: kCancelled.
  absl::StatusOr<std::optional<WrittenDataset>> Finish(const std::function<bool()>& is_cancelled);

 private:
  // Where the columns of the table go.
  struct Places {
    std::vector<size_t> features;     // columns of the table, in the order of the block
    std::vector<size_t> roles;        // the same in the order of the data set
    std::vector<size_t> categorical;  // positions in the block
  };

  TableIntake(Dataset shape, Places places, bool allow_missing);

  absl::Status BeginFile(BlobStore& blobs);
  absl::Status Add(const v1::UploadChunk& chunk);
  absl::Status AddBytes(std::string_view bytes);
  absl::Status AddRows(std::string_view bytes);
  // The rows' numbers to piece_ and the columns with a role.
  void Gather(std::string_view bytes, Index rows);
  bool HoldsCodes(Index rows) const;
  // Whether all is there and the block's values can be stored.
  bool IsPlain() const;

  const Places places_;
  const bool allow_missing_;
  const size_t row_bytes_;
  Dataset dataset_;
  quality::DenseScan block_scan_;
  std::vector<uint64_t> row_hashes_;
  std::vector<double> piece_;  // some rows of the block
  std::string part_of_row_;
  Index rows_ = 0;       // taken in
  int64_t bytes_ = 0;    // that came
  size_t offset_ = 0;    // of the block in the file
  bool failed_ = false;  // nothing is made of it
  std::unique_ptr<BlobWriter> blob_;
  Budget::Share memory_;
  ThreadPool helper_{1};  // last: it uses all above
};

}  // namespace mercer::server
