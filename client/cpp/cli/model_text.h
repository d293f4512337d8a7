// A model as text: what it is, how good it provably is, and which kernels or features matter.
#pragma once

#include <string>

#include "client/cpp/cli/terminal.h"
#include "mercer/v1/job.pb.h"
#include "mercer/v1/model_version.pb.h"

namespace mercer::client {

// Where the model comes from, its options, certificate, metrics and tables, of each at most
// `max_rows` rows (0: all).
std::string FormatModel(const v1::ModelVersion& model, const Terminal& terminal, int max_rows,
                        int output = 0);

std::string FormatCertificate(const v1::Certificate& certificate);
// A line for each thing that the user should know, and for each decision of the server.
std::string FormatWarnings(const google::protobuf::RepeatedPtrField<v1::Warning>& warnings,
                           const Terminal& terminal);
// "accuracy 0.942, auc 0.981" for each way of measuring, a line each, but for those of a path; those of single tasks below.
std::string FormatMetrics(const google::protobuf::RepeatedPtrField<v1::Metric>& metrics);

}  // namespace mercer::client
