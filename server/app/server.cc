#include "server/app/server.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <unistd.h>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include <grpcpp/grpcpp.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "core/base/memory/memory_reserve.h"
#include "core/base/process/run_safely.h"
#include "core/base/process/usable_resources.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "server/api/request_planner.h"
#include "server/api/services.h"
#include "server/app/access/access_control.h"
#include "server/app/dropped_versions.h"
#include "server/app/grpc_front.h"
#include "server/app/http_front.h"
#include "server/app/process/data_folder.h"
#include "server/app/server_metrics.h"
#include "server/gateway/rpc_messages.h"
#include "server/jobs/record/job_log.h"
#include "server/jobs/upkeep/crash_notes.h"
#include "server/jobs/upkeep/storage_keeper.h"
#include "server/storage/sqlite/sqlite_storage.h"
#include "server/translation/times.h"
#include "server/uploads/dataset_context.h"

namespace mercer::server {
namespace {

// How long calls may take to end after a drain has told them to. A stream that has not ended after the first is writing to a client that
// does not read.
constexpr absl::Duration kStreamGrace = absl::Milliseconds(500);
constexpr absl::Duration kCallGrace = absl::Seconds(5);
// For calls that came in the last moment. Idle connections would make the transport wait as long as it is allowed to.
constexpr absl::Duration kTransportGrace = absl::Milliseconds(100);
// How often watchers of all jobs hear of the progress of one.
constexpr absl::Duration kFeedInterval = absl::Seconds(1);
// So many times in between they hear of some of the jobs, so that other calls do not wait behind the news of all.
constexpr size_t kFeedParts = 10;
constexpr int64_t kHeartbeatParts = 20;

int PredictionThreads() { return std::max(2, UsableProcessors() / 2); }

std::string HostName() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? absl::StrCat(name, ":", getpid())
                                                  : absl::StrCat("pid:", getpid());
}

std::string ScratchFolder(const ServerOptions& options) { return options.data_dir + "/scratch"; }

int64_t CacheBytes(const ServerOptions& options) { return int64_t{options.cache_mb} << 20; }

JobManagerOptions JobOptions(const ServerOptions& options) {
  JobManagerOptions jobs;
  jobs.host = HostName();
  jobs.code_version = kCodeVersion;
  jobs.num_workers = options.workers;
  jobs.memory_budget_bytes = options.memory_budget_bytes;
  jobs.cache_bytes = CacheBytes(options);
  jobs.scratch_folder = ScratchFolder(options);
  jobs.checkpoint_interval = options.checkpoint_interval;
  jobs.max_lost_attempts = options.max_lost_attempts;
  jobs.queue_limits = QueueLimits{options.max_queued_jobs, options.max_queued_jobs_per_caller};
  jobs.max_running_jobs_per_caller = options.max_running_jobs_per_caller;
  return jobs;
}

// All that stays as long as the server runs. `options` are resolved.
v1::ServerInfo MakeServerInfo(const ServerOptions& options) {
  v1::ServerInfo info;
  info.set_version(kCodeVersion);
  SetTimestamp(absl::FromUnixMillis(absl::ToUnixMillis(absl::Now())), info.mutable_started());
  info.set_tokens(!options.access.tokens.empty());
  for (const LearnerEntry* learner : AllLearners()) {
    info.add_learner_names(learner->name);
  }
  info.set_learners(info.learner_names_size());
  info.set_code_version(kCodeVersion);
  info.mutable_limits()->set_memory_budget_bytes(options.memory_budget_bytes);
  info.set_processors(UsableProcessors());
  info.set_workers(options.workers);
  info.set_threads_per_job(options.threads);
  return info;
}

// Members are destroyed in reverse order: the gRPC server before the pools, whose work uses the services, these before what
// they stand on.
class RunningServer final : public Server {
 public:
  RunningServer(const ServerOptions& given, ServerOptions resolved,
                std::shared_ptr<spdlog::logger> log, LearnerLookup find_learner)
      : options_(std::move(resolved)),
        started_with_(given),
        in_force_(options_),
        log_(std::move(log)),
        find_learner_(std::move(find_learner)) {}

  ~RunningServer() override {
    http_.reset();
    CloseHubs();
    grpc_.reset();
  }

  // A start that fails leaves every job as it found it, but for those of a dead process, which are queued again.
  absl::Status Open() {
    const absl::Status started = TryToStart();
    if (!started.ok() && grpc_ != nullptr) {
      Drain();
    }
    return started;
  }

  void Drain() override {
    std::call_once(drained_, [this] {
      log_->info("drain begins");
      grpc_->BeginDrain();
      if (http_ != nullptr) {
        http_->gateway().BeginDrain();
      }
      environment_.calls->Drain();
      jobs_->Drain();
      CloseHubs();
      if (!environment_.calls->WaitForCalls(kStreamGrace)) {
        environment_.calls->Cancel();
        environment_.calls->WaitForCalls(kCallGrace);
      }
      if (http_ != nullptr) {
        http_->gateway().Stop(kStreamGrace);
      }
      grpc_->Stop(kTransportGrace);
      RemovePortFiles();
      log_->info("drain ended");
    });
  }

  void ReloadAccess() override { access_->Reload(); }

  void Reload(const absl::StatusOr<ServerOptions>& fresh) override
      ABSL_LOCKS_EXCLUDED(reload_mutex_) {
    ReloadAccess();
    absl::MutexLock lock(&reload_mutex_);
    absl::StatusOr<ReloadPlan> plan =
        fresh.ok() ? PlanReload(started_with_, in_force_, *fresh) : fresh.status();
    if (!plan.ok()) {
      log_->error("the configuration stays as it was: {}", std::string(plan.status().message()));
      return;
    }
    in_force_ = plan->options;
    // Said while the log tells more: before a level that hides it, after one that shows it.
    const spdlog::level::level_enum level = spdlog::level::from_str(in_force_.log_level);
    if (level < log_->level()) {
      log_->set_level(level);
    }
    ApplyLimits(in_force_);
    log_->info("configuration read again: {}",
               plan->changes.empty() ? "nothing changes" : absl::StrJoin(plan->changes, ", "));
    if (!plan->at_restart.empty()) {
      log_->warn("other values wait for the next start: {}", absl::StrJoin(plan->at_restart, ", "));
    }
    log_->set_level(level);
  }

  int port() const override { return grpc_->port(); }
  int http_port() const override { return http_ == nullptr ? 0 : http_->gateway().port(); }
  const std::string& address() const override { return grpc_->address(); }
  std::shared_ptr<grpc::Channel> InProcessChannel() override { return grpc_->InProcessChannel({}); }

 private:
  // The workers come last: an attempt that a failing start breaks off would count as lost, and a job that is lost
  // often fails for good. Calls are answered before there are workers; what they submit is queued.
  absl::Status TryToStart() {
    MERCER_ASSIGN_OR_RETURN(access_, AccessControl::Open(options_.access, log_));
    MERCER_RETURN_IF_ERROR(OpenData());
    MERCER_RETURN_IF_ERROR(RecoverJobs());
    MakeServices();
    MERCER_RETURN_IF_ERROR(RecoverUploads(context_));
    MERCER_RETURN_IF_ERROR(Listen());
    MERCER_RETURN_IF_ERROR(ListenForHttp());
    MERCER_RETURN_IF_ERROR(WritePortFile(PosixFileSystem(), PortFiles()[0], grpc_->port()));
    MERCER_RETURN_IF_ERROR(jobs_->StartWorkers());
    retention_ = std::make_unique<JobRetention>(
        JobRetentionDependencies{storage_.get(), blobs_.get(), &RealClock(), log_},
        options_.job_retention);
    return RunSafely("starting the keeper of the storage", [this] {
      keeper_ = std::make_unique<StorageKeeper>(
          StorageKeeperOptions{.storage = storage_.get(),
                               .blobs = blobs_.get(),
                               .reserve = reserve_.get(),
                               .collect_interval = options_.collect_interval,
                               .retention = retention_.get(),
                               .log = log_});
      return absl::OkStatus();
    });
  }

  void CloseHubs() {
    if (call_hub_ != nullptr) {
      hub_->Close();
      call_hub_->Close();
    }
  }

  void ApplyLimits(const ServerOptions& options) {
    jobs_->SetLimits(JobOptions(options));
    SetUploadLimits(options);
    environment_.max_calls_per_caller = options.access.max_calls_per_caller;
    disk_->SetMinFreeBytes(options.min_free_disk_bytes);
    retention_->SetKeep(options.job_retention);
  }

  void SetUploadLimits(const ServerOptions& options) {
    context_.limits.dataset_bytes = options.max_upload_bytes;
    context_.limits.upload_space_bytes = options.upload_space_bytes;
    context_.limits.caller_upload_bytes = options.upload_space_per_caller_bytes;
    context_.limits.upload_expiry = options.upload_expiry;
    context_.limits.stored_bytes = options.max_stored_bytes;
  }

  // Of gRPC and of HTTP.
  std::array<std::string, 2> PortFiles() const {
    return {options_.data_dir + "/port", options_.data_dir + "/http_port"};
  }

  void RemovePortFiles() {
    for (const std::string& path : PortFiles()) {
      const absl::Status removed = RemovePortFile(PosixFileSystem(), path);
      if (!removed.ok()) {
        log_->warn("the file of the port stays: {}", removed.ToString());
      }
    }
  }

  absl::Status OpenData() {
    MERCER_RETURN_IF_ERROR(MakeFolder(options_.data_dir));
    MERCER_RETURN_IF_ERROR(CheckBlobsHaveDatabase(options_.data_dir));
    MERCER_ASSIGN_OR_RETURN(std::unique_ptr<Storage> database,
                            OpenSqliteStorage({.folder = options_.data_dir}));
    storage_ = std::make_unique<WatchedStorage>(std::move(database), &metrics_);
    // The folder is this process' now, so the file is of a dead one.
    for (const std::string& path : PortFiles()) {
      MERCER_RETURN_IF_ERROR(RemovePortFile(PosixFileSystem(), path));
    }
    MERCER_ASSIGN_OR_RETURN(blobs_, OpenBlobStore(options_.data_dir + "/blobs"));
    disk_ = std::make_unique<DiskGuard>(options_.data_dir, options_.min_free_disk_bytes);
    reserve_ = std::make_unique<DiskReserve>(options_.data_dir + "/reserve");
    // Before the first call: the keeper, whose thread gives way to all others, may come after a disk is full. It repeats
    // what fails here, and logs it.
    reserve_->Refill().IgnoreError();
    context_.disk = disk_.get();
    context_.reserve = reserve_.get();
    OpenCrashNotes();
    MERCER_RETURN_IF_ERROR(MakeEmptyFolder(ScratchFolder(options_)));
    MERCER_ASSIGN_OR_RETURN(backup_folder_, TakeEmptyFolder(options_.data_dir + "/backup"));
    MERCER_ASSIGN_OR_RETURN(upload_folder_, TakeUploadFolder(options_.data_dir + "/uploads"));
    context_.backup_folder = backup_folder_->path();
    context_.upload_folder = upload_folder_->path();
    // Uploads that the server has vouched for would go with a folder that has not reached the disk.
    return PosixFileSystem().SyncFolder(options_.data_dir);
  }

  // Without them the server does its work all the same; only the blame for a crash gets lost.
  void OpenCrashNotes() {
    absl::StatusOr<std::unique_ptr<CrashNotes>> notes =
        CrashNotes::Open(options_.data_dir + "/crashes");
    if (!notes.ok()) {
      log_->warn("crashes will be blamed on no job: {}", notes.status().ToString());
      return;
    }
    crash_notes_ = *std::move(notes);
    for (const CrashedAttempt& crash : crash_notes_->found()) {
      absl::StatusOr<JobRecord> job = storage_->jobs().GetJob(crash.job_id);
      if (!job.ok()) {
        job = JobRecord();
        job->id = crash.job_id;
      }
      job->attempt = crash.attempt;
      log_->error("the server before was taken down by {} signal={}", LogAttemptOf(*job),
                  crash.signal);
    }
  }

  std::function<void(const absl::Status&)> LogErrors() const {
    return [log = log_](const absl::Status& status) {
      log->error("an exception has left a call: {}", status.ToString());
    };
  }

  absl::Status RecoverJobs() {
    dropped_versions_ =
        std::make_unique<DroppedVersions>(storage_->listeners(), cache_, &watching_);
    hub_ = std::make_unique<ProgressHub>(storage_.get(), &watching_);
    call_hub_ = std::make_unique<ProgressHub>(storage_.get(), &io_for_calls_);
    feed_ = std::make_unique<JobFeed>(storage_.get(), &watching_);
    feed_ticker_ = std::make_unique<Ticker>(kFeedInterval / kFeedParts);
    feed_ticker_->Add(
        [this, part = size_t{0}]() mutable { feed_->Tick(part++ % kFeedParts, kFeedParts); });
    environment_.refusals = std::make_unique<RefusalLog>(log_);
    feed_ticker_->Add([this] { environment_.refusals->Tick(); });
    feed_ticker_->Add(RefillReserve);
    planner_ = std::make_unique<RequestPlanner>(find_learner_, options_.threads);
    jobs_ = std::make_unique<JobManager>(
        JobOptions(options_), JobManagerDependencies{.storage = storage_.get(),
                                                     .blobs = blobs_.get(),
                                                     .planner = planner_.get(),
                                                     .find_learner = find_learner_,
                                                     .clock = &RealClock(),
                                                     .other_works = WorksOfModels(&model_jobs_),
                                                     .disk = disk_.get(),
                                                     .reserve = reserve_.get(),
                                                     .crash_notes = crash_notes_.get(),
                                                     .observer = &metrics_,
                                                     .log = log_});
    return jobs_->Recover();
  }

  void MakeServices() {
    gateway::PrepareMessages();
    context_.storage = storage_.get();
    context_.blobs = blobs_.get();
    context_.jobs = jobs_.get();
    context_.planner = planner_.get();
    context_.hub = hub_.get();
    context_.call_hub = call_hub_.get();
    context_.feed = feed_.get();
    context_.learners = AllLearners();
    context_.about = MakeServerInfo(options_);
    context_.limits.message_bytes = options_.max_message_bytes;
    SetUploadLimits(options_);
    context_.limits.default_threads = options_.threads;
    ticker_ = std::make_unique<Ticker>(options_.heartbeat, kHeartbeatParts);
    cache_ = std::make_unique<ModelCache>(storage_->models(), *blobs_, CacheBytes(options_),
                                          PredictionThreads());
    model_jobs_ = {storage_.get(),
                   blobs_.get(),
                   cache_.get(),
                   jobs_.get(),
                   disk_.get(),
                   options_.threads,
                   options_.max_message_bytes,
                   [this] { return context_.limits.stored_bytes; }};
    context_.model_jobs = &model_jobs_;
    environment_.io = &io_for_calls_;
    environment_.watching = &watching_;
    environment_.compute = &compute_;
    environment_.intake = &intake_;
    environment_.submission = &submission_;
    environment_.predictions = &predictions_;
    environment_.ticker = ticker_.get();
    environment_.max_message_bytes = options_.max_message_bytes;
    environment_.request_memory_bytes = ReceiveMemory(options_);
    environment_.peer_key = RandomHex(16).value_or("");  // empty: nobody is believed
    environment_.log = log_;
    environment_.gate = access_->gate();
    environment_.max_calls_per_caller = options_.access.max_calls_per_caller;
    environment_.observer = &metrics_;
    metrics_.SetDependencies({access_->gate(), options_.access.metrics_open, storage_.get(),
                              environment_.calls.get(), cache_.get()});
    services_.push_back(MakeDatasetService(environment_, context_));
    services_.push_back(MakeTrainingService(environment_, context_));
    services_.push_back(MakeModelService(environment_, context_, *cache_));
    services_.push_back(MakePredictionService(environment_, context_, *cache_));
    services_.push_back(MakeAdminService(environment_, context_));
    services_.push_back(MakeServerService(environment_, context_));
  }

  absl::Status Listen() {
    MERCER_ASSIGN_OR_RETURN(
        grpc_, GrpcFront::Open(options_, access_->Credentials(), environment_, services_));
    WarnOfOpenDoor(*log_, options_.access, options_.listen, grpc_->address());
    log_->info("listening address={} data_dir={} workers={} threads={} memory_budget_bytes={}",
               grpc_->address(), options_.data_dir, options_.workers, options_.threads,
               options_.memory_budget_bytes);
    return absl::OkStatus();
  }

  absl::Status ListenForHttp() {
    if (options_.http == kNoHttp) {
      return absl::OkStatus();
    }
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);  // the server sends none beyond its own limit
    MERCER_ASSIGN_OR_RETURN(http_, HttpFront::Open(options_, *access_,
                                                   {.channel = grpc_->InProcessChannel(arguments),
                                                    .peer_key = environment_.peer_key,
                                                    .about = context_.about,
                                                    .metrics = &metrics_,
                                                    .log = log_}));
    WarnOfOpenDoor(*log_, options_.access, options_.http, http_->url());
    log_->info("dashboard url={}/", http_->url());
    return WritePortFile(PosixFileSystem(), PortFiles()[1], http_->gateway().port());
  }

  const ServerOptions options_;  // resolved, as of the start
  const ServerOptions started_with_;
  absl::Mutex reload_mutex_;
  ServerOptions in_force_ ABSL_GUARDED_BY(reload_mutex_);
  const std::shared_ptr<spdlog::logger> log_;
  const LearnerLookup find_learner_;
  std::unique_ptr<AccessControl> access_;
  ServerMetrics metrics_{AllLearners()};  // told by the storage, by workers and by calls
  std::unique_ptr<WatchedStorage> storage_;
  std::unique_ptr<BlobStore> blobs_;
  std::shared_ptr<OwnedFolder> backup_folder_;
  std::shared_ptr<OwnedFolder> upload_folder_;
  std::unique_ptr<DiskGuard> disk_;
  std::unique_ptr<DiskReserve> reserve_;
  std::unique_ptr<JobRetention> retention_;
  std::unique_ptr<StorageKeeper> keeper_;
  std::unique_ptr<CrashNotes> crash_notes_;  // null when the file cannot be opened
  // Tells watchers what is new, in the background: thousands of messages at the moment of one change must not keep the call
  // waiting that has made it.
  ThreadPool watching_{1, LogErrors(), PoolPriority::kConsiderate};
  std::unique_ptr<ProgressHub> hub_;
  std::unique_ptr<ProgressHub> call_hub_;
  std::unique_ptr<JobFeed> feed_;
  std::unique_ptr<RequestPlanner> planner_;
  ApiContext context_;
  ModelJobContext model_jobs_;  // whole before there are workers
  RpcEnvironment environment_;
  std::unique_ptr<Ticker> ticker_;
  std::unique_ptr<Ticker> feed_ticker_;
  std::unique_ptr<ModelCache> cache_;  // there before the workers are
  std::unique_ptr<DroppedVersions> dropped_versions_;
  std::unique_ptr<JobManager> jobs_;
  std::vector<std::unique_ptr<grpc::Service>> services_;
  // Reads requests with many fields, in the background: a few megabytes may have millions.
  ThreadPool intake_{2, LogErrors(), PoolPriority::kBackground};
  ThreadPool io_for_calls_{16,
                           LogErrors()};  // as many calls as should wait for SQL and files at once
  // Predictions have threads of their own, so that the parsing of an upload delays none.
  ThreadPool predictions_{PredictionThreads(), LogErrors()};
  // The first Train on a data set since the start reads the whole file; no other call waits for it.
  ThreadPool submission_{4, LogErrors()};
  ThreadPool compute_{2, LogErrors()};
  std::unique_ptr<GrpcFront> grpc_;
  std::unique_ptr<HttpFront> http_;  // null: not wanted
  std::once_flag drained_;
};

}  // namespace

std::shared_ptr<spdlog::logger> MakeLogger(const std::string& level) {
  auto logger =
      std::make_shared<spdlog::logger>("mercer", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %l %v", spdlog::pattern_time_type::utc);
  logger->set_level(spdlog::level::from_str(level));
  logger->flush_on(spdlog::level::info);
  return logger;
}

absl::StatusOr<std::unique_ptr<Server>> Server::Start(
    const ServerOptions& options, std::shared_ptr<spdlog::logger> log,
    std::function<const LearnerEntry*(std::string_view)> find_learner) {
  MERCER_ASSIGN_OR_RETURN(ServerOptions resolved, ResolveOptions(options));
  auto server = std::make_unique<RunningServer>(options, std::move(resolved), std::move(log),
                                                std::move(find_learner));
  MERCER_RETURN_IF_ERROR(server->Open());
  return server;
}

}  // namespace mercer::server
