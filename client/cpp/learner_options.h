// Learner messages from option texts. The options come from the server's description and from the
// message of the learner by reflection, so a new learner needs no code here.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "mercer/v1/learner.pb.h"
#include "mercer/v1/learner_description.pb.h"
#include "mercer/v1/training_service.pb.h"

namespace mercer::client {

// Name and text of an option, in the order given.
using OptionTexts = std::vector<std::pair<std::string, std::string>>;

// The description of learner `name` ('-' counts as '_'). Errors: kNotFound listing all learners.
absl::StatusOr<v1::LearnerDescription> FindLearner(const v1::ListLearnersResponse& learners,
                                                   const std::string& name);

// The message of `description` with `options` set and `kernels` (in the syntax of kernel_syntax.h).
// Errors: kInvalidArgument with one FieldViolation for every wrong option, named as it was given; `flags` are what else it may
// have been meant for.
absl::StatusOr<v1::Learner> MakeLearner(const v1::LearnerDescription& description,
                                        const OptionTexts& options,
                                        const std::vector<std::string>& kernels,
                                        const std::vector<std::string>& flags = {});

}  // namespace mercer::client
