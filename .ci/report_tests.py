"""What the runs of ctest that wrote the given files say: `slowest NUMBER FILE...` or `failed FILE...`, to be read at the end of a long log."""

import re
import sys
import xml.etree.ElementTree as tree

MOST_FAILED, MOST_LINES, MOST_COLUMNS = 12, 14, 180
# Lines of a failed test's output that say why: of GoogleTest, the sanitizers, libc, pytest and Node.
TELLING = re.compile(
    r": Failure|ERROR|SUMMARY|runtime error|^ +#\d+ .*mercer|Check failed|terminate called|Assertion|^E  |Error:|^not ok|FAILED"
)


def cases(paths):
    for path in paths:
        for case in tree.parse(path).iter("testcase"):
            yield path.split("/")[1], case


def print_slowest(number, paths):
    times = [(float(case.get("time")), preset, case.get("name")) for preset, case in cases(paths)]
    for seconds, preset, name in sorted(times, reverse=True)[:number]:
        print(f"{seconds:8.1f} s  {preset:10s} {name}")


def telling_lines(output):
    """The first lines that say why, each of GoogleTest's with the two that follow it; the last lines where none does."""
    lines = output.splitlines()
    kept = sorted({near for at, line in enumerate(lines) if TELLING.search(line) for near in range(at, at + (3 if ": Failure" in line else 1))})
    return [lines[at] for at in kept if at < len(lines)][:MOST_LINES] or lines[-MOST_LINES:]


def is_failed(case):
    """Also where ctest could not start it, as without its program: what is left out on purpose is skipped for a reason of its own."""
    skipped = case.find("skipped")
    left_out = skipped is not None and skipped.get("message", "").startswith("SKIP_")
    return case.get("status") == "fail" or (case.get("status") == "notrun" and not left_out)


def print_failed(paths):
    failed = [(preset, case) for preset, case in cases(paths) if is_failed(case)]
    for preset, case in failed[:MOST_FAILED]:
        print(f"  {preset:10s} {case.get('name')}")
        for line in telling_lines(case.findtext("system-out") or ""):
            print(f"      {line[:MOST_COLUMNS]}")
    if len(failed) > MOST_FAILED:
        print(f"  and {len(failed) - MOST_FAILED} more")


if sys.argv[1] == "slowest":
    print_slowest(int(sys.argv[2]), sys.argv[3:])
else:
    print_failed(sys.argv[2:])
