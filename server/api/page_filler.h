// Pages of a list that keep within the message limit, however large the items are.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include <google/protobuf/repeated_field.h>

#include "core/base/status/status_macros.h"
#include "server/storage/page_token.h"
#include "server/storage/records.h"
#include "server/translation/resource_names.h"

namespace mercer::server {

// Appends to `items` at most as many as `request` asks for, fewer when they would exceed
// `limit_bytes`, but one at least; answers the token of the next page. `list` gives records, `write`
// a record's message, or none when it is gone by now. Few records are read at once, because they
// may be large too. A page of `list` that is shorter than it was asked for, but not the last, has looked at as many records as
// one read may (list_filter.h); after some of these, or some time, the page ends as it is, maybe empty.
template <typename Record, typename Message>
absl::StatusOr<std::string> FillPage(
    const PageRequest& request, int64_t limit_bytes,
    absl::FunctionRef<absl::StatusOr<Page<Record>>(const PageRequest&)> list,
    absl::FunctionRef<absl::StatusOr<std::optional<Message>>(const Record&)> write,
    google::protobuf::RepeatedPtrField<Message>* items) {
  constexpr int kRecordsAtOnce = 32;
  constexpr int kMostShortReads = 20;
  constexpr absl::Duration kMostTime = absl::Milliseconds(500);
  constexpr int64_t kItemOverhead = 8;  // tag and length
  MERCER_ASSIGN_OR_RETURN(int wanted, EffectivePageSize(request));
  int64_t room = limit_bytes - 1024;  // for the token
  std::string token = request.token;
  int short_reads = 0;
  const absl::Time begin = absl::Now();
  while (true) {
    const int asked = std::min(wanted, kRecordsAtOnce);
    MERCER_ASSIGN_OR_RETURN(const Page<Record> page, list({asked, token}));
    std::vector<Message> messages;
    int64_t bytes = 0;
    int taken = 0;
    for (const Record& record : page.items) {
      MERCER_ASSIGN_OR_RETURN(std::optional<Message> message, write(record));
      if (message.has_value()) {
        bytes += static_cast<int64_t>(message->ByteSizeLong()) + kItemOverhead;
        if (bytes > room && !(items->empty() && messages.empty())) {
          break;
        }
        messages.push_back(*std::move(message));
      }
      ++taken;
    }
    if (taken < static_cast<int>(page.items.size())) {
      if (taken == 0) {
        return token;
      }
      wanted = taken;  // the same records again, with the token that goes on behind them
      continue;
    }
    for (Message& message : messages) {
      *items->Add() = std::move(message);
    }
    room -= bytes;
    wanted -= taken;
    token = page.next_token;
    const bool is_short = static_cast<int>(page.items.size()) < asked;
    short_reads += is_short ? 1 : 0;
    if (token.empty() || wanted <= 0 || short_reads == kMostShortReads ||
        (is_short && absl::Now() - begin > kMostTime)) {
      return token;
    }
  }
}

// The answer to a list request, whose items FillPage fills. Errors: those of `list`; kInvalidArgument about the page.
template <typename Response, typename Request, typename Message, typename List, typename Write>
absl::StatusOr<Response> AnswerList(
    const Request& request, int64_t limit_bytes,
    google::protobuf::RepeatedPtrField<Message>* (Response::*items)(), const List& list,
    const Write& write) {
  using Records = decltype(list(PageRequest())->items);
  Response response;
  absl::StatusOr<std::string> next = FillPage<typename Records::value_type, Message>(
      {request.page_size(), request.page_token()}, limit_bytes, list, write, (response.*items)());
  MERCER_RETURN_IF_ERROR(AboutPage(next.status()));
  response.set_next_page_token(*std::move(next));
  return response;
}

}  // namespace mercer::server
