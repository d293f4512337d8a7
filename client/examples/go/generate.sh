#!/usr/bin/env bash
# Generates mercerv1/*.pb.go from the protos; needs protoc. The two plugins are fetched and built into bin/.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

readonly PROTOS=../../../proto
GOBIN=$PWD/bin go install google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.6
GOBIN=$PWD/bin go install google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.5.1

# The protos name no Go package, so it is given here. google.rpc is the one that gRPC brings along, google.api that of the same origin.
packages=Mgoogle/rpc/status.proto=google.golang.org/genproto/googleapis/rpc/status
for file in annotations http field_behavior; do
  packages+=",Mgoogle/api/$file.proto=google.golang.org/genproto/googleapis/api/annotations"
done
files=()
for file in "$PROTOS"/mercer/v1/*.proto; do
  files+=("mercer/v1/$(basename "$file")")
  packages+=",Mmercer/v1/$(basename "$file")=example.org/mercer/mercerv1"
done
protoc -I "$PROTOS" --plugin=bin/protoc-gen-go --plugin=bin/protoc-gen-go-grpc \
  --go_out=. --go_opt=module=example.org/mercer,"$packages" \
  --go-grpc_out=. --go-grpc_opt=module=example.org/mercer,"$packages" "${files[@]}"
