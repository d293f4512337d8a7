// The same bits on every processor: the libraries beneath us choose their instructions by the processor
// that they find, and are told otherwise by their environment, which they read before main.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace mercer::server {

// What the environment must hold, given the GLIBC_TUNABLES that it holds now (may be empty).
std::vector<std::pair<std::string, std::string>> ReproducibleEnvironment(
    const std::string& tunables);

// When the environment holds that already, restricts our own kernels too and answers OK: the process
// computes reproducibly. Otherwise replaces the process by itself (`argv` as main got it) with that
// environment. Call it before there are threads. Errors: kInternal when the process cannot be replaced.
absl::Status ComputeReproducibly(char** argv);

}  // namespace mercer::server
