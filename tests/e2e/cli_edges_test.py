#!/usr/bin/env python3
"""`mercer` where things go wrong or look unusual: signals, closed outputs, terminals, servers that say nothing."""

import contextlib
import fcntl
import gzip
import json
import os
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import command_line_lib  # noqa: E402
import server_lib  # noqa: E402

PROGRAM = str(server_lib.BIN / "mercer")
SECONDS = 120
ESCAPE = re.compile(r"\x1b\[([0-9;]*)([A-Za-z])")


def environment(address, **more):
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "TERM", "COLUMNS")}
    return {**kept, "MERCER_SERVER": address, "TERM": "xterm", **more}


def run_in_terminal(address, arguments, columns=100, on_output=None, **more):
    """Runs the program on a terminal of that width; returns its exit code and all that it wrote there."""
    process_id, terminal = pty.fork()
    if process_id == 0:  # its standard input is the terminal, which has its size before the program looks
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        os.execve(PROGRAM, [PROGRAM, *arguments], environment(address, **more))
    written = b""
    while True:
        ready, _, _ = select.select([terminal], [], [], SECONDS)
        if not ready:
            os.kill(process_id, signal.SIGKILL)
            raise AssertionError(f"{arguments} says nothing for {SECONDS} seconds: {written!r}")
        try:
            data = os.read(terminal, 65536)
        except OSError:  # how Linux ends a terminal that nobody has open any more
            break
        if not data:
            break
        written += data
        if on_output:
            on_output(terminal, written)
    os.close(terminal)
    _, status = os.waitpid(process_id, 0)
    return os.waitstatus_to_exitcode(status), written.decode()


def drawn_lines(text):
    """What stood on the lines of the screen, each state of a line that was drawn again counted."""
    return [ESCAPE.sub("", line) for line in re.split(r"\r|\n", text)]


def redrawn_lines(text):
    """Each state of the lines that are drawn again in their place."""
    return [ESCAPE.sub("", re.split(r"\r|\n", piece)[0]) for piece in text.split("\r\x1b[2K")[1:]]


class SilentServerTest(unittest.TestCase):
    """Whatever listens takes connections and never says a word."""

    def test_no_command_waits_for_ever(self):
        with socket.socket() as listener, tempfile.TemporaryDirectory() as folder:
            listener.bind(("127.0.0.1", 0))
            listener.listen(100)
            address = "127.0.0.1:%d" % listener.getsockname()[1]
            rows = os.path.join(folder, "rows.csv")
            with open(rows, "w", encoding="utf-8") as file:
                file.write("x\n1\n")
            commands = [
                ["data", "list"], ["data", "show", "d"], ["data", "rm", "d"], ["data", "upload", rows], ["learners"], ["health"], ["jobs"],
                ["train", "d", "svm"], ["stop", "j"], ["cancel", "j"], ["models"], ["versions"], ["show", "m"], ["rm", "m"], ["predict", "m", rows],
                ["predict", "m", "datasets/d"], ["export", "m", os.path.join(folder, "model")], ["watch", "j"],
                ["train", "d", "svm", "--dry-run"], ["learners", "svm"], ["jobs", "--state", "running"], ["show", "m@live"],
                ["alias", "set", "m", "live", "1"], ["alias", "rm", "m", "live"], ["alias", "list", "m"],
                ["alias", "history", "m", "live"], ["alias", "rollback", "m", "live"], ["update", "m/versions/1", "--description", "x"],
                ["retention", "m"], ["retention", "m", "--keep", "1"], ["admin", "backup", "--output", os.path.join(folder, "backup")],
            ]
            running = [
                subprocess.Popen([PROGRAM, *command, "--timeout", "2"], env=environment(address), text=True,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
                for command in commands
            ]
            for command, process in zip(commands, running):
                with process:
                    _, err = process.communicate(timeout=SECONDS)
                self.assertEqual(process.returncode, 6, f"{command}: {err}")
                self.assertIn(address, err)
            self.assertEqual(os.listdir(folder), ["rows.csv"])


class EdgesTest(command_line_lib.CommandLineTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.write_data()
        cls.run_ok("data", "upload", cls.path("small.csv"), "--target", "label", "--id", "small")
        cls.run_ok("train", "small", "lp_mkl", "--kernel", "gaussian bandwidths=1..100:50", "--kernel",
                   "gaussian bandwidths=0.1..10:8 per_column", "--model", "wide", "--watch")

    @classmethod
    def write_data(cls):
        with gzip.open(server_lib.SPAMBASE, "rt") as file:
            lines = file.readlines()
        cls.header, rows = lines[0], lines[1::40]
        cls.rows = rows
        cls.write("small.csv", "".join([cls.header, *rows]))

    def finished_job(self):
        return json.loads(self.run_ok("jobs", "--state", "succeeded", "--json").splitlines()[-1])["name"]

    def start_long_job(self):
        self.run_ok("data", "upload", server_lib.SPAMBASE, "--target", "label")
        name = json.loads(self.run_ok("data", "list", "--json").splitlines()[0])["name"]
        return ["train", name, "lp_mkl", "--kernel", "gaussian bandwidths=1..100:40", "--C", "1000", "--gap", "1e-9"]

    # ------------------------------------------------------------------------------------------------------ outputs

    def test_a_reader_that_goes_away_ends_the_program_quietly(self):
        done = subprocess.run(["bash", "-c", f"{PROGRAM} data show small | head -n 1; exit ${{PIPESTATUS[0]}}"],
                              env=environment(self.server.address), capture_output=True, text=True, timeout=SECONDS, check=False)
        self.assertEqual(done.stdout.count("\n"), 1)
        self.assertEqual(done.stderr, "")
        self.assertIn(done.returncode, (0, 128 + signal.SIGPIPE))

    def test_a_full_or_closed_output_is_an_error(self):
        for redirection in ("> /dev/full", ">&-"):
            done = subprocess.run(["bash", "-c", f"{PROGRAM} predict wide {self.path('small.csv')} {redirection}"],
                                  env=environment(self.server.address), capture_output=True, text=True, timeout=SECONDS, check=False)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("written", done.stderr)

    def test_json_is_one_object_per_line(self):
        job = self.finished_job()
        for command in (["data", "list"], ["data", "show", "small"], ["learners"], ["learners", "svm"], ["jobs"], ["watch", job],
                        ["models"], ["versions", "wide"], ["show", "wide"], ["version"],
                        ["predict", "wide", self.path("small.csv")], ["export", "wide", self.path("wide.model")]):
            lines = self.run_ok(*command, "--json").splitlines()
            self.assertTrue(lines, command)
            for line in lines:
                self.assertIsInstance(json.loads(line), dict, command)
        for command in (["show", "none"], ["train", "small"], ["predict", "wide", "/none"]):
            code, out, err = server_lib.mercer(self.server, *command, "--json")
            self.assertNotEqual(code, 0)
            self.assertEqual(out, "")
            self.assertEqual(len(err.splitlines()), 1, err)
            self.assertIn("message", json.loads(err))

    def test_nothing_follows_a_file_that_is_the_standard_output(self):
        self.run_ok("export", "wide", self.path("whole.model"))
        done = subprocess.run([PROGRAM, "export", "wide", "/dev/stdout"], env=environment(self.server.address),
                              capture_output=True, timeout=SECONDS, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path("whole.model"), "rb") as file:
            self.assertEqual(done.stdout, file.read())
        self.assertIn(b"written to /dev/stdout", done.stderr)

    # ---------------------------------------------------------------------------------------------------- terminals

    def test_a_terminal_gets_colours_unless_they_are_unwanted(self):
        code, text = run_in_terminal(self.server.address, ["show", "wide"])
        self.assertEqual(code, 0, text)
        self.assertIn("\x1b[32m", text)
        _, plain = run_in_terminal(self.server.address, ["show", "wide"], NO_COLOR="1")
        self.assertNotIn("\x1b", plain)

    def test_bars_and_lines_drawn_again_fit_into_a_narrow_terminal(self):
        _, watched = run_in_terminal(self.server.address, ["watch", self.finished_job()], columns=40)
        _, uploaded = run_in_terminal(self.server.address, ["data", "upload", self.path("small.csv")], columns=40)
        _, shown = run_in_terminal(self.server.address, ["show", "wide"], columns=40)
        bars = [line for line in drawn_lines(shown) if "█" in line]
        progress = redrawn_lines(uploaded)[:-1]  # the last one is the summary in its place
        for lines in (redrawn_lines(watched), progress, bars):
            self.assertTrue(any(lines), (watched, uploaded, shown))
            for line in lines:
                self.assertLessEqual(len(line), 40, line)

    def test_without_a_terminal_there_are_plain_lines(self):
        text = self.run_ok("watch", self.finished_job())
        self.assertRegex(text, r"(?m)^\[1\]   queued$")
        self.assertNotIn("\x1b", text)
        self.assertNotIn("\r", text)

    def test_a_model_of_many_kernels_stays_readable(self):
        text = self.run_ok("show", "wide")
        self.assertEqual(text.count("gaussian("), 20)
        self.assertRegex(text, r"486 more with [0-9.]+ % of the sum of all values")
        self.assertEqual(self.run_ok("show", "wide", "--kernels", "0").count("gaussian("), 506)

    def test_labels_of_any_script(self):
        data = self.write("unicode.csv", "größe,答え\n" + "".join(f"{i},{'はい' if i % 2 else 'いいえ'}\n" for i in range(40)))
        self.run_ok("data", "upload", data, "--target", "答え", "--id", "unicode", "--display-name", "ａｂｃ 😀")
        self.run_ok("train", "unicode", "svm", "--kernel", "gaussian bandwidth=0.1", "--model", "unicode", "--watch")
        self.assertIn("はい", self.run_ok("predict", "unicode", data))
        self.assertIn("ａｂｃ 😀", self.run_ok("data", "list"))
        self.assertIn("größe", self.run_ok("data", "show", "unicode"))

    # ------------------------------------------------------------------------------------------------------ signals

    def test_ctrl_c_in_watch_leaves_the_job_running(self):
        job = self.run_ok(*self.start_long_job()).split()[0]
        try:
            with subprocess.Popen([PROGRAM, "watch", job], env=environment(self.server.address), text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
                process.stdout.readline()
                process.send_signal(signal.SIGINT)
                _, err = process.communicate(timeout=SECONDS)
            self.assertEqual(process.returncode, 130, err)
            self.assertIn(f"the job goes on. Watch it again: mercer watch {job}", err)
            state = json.loads(self.run_ok("jobs", "--json").splitlines()[0])["state"]
            self.assertIn(state, ("JOB_STATE_QUEUED", "JOB_STATE_RUNNING"))
        finally:
            self.run_ok("cancel", job)

    def test_ctrl_c_on_a_terminal_leaves_the_job_running(self):
        pressed = []

        def press(terminal, written):
            if b"running" in written and not pressed:
                pressed.append(True)
                os.write(terminal, b"\x03")

        code, text = run_in_terminal(self.server.address, [*self.start_long_job(), "--watch"], on_output=press)
        job = text.split()[0]
        try:
            self.assertEqual(code, 130, text)
            self.assertIn(f"mercer watch {job}", text)
        finally:
            self.run_ok("cancel", job)

    def test_an_interrupted_prediction_leaves_the_old_file(self):
        output = self.write("predicted.csv", "old")
        pipe = self.path("rows")
        os.mkfifo(pipe)
        with subprocess.Popen([PROGRAM, "predict", "wide", pipe, "--output", output, "--json"],
                              env=environment(self.server.address), text=True, stderr=subprocess.PIPE) as process:
            with open(pipe, "w", encoding="utf-8") as rows, contextlib.suppress(BrokenPipeError):
                rows.write(self.header)
                rows.writelines(self.rows * 20)  # more than a batch; and then no end before the interrupt
                rows.flush()
                process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=SECONDS)
        self.assertEqual(process.returncode, 130, err)
        with open(output, encoding="utf-8") as file:
            self.assertEqual(file.read(), "old")
        self.assertEqual([name for name in os.listdir(self.folder.name) if name.endswith(".part")], [])

    # ------------------------------------------------------------------------------------------------------- inputs

    def test_svmlight_predicts_like_csv(self):
        rows = [line.rstrip("\n").split(",") for line in self.rows]
        text = "".join(
            f"{row[-1]} " + " ".join(f"{i}:{cell}" for i, cell in enumerate(row[:-1], 1) if float(cell) != 0) + "\n" for row in rows)
        with gzip.open(self.path("small.svm.gz"), "wt") as file:
            file.write(text)
        from_csv = self.run_ok("predict", "wide", self.path("small.csv"), "--values")
        self.assertEqual(self.run_ok("predict", "wide", self.path("small.svm.gz"), "--values"), from_csv)

    def test_precomputed_kernels_can_be_predicted(self):
        points = [i / 10 for i in range(40)]
        labels = ["a" if x < 2 else "b" for x in points]
        self.write("labels.csv", "label\n" + "\n".join(labels) + "\n")
        for name, entry in (("kernel", lambda x, z: 1 + x * z), ("distance", lambda x, z: abs(x - z))):
            self.write_square(f"{name}.txt", points, points, entry)
            self.write_square(f"new-{name}.txt", [0.55, 3.05], points, entry)
        self.run_ok("data", "upload", self.path("labels.csv"), "--target", "label", "--id", "squares",
                    "--square", f"k={self.path('kernel.txt')}:kernel", "--square", f"d={self.path('distance.txt')}:distance")
        self.run_ok("train", "squares", "svm", "--kernel", "precomputed block=k", "--kernel", "distance block=d bandwidth=1",
                    "--C", "10", "--model", "squares", "--watch")
        text = self.run_ok("predict", "squares", "--square", f"k={self.path('new-kernel.txt')}",
                           "--square", f"d={self.path('new-distance.txt')}")
        self.assertEqual(text, "label\na\nb\n")
        self.write("new-labels.csv", "label\na\nb\n")
        beside = self.run_ok("predict", "squares", self.path("new-labels.csv"), "--square", f"k={self.path('new-kernel.txt')}:kernel",
                             "--square", f"d={self.path('new-distance.txt')}:distance")
        self.assertEqual(beside, text)

    def write_square(self, name, rows, columns, entry):
        self.write(name, "".join(",".join(repr(entry(x, z)) for z in columns) + "\n" for x in rows))

    def test_a_file_without_a_header_is_uploaded_and_predicted(self):
        data = self.write("headless.csv", "".join(f"{i % 7},{i},{'b' if i >= 20 else 'a'}\n" for i in range(40)))
        self.run_ok("data", "upload", data, "--no-header", "--target", "c3", "--id", "headless")
        self.run_ok("train", "headless", "svm", "--kernel", "linear", "--C", "100", "--model", "headless", "--watch")
        text = self.run_ok("predict", "headless", data, "--no-header")
        self.assertEqual(text.splitlines(), ["label"] + ["a"] * 20 + ["b"] * 20)

    def test_wrong_fields_are_counted_though_the_server_cuts_their_list(self):
        kernels = [word for _ in range(90) for word in ("--kernel", "gaussian bandwidth=-1")]
        code, _, err = server_lib.mercer(self.server, "train", "small", "lp_mkl", *kernels)
        self.assertEqual(code, 3, err)
        lines = err.splitlines()
        self.assertEqual(lines[0], "error: 90 fields of the request are wrong:")
        self.assertEqual([line for line in lines[1:] if not re.match(r"  --kernel \d+ bandwidth: ", line)], ["  and 70 more"])
        code, _, err = server_lib.mercer(self.server, "train", "small", "lp_mkl", *kernels, "--json")
        violations = [detail["fieldViolations"] for detail in json.loads(err)["details"] if "fieldViolations" in detail][0]
        self.assertRegex(violations[-1]["description"], r"^and \d+ more$")  # what the count is made of

    def test_a_typing_error_in_a_name_is_pointed_out(self):
        code, _, err = server_lib.mercer(self.server, "show", "wied")
        self.assertEqual(code, 4)
        self.assertIn("Did you mean models/wide?", err)
        code, _, err = server_lib.mercer(self.server, "train", "smal", "svm", "--kernel", "linear")
        self.assertEqual(code, 4)
        self.assertIn("Did you mean datasets/small?", err)


if __name__ == "__main__":
    unittest.main()
