// The learners' options as protobuf messages: one generic translator for all learners. A learner's
// message has a field for each option, of the same name; message-typed fields (kernel lists) are
// not options.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include <google/protobuf/message.h>

#include "core/base/status/errors.h"
#include "core/base/status/options.h"
#include "core/training/contract/learner.h"
#include "mercer/v1/learner.pb.h"
#include "mercer/v1/learner_description.pb.h"
#include "mercer/v1/model_version.pb.h"

namespace mercer::server {

// The options that `learner` (a message such as LpMkl) sets. Enum values become the words of the
// option, so that OUTER_LOOP_NEWTON is "newton"; an enum at its zero value counts as absent. Fields
// of types that no option has are left out.
OptionValues ReadOptions(const google::protobuf::Message& learner);

// The options of a learner that is named, read from their texts. Texts that cannot be read are
// violations, and so are options that the learner does not have.
OptionValues ReadOptionTexts(const v1::OtherLearner& learner, const LearnerEntry& entry,
                             FieldViolations& violations);

// Where a request has what the learner calls `field`, an option or "kernels[2].bandwidth":
// "learner.svm.C", "learner.other.options['C']". Empty: all of its options, "learner.svm". `chosen`
// is the field of Learner that the request set, "other" for one that it named; empty: none.
std::string LearnerPath(std::string_view chosen, std::string_view field);

// What people call a field: its name in lower case, or the one that it has in JSON where that is given: `c` is C, as in papers.
const std::string& OptionName(const google::protobuf::FieldDescriptor& field);

// True when `path` is `prefix` or goes on below it.
bool IsBelow(std::string_view path, std::string_view prefix);

// "newton" for the value OUTER_LOOP_NEWTON of the enum OuterLoop; empty for the zero value.
std::string ChoiceWord(const google::protobuf::EnumValueDescriptor& value);

v1::LearnerDescription DescribeLearner(const LearnerEntry& entry);

// Appends every option of a model.
void WriteOptions(const OptionValues& values,
                  google::protobuf::RepeatedPtrField<v1::OptionSetting>* settings);

// What is wrong with the name of a learner that is none of `learners`, with names that are near or else all that there are.
std::string UnknownLearner(const std::string& asked,
                           absl::Span<const LearnerEntry* const> learners);

}  // namespace mercer::server
