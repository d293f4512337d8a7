#include "server/jobs/record/job_event.h"

#include <optional>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"

#include "core/base/encoding/bytes.h"
#include "core/base/encoding/saved_fields.h"

namespace mercer::server {
namespace {

constexpr uint8_t kFormat = 1;
constexpr uint8_t kTracedFormat = 2;  // the same with a trace, after the message
constexpr uint8_t kStageFormat = 3;   // the first with the share of the stage, at the end
constexpr uint8_t kGroupsFormat = 4;  // and behind it the groups; a share below 0 is none

uint8_t FormatOf(const JobEvent& event) {
  if (event.kind == JobEventKind::kProgress && event.report.active_groups > 0) {
    return kGroupsFormat;
  }
  if (event.kind == JobEventKind::kProgress && event.report.stage_fraction.has_value()) {
    return kStageFormat;
  }
  return event.trace_id.empty() ? kFormat : kTracedFormat;
}

bool IsKind(uint8_t value) {
  return value >= 1 && value <= static_cast<uint8_t>(JobEventKind::kResumed);
}
bool IsState(uint8_t value) {
  return value >= 1 && value <= static_cast<uint8_t>(JobState::kCancelled);
}

}  // namespace

std::string EncodeJobEvent(const JobEvent& event) {
  ByteWriter writer;
  const uint8_t format = FormatOf(event);
  writer.WriteUint8(format);
  writer.WriteUint8(static_cast<uint8_t>(event.kind));
  writer.WriteUint8(static_cast<uint8_t>(event.state));
  writer.WriteString(event.message);
  if (format == kTracedFormat) {
    writer.WriteString(event.trace_id);
  }
  if (event.kind == JobEventKind::kProgress) {
    writer.WriteString(event.phase);
    WriteFields(event.report, writer);
    writer.WriteDouble(event.elapsed_seconds);
    if (format >= kStageFormat) {
      writer.WriteDouble(event.report.stage_fraction.value_or(-1.0));
    }
    if (format == kGroupsFormat) {
      writer.WriteInt64(event.report.active_groups);
    }
  }
  return std::move(writer).Take();
}

absl::StatusOr<JobEvent> DecodeJobEvent(const EventRecord& record) {
  ByteReader reader(record.payload);
  JobEvent event;
  event.sequence = record.sequence;
  event.attempt = record.attempt;
  event.iteration = record.iteration;
  event.time = record.time;
  const uint8_t format = reader.ReadUint8();
  const uint8_t kind = reader.ReadUint8();
  const uint8_t state = reader.ReadUint8();
  event.message = reader.ReadString();
  if (format == kTracedFormat) {
    event.trace_id = reader.ReadString();
  }
  if (format < kFormat || format > kGroupsFormat || !IsKind(kind) || !IsState(state)) {
    reader.Fail();
  } else {
    event.kind = static_cast<JobEventKind>(kind);
    event.state = static_cast<JobState>(state);
  }
  if (event.kind == JobEventKind::kProgress) {
    event.phase = reader.ReadString();
    ReadFields(reader, event.report);
    event.elapsed_seconds = reader.ReadDouble();
    if (format >= kStageFormat) {
      const double share = reader.ReadDouble();
      event.report.stage_fraction = share >= 0 ? std::optional<double>(share) : std::nullopt;
    }
    if (format == kGroupsFormat) {
      event.report.active_groups = reader.ReadInt64();
    }
  }
  if (!reader.AtEnd()) {
    return absl::DataLossError(absl::StrCat("event ", record.sequence, " cannot be read"));
  }
  return event;
}

EventDraft StateEvent(JobState state, std::string message) {
  JobEvent event;
  event.state = state;
  event.message = std::move(message);
  return {0, EncodeJobEvent(event)};
}

EventDraft QueuedEvent(std::string trace_id) {
  JobEvent event;
  event.trace_id = std::move(trace_id);
  return {0, EncodeJobEvent(event)};
}

StoredError EncodeError(const absl::Status& status) {
  ByteWriter writer;
  status.ForEachPayload([&](absl::string_view url, const absl::Cord& payload) {
    writer.WriteString(std::string(url));
    writer.WriteString(std::string(payload));
  });
  return {static_cast<int>(status.code()), std::string(status.message()), std::move(writer).Take()};
}

absl::Status DecodeError(const StoredError& error) {
  absl::Status status(static_cast<absl::StatusCode>(error.code), error.message);
  ByteReader reader(error.details);
  while (reader.ok() && !reader.AtEnd()) {
    const std::string url = reader.ReadString();
    const std::string payload = reader.ReadString();
    if (reader.ok()) {
      status.SetPayload(url, absl::Cord(payload));
    }
  }
  return status;
}

}  // namespace mercer::server
