// What the fake server says of itself.
#pragma once

#include <grpcpp/server_context.h>

#include "mercer/v1/server_service.grpc.pb.h"

namespace mercer::client {

class FakeAbout : public v1::ServerService::Service {
  grpc::Status GetServerInfo(grpc::ServerContext*, const v1::GetServerInfoRequest*,
                             v1::ServerInfo* info) override {
    info->set_version("9.8.7");
    info->set_tokens(false);
    info->add_learner_names("lp_mkl");
    info->set_workers(3);
    info->mutable_limits()->set_message_bytes(int64_t{64} << 20);
    return grpc::Status::OK;
  }
};

}  // namespace mercer::client
