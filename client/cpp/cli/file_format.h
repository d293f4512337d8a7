// Data files that commands read.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/io/text/readers.h"

namespace mercer::client {

inline constexpr char kDefaultDelimiter[] = "guess";  // between cells
inline constexpr char kStandardInput[] = "-";         // as the name of a file

// Whether `file` is svmlight rather than CSV: as `format` ("csv", "svmlight") says or, when that is
// empty, the file's name, as in "news20.svm", "a9a.svmlight.gz", "x.libsvm".
bool IsSvmlight(const std::string& file, const std::string& format);

// The bytes of a file, or of the standard input ("-"), inflated when they are compressed with gzip. Errors: kNotFound.
absl::StatusOr<std::unique_ptr<ByteSource>> OpenInflated(const std::string& path);

// Size of a file whose content is read more than once. Errors: kNotFound; kInvalidArgument when it is no regular file,
// for example a pipe.
absl::StatusOr<int64_t> RegularFileSize(const std::string& path);

// A flag, and whether the user gave it.
struct GivenFlag {
  const char* name = "";
  bool given = false;
};

// A flag that nothing reads is a mistake of the user. Errors: kInvalidArgument naming each of `flags` that is given, with
// `why`.
absl::Status RefuseFlags(const std::vector<GivenFlag>& flags, const std::string& why);

}  // namespace mercer::client
