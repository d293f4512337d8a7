// Token files and the header that callers send. The first line is the header, the rest the file.
#include <algorithm>
#include <string>

#include "core/base/status/errors.h"
#include "server/access/gate.h"
#include "server/access/token_table.h"
#include "tests/fuzz/support/checks.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tests/fuzz/support/input.h"
#include "tests/fuzz/support/scratch_folder.h"

namespace mercer::fuzz {
namespace {

using server::Gate;
using server::Scope;
using server::TokenTable;

constexpr char kToken[] = "mercer_0123456789";

void CheckScopes(std::string_view text) {
  const absl::StatusOr<server::ScopeSet> scopes = server::ParseScopes(text);
  if (scopes.ok()) {
    const absl::StatusOr<server::ScopeSet> again = server::ParseScopes(FormatScopes(*scopes));
    for (const Scope scope : {Scope::kRead, Scope::kPredict, Scope::kTrain, Scope::kAdmin}) {
      Require(again.ok() && again->Allows(scope) == scopes->Allows(scope),
              "scopes that were written read back");
    }
  }
}

void CheckHeader(const Gate& gate, std::string_view header) {
  const absl::StatusOr<server::Caller> caller =
      gate.Admit({header}, Scope::kTrain, absl::FromUnixSeconds(0));
  if (caller.ok()) {
    Require(header.find(kToken) != std::string_view::npos, "only who holds a token is let in");
    Require(caller->scopes.Allows(Scope::kTrain), "who is let in may do what he asks for");
    return;
  }
  RequireRefusal(caller.status(),
                 {absl::StatusCode::kUnauthenticated, absl::StatusCode::kPermissionDenied});
  Require(std::string(caller.status().message()).find(kToken) == std::string::npos,
          "a refusal does not repeat a token");
}

}  // namespace

void TestOneInput(std::string_view bytes) {
  static const ScratchFolder folder("token_file");
  Input input(bytes);
  const std::string_view header = input.Line();
  const std::string_view file = input.rest();
  CheckScopes(header);
  const absl::StatusOr<TokenTable> table = TokenTable::Parse(file);
  if (!table.ok()) {
    RequireRefusal(table.status(), {absl::StatusCode::kInvalidArgument});
    return;
  }
  Require(table->size() <= static_cast<size_t>(std::count(file.begin(), file.end(), '\n')) + 1,
          "a line lists at most one token");
  const absl::StatusOr<std::unique_ptr<Gate>> gate = Gate::FromFile(folder.Write("tokens", file));
  if (!file.empty() && file.back() != '\n') {
    Require(GetReason(gate.status()) == "TOKEN_FILE_CUT_OFF", "a file without its end is refused");
    return;
  }
  Require(gate.ok() && !(*gate)->open(), "a gate with a file is not open to everybody");
  CheckHeader(**gate, header);
}

std::vector<std::string> Seeds() {
  server::ScopeSet scopes;
  scopes.Add(Scope::kRead);
  scopes.Add(Scope::kTrain);
  const absl::StatusOr<std::string> line = server::TokenLine("ada", scopes, kToken);
  Require(line.ok(), "a line can be made");
  return {
      std::string("Bearer ") + kToken + "\n# tokens\n" + *line + "\n",
      std::string("bearer  x\n") + *line + " 2027-01-31T00:00:00Z\r\n\n" + *line + "\n",
      std::string("Bearer ") + kToken + "\n" + *line + " group=lab,imaging\n",
      "read,admin\n",
  };
}

}  // namespace mercer::fuzz
