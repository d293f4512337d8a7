#include "server/rpc/method_rules.h"

#include <algorithm>
#include <array>

namespace mercer::server {
namespace {

constexpr bool kChanges = true;
constexpr bool kLooks = false;
constexpr bool kEndsWork = true;

constexpr int64_t kSmall = int64_t{64} << 10;
constexpr int64_t kTraining = int64_t{1} << 20;  // may name thousands of kernels
constexpr int64_t kAny = 0;                      // holds rows, or pieces of files

constexpr std::array kRules = {
    MethodRule{"AdminService/Backup", Scope::kAdmin, kLooks},

    MethodRule{"DatasetService/DeleteDataset", Scope::kTrain, kChanges},
    MethodRule{"DatasetService/DeleteUpload", Scope::kTrain, kChanges},
    MethodRule{"DatasetService/GetDataset", Scope::kRead, kLooks},
    MethodRule{"DatasetService/GetUpload", Scope::kRead, kLooks},
    MethodRule{"DatasetService/ListDatasets", Scope::kRead, kLooks},
    MethodRule{"DatasetService/ListUploads", Scope::kRead, kLooks},
    MethodRule{"DatasetService/UpdateDataset", Scope::kTrain, kChanges},
    MethodRule{"DatasetService/UploadDataset", Scope::kTrain, kChanges, kAny},

    MethodRule{"ModelService/DeleteModel", Scope::kTrain, kChanges},
    MethodRule{"ModelService/DeleteModelVersion", Scope::kTrain, kChanges},
    MethodRule{"ModelService/EvaluateModel", Scope::kPredict, kLooks},
    MethodRule{"ModelService/ExportModel", Scope::kRead, kLooks},
    MethodRule{"ModelService/GetAlias", Scope::kRead, kLooks},
    MethodRule{"ModelService/GetModel", Scope::kRead, kLooks},
    MethodRule{"ModelService/GetModelVersion", Scope::kRead, kLooks},
    MethodRule{"ModelService/ListAliasHistory", Scope::kRead, kLooks},
    MethodRule{"ModelService/ListAliases", Scope::kRead, kLooks},
    MethodRule{"ModelService/ListModelVersions", Scope::kRead, kLooks},
    MethodRule{"ModelService/ListModels", Scope::kRead, kLooks},
    MethodRule{"ModelService/RollbackAlias", Scope::kTrain, kChanges},
    MethodRule{"ModelService/SetAlias", Scope::kTrain, kChanges},
    MethodRule{"ModelService/SetRetention", Scope::kTrain, kChanges},
    MethodRule{"ModelService/StartEvaluation", Scope::kTrain, kChanges},
    MethodRule{"ModelService/StartVerification", Scope::kTrain, kChanges},
    MethodRule{"ModelService/UpdateModel", Scope::kTrain, kChanges},
    MethodRule{"ModelService/UpdateModelVersion", Scope::kTrain, kChanges},
    MethodRule{"ModelService/VerifyModel", Scope::kPredict, kLooks},

    MethodRule{"PredictionService/ListPredictionStatistics", Scope::kRead, kLooks},
    MethodRule{"PredictionService/Predict", Scope::kPredict, kLooks, kAny},
    MethodRule{"PredictionService/PredictDataset", Scope::kTrain, kChanges},
    MethodRule{"PredictionService/PredictStream", Scope::kPredict, kLooks, kAny},

    MethodRule{"ServerService/GetServerInfo", Scope::kAny, kLooks},

    MethodRule{"TrainingService/CancelJob", Scope::kTrain, kChanges, kSmall, kEndsWork},
    MethodRule{"TrainingService/DeleteJob", Scope::kTrain, kChanges},
    // Reads whole data sets, as Train does.
    MethodRule{"TrainingService/EstimateCost", Scope::kTrain, kLooks, kTraining},
    MethodRule{"TrainingService/GetJob", Scope::kRead, kLooks},
    MethodRule{"TrainingService/ListJobs", Scope::kRead, kLooks},
    MethodRule{"TrainingService/ListLearners", Scope::kRead, kLooks},
    MethodRule{"TrainingService/StopJob", Scope::kTrain, kChanges, kSmall, kEndsWork},
    MethodRule{"TrainingService/StreamProgress", Scope::kRead, kLooks},
    MethodRule{"TrainingService/Train", Scope::kTrain, kChanges, kTraining},
    MethodRule{"TrainingService/UpdateJob", Scope::kTrain, kChanges},
    MethodRule{"TrainingService/WatchJobs", Scope::kRead, kLooks},
};

}  // namespace

const MethodRule* FindMethodRule(std::string_view method) {
  const auto rule = std::find_if(kRules.begin(), kRules.end(),
                                 [&](const MethodRule& r) { return r.method == method; });
  return rule == kRules.end() ? nullptr : &*rule;
}

}  // namespace mercer::server
