// Upload, train, watch and predict from Go, with stubs generated from Mercer's protos. In this folder, with Go 1.23 or newer:
//
//	./generate.sh
//	go run . 127.0.0.1:7345 ../../../demo/data/spambase.csv.gz
package main

import (
	"bufio"
	"compress/gzip"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "example.org/mercer/mercerv1"
)

const chunkBytes = 1 << 20

func requestID() string {
	id := make([]byte, 16)
	rand.Read(id) // never fails
	return hex.EncodeToString(id)
}

// upload stores a CSV file, gzip or not.
func upload(ctx context.Context, channel *grpc.ClientConn, path, target string) (*pb.Dataset, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // a regular end of the stream would store the first part of the file as the whole
	stream, err := pb.NewDatasetServiceClient(channel).UploadDataset(ctx)
	if err != nil {
		return nil, err
	}
	csv := &pb.CsvFormat{Roles: map[string]pb.ColumnRole{target: pb.ColumnRole_COLUMN_ROLE_TARGET}}
	header := &pb.UploadHeader{Parts: []*pb.UploadPart{{Format: &pb.UploadPart_Csv{Csv: csv}}}, RequestId: requestID()}
	err = stream.Send(&pb.UploadDatasetRequest{Content: &pb.UploadDatasetRequest_Header{Header: header}})
	for buffer := make([]byte, chunkBytes); err == nil; {
		size, readErr := file.Read(buffer)
		if readErr == io.EOF {
			break
		}
		if readErr != nil {
			return nil, readErr
		}
		chunk := &pb.UploadChunk{Data: buffer[:size]}
		err = stream.Send(&pb.UploadDatasetRequest{Content: &pb.UploadDatasetRequest_Chunk{Chunk: chunk}})
	}
	if err != nil && err != io.EOF { // io.EOF: the server has ended the call, and CloseAndRecv says why
		return nil, err
	}
	return stream.CloseAndRecv()
}

// train queues a training over 12 kernels with every fourth row held out; it returns the job at once.
func train(ctx context.Context, channel *grpc.ClientConn, dataset, model string) (*pb.Job, error) {
	kernels := &pb.KernelGrid{
		Type: pb.KernelType_KERNEL_TYPE_GAUSSIAN, Rule: pb.BandwidthRule_BANDWIDTH_RULE_LOG_SPACED,
		MinBandwidth: 1, MaxBandwidth: 100, Count: 12,
	}
	learner := &pb.LpMkl{Kernels: []*pb.KernelGrid{kernels}, P: proto.Float64(1.2), C: proto.Float64(10)}
	holdOut := &pb.HoldOut{Fraction: proto.Float64(0.25)}
	return pb.NewTrainingServiceClient(channel).Train(ctx, &pb.TrainRequest{
		Data:       []*pb.DataInput{{Dataset: dataset}},
		Learner:    &pb.Learner{Learner: &pb.Learner_LpMkl{LpMkl: learner}},
		Validation: &pb.Validation{Method: &pb.Validation_HoldOut{HoldOut: holdOut}},
		Seed:       1,
		Model:      "models/" + model,
		RequestId:  requestID(),
	})
}

// watch prints every event of the job to its end; it returns the name of its model.
func watch(ctx context.Context, channel *grpc.ClientConn, job string) (string, error) {
	client := pb.NewTrainingServiceClient(channel)
	stream, err := client.StreamProgress(ctx, &pb.StreamProgressRequest{Job: job})
	if err != nil {
		return "", err
	}
	for {
		message, err := stream.Recv()
		if err == io.EOF {
			break
		}
		if err != nil {
			return "", err
		}
		event := message.GetEvent() // nil for a heartbeat
		if progress := event.GetProgress(); progress != nil {
			fmt.Printf("%4d  iteration %d  gap %.1e\n", event.Sequence, event.Iteration, progress.GetRelativeGap())
		} else if change := event.GetStateChange(); change != nil {
			fmt.Printf("%4d  %s\n", event.Sequence, change.State)
		}
	}
	final, err := client.GetJob(ctx, &pb.GetJobRequest{Name: job})
	if err != nil {
		return "", err
	}
	if final.State != pb.JobState_JOB_STATE_SUCCEEDED {
		return "", fmt.Errorf("%s ended as %s: %s", job, final.State, final.GetError().GetMessage())
	}
	return final.Model, nil
}

// predict returns labels and decision values of rows of numbers.
func predict(ctx context.Context, channel *grpc.ClientConn, model string, names []string, rows [][]float64) (*pb.PredictResponse, error) {
	var raw []byte
	for _, row := range rows {
		for _, value := range row {
			raw = binary.LittleEndian.AppendUint64(raw, math.Float64bits(value))
		}
	}
	values := &pb.Matrix{Rows: int64(len(rows)), Columns: int64(len(names)), Raw: raw}
	block := &pb.DenseBlock{Columns: names, Values: values}
	return pb.NewPredictionServiceClient(channel).Predict(ctx, &pb.PredictRequest{
		Model: model,
		Input: &pb.PredictRequest_Rows{Rows: &pb.Rows{Dense: []*pb.DenseBlock{block}}},
	})
}

// readRows returns column names, the first count rows and their last column, from a CSV file of numbers.
func readRows(path string, count int) (names []string, rows [][]float64, truth []string, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, nil, err
	}
	defer file.Close()
	var source io.Reader = file
	if strings.HasSuffix(path, ".gz") {
		if source, err = gzip.NewReader(file); err != nil {
			return nil, nil, nil, err
		}
	}
	lines := bufio.NewScanner(source)
	for len(rows) < count && lines.Scan() {
		cells := strings.Split(strings.TrimSpace(lines.Text()), ",")
		last := len(cells) - 1
		if names == nil {
			names = cells[:last]
			continue
		}
		row := make([]float64, last)
		for i, cell := range cells[:last] {
			if row[i], err = strconv.ParseFloat(cell, 64); err != nil {
				return nil, nil, nil, err
			}
		}
		rows = append(rows, row)
		truth = append(truth, cells[last])
	}
	return names, rows, truth, lines.Err()
}

func run(ctx context.Context, address, path string) error {
	channel, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer channel.Close()
	dataset, err := upload(ctx, channel, path, "label")
	if err != nil {
		return err
	}
	fmt.Printf("%s: %d rows, %d columns\n", dataset.Name, dataset.Rows, dataset.NumColumns)
	job, err := train(ctx, channel, dataset.Name, "from-go")
	if err != nil {
		return err
	}
	name, err := watch(ctx, channel, job.Name)
	if err != nil {
		return err
	}
	model, err := pb.NewModelServiceClient(channel).GetModelVersion(ctx, &pb.GetModelVersionRequest{Name: name})
	if err != nil {
		return err
	}
	fmt.Printf("%s: certified relative gap %.1e\n", name, model.Certificate.Accuracy)
	for _, metric := range model.Metrics {
		fmt.Printf("%s %.4f\n", metric.Name, metric.Value)
	}
	names, rows, truth, err := readRows(path, 5)
	if err != nil {
		return err
	}
	answer, err := predict(ctx, channel, name, names, rows)
	if err != nil {
		return err
	}
	for i, label := range answer.Labels {
		fmt.Printf("predicted %s (%+.3f), is %s\n", label, answer.DecisionValues.Values[i], truth[i])
	}
	return nil
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: go run . HOST:PORT FILE.csv[.gz]   (the last column is named 'label')")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Args[1], os.Args[2]); err != nil {
		if answer, ok := status.FromError(err); ok && !errors.Is(err, os.ErrNotExist) {
			err = fmt.Errorf("%s: %s", answer.Code(), answer.Message())
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
