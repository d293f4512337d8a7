#include "server/api/watch_stream.h"

#include <utility>

#include "core/base/process/run_safely.h"

namespace mercer::server {

template <typename Item>
void WatchStream<Item>::Begin() {
  absl::StatusOr<std::unique_ptr<Watch<Item>>> watch = Open([this] { Pump(); });
  if (!watch.ok()) {
    End(watch.status());
    return;
  }
  watch_ = *std::move(watch);
  heartbeat_ = environment_.ticker->Add([this] { Pump(nullptr, &WatchStream::heartbeat_due_); });
  Pump(nullptr, &WatchStream::started_);
}

// gRPC's own few threads, which run this, are those that every call waits for: a further message is sent by another.
template <typename Item>
void WatchStream<Item>::OnWriteDone(bool ok) {
  {
    absl::MutexLock lock(&mutex_);
    busy_ = false;
    cancelled_ = cancelled_ || !ok;
  }
  Pump(environment_.watching);
}

template <typename Item>
void WatchStream<Item>::Leave() {
  if (heartbeat_ != 0) {
    environment_.ticker->Remove(heartbeat_);
  }
  watch_.reset();  // waits for a wake that is running
}

template <typename Item>
void WatchStream<Item>::End(const absl::Status& status) {
  {
    absl::MutexLock lock(&mutex_);
    finished_ = true;
  }
  RequestCall::End(status);
}

template <typename Item>
void WatchStream<Item>::Pump(Executor* writer, bool WatchStream::*flag) {
  Action action = Action::kNothing;
  absl::Status end;
  {
    absl::MutexLock lock(&mutex_);
    if (flag != nullptr) {
      this->*flag = true;
    }
    action = DecideSafely();
    end = end_;
  }
  // After Finish, and after a message was begun, another thread may already be further: nothing of this object is touched below.
  switch (action) {
    case Action::kNothing:
      return;
    case Action::kWrite:
      if (writer == nullptr) {
        StartWrite(&bytes_);
      } else {
        PostOrEnd(*writer, [this] { StartWrite(&bytes_); });
      }
      return;
    case Action::kWriteLong:
      PostOrEnd(*environment_.io, [this] { WriteLong(); });
      return;
    case Action::kFinish:
      End(end);
      return;
  }
}

template <typename Item>
typename WatchStream<Item>::Action WatchStream<Item>::DecideSafely() {
  Action action = Action::kNothing;
  const absl::Status status = RunSafely(call_.method(), [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    action = Decide();
    return absl::OkStatus();
  });
  return status.ok() ? action : EndWith(status);
}

template <typename Item>
typename WatchStream<Item>::Action WatchStream<Item>::Decide() {
  if (!started_ || finished_ || busy_) {
    return Action::kNothing;
  }
  if (cancelled_) {
    return EndWith(absl::CancelledError("the client has gone"));
  }
  if (draining_) {
    return EndWith(DrainingError());
  }
  if (heartbeat_due_) {
    if (absl::Status admitted = call_.CheckCaller(); !admitted.ok()) {
      return EndWith(std::move(admitted));
    }
    watch_->LookAgain();
  }
  NextItem<Item> next = watch_->Next();
  switch (next.kind) {
    case NextItem<Item>::kItem:
      if (TakesLong(*next.item)) {
        long_ = std::move(next);
        busy_ = true;
        return Action::kWriteLong;
      }
      return Send(Write(next));
    case NextItem<Item>::kExistingSent:
      return Send(Write(next));
    case NextItem<Item>::kWait:
      return heartbeat_due_ ? Send(WriteHeartbeat(next.sequence)) : Action::kNothing;
    case NextItem<Item>::kEnd:
      return EndWith(EndOf(next.status));
  }
  return Action::kNothing;
}

// Whatever is written is a sign of life.
template <typename Item>
typename WatchStream<Item>::Action WatchStream<Item>::Send(absl::StatusOr<grpc::ByteBuffer> bytes) {
  if (!bytes.ok()) {
    return EndWith(bytes.status());
  }
  bytes_ = *std::move(bytes);
  heartbeat_due_ = false;
  busy_ = true;
  return Action::kWrite;
}

template <typename Item>
typename WatchStream<Item>::Action WatchStream<Item>::EndWith(absl::Status status) {
  finished_ = true;
  end_ = std::move(status);
  return Action::kFinish;
}

// busy_ keeps everybody else away, and with it the end of this object.
template <typename Item>
void WatchStream<Item>::WriteLong() {
  absl::StatusOr<grpc::ByteBuffer> bytes =
      RunSafely(call_.method(), [this] { return Write(long_); });
  if (bytes.ok()) {
    bytes_ = *std::move(bytes);
    StartWrite(&bytes_);
  } else {
    End(EndOf(bytes.status()));
  }
}

template class WatchStream<WatchedEvent>;
template class WatchStream<WatchedJob>;

}  // namespace mercer::server
