// One folder and the many lives of the server on it, with clients that trouble it and watchers.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"

#include "tests/fault/crash_client.h"
#include "tests/fault/crash_moments.h"
#include "tests/fault/ledger.h"
#include "tests/support/server/server_process.h"

namespace mercer::server {

// How a life ends when nothing ends it before: by SIGKILL.
struct Life {
  Moment moment = Moment::kAnytime;  // it is killed so long after this
  absl::Duration delay = absl::ZeroDuration();
  absl::Duration longest = absl::Milliseconds(900);
  absl::Duration drain = absl::ZeroDuration();  // is told to end so long before it is killed
};

// How a life of mercer-server-faulty ends: before its `call`-th call that changes a file, from 1.
struct FaultyLife {
  int64_t call = 1;
  std::string end = "kill";  // or "power", "power-some": see faulty_start.cc
};

// A job that is killed with its server is not to blame, however often that happens here.
ServerProcessOptions BusyOptions(ServerProcessOptions options);

// Trains everything once without interruption.
Reference MakeReference(const ServerProcessOptions& options);

class Campaign {
 public:
  Campaign(uint64_t seed, const ServerProcessOptions& options, const Reference& reference);

  // A life whose end is drawn.
  void LiveAndDie();
  void LiveAndDie(const Life& life);
  void LiveAndDie(const FaultyLife& faulty);
  // Lets every job come to its end, checks everything, and drains.
  void Finish();

  int64_t operations() const;
  // Jobs that are no trainings, and attempts of them that a kill has ended: "works=12 lost_works=3".
  std::string works() const;
  const Ledger& ledger() const { return ledger_; }
  // What there is below "blobs" when everything is at its end.
  ExpectedBlobs expected_blobs() const;

 private:
  void Run(ServerProcess& server, const Life& life);
  // Lets clients and watchers loose on the server until it dies.
  void Trouble(ServerProcess& server, Killer& killer, const Life& life);
  void Watch(Connection& connection, uint64_t seed, const OnMoment& on_moment,
             const std::atomic<bool>& over);
  // Hears every job to its end; then expects of the server all that is known, and not one thing more.
  void CheckAll(Connection& connection);

  Random random_;
  const ServerProcessOptions options_;
  Ledger ledger_;
  std::vector<std::unique_ptr<CrashClient>> clients_;
};

}  // namespace mercer::server
