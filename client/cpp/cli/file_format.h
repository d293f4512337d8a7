// Data files that commands read.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"

#include "core/data/readers.h"

namespace mercer::client {

// Whether `file` is svmlight rather than CSV: as `format` ("csv", "svmlight") says or, when that is
// empty, the file's name, as in "news20.svm", "a9a.svmlight.gz", "x.libsvm".
bool IsSvmlight(const std::string& file, const std::string& format);

// The bytes of a file, inflated when it is compressed with gzip. Errors: kNotFound.
absl::StatusOr<std::unique_ptr<ByteSource>> OpenInflated(const std::string& path);

}  // namespace mercer::client
