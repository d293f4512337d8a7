// A served API with data sets and versions of models to name, change and examine.
#pragma once

#include <fstream>
#include <string>

#include "tests/server/api/api_fixture.h"

namespace mercer::server {

class RegistryTest : public ApiTest {
 protected:
  using StatusCode = grpc::StatusCode;

  // Serves with the versions 1 .. `versions` of "models/clouds".
  void ServeClouds(int versions) {
    Serve();
    StoreCsv("clouds", CloudsCsv(40), "");
    for (int i = 0; i < versions; ++i) {
      TrainOn("clouds");
    }
  }
  static std::string CloudsCsv(int rows) {
    std::string csv = "x1,x2,label\n";
    for (int r = 0; r < rows; ++r) {
      csv += std::to_string(r % 7 + 3 * (r % 2)) + "," + std::to_string(r % 5) + "," +
             std::to_string(r % 2) + "\n";
    }
    return csv;
  }
  // "label" is the target; `weight` may be empty.
  void StoreCsv(const std::string& id, const std::string& csv, const std::string& weight) {
    grpc::ClientContext context;
    v1::Dataset dataset;
    auto writer = datasets_->UploadDataset(&context, &dataset);
    v1::UploadDatasetRequest message;
    message.mutable_header()->set_dataset_id(id);
    v1::CsvFormat& csv_format = *message.mutable_header()->add_parts()->mutable_csv();
    csv_format.set_allow_missing(true);
    auto& roles = *csv_format.mutable_roles();
    roles["label"] = v1::COLUMN_ROLE_TARGET;
    if (!weight.empty()) {
      roles[weight] = v1::COLUMN_ROLE_WEIGHT;
    }
    writer->Write(message);
    message.mutable_chunk()->set_data(csv);
    writer->Write(message);
    writer->WritesDone();
    const grpc::Status status = writer->Finish();
    ASSERT_TRUE(status.ok()) << status.error_message();
  }
  void TrainOn(const std::string& dataset, const std::string& model = "models/clouds") {
    v1::TrainRequest request = CloudsRequest();
    request.set_model(model);
    request.mutable_data(0)->set_dataset("datasets/" + dataset);
    grpc::ClientContext context;
    v1::Job job;
    const grpc::Status status = training_->Train(&context, request, &job);
    ASSERT_TRUE(status.ok()) << status.error_message();
    jobs_->WaitUntilIdle();
  }

  template <typename Request, typename Response>
  grpc::Status Call(grpc::Status (v1::ModelService::Stub::*method)(grpc::ClientContext*,
                                                                   const Request&, Response*),
                    const Request& request, Response* response) {
    grpc::ClientContext context;
    response->Clear();
    return (models_.get()->*method)(&context, request, response);
  }
  grpc::Status SetAlias(const std::string& alias, const std::string& version,
                        const std::string& etag = "", const std::string& request_id = "") {
    v1::SetAliasRequest request;
    request.set_name(alias);
    request.set_version(version);
    request.set_etag(etag);
    request.set_request_id(request_id);
    return Call(&v1::ModelService::Stub::SetAlias, request, &alias_);
  }
  grpc::Status Rollback(const std::string& alias, const std::string& request_id = "") {
    v1::RollbackAliasRequest request;
    request.set_name(alias);
    request.set_request_id(request_id);
    return Call(&v1::ModelService::Stub::RollbackAlias, request, &alias_);
  }
  grpc::Status GetVersion(const std::string& name) {
    v1::GetModelVersionRequest request;
    request.set_name(name);
    return Call(&v1::ModelService::Stub::GetModelVersion, request, &model_);
  }
  // A version, or a model with all of them.
  grpc::Status Delete(const std::string& name) {
    google::protobuf::Empty nothing;
    if (name.find("/versions/") != std::string::npos) {
      v1::DeleteModelVersionRequest request;
      request.set_name(name);
      return Call(&v1::ModelService::Stub::DeleteModelVersion, request, &nothing);
    }
    v1::DeleteModelRequest request;
    request.set_name(name);
    return Call(&v1::ModelService::Stub::DeleteModel, request, &nothing);
  }
  grpc::Status Evaluate(const std::string& model, const std::string& dataset) {
    v1::EvaluateModelRequest request;
    request.set_name(model);
    request.set_dataset(dataset);
    return Call(&v1::ModelService::Stub::EvaluateModel, request, &evaluation_);
  }
  grpc::Status Verify(const std::string& model) {
    v1::VerifyModelRequest request;
    request.set_name(model);
    return Call(&v1::ModelService::Stub::VerifyModel, request, &verification_);
  }

  std::filesystem::path BlobPath(const std::string& digest) const {
    return folder_ / "blobs" / digest.substr(0, 2) / digest;
  }
  // Changes a byte of the stored file.
  void Damage(const std::string& digest) const {
    const std::filesystem::path path = BlobPath(digest);
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(20);
    const char byte = static_cast<char>(file.peek());
    file.seekp(20);
    file.put(static_cast<char>(byte ^ 0x55));
    ASSERT_TRUE(file.good());
  }
  VersionRecord Version(int64_t number) {
    const auto version = real_storage_->models().GetVersion("clouds", number);
    EXPECT_TRUE(version.ok()) << version.status();
    return version.value_or(VersionRecord());
  }

  v1::Alias alias_;
  v1::ModelVersion model_;
  v1::EvaluateModelResponse evaluation_;
  v1::VerifyModelResponse verification_;
};

// The value of the ErrorInfo's metadata; empty without it.
inline std::string MetadataOf(const grpc::Status& status, const std::string& key) {
  google::rpc::Status rpc;
  EXPECT_TRUE(rpc.ParseFromString(status.error_details()));
  google::rpc::ErrorInfo info;
  for (const google::protobuf::Any& any : rpc.details()) {
    if (any.UnpackTo(&info)) {
      const auto found = info.metadata().find(key);
      return found == info.metadata().end() ? "" : found->second;
    }
  }
  return "";
}

}  // namespace mercer::server
