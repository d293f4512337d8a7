#!/usr/bin/env python3
"""Upload, train, watch and predict with nothing but grpcio and stubs generated from Mercer's protos.

On Debian 12: apt-get install python3-grpcio python3-protobuf protobuf-compiler protobuf-compiler-grpc. Then, in the repository:

    mkdir -p stubs
    protoc -I proto --python_out=stubs --plugin=protoc-gen-grpc=/usr/bin/grpc_python_plugin --grpc_out=stubs \
        proto/mercer/v1/*.proto proto/google/*/*.proto
    PYTHONPATH=stubs /usr/bin/python3 client/examples/python_grpcio.py 127.0.0.1:7345 demo/data/spambase.csv.gz

(With the package grpcio-tools, `python3 -m grpc_tools.protoc` takes the same arguments without --plugin, and
--grpc_python_out instead of --grpc_out.)
"""

import gzip
import struct
import sys
import uuid

import grpc

from mercer.v1 import dataset_pb2, dataset_service_pb2, dataset_service_pb2_grpc, job_pb2, kernel_pb2, learner_pb2
from mercer.v1 import model_service_pb2, model_service_pb2_grpc, prediction_service_pb2, prediction_service_pb2_grpc
from mercer.v1 import training_pb2, training_service_pb2, training_service_pb2_grpc

CHUNK_BYTES = 1 << 20


def upload(channel, path, target, dataset_id=""):
    """Stores a CSV file (gzip or not) and returns the Dataset."""

    def messages():
        csv = dataset_pb2.CsvFormat(roles={target: dataset_pb2.COLUMN_ROLE_TARGET})
        yield dataset_service_pb2.UploadDatasetRequest(
            header=dataset_service_pb2.UploadHeader(
                dataset_id=dataset_id, parts=[dataset_pb2.UploadPart(csv=csv)], request_id=str(uuid.uuid4())
            )
        )
        with open(path, "rb") as file:
            while data := file.read(CHUNK_BYTES):
                yield dataset_service_pb2.UploadDatasetRequest(chunk=dataset_service_pb2.UploadChunk(part=0, data=data))

    return dataset_service_pb2_grpc.DatasetServiceStub(channel).UploadDataset(messages())


def train(channel, dataset, model):
    """Queues a training over 12 kernels with every fourth row held out; returns the Job at once."""
    kernels = kernel_pb2.KernelGrid(
        type=kernel_pb2.KERNEL_TYPE_GAUSSIAN,
        rule=kernel_pb2.BANDWIDTH_RULE_LOG_SPACED,
        min_bandwidth=1,
        max_bandwidth=100,
        count=12,
    )
    request = training_pb2.TrainRequest(
        data=[training_pb2.DataInput(dataset=dataset)],
        learner=learner_pb2.Learner(lp_mkl=learner_pb2.LpMkl(kernels=[kernels], p=1.2, c=10)),
        validation=training_pb2.Validation(hold_out=training_pb2.HoldOut(fraction=0.25)),
        seed=1,
        model=f"models/{model}",
        request_id=str(uuid.uuid4()),
    )
    return training_service_pb2_grpc.TrainingServiceStub(channel).Train(request)


def watch(channel, job):
    """Prints every event of the job to its end; returns the name of its model."""
    stub = training_service_pb2_grpc.TrainingServiceStub(channel)
    for message in stub.StreamProgress(training_service_pb2.StreamProgressRequest(job=job)):
        if message.WhichOneof("message") != "event":
            continue  # a heartbeat
        event = message.event
        if event.WhichOneof("kind") == "progress":
            print(f"{event.sequence:4d}  iteration {event.iteration}  gap {event.progress.relative_gap:.1e}")
        elif event.WhichOneof("kind") == "state_change":
            print(f"{event.sequence:4d}  {job_pb2.JobState.Name(event.state_change.state)}")
    final = stub.GetJob(training_service_pb2.GetJobRequest(name=job))
    if final.state != job_pb2.JOB_STATE_SUCCEEDED:
        raise RuntimeError(f"{job} ended as {job_pb2.JobState.Name(final.state)}: {final.error.message}")
    return final.model


def predict(channel, model, names, rows):
    """Labels and decision values of rows of numbers."""
    raw = b"".join(struct.pack(f"<{len(row)}d", *row) for row in rows)
    block = prediction_service_pb2.DenseBlock(columns=names, values={"rows": len(rows), "columns": len(names), "raw": raw})
    response = prediction_service_pb2_grpc.PredictionServiceStub(channel).Predict(
        prediction_service_pb2.PredictRequest(model=model, rows=prediction_service_pb2.Rows(dense=[block]))
    )
    return list(response.labels), list(response.decision_values.values)


def read_rows(path, count):
    """Column names, the first `count` rows and their last column, from a CSV file of numbers."""
    with gzip.open(path, "rt") if path.endswith(".gz") else open(path, encoding="utf-8") as file:
        names = file.readline().rstrip("\n").split(",")
        lines = [next(file).rstrip("\n").split(",") for _ in range(count)]
    return names[:-1], [[float(cell) for cell in line[:-1]] for line in lines], [line[-1] for line in lines]


def main(address, path):
    with grpc.insecure_channel(address) as channel:
        try:
            dataset = upload(channel, path, target="label")
            print(f"{dataset.name}: {dataset.rows} rows, {dataset.num_columns} columns")
            job = train(channel, dataset.name, model="from-python")
            name = watch(channel, job.name)
            models = model_service_pb2_grpc.ModelServiceStub(channel)
            model = models.GetModelVersion(model_service_pb2.GetModelVersionRequest(name=name))
            print(f"{name}: certified relative gap {model.certificate.accuracy:.1e}")
            for metric in model.metrics:
                print(f"{metric.name} {metric.value:.4f}")
            names, rows, truth = read_rows(path, 5)
            labels, values = predict(channel, name, names, rows)
            for label, value, true_label in zip(labels, values, truth):
                print(f"predicted {label} ({value:+.3f}), is {true_label}")
        except grpc.RpcError as error:
            sys.exit(f"{error.code().name}: {error.details()}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python_grpcio.py HOST:PORT FILE.csv[.gz]   (the last column is named 'label')")
    main(sys.argv[1], sys.argv[2])
