#include "client/cpp/cli/commands.h"
#include "core/base/status/status_macros.h"

namespace mercer::client {
namespace {

struct HealthFlags {};

absl::StatusOr<ExitCode> CheckHealth(Session& session, const HealthFlags&) {
  MERCER_RETURN_IF_ERROR(session.client().CheckHealth());
  if (session.json()) {
    session.out() << "{\"status\":\"SERVING\"}" << std::endl;
  } else {
    session.out() << session.client().address() << " is serving" << std::endl;
  }
  return ExitCode::kOk;
}

}  // namespace

void AddHealthCommand(CommandLine& line) {
  line.Add(line.app, "health", "Ask whether the server takes calls; needs no token",
           std::make_shared<HealthFlags>(), &CheckHealth);
}

}  // namespace mercer::client
