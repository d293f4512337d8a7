# What .ci/run and './dev nightly' share; to be sourced. A step is a command. All steps run, whatever fails before them; in the end the
# time of each is told, and which failed.

steps_table='' steps_failed='' steps_slower=''
readonly STEPS_START=$SECONDS

# step SECONDS COMMAND...: SECONDS is what it takes at most on two cores with an empty compiler cache. Exit code 77: it cannot be done here.
step() {
  local usual=$1 start=$SECONDS status=0 verdict seconds
  shift
  printf '\n==== %s\n' "$*"
  "$@" || status=$?
  seconds=$((SECONDS - start))
  case $status in
    0) verdict=passed ;;
    77) verdict='left out' ;;
    *) verdict=FAILED steps_failed+="  $*"$'\n' ;;
  esac
  printf '==== %s: %s after %d s\n' "$*" "$verdict" "$seconds"
  steps_table+=$(printf '%6d s %6d s  %-8s  %s' "$seconds" "$usual" "$verdict" "$*")$'\n'
  ((seconds <= usual)) || steps_slower+="  $*: $seconds s, at most $usual s before"$'\n'
}

# slowest_tests NUMBER: of all runs of ctest that wrote build/*/tests.xml since the steps began.
slowest_tests() {
  find build -maxdepth 2 -name tests.xml -newermt "@$(($(date +%s) - SECONDS + STEPS_START))" -print0 |
    xargs -0 --no-run-if-empty /usr/bin/python3 -c '
import sys, xml.etree.ElementTree as tree
times = [(float(case.get("time")), path.split("/")[1], case.get("name"))
         for path in sys.argv[2:] for case in tree.parse(path).iter("testcase")]
for seconds, preset, name in sorted(times, reverse=True)[: int(sys.argv[1])]:
    print(f"{seconds:8.1f} s  {preset:10s} {name}")
' "$1"
}

# steps_end SECONDS: what was done, in figures. Fails when a step has failed, or when all took longer than SECONDS.
steps_end() {
  local most=$1 total=$((SECONDS - STEPS_START))
  printf '\n==== seconds of each step, and at most with an empty compiler cache\n%s' "$steps_table"
  printf '\n==== the slowest tests\n'
  slowest_tests 20
  if [[ -s ${CCACHE_STATSLOG:-} ]]; then
    printf '\n==== compiler cache\n'
    ccache --show-log-stats
  fi
  if [[ -n $steps_failed ]]; then printf '\n==== FAILED\n%s' "$steps_failed"; fi
  if ((total > most)); then printf '\n==== TOO SLOW: %d s, where %d s are allowed; these steps grew:\n%s' "$total" "$most" "$steps_slower"; fi
  [[ -z $steps_failed ]] && ((total <= most)) || return 1
  printf '\n==== everything passed after %d s\n' "$total"
}
