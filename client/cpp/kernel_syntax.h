// Kernels as people type them:
//
//   linear
//   gaussian bandwidth=0.5 per_column
//   gaussian bandwidths=1,2,4
//   gaussian bandwidths=1..100:12            12 widths from 1 to 100 with equal ratios
//   gaussian median                          the median distance of the rows
//   gaussian                                 the same
//   gaussian median=0.5,1,2                  multiples of it
//   gaussian median=0.1..10:20               20 multiples from 0.1 to 10 with equal ratios
//   polynomial degree=2 offset=1 columns=age,"first name" unit_diagonal scaling=trace
//   distance block=video bandwidth=10
//   gaussian bandwidths=0.1..10:5 group=colour name="hue, saturation"
//
// The first word is the type; then words name=value in any order, separated by spaces. Names are
// the fields of KernelGrid and of its normalization. A name without a value means true. A word may
// occur once, and of the words for bandwidths only one.
#pragma once

#include <string>

#include "absl/status/statusor.h"

#include "mercer/v1/kernel.pb.h"

namespace mercer::client {

// Errors: kInvalidArgument naming the word and what is allowed.
absl::StatusOr<v1::KernelGrid> ParseKernel(const std::string& text);

// The syntax above, for help texts.
std::string KernelSyntaxHelp();

}  // namespace mercer::client
