// Made of docs/reference/openapi.json by ./dev docs, which says what each field means: the messages of the API as the gateway writes
// them. Zero values are absent, 64-bit integers are strings, infinite numbers are the strings "Infinity" and "-Infinity", times are RFC
// 3339, durations "1.5s".

export type Int64 = string | number; // numbers are read, too
export type Real = number | string;
export interface Alias { name?: string; version?: string; etag?: string; updateTime?: string }
export interface AliasChange { sequence?: Int64; time?: string; caller?: string; from?: string; to?: string; rollback?: boolean }
export interface Any { '@type': string; reason?: string; domain?: string; metadata?: Record<string, string>; fieldViolations?: BadRequestFieldViolation[]; retryDelay?: string; [name: string]: unknown }
export interface Attempt { number?: number; worker?: string; startTime?: string; endTime?: string; endReason?: string; endReasonCode?: Reason }
export interface BadRequestFieldViolation { field?: string; description?: string }
export type BandwidthRule = 'BANDWIDTH_RULE_UNSPECIFIED' | 'BANDWIDTH_RULE_LIST' | 'BANDWIDTH_RULE_LOG_SPACED' | 'BANDWIDTH_RULE_MEDIAN_MULTIPLES';
export interface Basis { rows?: Int64; blocks?: BasisBlock[]; trainingRows?: Int64[] }
export interface BasisBlock { name?: string; sources?: string[]; values?: Matrix }
export interface Block { name?: string; sparse?: boolean; numColumns?: Int64; storedValues?: Int64; columns?: Column[] }
export interface BlockColumns { name?: string; columns?: string[] }
export interface BlockTransform { name?: string; columns?: ColumnTransform[] }
export interface CancelJobRequest { name?: string }
export interface Certificate { kind?: CertificateKind; scope?: CertificateScope; primal?: Real; dual?: Real; gap?: Real; accuracy?: Real; worstAccuracy?: Real; outputs?: OutputBounds[] }
export type CertificateKind = 'CERTIFICATE_KIND_UNSPECIFIED' | 'CERTIFICATE_KIND_GAP' | 'CERTIFICATE_KIND_STATIONARITY' | 'CERTIFICATE_KIND_NONE';
export type CertificateScope = 'CERTIFICATE_SCOPE_UNSPECIFIED' | 'CERTIFICATE_SCOPE_EXACT_PROBLEM' | 'CERTIFICATE_SCOPE_LOW_RANK_PROBLEM' | 'CERTIFICATE_SCOPE_LISTED_FEATURES';
export interface ClassCurve { label?: string; positives?: Int64; negatives?: Int64; thresholds?: Real[]; truePositiveRates?: Real[]; falsePositiveRates?: Real[]; precisions?: Real[]; areaUnderRoc?: Real; averagePrecision?: Real }
export type ClassWeighting = 'CLASS_WEIGHTING_UNSPECIFIED' | 'CLASS_WEIGHTING_NONE' | 'CLASS_WEIGHTING_BALANCED' | 'CLASS_WEIGHTING_EXPLICIT';
export interface ClassWeights { weighting?: ClassWeighting; weights?: Record<string, Real> }
export type CodingChoice = 'CODING_CHOICE_UNSPECIFIED' | 'CODING_CHOICE_AUTO' | 'CODING_CHOICE_ONE_VS_ALL' | 'CODING_CHOICE_ONE_VS_ONE';
export type CodingKind = 'CODING_KIND_UNSPECIFIED' | 'CODING_KIND_REGRESSION' | 'CODING_KIND_BINARY' | 'CODING_KIND_ONE_VS_ALL' | 'CODING_KIND_ONE_VS_ONE';
export interface Column { name?: string; role?: ColumnRole; type?: ColumnType; missing?: Int64; statistics?: NumericStatistics; valueCounts?: ValueCount[] }
export interface ColumnFeatures { positions?: Int64[] }
export interface ColumnPlace { block?: string; position?: Int64; name?: string }
export type ColumnRole = 'COLUMN_ROLE_UNSPECIFIED' | 'COLUMN_ROLE_FEATURE' | 'COLUMN_ROLE_TARGET' | 'COLUMN_ROLE_TASK' | 'COLUMN_ROLE_WEIGHT' | 'COLUMN_ROLE_GROUP' | 'COLUMN_ROLE_SPLIT' | 'COLUMN_ROLE_IGNORED';
export interface ColumnScale { column?: ColumnPlace; range?: Real }
export interface ColumnTransform { name?: string; categorical?: boolean; categories?: string[]; fill?: Real; offset?: Real; factor?: Real }
export type ColumnType = 'COLUMN_TYPE_UNSPECIFIED' | 'COLUMN_TYPE_NUMERIC' | 'COLUMN_TYPE_CATEGORICAL';
export interface ConfusionMatrix { classes?: string[]; counts?: Int64[] }
export interface Contribution { name?: string; values?: Matrix }
export interface CoordinateGradients { kernels?: KernelGrid[]; C?: Real; loss?: CoordinateGradientsLoss; columnWeights?: CoordinateGradientsColumnWeights; pairs?: CoordinateGradientsPairs; neighbors?: Int64; includeSelf?: boolean; pairWidth?: Real; method?: CoordinateGradientsMethod; maxSteps?: Int64; columns?: Int64; covarianceColumns?: Int64; directions?: Int64; symmetric?: boolean; ownGradient?: boolean }
export type CoordinateGradientsColumnWeights = 'COLUMN_WEIGHTS_UNSPECIFIED' | 'COLUMN_WEIGHTS_LEARNED' | 'COLUMN_WEIGHTS_FIXED';
export type CoordinateGradientsLoss = 'LOSS_UNSPECIFIED' | 'LOSS_AUTO' | 'LOSS_SQUARE' | 'LOSS_HINGE' | 'LOSS_SQUARED_HINGE';
export type CoordinateGradientsMethod = 'METHOD_UNSPECIFIED' | 'METHOD_NEWTON' | 'METHOD_ALTERNATION' | 'METHOD_SILP';
export type CoordinateGradientsPairs = 'PAIRS_UNSPECIFIED' | 'PAIRS_NEIGHBORS' | 'PAIRS_GAUSSIAN';
export interface Csi { kernels?: KernelGrid[]; lambda?: Real; maxPivots?: Int64; kappa?: Real; lookAhead?: Int64; tolerance?: Real }
export interface CsvFormat { delimiter?: string; noHeader?: boolean; roles?: Record<string, ColumnRole>; categorical?: string[]; numeric?: string[]; missing?: string[]; allowMissing?: boolean; blocks?: BlockColumns[] }
export interface DataInput { dataset: string; role?: DataRole }
export interface DataQuality { numMissingColumns?: Int64; numMissingCells?: Int64; missing?: MissingCells[]; numConstantColumns?: Int64; constantColumns?: ColumnPlace[]; numNearlyConstantColumns?: Int64; nearlyConstantColumns?: NearlyConstantColumn[]; numDuplicateRows?: Int64; numConflictingRows?: Int64; duplicateRows?: DuplicateRow[]; numEqualColumns?: Int64; equalColumns?: EqualColumns[]; numLeakingColumns?: Int64; leakingColumns?: LeakingColumn[]; smallestScale?: ColumnScale; largestScale?: ColumnScale; numIdentifierColumns?: Int64; identifierColumns?: ColumnPlace[]; numTextColumns?: Int64; textColumns?: TextColumn[] }
export type DataRole = 'DATA_ROLE_UNSPECIFIED' | 'DATA_ROLE_VIEW' | 'DATA_ROLE_TASK';
export interface Dataset { name?: string; displayName?: string; createTime?: string; labels?: Record<string, string>; rows?: Int64; sizeBytes?: Int64; digest?: string; numColumns?: Int64; blocks?: Block[]; squares?: Square[]; roleColumns?: Column[]; quality?: DataQuality; owner?: string; ignoredColumns?: string[]; etag?: string }
export type DatasetView = 'DATASET_VIEW_UNSPECIFIED' | 'DATASET_VIEW_BASIC' | 'DATASET_VIEW_FULL';
export interface DenseBlock { name?: string; columns?: string[]; values?: Matrix }
export interface DenseColumn { name?: string; role?: ColumnRole; categories?: string[] }
export interface DenseFormat { columns?: DenseColumn[]; rows?: Int64; allowMissing?: boolean; blocks?: BlockColumns[] }
export interface DuplicateRow { row?: Int64; equalTo?: Int64; conflicting?: boolean }
export interface EqualColumns { column?: ColumnPlace; equalTo?: ColumnPlace }
export interface Error { error: { code: number; status: string; message: string; details: Any[] } }
export interface EstimateCostRequest { training: TrainRequest }
export interface EstimateCostResponse { memoryBytes?: Int64; time?: string; memoryBudgetBytes?: Int64; fits?: boolean; decisions?: Warning[]; advice?: string }
export interface EvaluateModelRequest { name?: string; dataset: string; task?: string; taskRule?: TaskRule; requestId?: string; priority?: number; labels?: Record<string, string>; displayName?: string; timeLimit?: string }
export interface EvaluateModelResponse { model?: string; metrics?: Metric[]; rows?: Int64; skippedRows?: Int64; unknownLabelRows?: Int64; weightColumn?: string; rowsByMean?: Int64 }
export interface FeatureTerm { fourier?: FourierFeatures; columns?: ColumnFeatures; gabor?: GaborFeatures; outputs?: number[]; coefficients?: Matrix }
export interface FeatureWeights { features?: string[]; weights?: Matrix }
export interface Folds { count?: number }
export interface FourierFeatures { frequencies?: Matrix; bandwidths?: Real[] }
export interface GaborFeatures { patchSize?: Int64; positionRows?: Int64[]; positionColumns?: Int64[]; subtractPatchMean?: boolean; filters?: Matrix }
export interface Heartbeat { time?: string; lastSequence?: Int64 }
export interface HeldOut { rows?: Int64; folds?: Int64; sampledRows?: Int64; confusion?: ConfusionMatrix; curves?: ClassCurve[]; residuals?: Residuals; spreads?: MetricSpread[] }
export interface HoldOut { fraction?: Real }
export interface Ikl { C?: Real; minBandwidth?: Real; maxBandwidth?: Real; violation?: Real; maxKernels?: Int64 }
export interface ImageFile { name?: string; label?: string; sizeBytes?: Int64 }
export interface ImageRegion { row?: Int64; column?: Int64; rows?: Int64; columns?: Int64 }
export interface ImagesFormat { files?: ImageFile[]; patch?: PatchSpec; targetName?: string; groupName?: string }
export type Imputation = 'IMPUTATION_UNSPECIFIED' | 'IMPUTATION_REFUSE' | 'IMPUTATION_MEAN_OR_MOST_FREQUENT';
export interface InfiniteFeatures { loss?: InfiniteFeaturesLoss; lambda?: Real; lambdaUnit?: InfiniteFeaturesLambdaUnit; family?: InfiniteFeaturesFamily; kernel?: InfiniteFeaturesKernel; bandwidths?: Real[]; bandwidthRule?: InfiniteFeaturesBandwidthRule; bandwidthsPerRound?: Int64; candidates?: Int64; normalization?: InfiniteFeaturesNormalization; selection?: InfiniteFeaturesSelection; dictionarySize?: Int64; maxGroups?: Int64; groupsPerRound?: Int64; patience?: Int64; violation?: Real; penaltyShape?: InfiniteFeaturesPenaltyShape; penaltyQ?: Real; lambdaShared?: Real; solver?: InfiniteFeaturesSolver; positionsPerSide?: Int64; subtractPatchMean?: boolean; minScale?: Real; maxScale?: Real; minFrequency?: Real; maxFrequency?: Real; valuesPerParameter?: Int64; groupWeights?: Real[]; normalizationScope?: InfiniteFeaturesNormalizationScope; ascentSteps?: Int64; maxRounds?: Int64; minDecrease?: Real; masterGap?: Real }
export type InfiniteFeaturesBandwidthRule = 'BANDWIDTH_RULE_UNSPECIFIED' | 'BANDWIDTH_RULE_LIST' | 'BANDWIDTH_RULE_LINEAR' | 'BANDWIDTH_RULE_LOGARITHMIC';
export type InfiniteFeaturesFamily = 'FAMILY_UNSPECIFIED' | 'FAMILY_FOURIER' | 'FAMILY_COLUMNS' | 'FAMILY_GABOR';
export type InfiniteFeaturesKernel = 'KERNEL_UNSPECIFIED' | 'KERNEL_GAUSSIAN' | 'KERNEL_LAPLACIAN';
export type InfiniteFeaturesLambdaUnit = 'LAMBDA_UNIT_UNSPECIFIED' | 'LAMBDA_UNIT_SHARE_OF_MAXIMUM' | 'LAMBDA_UNIT_ABSOLUTE';
export type InfiniteFeaturesLoss = 'LOSS_UNSPECIFIED' | 'LOSS_AUTO' | 'LOSS_SQUARED_HINGE' | 'LOSS_LOGISTIC' | 'LOSS_SQUARE' | 'LOSS_HINGE';
export type InfiniteFeaturesNormalization = 'NORMALIZATION_UNSPECIFIED' | 'NORMALIZATION_COLUMN' | 'NORMALIZATION_GROUP' | 'NORMALIZATION_NONE';
export type InfiniteFeaturesNormalizationScope = 'NORMALIZATION_SCOPE_UNSPECIFIED' | 'NORMALIZATION_SCOPE_TASK' | 'NORMALIZATION_SCOPE_POOLED';
export type InfiniteFeaturesPenaltyShape = 'PENALTY_SHAPE_UNSPECIFIED' | 'PENALTY_SHAPE_NESTED' | 'PENALTY_SHAPE_FLAT';
export type InfiniteFeaturesSelection = 'SELECTION_UNSPECIFIED' | 'SELECTION_GENERATED' | 'SELECTION_SELECTED' | 'SELECTION_FIXED';
export type InfiniteFeaturesSolver = 'SOLVER_UNSPECIFIED' | 'SOLVER_AUTO' | 'SOLVER_NEWTON' | 'SOLVER_ADMM' | 'SOLVER_FISTA';
export interface Job { name?: string; displayName?: string; state?: JobState; request?: TrainRequest; createTime?: string; startTime?: string; endTime?: string; attempts?: Attempt[]; progress?: ProgressEvent; lastSequence?: Int64; error?: Status; reason?: string; model?: string; labels?: Record<string, string>; learner?: string; priority?: number; memoryEstimateBytes?: Int64; nextAttemptTime?: string; stopRequested?: boolean; traceId?: string; owner?: string; kind?: JobKind; predictionRequest?: PredictDatasetRequest; evaluationRequest?: EvaluateModelRequest; verificationRequest?: VerifyModelRequest; prediction?: PredictDatasetResult; evaluation?: EvaluateModelResponse; verification?: VerifyModelResponse; reasonCode?: Reason; etag?: string }
export type JobKind = 'JOB_KIND_UNSPECIFIED' | 'JOB_KIND_TRAINING' | 'JOB_KIND_PREDICTION' | 'JOB_KIND_EVALUATION' | 'JOB_KIND_VERIFICATION';
export type JobState = 'JOB_STATE_UNSPECIFIED' | 'JOB_STATE_QUEUED' | 'JOB_STATE_RUNNING' | 'JOB_STATE_CANCELLING' | 'JOB_STATE_VERIFYING' | 'JOB_STATE_SUCCEEDED' | 'JOB_STATE_FAILED' | 'JOB_STATE_CANCELLED';
export interface Kernel { type?: KernelType; bandwidth?: Real; degree?: number; scale?: Real; offset?: Real; block?: string; columns?: string[]; normalization?: KernelNormalization; displayName?: string; name?: string; group?: string }
export interface KernelGrid { type?: KernelType; bandwidth?: Real; degree?: number; scale?: Real; offset?: Real; block?: string; columns?: string[]; normalization?: KernelNormalization; rule?: BandwidthRule; bandwidths?: Real[]; minBandwidth?: Real; maxBandwidth?: Real; count?: number; perColumn?: boolean; name?: string; group?: string }
export interface KernelNormalization { unitDiagonal?: boolean; scaling?: KernelScaling }
export interface KernelRidge { kernels?: KernelGrid[]; lambda?: Real }
export type KernelScaling = 'KERNEL_SCALING_UNSPECIFIED' | 'KERNEL_SCALING_NONE' | 'KERNEL_SCALING_TRACE' | 'KERNEL_SCALING_MEAN_DIAGONAL' | 'KERNEL_SCALING_VARIANCE' | 'KERNEL_SCALING_CENTRED_TRACE';
export interface KernelTerm { basis?: number; kernels?: Kernel[]; outputs?: number[]; weights?: Matrix; coefficients?: SparseMatrix }
export type KernelType = 'KERNEL_TYPE_UNSPECIFIED' | 'KERNEL_TYPE_LINEAR' | 'KERNEL_TYPE_POLYNOMIAL' | 'KERNEL_TYPE_GAUSSIAN' | 'KERNEL_TYPE_LAPLACIAN' | 'KERNEL_TYPE_CHI_SQUARE' | 'KERNEL_TYPE_EUCLIDEAN' | 'KERNEL_TYPE_PRECOMPUTED' | 'KERNEL_TYPE_DISTANCE' | 'KERNEL_TYPE_HELLINGER' | 'KERNEL_TYPE_INTERSECTION';
export interface KernelWeights { kernels?: string[]; weights?: Matrix; groups?: string[] }
export interface LeakingColumn { column?: ColumnPlace; target?: ColumnPlace; equal?: boolean }
export interface LearnedGradient { output?: string; columns?: string[]; values?: Matrix; projections?: Matrix }
export interface Learner { lpMkl?: LpMkl; svm?: Svm; kernelRidge?: KernelRidge; infiniteFeatures?: InfiniteFeatures; csi?: Csi; ikl?: Ikl; mixedNormMkl?: MixedNormMkl; sparseMultitaskSvm?: SparseMultitaskSvm; coordinateGradients?: CoordinateGradients; svmRfe?: SvmRfe; other?: OtherLearner }
export interface LearnerDescription { name?: string; title?: string; summary?: string; options?: OptionDescription[]; classification?: boolean; regression?: boolean; usesKernels?: boolean; kernelsOptional?: boolean; severalTasks?: boolean; defaultKernels?: string; needsOther?: boolean; ranksColumns?: boolean }
export interface Lineage { job?: string; request?: TrainRequest; dataDigests?: string[]; seed?: Int64; codeVersion?: string }
export interface ListAliasHistoryResponse { changes?: AliasChange[]; nextPageToken?: string }
export interface ListAliasesResponse { aliases?: Alias[]; nextPageToken?: string }
export interface ListDatasetsResponse { datasets?: Dataset[]; nextPageToken?: string }
export interface ListJobsResponse { jobs?: Job[]; nextPageToken?: string }
export interface ListLearnersResponse { learners?: LearnerDescription[] }
export interface ListModelVersionsResponse { versions?: ModelVersion[]; nextPageToken?: string }
export interface ListModelsResponse { models?: Model[]; nextPageToken?: string }
export interface ListPredictionStatisticsResponse { statistics?: PredictionStatistics[]; nextPageToken?: string }
export interface ListUploadsResponse { uploads?: Upload[]; nextPageToken?: string }
export interface LpMkl { kernels?: KernelGrid[]; p?: Real; C?: Real; epsilon?: Real; innerSolver?: LpMklInnerSolver; outerLoop?: LpMklOuterLoop; approximation?: LpMklApproximation; landmarks?: Int64; landmarkSelection?: LpMklLandmarkSelection; rank?: Int64; eigenvalueThreshold?: Real; compressionTolerance?: Real; loss?: LpMklLoss; exactCertificate?: boolean; ownLandmarks?: boolean; weightPenalty?: Real }
export type LpMklApproximation = 'APPROXIMATION_UNSPECIFIED' | 'APPROXIMATION_NONE' | 'APPROXIMATION_NYSTROM' | 'APPROXIMATION_PIVOTED_CHOLESKY';
export type LpMklInnerSolver = 'INNER_SOLVER_UNSPECIFIED' | 'INNER_SOLVER_AUTO' | 'INNER_SOLVER_NEWTON' | 'INNER_SOLVER_SMO' | 'INNER_SOLVER_INTERIOR_POINT' | 'INNER_SOLVER_GFB' | 'INNER_SOLVER_GFB_MERGED' | 'INNER_SOLVER_COORDINATE_DESCENT';
export type LpMklLandmarkSelection = 'LANDMARK_SELECTION_UNSPECIFIED' | 'LANDMARK_SELECTION_UNIFORM' | 'LANDMARK_SELECTION_K_MEANS' | 'LANDMARK_SELECTION_LEVERAGE' | 'LANDMARK_SELECTION_PIVOTED_CHOLESKY';
export type LpMklLoss = 'LOSS_UNSPECIFIED' | 'LOSS_AUTO' | 'LOSS_HINGE' | 'LOSS_SQUARED_HINGE' | 'LOSS_LOGISTIC' | 'LOSS_EPSILON_INSENSITIVE' | 'LOSS_SQUARE';
export type LpMklOuterLoop = 'OUTER_LOOP_UNSPECIFIED' | 'OUTER_LOOP_NEWTON' | 'OUTER_LOOP_OVER_RELAXED' | 'OUTER_LOOP_ALTERNATION' | 'OUTER_LOOP_SMO_MKL' | 'OUTER_LOOP_INTERLEAVED';
export interface Matrix { rows?: Int64; columns?: Int64; values?: Real[]; raw?: string }
export interface Metric { name?: string; value?: Real }
export interface MetricSpread { name?: string; standardDeviation?: Real; folds?: Int64 }
export interface MissingCells { column?: ColumnPlace; count?: Int64; rows?: Int64[] }
export interface MixedNormMkl { kernels?: KernelGrid[]; C?: Real; costScale?: MixedNormMklCostScale; regularization?: MixedNormMklRegularization; method?: MixedNormMklMethod; maxSvmSolves?: Int64; kappa?: Real; power?: Real; gammaFloor?: Real; weightThreshold?: Real; epsilon?: Real; loss?: MixedNormMklLoss; sharedWeights?: boolean }
export type MixedNormMklCostScale = 'COST_SCALE_UNSPECIFIED' | 'COST_SCALE_PLAIN' | 'COST_SCALE_COMPARABLE';
export type MixedNormMklLoss = 'LOSS_UNSPECIFIED' | 'LOSS_AUTO' | 'LOSS_HINGE' | 'LOSS_SQUARED_HINGE' | 'LOSS_LOGISTIC' | 'LOSS_EPSILON_INSENSITIVE' | 'LOSS_SQUARE';
export type MixedNormMklMethod = 'METHOD_UNSPECIFIED' | 'METHOD_NEWTON' | 'METHOD_CLOSED_FORM' | 'METHOD_MIRROR_DESCENT' | 'METHOD_ALTERNATING_MIRROR_DESCENT' | 'METHOD_SIMPLE_MKL' | 'METHOD_AUTO' | 'METHOD_INTERIOR_POINT';
export type MixedNormMklRegularization = 'REGULARIZATION_UNSPECIFIED' | 'REGULARIZATION_MIXED_NORM' | 'REGULARIZATION_L1' | 'REGULARIZATION_SUM';
export interface Model { name?: string; displayName?: string; description?: string; labels?: Record<string, string>; owner?: string; createTime?: string; updateTime?: string; etag?: string; newestVersion?: ModelVersion; numVersions?: Int64; aliases?: Alias[]; keepNewest?: number }
export interface ModelFunction { bases?: Basis[]; kernelTerms?: KernelTerm[]; bias?: Real[]; featureTerms?: FeatureTerm[]; otherTerms?: OtherTerm[] }
export interface ModelTable { name?: string; title?: string; rowAxis?: string; columnAxis?: string; rows?: string[]; columns?: string[]; values?: Matrix; unit?: string; drawing?: TableDrawing; rowGroups?: string[] }
export interface ModelVersion { name?: string; createTime?: string; labels?: Record<string, string>; description?: string; etag?: string; learner?: string; options?: OptionSetting[]; target?: string; coding?: OutputCoding; certificate?: Certificate; stopReason?: StopReason; metrics?: Metric[]; kernelWeights?: KernelWeights; numSupportVectors?: Int64; numTrainingRows?: Int64; sizeBytes?: Int64; digest?: string; lineage?: Lineage; preprocessing?: Preprocessing; function?: ModelFunction; aliases?: string[]; featureWeights?: FeatureWeights; tasks?: TaskCoding; owner?: string; warnings?: Warning[]; ignoredColumns?: string[]; heldOut?: HeldOut; tables?: ModelTable[] }
export type ModelVersionView = 'MODEL_VERSION_VIEW_UNSPECIFIED' | 'MODEL_VERSION_VIEW_BASIC' | 'MODEL_VERSION_VIEW_FULL';
export interface NearlyConstantColumn { column?: ColumnPlace; value?: string; exceptions?: Int64 }
export interface NumericStatistics { min?: Real; max?: Real; mean?: Real; standardDeviation?: Real; constant?: boolean }
export interface OptionDescription { name?: string; type?: OptionType; meaning?: string; unit?: string; defaultValue?: string; min?: Real; max?: Real; minOpen?: boolean; maxOpen?: boolean; choices?: string[]; range?: string; source?: string; defaultPath?: Real[]; preventsDefaultPath?: boolean }
export interface OptionPath { option?: string; values?: Real[]; keepAll?: boolean }
export interface OptionSetting { name?: string; boolValue?: boolean; integerValue?: Int64; realValue?: Real; textValue?: string; realsValue?: RealList }
export type OptionType = 'OPTION_TYPE_UNSPECIFIED' | 'OPTION_TYPE_BOOL' | 'OPTION_TYPE_INTEGER' | 'OPTION_TYPE_REAL' | 'OPTION_TYPE_CHOICE' | 'OPTION_TYPE_TEXT' | 'OPTION_TYPE_REALS';
export interface OtherLearner { name?: string; options?: Record<string, string>; kernels?: KernelGrid[] }
export interface OtherTerm { kind?: string; outputs?: number[]; numCoefficients?: Int64; kernels?: Kernel[]; shares?: string[] }
export interface OutputBounds { primal?: Real; dual?: Real }
export interface OutputCoding { kind?: CodingKind; classes?: string[]; outputNames?: string[] }
export interface PatchSpec { rows?: Int64; columns?: Int64; stride?: Int64; count?: Int64; seed?: Int64; region?: ImageRegion }
export interface PredictDatasetRequest { model?: string; dataset: string; task?: string; taskRule?: TaskRule; unseen?: UnseenRows; probabilities?: boolean; keepColumns?: string[]; displayName?: string; datasetLabels?: Record<string, string>; requestId?: string; priority?: number; labels?: Record<string, string>; timeLimit?: string }
export interface PredictDatasetResult { dataset?: string; model?: string; rows?: Int64; unpredictedRows?: Int64; rowsByMean?: Int64 }
export interface PredictRequest { model?: string; rows?: Rows; dataset?: string; contributions?: boolean; probabilities?: boolean; task?: string; unseen?: UnseenRows; taskRule?: TaskRule; gradients?: boolean; projections?: boolean }
export interface PredictResponse { model?: string; outputs?: string[]; decisionValues?: Matrix; labels?: string[]; contributions?: Contribution[]; probabilities?: Matrix; classes?: string[]; rowErrors?: RowError[]; rowsByMean?: Int64; gradients?: LearnedGradient[] }
export interface PredictionStatistics { model?: string; succeeded?: Int64; failed?: Int64; rows?: Int64; batches?: Int64; coalesced?: Int64; lastCallTime?: string; totalLatency?: string; medianLatency?: string; p90Latency?: string; p99Latency?: string }
export interface Preprocessing { options?: PreprocessingOptions; blocks?: BlockTransform[]; repairs?: RepairedSquare[]; squares?: SquareUse[] }
export interface PreprocessingOptions { scaling?: Scaling; imputation?: Imputation; unseenCategory?: UnseenCategory; blocks?: string[]; squareRepair?: SquareRepair }
export interface ProgressEvent { sequence?: Int64; time?: string; attempt?: number; iteration?: Int64; stateChange?: StateChange; progress?: TrainingProgress; resumed?: Resumed }
export interface RankingTest { columns?: number[]; C?: Real }
export interface RealList { values?: Real[] }
export type Reason = 'REASON_UNSPECIFIED' | 'REASON_BAD_FIELDS' | 'REASON_BAD_FILTER' | 'REASON_BAD_ORDER_BY' | 'REASON_BAD_PAGE_TOKEN' | 'REASON_BAD_PAGE_SIZE' | 'REASON_BAD_UPLOAD_ORDER' | 'REASON_BAD_UPLOAD_OFFSET' | 'REASON_CHUNK_CHECKSUM' | 'REASON_UPLOAD_ID_REUSED' | 'REASON_UPLOAD_TAKEN_OVER' | 'REASON_UPLOAD_FINISHING' | 'REASON_BAD_STREAM_ORDER' | 'REASON_BAD_SEQUENCE' | 'REASON_BEYOND_LAST_EVENT' | 'REASON_REQUEST_ID_REUSED' | 'REASON_MALFORMED_MESSAGE' | 'REASON_REQUEST_TOO_LARGE' | 'REASON_REQUESTS_FILL_MEMORY' | 'REASON_RESPONSE_TOO_LARGE' | 'REASON_CALL_CANCELLED' | 'REASON_DRAINING' | 'REASON_NOT_FOUND' | 'REASON_DATASET_NOT_FOUND' | 'REASON_JOB_NOT_FOUND' | 'REASON_MODEL_NOT_FOUND' | 'REASON_ALIAS_NOT_FOUND' | 'REASON_STALE_ETAG' | 'REASON_VERSION_HAS_ALIAS' | 'REASON_NO_EARLIER_VERSION' | 'REASON_DATASET_EXISTS' | 'REASON_JOB_EXISTS' | 'REASON_DATASET_IN_USE' | 'REASON_JOB_IS_FINAL' | 'REASON_JOB_NOT_FINAL' | 'REASON_QUOTA_EXCEEDED' | 'REASON_JOB_TOO_LARGE' | 'REASON_NOT_CALIBRATED' | 'REASON_UNKNOWN_LEARNER' | 'REASON_BAD_HEADER' | 'REASON_BAD_ROW' | 'REASON_BAD_CELL' | 'REASON_BAD_LABEL' | 'REASON_BAD_WEIGHT' | 'REASON_BAD_IMAGE' | 'REASON_BAD_GZIP' | 'REASON_BAD_SHAPE' | 'REASON_BAD_SIZE' | 'REASON_NO_ROWS' | 'REASON_CHECKSUM_MISMATCH' | 'REASON_DATASET_TOO_LARGE' | 'REASON_UPLOAD_SPACE_EXCEEDED' | 'REASON_STORAGE_QUOTA_EXCEEDED' | 'REASON_MISSING_TARGET' | 'REASON_ONE_CLASS' | 'REASON_TOO_MANY_CLASSES' | 'REASON_BAD_TASK' | 'REASON_EMPTY_TASK' | 'REASON_TOO_MANY_TASKS' | 'REASON_DIFFERENT_COLUMNS' | 'REASON_JOINED_TASKS_TOO_LARGE' | 'REASON_COLUMN_MISMATCH' | 'REASON_NEGATIVE_VALUE' | 'REASON_NOT_SYMMETRIC' | 'REASON_NOT_PSD' | 'REASON_ZERO_DIAGONAL' | 'REASON_ZERO_KERNEL' | 'REASON_ZERO_MEDIAN' | 'REASON_NO_MODEL' | 'REASON_INFINITE_PREDICTION' | 'REASON_UNKNOWN_KIND' | 'REASON_OTHER_VERSION' | 'REASON_OUT_OF_MEMORY' | 'REASON_JOB_CRASHED_WORKER' | 'REASON_JOB_LOST_REPEATEDLY' | 'REASON_CANCEL_REQUESTED' | 'REASON_LEASE_HELD' | 'REASON_LEASE_LOST' | 'REASON_DATA_MISMATCH' | 'REASON_DATASET_GONE' | 'REASON_WITNESS_GONE' | 'REASON_WITNESS_MISMATCH' | 'REASON_DISK_FULL' | 'REASON_DISK_NEARLY_FULL' | 'REASON_BACKUP_RUNNING' | 'REASON_STORAGE_READ_ONLY' | 'REASON_DATA_FOLDER_LOCKED' | 'REASON_NEWER_SCHEMA' | 'REASON_NEWER_FORMAT' | 'REASON_UNKNOWN_TERM' | 'REASON_BACKUP_DAMAGED' | 'REASON_RESTORE_FOLDER_NOT_EMPTY' | 'REASON_RESTORE_UNFINISHED' | 'REASON_DATABASE_DAMAGED' | 'REASON_DATABASE_MISSING' | 'REASON_TOO_MANY_FILES' | 'REASON_DATABASE_BUSY' | 'REASON_DATABASE_ERROR' | 'REASON_BLOB_DAMAGED' | 'REASON_BLOB_MISSING' | 'REASON_STORED_REQUEST_DAMAGED' | 'REASON_STORED_RESULT_DAMAGED' | 'REASON_STORED_INFO_DAMAGED' | 'REASON_STORED_SUMMARY_DAMAGED' | 'REASON_NOT_LOOPBACK' | 'REASON_HOST_NOT_FOUND' | 'REASON_ADDRESS_IN_USE' | 'REASON_ADDRESS_NOT_AVAILABLE' | 'REASON_TOKEN_MISSING' | 'REASON_TOKEN_MALFORMED' | 'REASON_TOKEN_UNKNOWN' | 'REASON_TOKEN_EXPIRED' | 'REASON_SCOPE_MISSING' | 'REASON_NOT_OWNER' | 'REASON_TOO_MANY_CALLS' | 'REASON_BAD_TOKEN_FILE' | 'REASON_TOKEN_FILE_CUT_OFF' | 'REASON_TOKEN_FILE_UNREADABLE' | 'REASON_BAD_CERTIFICATE' | 'REASON_BAD_HTTP' | 'REASON_BAD_HOST' | 'REASON_BAD_QUERY' | 'REASON_BAD_JSON' | 'REASON_NOT_JSON' | 'REASON_HEAD_TOO_LARGE' | 'REASON_BODY_TOO_LARGE' | 'REASON_REQUEST_TOO_SLOW' | 'REASON_NO_SUCH_PATH' | 'REASON_METHOD_NOT_ALLOWED' | 'REASON_FOREIGN_HOST' | 'REASON_CROSS_SITE' | 'REASON_CROSS_SITE_POSSIBLE' | 'REASON_TOO_MANY_CONNECTIONS' | 'REASON_TOO_MANY_BODIES' | 'REASON_TOO_MANY_EVENT_STREAMS' | 'REASON_SUCCEEDED' | 'REASON_FAILED' | 'REASON_DRAINED' | 'REASON_WORKER_LOST' | 'REASON_CRASHED' | 'REASON_SERVER_CRASHED' | 'REASON_RETRY' | 'REASON_STOP_REQUESTED' | 'REASON_CANCELLED' | 'REASON_UNKNOWN' | 'REASON_INVALID_ARGUMENT' | 'REASON_DEADLINE_EXCEEDED' | 'REASON_ALREADY_EXISTS' | 'REASON_PERMISSION_DENIED' | 'REASON_RESOURCE_EXHAUSTED' | 'REASON_FAILED_PRECONDITION' | 'REASON_ABORTED' | 'REASON_OUT_OF_RANGE' | 'REASON_UNIMPLEMENTED' | 'REASON_INTERNAL' | 'REASON_UNAVAILABLE' | 'REASON_DATA_LOSS' | 'REASON_UNAUTHENTICATED' | 'REASON_JOB_CANCELLED' | 'REASON_UPLOAD_KNOWN' | 'REASON_TIME_LIMIT_EXCEEDED';
export interface RepairedSquare { block?: string; trainingRows?: Int64[]; eigenvalues?: Real[]; largestEigenvalue?: Real; negativeShare?: Real; vectors?: Matrix }
export interface Residuals { predicted?: Real[]; actual?: Real[]; bounds?: Real[]; counts?: Int64[] }
export interface Resumed { fromIteration?: Int64 }
export interface Retention { name?: string; keepNewest?: number; deleted?: string[] }
export interface RollbackAliasRequest { name?: string; etag?: string; requestId?: string }
export interface RowError { row?: Int64; column?: string; value?: string; message?: string }
export interface RowObjects { rows: ({ [name: string]: unknown })[]; [name: string]: unknown }
export interface RowPrediction { label?: string; decisionValues?: Record<string, Real>; prediction?: number | null; probabilities?: Record<string, Real>; contributions?: Record<string, Record<string, Real>>; gradients?: Record<string, Record<string, Real>>; projections?: Record<string, Record<string, Real>>; error?: string }
export interface RowPredictions { model: string; predictions: RowPrediction[] }
export interface Rows { dense?: DenseBlock[]; sparse?: SparseBlock[]; columns?: TypedColumn[]; squares?: SquareRows[]; tasks?: string[] }
export type Scaling = 'SCALING_UNSPECIFIED' | 'SCALING_NONE' | 'SCALING_STANDARDIZE' | 'SCALING_MIN_MAX' | 'SCALING_UNIT_NORM';
export interface SelectionStability { resamples?: number; fraction?: Real }
export interface ServerInfo { version?: string; started?: string; tokens?: boolean; learners?: number; learnerNames?: string[]; codeVersion?: string; limits?: ServerLimits; processors?: number; workers?: number; threadsPerJob?: number }
export interface ServerLimits { messageBytes?: Int64; datasetBytes?: Int64; storedBytes?: Int64; uploadSpaceBytes?: Int64; uploadSpacePerCallerBytes?: Int64; memoryBudgetBytes?: Int64 }
export interface SetAliasRequest { name?: string; version?: string; etag?: string; requestId?: string }
export interface SetRetentionRequest { name?: string; keepNewest?: number; validateOnly?: boolean }
export interface SparseBlock { name?: string; numColumns?: Int64; rowStarts?: Int64[]; columnIndices?: number[]; values?: Real[] }
export interface SparseMatrix { rows?: Int64; columns?: Int64; columnStarts?: Int64[]; rowIndices?: number[]; values?: Real[] }
export interface SparseMultitaskSvm { kernels?: KernelGrid[]; C?: Real; form?: SparseMultitaskSvmForm; p?: Real; q?: Real; blockWeights?: Real[]; smoothing?: Real; allowOneClass?: boolean; method?: SparseMultitaskSvmMethod; maxSteps?: Int64; sharing?: SparseMultitaskSvmSharing; normalizationScope?: SparseMultitaskSvmNormalizationScope; taskWeighting?: SparseMultitaskSvmTaskWeighting }
export type SparseMultitaskSvmForm = 'FORM_UNSPECIFIED' | 'FORM_SQUARED' | 'FORM_PLAIN';
export type SparseMultitaskSvmMethod = 'METHOD_UNSPECIFIED' | 'METHOD_AUTO' | 'METHOD_INTERIOR_POINT' | 'METHOD_NEWTON' | 'METHOD_CLOSED_FORM' | 'METHOD_REDUCED_GRADIENT' | 'METHOD_COORDINATE_DESCENT';
export type SparseMultitaskSvmNormalizationScope = 'NORMALIZATION_SCOPE_UNSPECIFIED' | 'NORMALIZATION_SCOPE_TASK' | 'NORMALIZATION_SCOPE_POOLED';
export type SparseMultitaskSvmSharing = 'SHARING_UNSPECIFIED' | 'SHARING_JOINT' | 'SHARING_SEPARATE';
export type SparseMultitaskSvmTaskWeighting = 'TASK_WEIGHTING_UNSPECIFIED' | 'TASK_WEIGHTING_ROWS' | 'TASK_WEIGHTING_EQUAL';
export interface Square { name?: string; kind?: SquareKind; columns?: Int64 }
export interface SquareFormat { name?: string; kind?: SquareKind; columns?: Int64; singlePrecision?: boolean }
export type SquareKind = 'SQUARE_KIND_UNSPECIFIED' | 'SQUARE_KIND_KERNEL' | 'SQUARE_KIND_DISTANCE';
export type SquareRepair = 'SQUARE_REPAIR_UNSPECIFIED' | 'SQUARE_REPAIR_NONE' | 'SQUARE_REPAIR_CHECK' | 'SQUARE_REPAIR_SHIFT' | 'SQUARE_REPAIR_CLIP' | 'SQUARE_REPAIR_FLIP';
export interface SquareRows { name?: string; values?: Matrix; trainingRows?: Int64[] }
export interface SquareUse { name?: string; kind?: SquareKind; trainingRows?: Int64[] }
export interface StateChange { state?: JobState; reason?: string; error?: Status; model?: string; traceId?: string; reasonCode?: Reason }
export interface Status { code?: number; message?: string; details?: Any[] }
export interface StopJobRequest { name?: string }
export type StopReason = 'STOP_REASON_UNSPECIFIED' | 'STOP_REASON_CONVERGED' | 'STOP_REASON_ITERATION_LIMIT' | 'STOP_REASON_TIME_LIMIT' | 'STOP_REASON_STOP_REQUESTED' | 'STOP_REASON_NUMERICAL_LIMIT' | 'STOP_REASON_OBJECTIVE_ZERO';
export interface Stopping { relativeGap?: Real; maxIterations?: Int64; timeLimit?: string }
export interface StreamProgressResponse { event?: ProgressEvent; heartbeat?: Heartbeat }
export interface Svm { kernels?: KernelGrid[]; C?: Real; epsilon?: Real }
export interface SvmRfe { C?: Real; columns?: Int64; schedule?: SvmRfeSchedule; counts?: Real[] }
export type SvmRfeSchedule = 'SCHEDULE_UNSPECIFIED' | 'SCHEDULE_POWER_OF_TWO' | 'SCHEDULE_HALF_UP' | 'SCHEDULE_ONE';
export interface SvmlightFormat { numColumns?: Int64; targetName?: string }
export type TableDrawing = 'TABLE_DRAWING_UNSPECIFIED' | 'TABLE_DRAWING_NUMBERS' | 'TABLE_DRAWING_BARS' | 'TABLE_DRAWING_HEAT_MAP' | 'TABLE_DRAWING_CURVE';
export type TargetKind = 'TARGET_KIND_UNSPECIFIED' | 'TARGET_KIND_CLASSIFICATION' | 'TARGET_KIND_REGRESSION';
export type TargetScaling = 'TARGET_SCALING_UNSPECIFIED' | 'TARGET_SCALING_STANDARDIZE' | 'TARGET_SCALING_NONE';
export interface TaskCoding { column?: string; names?: string[] }
export type TaskRule = 'TASK_RULE_UNSPECIFIED' | 'TASK_RULE_OWN' | 'TASK_RULE_MEAN_IF_UNKNOWN' | 'TASK_RULE_MEAN';
export interface TextColumn { column?: ColumnPlace; holds?: string }
export interface TrainRequest { data: DataInput[]; target?: string; targetKind?: TargetKind; coding?: CodingChoice; learner: Learner; preprocessing?: PreprocessingOptions; validation?: Validation; classWeights?: ClassWeights; seed?: Int64; threads?: number; priority?: number; stopping?: Stopping; labels?: Record<string, string>; model?: string; requestId?: string; displayName?: string; path?: OptionPath; task?: string; decisions?: Warning[]; targetScaling?: TargetScaling; stability?: SelectionStability; rankingTest?: RankingTest }
export interface TrainingProgress { phase?: string; stage?: string; fraction?: Real; primal?: Real; dual?: Real; relativeGap?: Real; activeKernels?: Int64; supportVectors?: Int64; innerIterations?: Int64; hasModel?: boolean; elapsed?: string; remaining?: string; stageFraction?: Real; activeGroups?: Int64 }
export interface TypedColumn { name?: string; numbers?: TypedColumnNumbers; texts?: TypedColumnTexts }
export interface TypedColumnNumbers { values?: Real[] }
export interface TypedColumnTexts { values?: string[] }
export type UnseenCategory = 'UNSEEN_CATEGORY_UNSPECIFIED' | 'UNSEEN_CATEGORY_REFUSE' | 'UNSEEN_CATEGORY_ALL_ZEROS';
export type UnseenRows = 'UNSEEN_ROWS_UNSPECIFIED' | 'UNSEEN_ROWS_ZEROS' | 'UNSEEN_ROWS_ROW_ERROR';
export interface UpdateDatasetRequest { dataset: Dataset; updateMask?: string }
export interface UpdateJobRequest { job: Job; updateMask?: string }
export interface UpdateModelRequest { model: Model; updateMask?: string }
export interface UpdateModelVersionRequest { modelVersion: ModelVersion; updateMask?: string }
export interface Upload { name?: string; totalBytes?: Int64; sha256?: string; receivedBytes?: Int64; part?: number; offset?: Int64; expireTime?: string; dataset?: string; caller?: string; displayName?: string }
export interface UploadHeader { datasetId?: string; displayName?: string; labels?: Record<string, string>; parts: UploadPart[]; sha256?: string; requestId?: string; uploadId?: string; totalBytes?: Int64 }
export interface UploadPart { csv?: CsvFormat; svmlight?: SvmlightFormat; dense?: DenseFormat; square?: SquareFormat; images?: ImagesFormat }
export interface Validation { holdOut?: HoldOut; folds?: Folds }
export interface ValueCount { value?: string; count?: Int64 }
export interface VerifyModelRequest { name?: string; requestId?: string; priority?: number; labels?: Record<string, string>; displayName?: string; timeLimit?: string }
export interface VerifyModelResponse { model?: string; certificate?: Certificate; matches?: boolean; storedCertificate?: Certificate }
export interface Warning { code?: WarningCode; message?: string; values?: Record<string, string> }
export type WarningCode = 'WARNING_CODE_UNSPECIFIED' | 'WARNING_CODE_BELOW_BASELINE' | 'WARNING_CODE_LIMIT_REACHED' | 'WARNING_CODE_GAP_NOT_REACHED' | 'WARNING_CODE_IDENTIFIER_COLUMN' | 'WARNING_CODE_NUMERIC_TARGET' | 'WARNING_CODE_OPTION_CHOSEN' | 'WARNING_CODE_VALIDATION_ENDED' | 'WARNING_CODE_CONSTANT_COLUMN' | 'WARNING_CODE_TEXT_COLUMN' | 'WARNING_CODE_RARE_CLASSES' | 'WARNING_CODE_UNBALANCED_CLASSES' | 'WARNING_CODE_SIMILAR_CATEGORIES' | 'WARNING_CODE_CONSTANT_FUNCTION' | 'WARNING_CODE_EXACT_IS_CHEAPER';
export interface WatchJobsResponse { job?: Job; existing?: boolean; left?: boolean; existingSent?: boolean; heartbeat?: string; deleted?: boolean; sequence?: Int64 }
