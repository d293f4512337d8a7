#include "server/rpc/trace_context.h"

#include <algorithm>

namespace mercer::server {
namespace {

constexpr size_t kVersionDigits = 2;
constexpr size_t kTraceDigits = 32;
constexpr size_t kSpanDigits = 16;
constexpr size_t kFlagDigits = 2;
constexpr size_t kLength = kVersionDigits + kTraceDigits + kSpanDigits + kFlagDigits + 3;

bool IsLowerHex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool IsZero(std::string_view text) { return text.find_first_not_of('0') == std::string_view::npos; }

// Takes `count` hexadecimal digits off the front of `text`; empty when they are not there.
std::string_view TakeDigits(std::string_view& text, size_t count) {
  const std::string_view digits = text.substr(0, count);
  text.remove_prefix(std::min(text.size(), count));
  return digits.size() == count && IsLowerHex(digits) ? digits : std::string_view();
}

bool TakeDash(std::string_view& text) {
  const bool found = !text.empty() && text.front() == '-';
  text.remove_prefix(found ? 1 : 0);
  return found;
}

}  // namespace

std::optional<std::string> ParseTraceParent(std::string_view header) {
  std::string_view rest = header;
  const std::string_view version = TakeDigits(rest, kVersionDigits);
  const bool dashed = TakeDash(rest);
  const std::string_view trace = TakeDigits(rest, kTraceDigits);
  const bool dashed_again = TakeDash(rest);
  const std::string_view span = TakeDigits(rest, kSpanDigits);
  const bool dashed_last = TakeDash(rest);
  const std::string_view flags = TakeDigits(rest, kFlagDigits);
  const bool whole = dashed && dashed_again && dashed_last && !version.empty() && !trace.empty() &&
                     !span.empty() && !flags.empty();
  if (!whole || version == "ff" || IsZero(trace) || IsZero(span)) {
    return std::nullopt;
  }
  // Version 00 ends here; later ones may go on after a dash.
  const bool ended = header.size() == kLength || (version != "00" && rest.front() == '-');
  return ended ? std::optional<std::string>(trace) : std::nullopt;
}

std::string TraceIdOf(const grpc::CallbackServerContext& context) {
  const auto [begin, end] = context.client_metadata().equal_range("traceparent");
  if (begin == end || std::next(begin) != end) {
    return "";
  }
  return ParseTraceParent({begin->second.data(), begin->second.size()}).value_or("");
}

}  // namespace mercer::server
