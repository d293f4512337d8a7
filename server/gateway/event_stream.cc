#include "server/gateway/event_stream.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"

#include "server/gateway/http/error_answer.h"

namespace mercer::gateway {
namespace {

// What a client has not taken yet; sources wait above it.
constexpr size_t kRoomBytes = 256 * 1024;
// How long an error may take to become the answer itself. A client waits for the head of the answer meanwhile.
constexpr absl::Duration kErrorTime = absl::Milliseconds(150);

}  // namespace

EventStream::EventStream(std::shared_ptr<Exchange> exchange, server::Budget::Share place,
                         std::vector<int64_t> positions)
    : exchange_(std::move(exchange)),
      made_(absl::Now()),
      place_(std::move(place)),
      positions_(std::move(positions)),
      num_sources_(positions_.size()) {}

void EventStream::Follow(std::shared_ptr<RpcCall> rpc) {
  {
    absl::MutexLock lock(&mutex_);
    if (!ended_) {
      rpcs_.push_back(std::move(rpc));
      return;
    }
  }
  rpc->Cancel();
}

void EventStream::WatchClient() {
  exchange_->OnGone([self = shared_from_this()] { self->OnGone(); });
}

void EventStream::Push(size_t source, std::optional<int64_t> position, std::string_view event) {
  absl::MutexLock lock(&mutex_);
  if (ended_) {
    return;
  }
  if (position.has_value()) {
    positions_[source] = *position;
    absl::StrAppend(&pending_, "id: ", absl::StrJoin(positions_, ","), "\n");
  }
  pending_ += event;
  Begin();
  WriteMore();
}

void EventStream::WhenRoom(std::function<void()> next) {
  {
    absl::MutexLock lock(&mutex_);
    if (ended_) {
      return;
    }
    if (pending_.size() > kRoomBytes) {
      waiting_.push_back(std::move(next));
      return;
    }
  }
  next();
}

void EventStream::EndSource(std::string last, const google::rpc::Status* error) {
  absl::MutexLock lock(&mutex_);
  --num_sources_;
  if (ended_) {
    return;
  }
  if (error != nullptr && first_error_.code() == 0) {
    first_error_ = *error;
  }
  pending_ += last;
  if (num_sources_ == 0 && !begun_ && first_error_.code() != 0) {
    exchange_->Send(ErrorAnswer(first_error_));
    Finish();
    return;
  }
  if (error == nullptr || num_sources_ == 0) {
    Begin();
  }
  WriteMore();
}

bool EventStream::BeginAt(absl::Time now) {
  absl::MutexLock lock(&mutex_);
  if (!ended_ && !begun_ && now >= made_ + kErrorTime) {
    Begin();
    WriteMore();
  }
  return ended_ || begun_;
}

void EventStream::Begin() {
  if (std::exchange(begun_, true)) {
    return;
  }
  exchange_->Begin({200,
                    {{"Content-Type", "text/event-stream"},
                     {"Cache-Control", "no-store"},
                     {"X-Accel-Buffering", "no"}},
                    std::nullopt});
}

void EventStream::WriteMore() {
  if (!begun_ || writing_ || ended_) {
    return;
  }
  if (!pending_.empty()) {
    writing_ = true;
    exchange_->Write(std::exchange(pending_, std::string()),
                     [self = shared_from_this()](bool ok) { self->OnWritten(ok); });
  } else if (num_sources_ == 0) {
    exchange_->End(/*whole=*/true);
    Finish();
  }
}

void EventStream::OnWritten(bool ok) {
  std::vector<std::function<void()>> waiting;
  {
    absl::MutexLock lock(&mutex_);
    writing_ = false;
    if (ok) {
      WriteMore();
      if (pending_.size() <= kRoomBytes) {
        waiting.swap(waiting_);
      }
    }
  }
  for (const auto& next : waiting) {
    next();
  }
}

void EventStream::OnGone() {
  std::vector<std::shared_ptr<RpcCall>> rpcs;
  {
    absl::MutexLock lock(&mutex_);
    rpcs.swap(rpcs_);
    Finish();
  }
  for (const auto& rpc : rpcs) {
    rpc->Cancel();
  }
}

void EventStream::Finish() {
  ended_ = true;
  pending_.clear();
  waiting_.clear();
  rpcs_.clear();
  place_.Release();
}

}  // namespace mercer::gateway
