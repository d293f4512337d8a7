// Which learner a request chose, and where the core's names of fields stand in it.
#pragma once

#include <string>

#include "absl/status/status.h"

#include "mercer/v1/training.pb.h"

namespace mercer::server {

// The field that is set, `other` among them; null: none is.
const google::protobuf::FieldDescriptor* ChosenField(const v1::Learner& learner);
// The name of the learner that the request chose: "lp_mkl"; empty when it chose none.
std::string ChosenLearner(const v1::TrainRequest& request);

// The same status with the core's names of fields ("kernels[3].bandwidth") replaced by the paths in
// a request with that learner ("learner.lp_mkl.kernels[3].bandwidth").
absl::Status WithRequestPaths(const absl::Status& status, const v1::Learner& learner);

}  // namespace mercer::server
