#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "client/cpp/cli/commands.h"
#include "client/cpp/cli/text.h"
#include "core/base/status/status_macros.h"

namespace mercer::client {
namespace {

constexpr int kFactWidth = 12;

struct ServerFlags {};

std::string FormatServer(const std::string& address, const v1::ServerInfo& info, int width) {
  const v1::ServerLimits& limits = info.limits();
  const std::string stored =
      limits.stored_bytes() == 0
          ? "any number of data sets"
          : absl::StrCat(FormatBytes(limits.stored_bytes()), " for all data sets");
  const std::pair<const char*, std::string> lines[] = {
      {"address", address},
      {"version", info.version()},
      {"started", FormatTime(info.started())},
      {"tokens", info.tokens() ? "needed" : "not needed"},
      {"jobs", absl::StrCat(info.workers(), " at a time, each with threads: ",
                            info.threads_per_job(), "; processors: ", info.processors())},
      {"memory", absl::StrCat(FormatBytes(limits.memory_budget_bytes()), " for all trainings")},
      {"message", absl::StrCat("up to ", FormatBytes(limits.message_bytes()))},
      {"data set", absl::StrCat("up to ", FormatBytes(limits.dataset_bytes()))},
      {"stored", stored},
      {"uploads",
       absl::StrCat(FormatBytes(limits.upload_space_bytes()), " for all that are unfinished, ",
                    FormatBytes(limits.upload_space_per_caller_bytes()), " for those of a caller")},
      {"learners", absl::StrJoin(info.learner_names(), ", ")},
  };
  std::string text;
  for (const auto& [name, value] : lines) {
    absl::StrAppend(&text, Pad(name, kFactWidth), Wrap(value, width, kFactWidth), "\n");
  }
  return text;
}

absl::StatusOr<ExitCode> ShowServer(Session& session, const ServerFlags&) {
  MERCER_ASSIGN_OR_RETURN(const v1::ServerInfo info, session.client().GetServerInfo());
  if (session.json()) {
    session.PrintJson(info);
  } else {
    session.out() << FormatServer(session.client().address(), info,
                                  std::min(session.terminal().width, 100))
                  << std::flush;
  }
  return ExitCode::kOk;
}

}  // namespace

void AddServerCommand(CommandLine& line) {
  line.Add(line.app, "server", "What the server is, can and takes", std::make_shared<ServerFlags>(),
           &ShowServer);
}

}  // namespace mercer::client
