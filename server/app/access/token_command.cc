#include "server/app/access/token_command.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <string>
#include <unistd.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include "core/base/status/status_macros.h"
#include "server/access/token_table.h"

namespace mercer::server {
namespace {

struct TokenFlags {
  std::string name;
  std::string scopes;
  std::string groups;
  std::string expires;
  int days = 0;
  std::string token_out;
};

absl::StatusOr<absl::Time> ReadExpiry(const TokenFlags& flags, absl::Time now) {
  if (flags.days > 0) {
    return now + flags.days * absl::Hours(24);
  }
  absl::Time expires = absl::InfiniteFuture();
  std::string why;
  if (!flags.expires.empty() &&
      !absl::ParseTime(absl::RFC3339_full, flags.expires, &expires, &why)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--expires: must look like 2027-01-31T00:00:00Z: ", why));
  }
  if (expires <= now) {
    return absl::InvalidArgumentError("--expires: is in the past");
  }
  return expires;
}

// A new file that only its owner can read.
absl::Status WriteSecret(const std::string& path, const std::string& token) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("--token-out: '", path, "' cannot be made: ", std::strerror(errno)));
  }
  const std::string text = token + "\n";
  const bool written = write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const bool closed = close(file) == 0;
  if (!written || !closed) {
    unlink(path.c_str());
    return absl::DataLossError(absl::StrCat("--token-out: '", path, "' cannot be written"));
  }
  return absl::OkStatus();
}

absl::Status MakeLine(const TokenFlags& flags, std::ostream& out, std::ostream& err) {
  MERCER_ASSIGN_OR_RETURN(const absl::Time expires, ReadExpiry(flags, absl::Now()));
  MERCER_ASSIGN_OR_RETURN(const ScopeSet scopes, ParseScopes(flags.scopes));
  MERCER_ASSIGN_OR_RETURN(const std::string token, MakeToken());
  MERCER_ASSIGN_OR_RETURN(const std::string line,
                          TokenLine(flags.name, scopes, token, expires, flags.groups));
  if (flags.token_out.empty()) {
    err << "The token of " << flags.name << ", shown this once:\n" << token << std::endl;
  } else {
    MERCER_RETURN_IF_ERROR(WriteSecret(flags.token_out, token));
  }
  out << line << std::endl;
  return out ? absl::OkStatus() : absl::DataLossError("the line could not be written");
}

}  // namespace

void AddTokenCommand(CLI::App& app, std::function<int(std::ostream&, std::ostream&)>* run) {
  const auto flags = std::make_shared<TokenFlags>();
  CLI::App* command = app.add_subcommand(
      "token", "Make a token: its line for the file of --tokens on stdout, the token on stderr");
  command->add_option("--name", flags->name, "who holds it; stands in the log")->required();
  command->add_option("--scopes", flags->scopes, "of read, predict, train and admin, with commas")
      ->required();
  command->add_option("--group", flags->groups,
                      "whose members may change what others of it have made; several with commas");
  CLI::Option* expires =
      command->add_option("--expires", flags->expires, "when it ends, as 2027-01-31T00:00:00Z");
  command->add_option("--days", flags->days, "when it ends, from now")
      ->check(CLI::Range(1, 36'500))
      ->excludes(expires);
  command->add_option("--token-out", flags->token_out,
                      "a new file for the token, instead of stderr");
  command->callback([flags, run] {
    *run = [flags](std::ostream& out, std::ostream& err) {
      const absl::Status status = MakeLine(*flags, out, err);
      if (!status.ok()) {
        err << "mercer-server token: " << std::string(status.message()) << std::endl;
      }
      return status.ok() ? 0 : 2;
    };
  });
}

}  // namespace mercer::server
