#!/usr/bin/env bash
# Upload, train, watch and predict with nothing but curl, through the server's HTTP port.
#
#   client/examples/curl.sh http://127.0.0.1:7380 demo/data/spambase.csv.gz
#
# Where the server asks for tokens, set MERCER_TOKEN.
set -euo pipefail

if (($# != 2)); then
  echo "usage: curl.sh http://HOST:PORT FILE.csv[.gz]   (the last column is named 'label')" >&2
  exit 2
fi
readonly SERVER=$1 FILE=$2

# stream PATH [CURL'S ARGUMENT...]: what the server answers, as it comes.
stream() {
  local token=()
  [[ -z ${MERCER_TOKEN:-} ]] || token=(-H "Authorization: Bearer $MERCER_TOKEN")
  curl --silent --show-error --fail-with-body "${token[@]}" "$SERVER/v1/$1" "${@:2}"
}
# call PATH [CURL'S ARGUMENT...]: the whole answer; an error ends the script, with what the server says of it.
call() {
  local answer
  answer=$(stream "$@") || { echo "$answer" >&2 && exit 1; }
  echo "$answer"
}
# first NAME: the first text of that name in the JSON on the input. Enough here; a program would use a JSON parser.
first() { grep -o "\"$1\":\"[^\"]*\"" | awk -F'"' 'NR == 1 { print $4 }'; }

dataset=$(call "datasets:upload?target=label" -H 'Content-Type: text/csv' --data-binary "@$FILE" | first name)
echo "$dataset"

# 12 kernels, every fourth row held out
job=$(call jobs -H 'Content-Type: application/json' --data @- <<JSON | first name
{"data": [{"dataset": "$dataset"}],
 "learner": {"lpMkl": {"p": 1.2, "C": 10, "kernels": [
   {"type": "KERNEL_TYPE_GAUSSIAN", "rule": "BANDWIDTH_RULE_LOG_SPACED", "minBandwidth": 1, "maxBandwidth": 100, "count": 12}]}},
 "validation": {"holdOut": {"fraction": 0.25}}, "seed": 1, "model": "models/from-curl"}
JSON
)

# Server-sent events, to the job's end: the sequence number and what happened.
stream "$job/events" --no-buffer | grep --line-buffered '^data: ' |
  sed -nu 's/.*"sequence":"\([0-9]*\)".*"state":"\([A-Z_]*\)".*/\1 \2/p; s/.*"sequence":"\([0-9]*\)".*"relativeGap":\([^,}]*\).*/\1 gap \2/p'

model=$(call "$job" | grep -o '"model":"models/[^"]*/versions/[0-9]*"' | first model)
[[ -n $model ]] || { echo "$job has no model" >&2 && exit 1; }
call "$model" | grep -o '{"name":"held_out[^}]*}' | sed 's/{"name":"\([^"]*\)","value":\([^}]*\)}/\1 \2/'

call "$model:predict" -H 'Content-Type: application/json' --data "{\"dataset\": \"$dataset\"}" |
  grep -o '"labels":\[[^]]*\]' | tr -d '"[]' | sed 's/labels://' | tr , '\n' | awk 'NR <= 5 { print "predicted", $0 }'
