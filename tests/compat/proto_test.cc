// The API never changes the meaning of a number: every field that was ever released keeps name,
// number and type, or its number is reserved.
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include "google/rpc/code.pb.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "mercer/v1/admin_service.pb.h"
#include "mercer/v1/dataset_service.pb.h"
#include "mercer/v1/http_query.pb.h"
#include "mercer/v1/model_service.pb.h"
#include "mercer/v1/prediction_service.pb.h"
#include "mercer/v1/server_service.pb.h"
#include "mercer/v1/training_service.pb.h"
#include "tests/support/source_folder.h"

namespace mercer {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;

std::string TypeOf(const FieldDescriptor& field) {
  std::string type = field.type_name();
  if (field.message_type() != nullptr) {
    type = field.message_type()->full_name();
  } else if (field.enum_type() != nullptr) {
    type = field.enum_type()->full_name();
  }
  return absl::StrCat(field.is_repeated()            ? "repeated "
                      : field.has_optional_keyword() ? "optional "
                                                     : "",
                      type);
}

void AddEnum(const EnumDescriptor& type, std::set<std::string>& lines) {
  for (int i = 0; i < type.value_count(); ++i) {
    lines.insert(
        absl::StrCat(type.full_name(), " = ", type.value(i)->number(), " ", type.value(i)->name()));
  }
}

void AddMessage(const Descriptor& type, std::set<std::string>& lines) {
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    lines.insert(absl::StrCat(type.full_name(), " : ", field.number(), " ", TypeOf(field), " ",
                              field.name()));
  }
  for (int i = 0; i < type.nested_type_count(); ++i) {
    AddMessage(*type.nested_type(i), lines);
  }
  for (int i = 0; i < type.enum_type_count(); ++i) {
    AddEnum(*type.enum_type(i), lines);
  }
}

void AddFile(const FileDescriptor& file, std::set<const FileDescriptor*>& seen,
             std::set<std::string>& lines) {
  if (!seen.insert(&file).second || file.package().rfind("google.protobuf", 0) == 0) {
    return;
  }
  for (int i = 0; i < file.message_type_count(); ++i) {
    AddMessage(*file.message_type(i), lines);
  }
  for (int i = 0; i < file.enum_type_count(); ++i) {
    AddEnum(*file.enum_type(i), lines);
  }
  for (int i = 0; i < file.service_count(); ++i) {
    for (int j = 0; j < file.service(i)->method_count(); ++j) {
      const auto& method = *file.service(i)->method(j);
      lines.insert(absl::StrCat(method.full_name(), "(", method.client_streaming() ? "stream " : "",
                                method.input_type()->full_name(), ") returns (",
                                method.server_streaming() ? "stream " : "",
                                method.output_type()->full_name(), ")"));
    }
  }
  for (int i = 0; i < file.dependency_count(); ++i) {
    AddFile(*file.dependency(i), seen, lines);
  }
}

std::set<std::string> Today() {
  std::set<const FileDescriptor*> seen;
  std::set<std::string> lines;
  for (const FileDescriptor* file :
       {v1::TrainRequest::descriptor()->file(), v1::UploadHeader::descriptor()->file(),
        v1::GetModelVersionRequest::descriptor()->file(), v1::PredictRequest::descriptor()->file(),
        v1::BackupRequest::descriptor()->file(), v1::GetServerInfoRequest::descriptor()->file(),
        v1::GetJobRequest::descriptor()->file(), v1::WatchJobsQuery::descriptor()->file(),
        google::rpc::Status::descriptor()->file(), google::rpc::ErrorInfo::descriptor()->file(),
        google::rpc::Code_descriptor()->file()}) {
    AddFile(*file, seen, lines);
  }
  return lines;
}

// The number of a field that a line names, as "message : number type name"; null message for other
// lines.
bool IsReserved(const std::string& line) {
  const size_t colon = line.find(" : ");
  if (colon == std::string::npos) {
    return false;
  }
  const Descriptor* message =
      google::protobuf::DescriptorPool::generated_pool()->FindMessageTypeByName(
          line.substr(0, colon));
  return message != nullptr && message->IsReservedNumber(std::stoi(line.substr(colon + 3)));
}

std::set<std::string> Released() {
  std::ifstream file(SourceFolder() / "tests/compat/proto_fields.txt");
  std::set<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    lines.insert(line);
  }
  return lines;
}

TEST(ProtoCompatTest, EveryReleasedFieldIsStillThereOrReserved) {
  const std::set<std::string> today = Today();
  const std::set<std::string> released = Released();
  ASSERT_FALSE(released.empty());
  for (const std::string& line : released) {
    EXPECT_TRUE(today.count(line) > 0 || IsReserved(line)) << "changed or gone: " << line;
  }
}

TEST(ProtoCompatTest, EveryFieldIsRecorded) {
  const std::set<std::string> released = Released();
  for (const std::string& line : Today()) {
    EXPECT_TRUE(released.count(line) > 0) << "add to tests/compat/proto_fields.txt: " << line;
  }
}

TEST(ProtoCompatTest, EnumsBeginWithUnspecified) {
  for (const std::string& line : Today()) {
    const size_t zero = line.find(" = 0 ");
    if (zero != std::string::npos && line.rfind("mercer.", 0) == 0) {
      EXPECT_NE(line.find("_UNSPECIFIED"), std::string::npos) << line;
    }
  }
}

// The bytes that other implementations of google.rpc send: numbers and types as documented there.
TEST(GoogleRpcTest, IsWireEqualToTheWellKnownMessages) {
  google::rpc::Status status;
  status.set_code(google::rpc::INVALID_ARGUMENT);
  status.set_message("m");
  EXPECT_EQ(status.SerializeAsString(), std::string("\x08\x03\x12\x01m"));
  google::rpc::ErrorInfo info;
  info.set_reason("R");
  info.set_domain("d");
  (*info.mutable_metadata())["k"] = "v";
  EXPECT_EQ(info.SerializeAsString(),
            std::string("\x0a\x01R\x12\x01") + "d" + "\x1a\x06\x0a\x01k\x12\x01v");
  google::rpc::RetryInfo retry;
  retry.mutable_retry_delay()->set_seconds(2);
  EXPECT_EQ(retry.SerializeAsString(), std::string("\x0a\x02\x08\x02"));
  google::rpc::BadRequest bad;
  auto& violation = *bad.add_field_violations();
  violation.set_field("f");
  violation.set_description("x");
  EXPECT_EQ(bad.SerializeAsString(), std::string("\x0a\x06\x0a\x01") + "f" + "\x12\x01x");
  google::rpc::ResourceInfo resource;
  resource.set_resource_type("t");
  resource.set_resource_name("n");
  EXPECT_EQ(resource.SerializeAsString(), std::string("\x0a\x01t\x12\x01n"));
  google::rpc::PreconditionFailure failure;
  failure.add_violations()->set_type("t");
  EXPECT_EQ(failure.SerializeAsString(), std::string("\x0a\x03\x0a\x01t"));
}

}  // namespace
}  // namespace mercer
