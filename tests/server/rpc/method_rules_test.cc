#include "server/rpc/method_rules.h"

#include <string>

#include "absl/strings/str_cat.h"
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include "mercer/v1/admin_service.pb.h"
#include "mercer/v1/dataset_service.pb.h"
#include "mercer/v1/model_service.pb.h"
#include "mercer/v1/prediction_service.pb.h"
#include "mercer/v1/server_service.pb.h"
#include "mercer/v1/training_service.pb.h"

namespace mercer::server {
namespace {

TEST(MethodRulesTest, EveryRpcHasItsScope) {
  for (const google::protobuf::FileDescriptor* file :
       {v1::BackupRequest::descriptor()->file(), v1::UploadHeader::descriptor()->file(),
        v1::GetModelVersionRequest::descriptor()->file(), v1::PredictRequest::descriptor()->file(),
        v1::GetServerInfoRequest::descriptor()->file(), v1::GetJobRequest::descriptor()->file()}) {
    for (int s = 0; s < file->service_count(); ++s) {
      const google::protobuf::ServiceDescriptor& service = *file->service(s);
      for (int m = 0; m < service.method_count(); ++m) {
        const std::string name = absl::StrCat(service.name(), "/", service.method(m)->name());
        EXPECT_NE(FindMethodRule(name), nullptr) << name << ": add it to method_rules.cc";
      }
    }
  }
}

TEST(MethodRulesTest, WhatIsNotInTheTableHasNone) {
  EXPECT_EQ(FindMethodRule("TrainingService/Trai"), nullptr);
  EXPECT_EQ(FindMethodRule(""), nullptr);
}

}  // namespace
}  // namespace mercer::server
