// What the command line calls the fields of requests, which the server's errors name by their paths.
#pragma once

#include <string>

#include "client/cpp/errors.h"

namespace mercer::client {

// "--gap" for "stopping.relative_gap", "--kernel 2 bandwidth" for "learner.svm.kernels[1].bandwidth". The path itself where no
// flag stands for the field.
std::string FlagOfField(const std::string& path);

// For the path of a field that would have helped: "csv.allow_missing" is "'data upload --allow-missing' keeps missing cells, ...".
// Empty for others.
std::string RemedyInFlags(const std::string& path);

// What does here what the message of an error of that reason advises. Empty for others.
std::string WayOutInFlags(const std::string& reason);

// The first two, for FormatError.
extern const FieldWords kFlagWords;

}  // namespace mercer::client
