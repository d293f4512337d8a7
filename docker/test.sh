#!/usr/bin/env bash
# Builds the image and proves it: what it is made of, the demo with its programs, and a container's whole life.
#
#   docker/test.sh [--programs BUILD_DIR]     BUILD_DIR: takes bin/mercer-server and bin/mercer from there instead of compiling
#
# Takes docker, podman or buildah, whichever works. Exit code 77: there is none, or no base image.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source docker/builder.sh
readonly IMAGE=mercer-under-test BASE_TAG=debian:12-slim OWN_BASE=mercer-base
readonly MAX_MEGABYTES=150  # beyond the base image
readonly START_SECONDS=60

programs=''
if [[ ${1:-} == --programs ]]; then programs=${2:?--programs needs a folder}; elif (($#)); then die "takes --programs BUILD_DIR alone"; fi
builder=$(find_builder) || { echo "docker: no docker, podman or buildah here: the image is not tested" && exit 77; }
folder=$(mktemp -d)
server_pid=''
clean_up() {
  [[ -z $server_pid ]] || kill "$server_pid" 2>/dev/null || true
  rm -rf "$folder"
}
trap clean_up EXIT

say() { printf '\n== %s\n' "$*"; }
in_image() { (run_image "$IMAGE" "$folder" "$@"); }

build() {
  local base=$BASE_TAG arguments=()
  has_image "$base" || base=$OWN_BASE
  has_image "$base" || docker/base.sh "$base" >/dev/null ||
    { echo "docker: there is no base image and none can be made: the image is not tested" && exit 77; }
  if [[ -n $programs ]]; then
    mkdir -p "$folder/built/src/build/release/bin"
    cp "$programs/bin/mercer-server" "$programs/bin/mercer" "$folder/built/src/build/release/bin/"
    strip "$folder"/built/src/build/release/bin/*
    arguments=(--build-context "build=$folder/built")
  elif command -v npm >/dev/null; then
    arguments=(--build-arg "NPM_CONFIG_REGISTRY=$(npm config get registry 2>/dev/null)")
  fi
  build_image "$IMAGE" --file docker/Dockerfile --build-arg "BASE=$base" "${arguments[@]}" . >"$folder/build.log" 2>&1 ||
    { tail -n 30 "$folder/build.log" >&2 && die "the image could not be built"; }
  kilobytes_of_base=$( (run_image "$base" "$folder" du -skx --exclude "$folder" /) 2>/dev/null | cut -f1)
}

# check_content: small, without compilers, and no root.
check_content() {
  local kilobytes tool
  kilobytes=$(in_image du -skx --exclude "$folder" / 2>/dev/null | cut -f1)
  echo "unpacked $((kilobytes / 1024)) MiB, $(((kilobytes - kilobytes_of_base) / 1024)) MiB beyond the base image"
  (((kilobytes - kilobytes_of_base) * 1024 <= MAX_MEGABYTES * 1000000)) || die "the image is larger than $MAX_MEGABYTES MB beyond its base"
  for tool in cc gcc g++ clang make cmake node; do
    if in_image sh -c "command -v $tool" >/dev/null 2>&1; then die "there is a $tool in the image"; fi
  done
}

# demo: demo/run.sh as it is, with the programs of the image.
demo() {
  local name
  mkdir -p "$folder/shims/bin" "$folder/tmp"
  for name in mercer-server mercer; do
    printf '#!/usr/bin/env bash\nsource %q\nbuilder=%q\nrun_image %q %q %q "$@"\n' \
      "$PWD/docker/builder.sh" "$builder" "$IMAGE" "$folder" "$name" >"$folder/shims/bin/$name"
    chmod +x "$folder/shims/bin/$name"
  done
  cp -r demo "$folder/demo"
  TMPDIR=$folder/tmp "$folder/demo/run.sh" "$folder/shims" || die "the demo has failed"
}

# ------------------------------------------------------------------------------------------------------------ a container's life

readonly ACCESS=$folder/life/access

start_container() {
  rm -f "$folder/life/server/port" "$folder/life/server/http_port"
  (RUN_AS=10001:10001 RUN_DATA=$folder/life MERCER_LISTEN=127.0.0.1:0 MERCER_HTTP=127.0.0.1:0 \
    run_image "$IMAGE" "$folder/life" mercer-start >"$folder/life.log" 2>&1) &
  server_pid=$!
  local tries
  for ((tries = 0; tries < START_SECONDS * 10; ++tries)); do
    if [[ -s $folder/life/server/port && -s $folder/life/server/http_port ]] && ask health >/dev/null 2>&1; then return; fi
    kill -0 "$server_pid" 2>/dev/null || { cat "$folder/life.log" >&2 && die "the container has ended"; }
    sleep 0.1
  done
  cat "$folder/life.log" >&2
  die "the container is not healthy after $START_SECONDS seconds"
}

# Asks the way the health check of the image does: by its own program.
ask() { in_image mercer --server "localhost:$(cat "$folder/life/server/port")" --ca "$ACCESS/server.pem" "$@"; }

# ask_http PATH: the first line of the answer, if the connection ends as TLS wants it.
ask_http() {
  printf 'GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' "$1" >"$folder/life/request"
  in_image openssl s_client -quiet -verify_return_error -CAfile "$ACCESS/server.pem" -servername localhost \
    -connect "localhost:$(cat "$folder/life/server/http_port")" <"$folder/life/request" >"$folder/life/answer" 2>"$folder/life/openssl.log" ||
    { cat "$folder/life/openssl.log" >&2 && die "openssl has found fault with the connection"; }
  head -n 1 "$folder/life/answer"
}

stop_container() {
  kill -TERM "$server_pid"
  wait "$server_pid" || { cat "$folder/life.log" >&2 && die "the container did not end with 0 after SIGTERM"; }
  server_pid=''
  grep -q 'drain ended' "$folder/life.log" || die "the container did not drain"
}

live() {
  local status=0
  mkdir -p "$folder/life" && chmod 0777 "$folder" "$folder/life"
  [[ $(id -u) != 0 ]] || chown 10001:10001 "$folder/life"
  start_container
  ask jobs >/dev/null 2>&1 || status=$?
  ((status == 9)) || die "without a token the exit code is $status, and not 9"
  ask --token-file "$ACCESS/admin.token" data upload "$folder/demo/data/spambase.csv.gz" --id mail --target label
  [[ $(ask_http /healthz) == *' 200 '* ]] || die "/healthz does not answer over HTTPS"
  [[ $(ask_http /v1/datasets) == *' 401 '* ]] || die "HTTP asks for no token"
  sha256sum "$ACCESS"/* >"$folder/access.sums"
  stop_container
  start_container
  sha256sum --check --quiet "$folder/access.sums" || die "the second start has made new certificates or tokens"
  ask --token-file "$ACCESS/admin.token" data show mail >/dev/null || die "the data is gone after a restart"
  stop_container
}

say "building with $builder"
build
say "content"
check_content
say "demo"
demo
say "a container from its first start to its end"
live
say "the image is good"
