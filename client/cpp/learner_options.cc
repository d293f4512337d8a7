#include "client/cpp/learner_options.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

#include "client/cpp/field_text.h"
#include "client/cpp/kernel_syntax.h"
#include "core/base/status/errors.h"
#include "core/base/status/near_names.h"
#include "core/base/status/status_macros.h"

namespace mercer::client {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

std::string FieldName(const std::string& name) { return absl::StrReplaceAll(name, {{"-", "_"}}); }

// An option has the name of its field, or, as C does, the one that the field has in JSON.
const FieldDescriptor* FieldOfOption(const google::protobuf::Descriptor& message,
                                     const std::string& option) {
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    if ((field.has_json_name() ? field.json_name() : field.name()) == option) {
      return &field;
    }
  }
  return nullptr;
}

const v1::OptionDescription* FindOption(const v1::LearnerDescription& learner,
                                        const std::string& name) {
  for (const v1::OptionDescription& option : learner.options()) {
    if (option.name() == name) {
      return &option;
    }
  }
  return nullptr;
}

// All that may stand behind "--": the options of the learner, then `others`.
std::vector<std::string> KnownNames(const v1::LearnerDescription& learner,
                                    const std::vector<std::string>& others) {
  std::vector<std::string> names;
  for (const v1::OptionDescription& option : learner.options()) {
    names.push_back(option.name());
  }
  names.insert(names.end(), others.begin(), others.end());
  return names;
}

// Behind what is neither: parameters of kernels that were taken for options.
std::string KernelHint(const std::string& name) {
  const bool is_word = name == "gamma" || name == "bandwidth" || name == "median" ||
                       name == "degree" || name == "coef0";
  return is_word ? "; kernels have their parameters in --kernel, as --kernel 'gaussian bandwidth=1'"
                 : "";
}

std::string OptionNames(const v1::LearnerDescription& learner) {
  return absl::StrJoin(learner.options(), ", ",
                       [](std::string* out, const v1::OptionDescription& option) {
                         absl::StrAppend(out, "--", option.name());
                       });
}

void SetOption(Message& message, const v1::LearnerDescription& learner,
               const std::pair<std::string, std::string>& given,
               const std::vector<std::string>& flags, FieldViolations& violations) {
  const std::string name = FieldName(given.first);
  const std::string shown = absl::StrCat("--", given.first);
  const v1::OptionDescription* option = FindOption(learner, name);
  const FieldDescriptor* field = FieldOfOption(*message.GetDescriptor(), name);
  if (option == nullptr) {
    violations.Add(
        shown, absl::StrCat("neither an option of 'mercer train' nor of ", learner.name(),
                            ", which has ", OptionNames(learner),
                            DidYouMean(given.first, KnownNames(learner, flags)), KernelHint(name)));
    return;
  }
  if (message.GetDescriptor() == v1::OtherLearner::descriptor()) {
    const bool is_flag = option->type() == v1::OPTION_TYPE_BOOL && given.second.empty();
    (*static_cast<v1::OtherLearner&>(message).mutable_options())[name] =
        is_flag ? "true" : given.second;
    return;
  }
  if (field == nullptr) {
    violations.Add(shown, "the server is newer than this program, which does not know the option");
    return;
  }
  const absl::Status status = SetFieldFromText(message, *field, given.second);
  if (!status.ok()) {
    violations.Add(shown,
                   absl::StrCat(status.message(),
                                option->range().empty() ? "" : "; allowed: ", option->range()));
  }
}

absl::Status AddKernels(Message& message, const v1::LearnerDescription& learner,
                        const std::vector<std::string>& kernels) {
  const FieldDescriptor* field = message.GetDescriptor()->FindFieldByName("kernels");
  if (field == nullptr || !field->is_repeated() ||
      field->message_type() != v1::KernelGrid::descriptor() || !learner.uses_kernels()) {
    return kernels.empty() ? absl::OkStatus()
                           : absl::InvalidArgumentError(
                                 absl::StrCat(learner.name(), " takes no kernels (--kernel)"));
  }
  for (const std::string& text : kernels) {
    MERCER_ASSIGN_OR_RETURN(const v1::KernelGrid grid, ParseKernel(text));
    message.GetReflection()->AddMessage(&message, field)->CopyFrom(grid);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<v1::LearnerDescription> FindLearner(const v1::ListLearnersResponse& learners,
                                                   const std::string& name) {
  std::vector<std::string> names;
  for (const v1::LearnerDescription& learner : learners.learners()) {
    if (learner.name() == FieldName(name)) {
      return learner;
    }
    names.push_back(learner.name());
  }
  return absl::NotFoundError(absl::StrCat("there is no learner '", name, "'; the server has ",
                                          absl::StrJoin(names, ", "), DidYouMean(name, names)));
}

absl::StatusOr<v1::Learner> MakeLearner(const v1::LearnerDescription& description,
                                        const OptionTexts& options,
                                        const std::vector<std::string>& kernels,
                                        const std::vector<std::string>& flags) {
  v1::Learner learner;
  const FieldDescriptor* field = v1::Learner::descriptor()->FindFieldByName(description.name());
  if (field == nullptr) {
    learner.mutable_other()->set_name(description.name());
  }
  Message& message = field == nullptr ? static_cast<Message&>(*learner.mutable_other())
                                      : *learner.GetReflection()->MutableMessage(&learner, field);
  FieldViolations violations;
  std::set<std::string> seen;
  for (const auto& option : options) {
    if (violations.Check(seen.insert(FieldName(option.first)).second,
                         absl::StrCat("--", option.first), "is given more than once")) {
      SetOption(message, description, option, flags, violations);
    }
  }
  MERCER_RETURN_IF_ERROR(violations.ToStatus());
  MERCER_RETURN_IF_ERROR(AddKernels(message, description, kernels));
  return learner;
}

}  // namespace mercer::client
