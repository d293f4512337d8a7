// A folder for servers, and small trainings on them.
#pragma once

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "client/cpp/client.h"
#include "tests/support/server/server_process.h"

namespace mercer::server {

// Nothing is tried twice, so that what a server refuses or a crash interrupts is seen.
client::ClientOptions OneTry(const std::string& address);

class FaultTest : public testing::Test {
 public:
  // Expects a model; its name.
  static std::string WatchToEnd(client::Client& client, const std::string& job);

 protected:
  FaultTest();
  ~FaultTest() override;

  // A server with its data in folder_/name.
  ServerProcessOptions Options(const std::string& name) const;
  // Files in folder_/name and below.
  size_t CountFiles(const std::string& name) const;

  // Two clouds of points, named "datasets/clouds".
  static v1::Dataset UploadClouds(client::Client& client, int rows = 150);
  // lp-norm multiple kernel learning on them with five Gaussian kernels.
  static v1::TrainRequest CloudsRequest();
  // Expects a model; its name.
  static std::string TrainToEnd(client::Client& client, const v1::TrainRequest& request);

  std::filesystem::path folder_;
};

// SHA-256 of the exported file of a model. Expects that size and digest are the announced ones.
std::string ExportedDigest(client::Client& client, const std::string& model);

}  // namespace mercer::server
