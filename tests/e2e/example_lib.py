"""Runs an example of client/examples against a server of its own, where its tool chain and its packages can be had."""

import shutil
import subprocess

import server_lib

PREPARE_SECONDS = 160
RUN_SECONDS = 60


def copy_example(language):
    """The example's folder, copied to where builds go; as deep in the tree, so that paths to the protos hold."""
    source = server_lib.ROOT / "client/examples" / language
    folder = server_lib.ROOT / "build/examples" / language
    built = shutil.ignore_patterns("node_modules", "bin", "mercerv1", "target")
    shutil.copytree(source, folder, ignore=built, dirs_exist_ok=True)
    return folder


def check_example(test, language, prepare, run):
    """Skips when the tools are missing or `prepare`, which fetches packages, fails; then `run` must end well.

    `run` is called with the server's address and a CSV file, and says the command.
    """
    for tool in {*prepare, run("", "")[0]} & {"npm", "node", "go", "mvn"}:
        if shutil.which(tool) is None:
            test.skipTest(f"there is no {tool}")
    folder = copy_example(language)
    try:
        done = subprocess.run(prepare, cwd=folder, capture_output=True, text=True, timeout=PREPARE_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        test.skipTest(f"{prepare[0]} took longer than {PREPARE_SECONDS} seconds")
    if done.returncode != 0:
        test.skipTest(f"its packages cannot be had: {(done.stdout + done.stderr)[-300:]}")
    with server_lib.Server() as server:
        command = run(server.address, str(server_lib.SPAMBASE))
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=RUN_SECONDS, check=False)
        test.assertEqual(done.returncode, 0, done.stdout + done.stderr + server.log())
    test.assertIn("JOB_STATE_SUCCEEDED", done.stdout)
    test.assertEqual(done.stdout.count("predicted "), 5, done.stdout)
    test.assertGreaterEqual(float(done.stdout.split("held_out.accuracy ")[1].split()[0]), 0.92)
    done = subprocess.run(run("127.0.0.1:1", str(server_lib.SPAMBASE)), cwd=folder, capture_output=True, text=True,
                          timeout=RUN_SECONDS, check=False)
    test.assertNotEqual(done.returncode, 0)
    test.assertIn("UNAVAILABLE", (done.stdout + done.stderr).upper())
