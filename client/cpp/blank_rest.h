// Blank lines in files of rows.
#pragma once

#include "absl/status/status.h"

#include "core/io/text/record_reader.h"

namespace mercer::client {

// Blank lines are allowed at the end only. Called when the last record of `reader` was blank; reads the rest of the
// file. Errors: those of the source; BAD_ROW naming that record when anything but blank lines follows.
absl::Status ExpectBlankRest(RecordReader& reader);

}  // namespace mercer::client
