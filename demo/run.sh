#!/usr/bin/env bash
# Mercer's demo: which words and characters give spam away? Starts a server of its own, learns the weights of 69 kernels on
# 4601 e-mails, shows what it found and how good it provably is, restarts the server, predicts.
#
#   demo/run.sh BUILD_DIR [--keep]     BUILD_DIR holds bin/mercer-server and bin/mercer; --keep leaves the server running
#
# Exit code 0 only when everything happened, the held-out accuracy is at least 0.93 and the relative gap at most 1e-3.
set -euo pipefail
export LC_ALL=C.UTF-8  # numbers with a point, whatever the user's language

readonly HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly DATA=$HERE/data/spambase.csv.gz
readonly MIN_ACCURACY=0.93
readonly MAX_GAP=0.001
readonly START_SECONDS=30

usage() {
  echo "usage: demo/run.sh BUILD_DIR [--keep]" >&2
  exit 2
}

keep=no build=''
for argument in "$@"; do
  case $argument in
    --keep) keep=yes ;;
    -*) usage ;;
    *)
      [[ -z $build ]] || usage
      build=$argument
      ;;
  esac
done
[[ -n $build ]] || usage
readonly SERVER=$build/bin/mercer-server MERCER=$build/bin/mercer
for program in "$SERVER" "$MERCER"; do
  [[ -x $program ]] || { echo "demo: there is no program $program; './dev build' makes it" >&2; exit 1; }
done

folder=$(mktemp -d "${TMPDIR:-/tmp}/mercer-demo.XXXXXX")
server_pid='' address=''

say() {
  if [[ -t 1 && -z ${NO_COLOR:-} ]]; then printf '\n\e[1m%s\e[0m\n' "$*"; else printf '\n%s\n' "$*"; fi
}
die() {
  echo "demo: $*" >&2
  [[ ! -s $folder/server.log ]] || { echo "the server's last words:" >&2 && tail -n 5 "$folder/server.log" >&2; }
  exit 1
}
# run COMMAND...: shows the command as the user would type it, and runs it.
run() {
  local shown='' word
  for word in "$@"; do
    if [[ $word =~ ^[A-Za-z0-9_./:=,-]+$ ]]; then shown+=" $word"; else shown+=" '$word'"; fi
  done
  if [[ -t 1 && -z ${NO_COLOR:-} ]]; then printf '\e[2m$ mercer%s\e[0m\n' "$shown"; else printf '$ mercer%s\n' "$shown"; fi
  "$MERCER" "$@"
}

start_server() {
  local tries
  rm -f "$folder/listening"
  # In the background of a script it does not hear the terminal's Ctrl-C; clean_up stops it in order.
  "$SERVER" --data-dir "$folder/data" --listen "${address:-127.0.0.1:0}" >"$folder/listening" 2>>"$folder/server.log" &
  server_pid=$!
  for ((tries = 0; tries < START_SECONDS * 20; ++tries)); do
    if grep -qs '^listening on ' "$folder/listening"; then
      address=$(sed -n 's/^listening on //p' "$folder/listening")
      export MERCER_SERVER=$address
      echo "mercer-server listens on $address, data in $folder/data"
      return
    fi
    kill -0 "$server_pid" 2>/dev/null || die "the server did not start"
    sleep 0.05
  done
  die "the server did not start within $START_SECONDS seconds"
}

stop_server() {
  [[ -n $server_pid ]] || return 0
  kill -TERM "$server_pid" 2>/dev/null || true
  wait "$server_pid" || true
  server_pid=''
}

clean_up() {
  local code=$?
  trap - EXIT INT TERM
  if [[ $keep == yes && $code == 0 ]]; then
    say "The server keeps running: $address, process $server_pid, data in $folder/data"
    [[ ! -s $folder/data/http_port ]] || echo "  http://127.0.0.1:$(<"$folder/data/http_port")        the dashboard"
    echo "  export MERCER_SERVER=$address"
    echo "  kill $server_pid; rm -r $folder        ends it and removes its data"
    exit 0
  fi
  stop_server
  rm -rf "$folder"
  exit "$code"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# number NAME FILE: the number behind "NAME": in a line of JSON; the first one.
number() {
  grep -o "\"$1\":[^,}]*" "$2" | head -n 1 | cut -d: -f2 | tr -d '"'
}
# metric NAME FILE: the value of a metric in a model's JSON.
metric() {
  grep -o "{\"name\":\"$1\",\"value\":[^}]*}" "$2" | head -n 1 | sed 's/.*"value"://; s/}//'
}
at_least() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a != "" && a + 0 >= b + 0) }'; }

# ----------------------------------------------------------------------------------------------------------------- the demo

say "1  A server with an empty registry"
start_server

say "2  The data: 4601 e-mails, 57 columns, spam (1) or not (-1)"
run data upload "$DATA" --id spambase --target label

say "3  Training: which of 69 kernels matter? Every fourth e-mail is held out"
echo "12 Gaussian kernels see all columns, from fine to coarse; 57 see one column each."
run train spambase lp_mkl --kernel 'gaussian bandwidths=2..100:12' --kernel 'gaussian bandwidth=0.5 per_column' \
  --p 1.2 --C 10 --hold-out 0.25 --seed 1 --model spam --watch

say "4  What it found"
run show spam --kernels 15

say "5  The server stops and starts again: the model is still there"
stop_server
start_server
run models
"$MERCER" show spam --json >"$folder/model.json"

say "6  New e-mails, without their label"
# Two spam rows and two others, a thousand rows apart; the last column, the label, is cut off.
gzip -dc "$DATA" >"$folder/all.csv"
sed -n '1p;2p;1002p;3002p;4002p' "$folder/all.csv" >"$folder/some.csv"
sed 's/,[^,]*$//' "$folder/some.csv" >"$folder/new.csv"
run predict spam "$folder/new.csv" --values --output "$folder/predicted.csv"
paste -d , <(sed '1d; s/.*,//' "$folder/some.csv") <(sed 1d "$folder/predicted.csv") |
  awk -F, '{ printf "  predicted %2s (decision value %+.2f), is %2s\n", $2, $3, $1 }'
[[ $(wc -l <"$folder/predicted.csv") == 5 ]] || die "expected 4 predictions"

accuracy=$(metric held_out.accuracy "$folder/model.json") || die "the model has no held-out accuracy"
gap=$(number accuracy "$folder/model.json") || die "the model has no certificate"
say "Held-out accuracy $(printf %.4f "$accuracy") (wanted: at least $MIN_ACCURACY), certified relative gap $(printf %.1e "$gap") (wanted: at most $MAX_GAP)"
at_least "$accuracy" "$MIN_ACCURACY" || die "the held-out accuracy is too low"
at_least "$MAX_GAP" "$gap" || die "the gap is too large"

say "Go on"
cat <<NEXT
  ./dev demo --keep                leaves the server of the demo running
  ./dev run                        a server with its data in ./run
  README.md                        the same from Python and any other language
while a server runs, in another terminal:
  export PATH="$build/bin:\$PATH"
  mercer data upload your.csv --target COLUMN
  mercer learners lp_mkl           what can be set, and what it means
NEXT
