// The option google.api.field_behavior says REQUIRED of a field exactly when a request without it is refused.
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/api/field_behavior.pb.h"
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>

#include "tests/integration/field_mutations.h"
#include "tests/integration/field_walk_fixture.h"

namespace mercer::server {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using grpc::StatusCode;

bool IsRequired(const FieldDescriptor& field) {
  const auto& options = field.options();
  for (int i = 0; i < options.ExtensionSize(google::api::field_behavior); ++i) {
    if (options.GetExtension(google::api::field_behavior, i) == google::api::REQUIRED) {
      return true;
    }
  }
  return false;
}

// A field that is set somewhere below a message, and how to take it away.
struct SetField {
  std::string path;
  const FieldDescriptor* field;
  std::function<void(Message&)> clear;
};

void AddSetFields(const Message& message, const std::string& path,
                  const std::function<Message*(Message&)>& find, std::vector<SetField>& fields) {
  std::vector<const FieldDescriptor*> set;
  message.GetReflection()->ListFields(message, &set);
  for (const FieldDescriptor* field : set) {
    const std::string own = absl::StrCat(path, path.empty() ? "" : ".", field->name());
    fields.push_back({own, field, [find, field](Message& whole) {
                        Message* const owner = find(whole);
                        owner->GetReflection()->ClearField(owner, field);
                      }});
    if (field->message_type() == nullptr || field->is_map()) {
      continue;
    }
    const int count = field->is_repeated() ? message.GetReflection()->FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      const auto find_inner = [find, field, i](Message& whole) {
        Message* const owner = find(whole);
        return field->is_repeated()
                   ? owner->GetReflection()->MutableRepeatedMessage(owner, field, i)
                   : owner->GetReflection()->MutableMessage(owner, field);
      };
      const Message& inner = field->is_repeated()
                                 ? message.GetReflection()->GetRepeatedMessage(message, field, i)
                                 : message.GetReflection()->GetMessage(message, field);
      AddSetFields(inner, field->is_repeated() ? absl::StrCat(own, "[", i, "]") : own, find_inner,
                   fields);
    }
  }
}

class RequiredFieldsTest : public FieldWalkTest {
 protected:
  // The answer to a good request without one of its fields.
  grpc::Status CallWithout(const std::string& method, const GoodRequest& good, size_t position,
                           const SetField& without) {
    Messages messages = good.make(*this);
    without.clear(*messages[position]);
    const size_t slash = method.find('/');
    const auto* const service =
        google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(
            "mercer.v1." + method.substr(0, slash));
    const AnyAnswer answer =
        CallAnyMethod(channel_, *service->FindMethodByName(method.substr(slash + 1)), messages,
                      std::chrono::seconds(60), good.max_answers);
    const GoodRequest::Hook& hook = answer.status.ok() ? good.after_success : good.after_refusal;
    if (hook) {
      hook(*this);
    }
    return answer.status;
  }

  static bool Names(const grpc::Status& status, const std::string& path) {
    for (const std::string& violation : ViolationsOf(status)) {
      if (AreNested(violation.substr(0, violation.find(": ")), path)) {
        return true;
      }
    }
    return false;
  }
};

TEST_F(RequiredFieldsTest, AreThoseThatTheServerMisses) {
  std::set<std::string> tested;
  for (const auto& [method, requests] : GoodRequests()) {
    const GoodRequest& good = requests.front();
    const Messages messages = good.make(*this);
    for (size_t position = 0; position < messages.size(); ++position) {
      std::vector<SetField> fields;
      AddSetFields(
          *messages[position], "", [](Message& whole) { return &whole; }, fields);
      for (const SetField& one : fields) {
        if (!IsRequired(*one.field)) {
          continue;
        }
        SCOPED_TRACE(absl::StrCat(method, " without ", one.path, " of message ", position));
        const grpc::Status status = CallWithout(method, good, position, one);
        EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT) << status.error_message();
        EXPECT_TRUE(Names(status, one.path)) << testing::PrintToString(ViolationsOf(status));
        tested.insert(one.field->full_name());
      }
    }
  }
  EXPECT_GE(tested.size(), 30U);
}

// Where a request has one form alone.
TEST_F(RequiredFieldsTest, NoOtherFieldOfARequestIsMissed) {
  for (const auto& [method, requests] : GoodRequests()) {
    const GoodRequest& good = requests.front();
    const Messages messages = good.make(*this);
    if (messages.size() != 1) {
      continue;
    }
    std::vector<SetField> fields;
    AddSetFields(
        *messages[0], "", [](Message& whole) { return &whole; }, fields);
    for (const SetField& one : fields) {
      const bool is_own = one.field->containing_type() == messages[0]->GetDescriptor();
      if (is_own && !IsRequired(*one.field) && one.field->containing_oneof() == nullptr) {
        SCOPED_TRACE(absl::StrCat(method, " without ", one.path));
        const grpc::Status status = CallWithout(method, good, 0, one);
        EXPECT_FALSE(Names(status, one.path)) << status.error_message();
      }
    }
  }
}

}  // namespace
}  // namespace mercer::server
