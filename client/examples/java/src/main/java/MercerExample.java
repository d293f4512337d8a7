import com.google.protobuf.ByteString;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.StreamObserver;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.zip.GZIPInputStream;
import mercer.v1.DatasetOuterClass.ColumnRole;
import mercer.v1.DatasetOuterClass.CsvFormat;
import mercer.v1.DatasetOuterClass.Dataset;
import mercer.v1.DatasetOuterClass.UploadPart;
import mercer.v1.DatasetServiceGrpc;
import mercer.v1.DatasetServiceOuterClass.UploadChunk;
import mercer.v1.DatasetServiceOuterClass.UploadDatasetRequest;
import mercer.v1.DatasetServiceOuterClass.UploadHeader;
import mercer.v1.JobOuterClass.Job;
import mercer.v1.JobOuterClass.JobState;
import mercer.v1.KernelOuterClass.BandwidthRule;
import mercer.v1.KernelOuterClass.KernelGrid;
import mercer.v1.KernelOuterClass.KernelType;
import mercer.v1.LearnerOuterClass.Learner;
import mercer.v1.LearnerOuterClass.LpMkl;
import mercer.v1.MatrixOuterClass.Matrix;
import mercer.v1.ModelServiceGrpc;
import mercer.v1.ModelServiceOuterClass.GetModelVersionRequest;
import mercer.v1.ModelVersionOuterClass.ModelVersion;
import mercer.v1.PredictionServiceGrpc;
import mercer.v1.PredictionServiceOuterClass.DenseBlock;
import mercer.v1.PredictionServiceOuterClass.PredictRequest;
import mercer.v1.PredictionServiceOuterClass.PredictResponse;
import mercer.v1.PredictionServiceOuterClass.Rows;
import mercer.v1.Training.DataInput;
import mercer.v1.Training.HoldOut;
import mercer.v1.Training.TrainRequest;
import mercer.v1.Training.Validation;
import mercer.v1.TrainingServiceGrpc;
import mercer.v1.TrainingServiceOuterClass.GetJobRequest;
import mercer.v1.TrainingServiceOuterClass.StreamProgressRequest;
import mercer.v1.TrainingServiceOuterClass.StreamProgressResponse;

/**
 * Upload, train, watch and predict from Java, with stubs generated from Mercer's protos. In this folder, with Java 17 and Maven:
 *
 * <pre>
 *   mvn --quiet compile exec:java -Dexec.args="127.0.0.1:7345 ../../../demo/data/spambase.csv.gz"
 * </pre>
 */
public final class MercerExample {
  private static final int CHUNK_BYTES = 1 << 20;

  /** Rows of a CSV file of numbers, whose last column is what is to be predicted. */
  private record Table(List<String> names, List<double[]> rows, List<String> truth) {}

  /** Hands over the one answer of a call. */
  private static final class Answer<T> implements StreamObserver<T> {
    private final CompletableFuture<T> future = new CompletableFuture<>();

    @Override
    public void onNext(T value) {
      future.complete(value);
    }

    @Override
    public void onError(Throwable error) {
      future.completeExceptionally(error);
    }

    @Override
    public void onCompleted() {}
  }

  /** Stores a CSV file, gzip or not. What the network does not take yet waits in memory: a larger file needs flow control. */
  private static Dataset upload(ManagedChannel channel, Path path, String target)
      throws IOException, InterruptedException, ExecutionException {
    CsvFormat csv = CsvFormat.newBuilder().putRoles(target, ColumnRole.COLUMN_ROLE_TARGET).build();
    UploadHeader header =
        UploadHeader.newBuilder()
            .addParts(UploadPart.newBuilder().setCsv(csv))
            .setRequestId(UUID.randomUUID().toString())
            .build();
    try (InputStream file = Files.newInputStream(path)) {
      Answer<Dataset> answer = new Answer<>();
      StreamObserver<UploadDatasetRequest> stream = DatasetServiceGrpc.newStub(channel).uploadDataset(answer);
      try {
        stream.onNext(UploadDatasetRequest.newBuilder().setHeader(header).build());
        for (byte[] data = file.readNBytes(CHUNK_BYTES); data.length > 0; data = file.readNBytes(CHUNK_BYTES)) {
          UploadChunk chunk = UploadChunk.newBuilder().setData(ByteString.copyFrom(data)).build();
          stream.onNext(UploadDatasetRequest.newBuilder().setChunk(chunk).build());
        }
      } catch (IOException error) {
        stream.onError(error); // a regular end would store the first part of the file as the whole
        throw error;
      }
      stream.onCompleted();
      return answer.future.get();
    }
  }

  /** Queues a training over 12 kernels with every fourth row held out; returns the job at once. */
  private static Job train(ManagedChannel channel, String dataset, String model) {
    KernelGrid kernels =
        KernelGrid.newBuilder()
            .setType(KernelType.KERNEL_TYPE_GAUSSIAN)
            .setRule(BandwidthRule.BANDWIDTH_RULE_LOG_SPACED)
            .setMinBandwidth(1)
            .setMaxBandwidth(100)
            .setCount(12)
            .build();
    LpMkl learner = LpMkl.newBuilder().addKernels(kernels).setP(1.2).setC(10).build();
    TrainRequest request =
        TrainRequest.newBuilder()
            .addData(DataInput.newBuilder().setDataset(dataset))
            .setLearner(Learner.newBuilder().setLpMkl(learner))
            .setValidation(Validation.newBuilder().setHoldOut(HoldOut.newBuilder().setFraction(0.25)))
            .setSeed(1)
            .setModel("models/" + model)
            .setRequestId(UUID.randomUUID().toString())
            .build();
    return TrainingServiceGrpc.newBlockingStub(channel).train(request);
  }

  /** Prints every event of the job to its end; returns the name of its model. */
  private static String watch(ManagedChannel channel, String job) {
    var stub = TrainingServiceGrpc.newBlockingStub(channel);
    var events = stub.streamProgress(StreamProgressRequest.newBuilder().setJob(job).build());
    while (events.hasNext()) {
      StreamProgressResponse message = events.next();
      var event = message.getEvent(); // empty for a heartbeat
      if (event.hasProgress()) {
        double gap = event.getProgress().getRelativeGap();
        System.out.printf("%4d  iteration %d  gap %.1e%n", event.getSequence(), event.getIteration(), gap);
      } else if (event.hasStateChange()) {
        System.out.printf("%4d  %s%n", event.getSequence(), event.getStateChange().getState());
      }
    }
    Job last = stub.getJob(GetJobRequest.newBuilder().setName(job).build());
    if (last.getState() != JobState.JOB_STATE_SUCCEEDED) {
      throw new IllegalStateException(job + " ended as " + last.getState() + ": " + last.getError().getMessage());
    }
    return last.getModel();
  }

  /** Labels and decision values of rows of numbers. */
  private static PredictResponse predict(ManagedChannel channel, String model, Table table) {
    int columns = table.names().size();
    ByteBuffer raw = ByteBuffer.allocate(8 * columns * table.rows().size()).order(ByteOrder.LITTLE_ENDIAN);
    for (double[] row : table.rows()) {
      for (double value : row) {
        raw.putDouble(value);
      }
    }
    Matrix.Builder values =
        Matrix.newBuilder().setRows(table.rows().size()).setColumns(columns).setRaw(ByteString.copyFrom(raw.flip()));
    DenseBlock block = DenseBlock.newBuilder().addAllColumns(table.names()).setValues(values).build();
    PredictRequest request = PredictRequest.newBuilder().setModel(model).setRows(Rows.newBuilder().addDense(block)).build();
    return PredictionServiceGrpc.newBlockingStub(channel).predict(request);
  }

  /** The first `count` rows of a CSV file of numbers. */
  private static Table readRows(Path path, int count) throws IOException {
    InputStream file = Files.newInputStream(path);
    InputStream bytes = path.toString().endsWith(".gz") ? new GZIPInputStream(file) : file;
    try (BufferedReader lines = new BufferedReader(new InputStreamReader(bytes, StandardCharsets.UTF_8))) {
      List<String> names = List.of(lines.readLine().split(","));
      Table table = new Table(names.subList(0, names.size() - 1), new ArrayList<>(), new ArrayList<>());
      for (int i = 0; i < count; ++i) {
        String[] cells = lines.readLine().split(",");
        double[] row = new double[cells.length - 1];
        for (int c = 0; c < row.length; ++c) {
          row[c] = Double.parseDouble(cells[c]);
        }
        table.rows().add(row);
        table.truth().add(cells[row.length]);
      }
      return table;
    }
  }

  private static void run(ManagedChannel channel, Path path) throws Exception {
    Dataset dataset = upload(channel, path, "label");
    System.out.printf("%s: %d rows, %d columns%n", dataset.getName(), dataset.getRows(), dataset.getNumColumns());
    String name = watch(channel, train(channel, dataset.getName(), "from-java").getName());
    ModelVersion model =
        ModelServiceGrpc.newBlockingStub(channel).getModelVersion(GetModelVersionRequest.newBuilder().setName(name).build());
    System.out.printf("%s: certified relative gap %.1e%n", name, model.getCertificate().getAccuracy());
    model.getMetricsList().forEach(metric -> System.out.printf("%s %.4f%n", metric.getName(), metric.getValue()));
    Table table = readRows(path, 5);
    PredictResponse answer = predict(channel, name, table);
    for (int i = 0; i < answer.getLabelsCount(); ++i) {
      double value = answer.getDecisionValues().getValues(i);
      System.out.printf("predicted %s (%+.3f), is %s%n", answer.getLabels(i), value, table.truth().get(i));
    }
  }

  public static void main(String[] arguments) throws Exception {
    if (arguments.length != 2) {
      System.err.println("usage: MercerExample HOST:PORT FILE.csv[.gz]   (the last column is named 'label')");
      System.exit(2);
    }
    ManagedChannel channel = Grpc.newChannelBuilder(arguments[0], InsecureChannelCredentials.create()).build();
    try {
      run(channel, Path.of(arguments[1]));
    } catch (ExecutionException | StatusRuntimeException error) {
      Throwable cause = error instanceof ExecutionException ? error.getCause() : error;
      System.err.println(cause.getMessage());
      System.exit(1);
    } finally {
      channel.shutdownNow();
    }
  }
}
