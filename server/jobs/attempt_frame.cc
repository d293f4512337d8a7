#include "server/jobs/attempt_frame.h"

#include <utility>

#include <spdlog/logger.h>

#include "server/jobs/record/job_event.h"
#include "server/jobs/record/job_log.h"

namespace mercer::server {

AttemptFrame::AttemptFrame(const AttemptEnvironment* environment, JobRecord job)
    : environment_(*environment),
      job_(std::move(job)),
      lease_{job_.id, job_.lease_worker, job_.epoch},
      recorder_({&dependencies().storage->events(), dependencies().clock,
                 [this](const absl::Status& status) {
                   if (absl::IsAborted(status)) {
                     Abandon();
                   }
                   Log("cannot write progress", status);
                 },
                 &dependencies().storage->jobs()},
                lease_, environment_.options.event_interval, environment_.options.quiet_start) {
  if (job_.stop_requested) {
    interruption_->RequestStop();
  }
}

void AttemptFrame::TellResumed(int64_t iteration, std::string why) {
  JobEvent event;
  event.kind = JobEventKind::kResumed;
  event.state = JobState::kRunning;
  event.message = std::move(why);
  recorder_.WriteNow({iteration, EncodeJobEvent(event)});
}

void AttemptFrame::Log(const std::string& what, const absl::Status& status) const {
  if (dependencies().log != nullptr) {
    dependencies().log->warn("{} {}: {}", LogAttemptOf(job_), what, status.ToString());
  }
}

}  // namespace mercer::server
