// The aliases of a client of the crash suite: moved with and without an etag, read with their whole history. A move is made
// once, however often it is asked for under one request_id, and what was once in a history stays there as it was.
#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>

#include "client/cpp/errors.h"
#include "tests/fault/crash_client.h"

namespace mercer::server {
namespace {

constexpr int kWholeHistory = 100'000;

// Whether the server has to make this move of an alias that has `version` and `etag`.
bool Moves(const std::string& version, const std::string& etag,
           const v1::SetAliasRequest& request) {
  return (request.etag().empty() || request.etag() == etag) && request.version() != version;
}

// What the move adds to a history, but for time and caller.
v1::AliasChange ChangeBy(const v1::SetAliasRequest& request, const std::string& from,
                         size_t num_changes) {
  v1::AliasChange change;
  change.set_sequence(static_cast<int64_t>(num_changes) + 1);
  change.set_from(from);
  change.set_to(request.version());
  return change;
}

std::pair<int64_t, int32_t> SecondsOf(const v1::AliasChange& change) {
  return {change.time().seconds(), change.time().nanos()};
}

// Notes when and by whom a change was made that is known otherwise; all others must be as they were.
void NoteChange(const std::string& alias, const v1::AliasChange& now, v1::AliasChange& known) {
  if (!known.has_time()) {
    *known.mutable_time() = now.time();
    known.set_caller(now.caller());
  }
  EXPECT_EQ(Difference(known, now), "") << alias << ": change " << known.sequence();
}

}  // namespace

bool CrashClient::HasAlias(const std::string& version) const {
  return std::any_of(pointers_.begin(), pointers_.end(),
                     [&](const Pointer& pointer) { return pointer.version == version; });
}

v1::SetAliasRequest CrashClient::DrawMove(const Pointer& pointer) {
  v1::SetAliasRequest request;
  request.set_name(pointer.name);
  if (!OneIn(4)) {
    const std::string job = AnyJob([&](const KnownJob& known) {
      return absl::StartsWith(known.model, absl::StrCat(pointer.model, "/")) &&
             deleted_.count(known.created.name()) == 0;
    });
    request.set_version(job.empty() ? "" : ledger_.Get(job).model);
  }
  if (OneIn(4)) {
    request.set_etag(pointer.etag == "none" ? "1000000" : "none");
  } else if (OneIn(2)) {
    request.set_etag(pointer.etag);
  }
  if (OneIn(2)) {
    request.set_request_id(absl::StrCat("alias-", name_, "-", ++last_operation_));
  }
  return request;
}

void CrashClient::MoveAlias() {
  Pointer& pointer = AnyPointer();
  const v1::SetAliasRequest request = DrawMove(pointer);
  on_moment_(Moment::kAlias);
  SendMove(pointer, request);
}

void CrashClient::SendMove(Pointer& pointer, const v1::SetAliasRequest& request) {
  grpc::ClientContext context;
  v1::Alias answer;
  const absl::Status status =
      client::ToAbslStatus(connection_->models->SetAlias(&context, request, &answer));
  if (Lost(status)) {
    // Asked again under its request_id, a move is made once, whether or not it has been made already.
    doubt_ = request.request_id().empty() || OneIn(2)
                 ? Doubt([this, &pointer, request] { ReadPointer(pointer, &request); })
                 : Doubt([this, &pointer, request] { SendMove(pointer, request); });
    return;
  }
  if (request.version().empty() && pointer.version.empty()) {
    EXPECT_FALSE(status.ok()) << pointer.name << " was removed twice";
    EXPECT_TRUE(absl::IsNotFound(status) || absl::IsAborted(status)) << status;
  } else if (!request.etag().empty() && request.etag() != pointer.etag) {
    const client::ErrorReport report = client::ReadErrorReport(status);
    EXPECT_EQ(report.reason, "STALE_ETAG") << pointer.name << ": " << status;
    EXPECT_EQ(report.metadata.count("etag") != 0 ? report.metadata.at("etag") : "", pointer.etag);
  } else {
    ASSERT_TRUE(status.ok()) << request.ShortDebugString() << ": " << status;
    NoteMove(pointer, request, answer);
  }
}

void CrashClient::NoteMove(Pointer& pointer, const v1::SetAliasRequest& request,
                           const v1::Alias& answer) {
  EXPECT_EQ(answer.name(), pointer.name);
  EXPECT_EQ(answer.version(), request.version()) << pointer.name;
  if (!Moves(pointer.version, pointer.etag, request)) {
    EXPECT_EQ(answer.etag(), pointer.etag) << pointer.name << " has not moved";
    return;
  }
  EXPECT_NE(answer.etag(), pointer.etag) << pointer.name << " has moved";
  pointer.history.push_back(ChangeBy(request, pointer.version, pointer.history.size()));
  pointer.version = request.version();
  pointer.etag = answer.etag();
}

void CrashClient::ReadPointer(Pointer& pointer, const v1::SetAliasRequest* pending) {
  // Before the server is asked, since jobs end all the time.
  const std::string known_version = AnyJob([&](const KnownJob& known) {
    return absl::StartsWith(known.model, absl::StrCat(pointer.model, "/")) &&
           deleted_.count(known.created.name()) == 0;
  });
  const absl::StatusOr<std::vector<v1::AliasChange>> history =
      connection_->client.ListAliasHistory(pointer.name, kWholeHistory);
  if (Lost(history.status())) {
    return;
  }
  const absl::StatusOr<v1::Alias> alias = connection_->client.GetAlias(pointer.name);
  if (Lost(alias.status())) {
    return;
  }
  if (history.ok()) {
    NoteHistory(pointer, *history, pending);
  } else {
    // A model without versions answers to nothing.
    EXPECT_TRUE(absl::IsNotFound(history.status())) << history.status();
    EXPECT_TRUE(pointer.history.empty() || known_version.empty())
        << pointer.name << " has no history";
  }
  const std::string version = pointer.history.empty() ? "" : pointer.history.back().to();
  EXPECT_EQ(alias.value_or(v1::Alias()).version(), version) << pointer.name;
  EXPECT_TRUE(alias.ok() || (absl::IsNotFound(alias.status()) && version.empty()))
      << alias.status();
  const std::string etag = alias.ok() ? alias->etag() : "none";
  EXPECT_TRUE(version != pointer.version || etag == pointer.etag) << pointer.name << ": " << etag;
  pointer.version = version;
  pointer.etag = etag;
}

void CrashClient::NoteHistory(Pointer& pointer, const std::vector<v1::AliasChange>& newest_first,
                              const v1::SetAliasRequest* pending) {
  std::vector<v1::AliasChange>& known = pointer.history;
  if (pending != nullptr && newest_first.size() == known.size() + 1 &&
      Moves(pointer.version, pointer.etag, *pending)) {
    known.push_back(ChangeBy(*pending, pointer.version, known.size()));
  }
  ASSERT_EQ(newest_first.size(), known.size()) << pointer.name;
  for (size_t i = 0; i < known.size(); ++i) {
    NoteChange(pointer.name, newest_first[known.size() - 1 - i], known[i]);
    EXPECT_TRUE(i == 0 || SecondsOf(known[i - 1]) <= SecondsOf(known[i]))
        << pointer.name << ": change " << i + 1;
  }
}

void CrashClient::CheckAliases() {
  for (Pointer& pointer : pointers_) {
    ReadPointer(pointer, nullptr);
    if (lost_) {
      return;
    }
  }
}

}  // namespace mercer::server
