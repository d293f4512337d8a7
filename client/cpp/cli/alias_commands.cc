#include "absl/strings/str_cat.h"

#include "client/cpp/cli/commands.h"
#include "client/cpp/cli/text.h"
#include "core/base/status/status_macros.h"

namespace mercer::client {
namespace {

struct AliasFlags {
  std::string model;
  std::string alias;
  std::string version;
  std::string etag;
  int limit = 50;
};

std::string AliasName(const AliasFlags& flags) {
  return absl::StrCat(FullName("models", flags.model), "/aliases/", flags.alias);
}

ExitCode PrintAlias(Session& session, const v1::Alias& alias) {
  if (session.json()) {
    session.PrintJson(alias);
  } else {
    session.out() << alias.name() << "  " << (alias.version().empty() ? "removed" : alias.version())
                  << "  etag " << alias.etag() << std::endl;
  }
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> Set(Session& session, const AliasFlags& flags) {
  v1::SetAliasRequest request;
  request.set_name(AliasName(flags));
  request.set_version(absl::StrCat(FullName("models", flags.model), "/versions/", flags.version));
  request.set_etag(flags.etag);
  MERCER_ASSIGN_OR_RETURN(const v1::Alias alias, session.client().SetAlias(std::move(request)));
  return PrintAlias(session, alias);
}

absl::StatusOr<ExitCode> Remove(Session& session, const AliasFlags& flags) {
  v1::SetAliasRequest request;
  request.set_name(AliasName(flags));
  request.set_etag(flags.etag);
  MERCER_ASSIGN_OR_RETURN(const v1::Alias alias, session.client().SetAlias(std::move(request)));
  return PrintAlias(session, alias);
}

absl::StatusOr<ExitCode> Rollback(Session& session, const AliasFlags& flags) {
  v1::RollbackAliasRequest request;
  request.set_name(AliasName(flags));
  request.set_etag(flags.etag);
  MERCER_ASSIGN_OR_RETURN(const v1::Alias alias,
                          session.client().RollbackAlias(std::move(request)));
  return PrintAlias(session, alias);
}

absl::StatusOr<ExitCode> List(Session& session, const AliasFlags& flags) {
  MERCER_ASSIGN_OR_RETURN(
      std::vector<v1::Alias> aliases,
      session.client().ListAliases(FullName("models", flags.model), flags.limit + 1));
  const bool more = CutToLimit(flags.limit, aliases);
  Table table({"ALIAS", "VERSION", "SINCE", "ETAG"});
  for (const v1::Alias& alias : aliases) {
    if (session.json()) {
      session.PrintJson(alias);
    } else {
      table.AddRow({alias.name(), alias.version(), FormatTime(alias.update_time()), alias.etag()});
    }
  }
  if (!session.json()) {
    session.PrintTable(table, "no aliases");
  }
  return session.EndList(more, flags.limit);
}

absl::StatusOr<ExitCode> History(Session& session, const AliasFlags& flags) {
  MERCER_ASSIGN_OR_RETURN(std::vector<v1::AliasChange> changes,
                          session.client().ListAliasHistory(AliasName(flags), flags.limit + 1));
  const bool more = CutToLimit(flags.limit, changes);
  Table table({"CHANGE", "TIME", "FROM", "TO", "CALLER"});
  for (const v1::AliasChange& change : changes) {
    if (session.json()) {
      session.PrintJson(change);
    } else {
      table.AddRow({absl::StrCat(change.sequence(), change.rollback() ? " rollback" : ""),
                    FormatTime(change.time()), change.from(), change.to(), change.caller()});
    }
  }
  if (!session.json()) {
    session.PrintTable(table, "no changes");
  }
  return session.EndList(more, flags.limit);
}

}  // namespace

void AddAliasCommands(CommandLine& line) {
  CLI::App* group =
      line.app.add_subcommand("alias", "Movable names of a model's versions, and their history");
  group->require_subcommand(1);
  const auto add = [&](const char* name, const char* description, auto run, bool one_alias) {
    auto flags = std::make_shared<AliasFlags>();
    CLI::App* command = line.Add(*group, name, description, flags, run);
    command->add_option("MODEL", flags->model, "Name of the model")->required();
    if (one_alias) {
      command->add_option("ALIAS", flags->alias, "Name of the alias: live")->required();
    }
    return std::pair(command, flags);
  };
  const auto add_etag = [](const auto& added) {
    added.first->add_option("--etag", added.second->etag,
                            "Only if the alias still has this etag; none: only if there is none");
  };
  const auto add_limit = [](const auto& added) {
    added.first->add_option("--limit", added.second->limit, "At most this many")
        ->check(CLI::Range(1, kMaxListed))
        ->capture_default_str();
  };
  const auto set = add("set", "Point an alias to a version", &Set, true);
  set.first->add_option("VERSION", set.second->version, "Number of the version")
      ->check(CLI::PositiveNumber)
      ->required();
  add_etag(set);
  add_etag(add("rm", "Remove an alias; its history stays", &Remove, true));
  add_limit(add("list", "List the aliases of a model", &List, false));
  add_limit(add("history", "Every move of an alias, newest first", &History, true));
  add_etag(
      add("rollback", "Point an alias to the version before its last change", &Rollback, true));
}

}  // namespace mercer::client
