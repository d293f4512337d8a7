"""Runs the sieges and prints what they cost known callers: the 99th percentile of each kind of call in peace and beside the attack.

usage: tests/hostile/print_sieges.py [PROGRAM [FILTER]]    by default build/release/bin/tests/hostile_test and every attack
"""

import json
import os
import subprocess
import sys
import tempfile

KINDS = ("health", "GetJob", "Predict", "Train", "StreamProgress")


def run(program, wanted):
    """The sieges by name, each with the properties that it has recorded."""
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        environment = {"MERCER_BIN": os.path.dirname(os.path.dirname(os.path.abspath(program))), **os.environ}
        subprocess.run(
            [program, f"--gtest_filter=Attacks/*{wanted}", f"--gtest_output=json:{report}"],
            env=environment,
            stdout=sys.stderr,
            check=False,
        )
        with open(report, encoding="utf-8") as file:
            suites = json.load(file)["testsuites"]
    return {case["name"].split("/")[-1]: case for suite in suites for case in suite["testsuite"]}


def cell(siege, kind):
    """usual > during (ratio)"""
    usual, during = (float(siege[f"{kind}_{when}_p99_ms"]) for when in ("usual", "siege"))
    return f"{usual:.1f} > {during:.1f} ({during / usual:.1f})"


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else "build/release/bin/tests/hostile_test"
    sieges = run(program, sys.argv[2] if len(sys.argv) > 2 else "*")
    print("| attack | " + " | ".join(KINDS) + " | slowest health | MiB |")
    print("|---" * (len(KINDS) + 3) + "|")
    for name, siege in sieges.items():
        cells = [cell(siege, kind) if f"{kind}_siege_p99_ms" in siege else "-" for kind in KINDS]
        print(f"| {name} | " + " | ".join(cells) + f" | {siege.get('slowest_health_ms')} | {siege.get('peak_mib')} |")


if __name__ == "__main__":
    main()
