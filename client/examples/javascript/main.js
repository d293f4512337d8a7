// Upload, train, watch and predict from JavaScript, with nothing but gRPC's own packages. In this folder, with Node 18 or newer:
//
//   npm ci
//   node main.js 127.0.0.1:7345 ../../../demo/data/spambase.csv.gz
'use strict';

const crypto = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const zlib = require('node:zlib');
const grpc = require('@grpc/grpc-js');
const protoLoader = require('@grpc/proto-loader');

const PROTOS = path.resolve(__dirname, '../../../proto');
const SERVICES = ['dataset_service', 'training_service', 'model_service', 'prediction_service'];

function connect(address) {
  const files = SERVICES.map((name) => `mercer/v1/${name}.proto`);
  const definition = protoLoader.loadSync(files, { includeDirs: [PROTOS], enums: String, longs: Number, defaults: true, oneofs: true });
  const { v1 } = grpc.loadPackageDefinition(definition).mercer;
  const credentials = grpc.credentials.createInsecure();
  return {
    datasets: new v1.DatasetService(address, credentials),
    training: new v1.TrainingService(address, credentials),
    models: new v1.ModelService(address, credentials),
    predictions: new v1.PredictionService(address, credentials),
  };
}

// A call with one answer, as a promise.
function call(client, method, request) {
  return new Promise((resolve, reject) => {
    client[method](request, (error, response) => (error ? reject(error) : resolve(response)));
  });
}

// Stores a CSV file, gzip or not; resolves to the Dataset.
async function upload(datasets, file, target) {
  const stored = new Promise((resolve, reject) => {
    const stream = datasets.uploadDataset((error, dataset) => (error ? reject(error) : resolve(dataset)));
    stream.write({ header: { parts: [{ csv: { roles: { [target]: 'COLUMN_ROLE_TARGET' } } }], requestId: crypto.randomUUID() } });
    const source = fs.createReadStream(file, { highWaterMark: 1 << 20 });
    source.on('data', (data) => {
      if (!stream.write({ chunk: { part: 0, data } })) {
        source.pause();
        stream.once('drain', () => source.resume());
      }
    });
    source.on('end', () => stream.end());
    source.on('error', (error) => {
      stream.cancel(); // a regular end would store the first part of the file as the whole
      reject(error);
    });
  });
  return stored;
}

// Queues a training over 12 kernels with every fourth row held out; resolves to the Job at once.
function train(training, dataset, model) {
  const kernels = [{ type: 'KERNEL_TYPE_GAUSSIAN', rule: 'BANDWIDTH_RULE_LOG_SPACED', minBandwidth: 1, maxBandwidth: 100, count: 12 }];
  return call(training, 'train', {
    data: [{ dataset }],
    learner: { lpMkl: { kernels, p: 1.2, c: 10 } },
    validation: { holdOut: { fraction: 0.25 } },
    seed: 1,
    model: `models/${model}`,
    requestId: crypto.randomUUID(),
  });
}

// Prints every event of the job to its end; resolves to the name of its model.
async function watch(training, job) {
  for await (const { message, event } of training.streamProgress({ job })) {
    if (message === 'event' && event.kind === 'progress') {
      const { relativeGap } = event.progress;
      console.log(`${event.sequence}  iteration ${event.iteration}  gap ${(relativeGap ?? NaN).toExponential(1)}`);
    } else if (message === 'event' && event.kind === 'stateChange') {
      console.log(`${event.sequence}  ${event.stateChange.state}`);
    } // else a heartbeat
  }
  const final = await call(training, 'getJob', { name: job });
  if (final.state !== 'JOB_STATE_SUCCEEDED') {
    throw new Error(`${job} ended as ${final.state}: ${final.error ? final.error.message : final.reason}`);
  }
  return final.model;
}

// Labels and decision values of rows of numbers.
async function predict(predictions, model, columns, rows) {
  const raw = Buffer.from(Float64Array.from(rows.flat()).buffer); // little-endian, as every platform of Node's is
  const values = { rows: rows.length, columns: columns.length, raw };
  const response = await call(predictions, 'predict', { model, rows: { dense: [{ columns, values }] } });
  return { labels: response.labels, values: response.decisionValues.values };
}

// Column names, the first `count` rows and their last column, from a CSV file of numbers.
function readRows(file, count) {
  const bytes = fs.readFileSync(file);
  const lines = (file.endsWith('.gz') ? zlib.gunzipSync(bytes) : bytes).toString('utf8').split('\n');
  const cells = lines.slice(0, count + 1).map((line) => line.trim().split(','));
  const rows = cells.slice(1);
  return { columns: cells[0].slice(0, -1), rows: rows.map((row) => row.slice(0, -1).map(Number)), truth: rows.map((row) => row.at(-1)) };
}

async function main(address, file) {
  const { datasets, training, models, predictions } = connect(address);
  const dataset = await upload(datasets, file, 'label');
  console.log(`${dataset.name}: ${dataset.rows} rows, ${dataset.numColumns} columns`);
  const job = await train(training, dataset.name, 'from-javascript');
  const name = await watch(training, job.name);
  const model = await call(models, 'getModelVersion', { name });
  console.log(`${name}: certified relative gap ${model.certificate.accuracy.toExponential(1)}`);
  for (const metric of model.metrics) {
    console.log(`${metric.name} ${metric.value.toFixed(4)}`);
  }
  const { columns, rows, truth } = readRows(file, 5);
  const { labels, values } = await predict(predictions, name, columns, rows);
  labels.forEach((label, i) => console.log(`predicted ${label} (${values[i].toFixed(3)}), is ${truth[i]}`));
}

if (process.argv.length !== 4) {
  console.error("usage: node main.js HOST:PORT FILE.csv[.gz]   (the last column is named 'label')");
  process.exit(2);
}
main(...process.argv.slice(2)).then(
  () => process.exit(0),
  (error) => {
    const code = grpc.status[error.code] ?? 'ERROR';
    console.error(`${code}: ${error.details || error.message}`);
    process.exit(1);
  },
);
