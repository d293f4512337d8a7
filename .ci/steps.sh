# What .ci/run and './dev nightly' share; to be sourced. A step is a command. All steps run, whatever fails before them; in the end the
# time of each is told, and which failed.

steps_table='' steps_failed='' steps_slower=''
readonly STEPS_START=$SECONDS
# However slow a machine is, a run that takes longer is of no use.
readonly LONGEST_SECONDS=5200
# What all steps may take together on this machine: steps_begin sets it.
steps_allowed=$LONGEST_SECONDS

# step SECONDS COMMAND...: SECONDS is what it takes at most on two cores with an empty compiler cache. Exit code 77: it cannot be done here.
step() { timed_step '' "$@"; }

# step_in_time SECONDS COMMAND...: a step that ends, done or not, five minutes before the allowed time is over, so that a slow machine still
# tells what the steps before it have found. That it had no time is told, and is no failure; './dev nightly' does all of it.
step_in_time() { timed_step $((steps_allowed - 300 - SECONDS + STEPS_START)) "$@"; }

# timed_step LEFT SECONDS COMMAND...: LEFT is empty, or how many seconds it has.
timed_step() {
  local left=$1 usual=$2 start=$SECONDS status=0 ended='' verdict seconds
  shift 2
  printf '\n==== %s\n' "$*"
  if [[ -z $left ]]; then
    "$@" || status=$?
  elif ((left < 30)); then
    ended=yes
  else
    timeout --kill-after=10 "$left" "$@" || status=$?
    # Without the time, a step that was killed, for want of memory say, has failed.
    [[ $status != 124 && $status != 137 ]] || ((SECONDS - start < left)) || ended=yes
  fi
  seconds=$((SECONDS - start))
  case $ended$status in
    0) verdict=passed ;;
    77) verdict='left out' ;;
    yes*) verdict='no time' ;;
    *) verdict=FAILED steps_failed+="  $*"$'\n' ;;
  esac
  printf '==== %s: %s after %d s\n' "$*" "$verdict" "$seconds"
  steps_table+=$(printf '%6d s %6d s  %-8s  %s' "$seconds" "$usual" "$verdict" "$*")$'\n'
  ((seconds <= usual)) || steps_slower+="  $*: $seconds s, at most $usual s before"$'\n'
}

# report_tests slowest NUMBER | failed: of all runs of ctest that wrote build/*/tests.xml since the steps began.
report_tests() {
  find build -maxdepth 2 -name tests.xml -newermt "@$(($(date +%s) - SECONDS + STEPS_START))" -print0 |
    xargs -0 --no-run-if-empty /usr/bin/python3 .ci/report_tests.py "$@"
}

# What compile_milliseconds finds on the machine of CONTRIBUTING.md's table. It was not measured there but follows from another one, which
# needed 90 s for './dev bench --build' instead of 32, and 5.0 to 6.1 s for this: 1.8 to 2.2 s, and more here, so that less is allowed.
readonly REFERENCE_MILLISECONDS=2600

# compile_milliseconds: of a small program with large headers, the least of three.
compile_milliseconds() {
  local least=0 start took
  for _ in 1 2 3; do
    start=$(date +%s%N)
    g++ -std=c++20 -O2 -x c++ -c -o /dev/null - <<<'
#include <functional>
#include <map>
#include <regex>
bool IsName(const std::string& s) { return std::regex_match(s, std::regex("[a-z]+[0-9]*")); }'
    took=$((($(date +%s%N) - start) / 1000000))
    if ((least == 0 || took < least)); then least=$took; fi
  done
  echo "$least"
}

# allowed_seconds SECONDS: as many, or on a machine that is slower than usual as many more as it is slower.
allowed_seconds() {
  local took allowed
  took=$(compile_milliseconds)
  allowed=$(($1 * (took > REFERENCE_MILLISECONDS ? took : REFERENCE_MILLISECONDS) / REFERENCE_MILLISECONDS))
  echo $((allowed < LONGEST_SECONDS ? allowed : LONGEST_SECONDS))
}

# steps_begin SECONDS: that all steps may take, by allowed_seconds.
steps_begin() { steps_allowed=$(allowed_seconds "$1"); }

# steps_end SECONDS: what was done, in figures; what grew, when all took longer than SECONDS. Fails when a step has failed, or when all
# took longer than allowed_seconds, now or when they began.
steps_end() {
  local most=$1 allowed total=$((SECONDS - STEPS_START))
  allowed=$(allowed_seconds "$most")
  ((allowed >= steps_allowed)) || allowed=$steps_allowed
  printf '\n==== seconds of each step, and at most with an empty compiler cache\n%s' "$steps_table"
  printf '\n==== the slowest tests\n'
  report_tests slowest 20
  if [[ -s ${CCACHE_STATSLOG:-} ]]; then
    printf '\n==== compiler cache\n'
    ccache --show-log-stats
  fi
  if [[ -n $steps_failed ]]; then
    printf '\n==== FAILED\n%s' "$steps_failed"
    report_tests failed
  fi
  if ((total > most)); then printf '\n==== TOO SLOW: %d s, where %d s are allowed, %d s at this speed; these steps grew:\n%s' "$total" "$most" "$allowed" "$steps_slower"; fi
  [[ -z $steps_failed ]] && ((total <= allowed)) || return 1
  printf '\n==== everything passed after %d s\n' "$total"
}
