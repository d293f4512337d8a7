// What the crash test asks of a server: rounds of one upload and three trainings on real data.
#pragma once

#include <string>
#include <vector>

#include "mercer/v1/dataset_service.pb.h"
#include "mercer/v1/training_service.pb.h"

namespace mercer::server {

// Every request carries a request_id, so that it can be made again after a crash.
struct Round {
  v1::UploadHeader header;
  std::string csv;
  std::vector<v1::TrainRequest> trainings;
};

// `count` rounds, each on other rows of the demonstration's data.
std::vector<Round> MakeRounds(int count);

}  // namespace mercer::server
