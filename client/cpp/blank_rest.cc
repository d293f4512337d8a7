#include "client/cpp/blank_rest.h"

#include <string_view>

#include "core/base/status/status_macros.h"
#include "core/data/table/reader_errors.h"

namespace mercer::client {

absl::Status ExpectBlankRest(RecordReader& reader) {
  const Index blank = reader.row();
  std::string_view record;
  while (record.empty()) {
    MERCER_ASSIGN_OR_RETURN(const bool more, reader.Next(&record));
    if (!more) {
      return absl::OkStatus();
    }
  }
  return RowError(blank, "is blank");
}

}  // namespace mercer::client
