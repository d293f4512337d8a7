#!/usr/bin/env python3
"""What `mercer` does for people who do not know it yet: typing errors, files of other kinds, words that shells complete, lists to tidy up."""

import gzip
import os
import pathlib
import pty
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import command_line_lib  # noqa: E402
import server_lib  # noqa: E402

PROGRAM = str(server_lib.BIN / "mercer")
# What the service calls the fields of requests.
API_WORDS = re.compile(r"allow_missing|has_header|no_header|imputation|csv\.|preprocessing\.|stopping\.|learner\.")


class CliHelpTest(command_line_lib.CommandLineTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.rows = [f"{r % 7 + 3 * (r % 2)},{r % 5},{'ab'[r % 2]}" for r in range(40)]
        cls.clouds = cls.write("clouds.csv", "width,height,target\n" + "\n".join(cls.rows) + "\n")
        cls.run_ok("data", "upload", cls.clouds, "--target", "target", "--id", "clouds")

    def expect(self, code, text, *arguments):
        err = super().expect(code, text, *arguments)
        self.assertNotRegex(err, API_WORDS)
        return err

    def train(self, model, *more):
        return self.run_ok("train", "clouds", "svm", "--kernel", "gaussian median", "--model", model, "--watch", *more)

    def test_typing_errors_are_answered_with_what_is_meant(self):
        train = ("train", "clouds", "svm", "--kernel")
        self.expect(3, "did you mean 'gaussian'?", *train, "rbf")
        self.expect(3, "1 / sqrt(2 gamma): bandwidth=1", *train, "gaussian gamma=0.5")
        self.expect(3, "did you mean 'C'?", *train, "gaussian median", "--c", "10")
        self.expect(4, "did you mean 'lp_mkl'?", "train", "clouds", "lpmkl", "--kernel", "linear")
        self.expect(3, "did you mean 'target'?", *train, "gaussian median", "--target", "tagret")
        self.expect(3, "did you mean 'target'?", "data", "upload", self.clouds, "--target", "tagret")
        self.expect(2, "did you mean 'models'?", "modles")
        code, _, err = server_lib.mercer(self.server, *train, "gaussian median columns=heigth", "--watch")
        self.assertIn(code, (1, 3), err)
        self.assertIn("did you mean 'height'?", err)

    def test_lists_of_columns_show_the_last_one(self):
        names = [f"x{i}" for i in range(30)] + ["outcome"]
        wide = self.write("wide.csv", ",".join(names) + "\n" + ",".join(["1"] * 31) + "\n")
        err = self.expect(3, "the 31 columns are 'x0', ", "data", "upload", wide, "--target", "result")
        self.assertIn("'outcome'", err)

    def test_errors_speak_of_flags(self):
        missing = self.write("missing.csv", "x,y,target\n1,,a\n2,3,b\n4,5,a\n2,2,b\n")
        self.expect(3, "--allow-missing", "data", "upload", missing, "--target", "target")
        self.run_ok("data", "upload", missing, "--target", "target", "--allow-missing", "--id", "missing")
        code, _, err = server_lib.mercer(self.server, "train", "missing", "svm", "--kernel", "linear", "--watch")
        self.assertIn(code, (1, 3), err)
        self.assertIn("--impute", err)
        self.assertNotRegex(err, API_WORDS)
        self.expect(3, "--no-header", "data", "upload", self.write("values.csv", "1,1,a\n2,3,b\n"), "--target", "c3")
        self.expect(3, "--gap: ", "train", "clouds", "svm", "--kernel", "linear", "--gap", "-1")
        self.train("whole")
        self.expect(3, "--impute", "predict", "whole", self.write("hole.csv", "width,height\n1,\n"))

    def test_delimiters_are_recognised(self):
        for name, delimiter in (("semicolons", ";"), ("tabs", "\t"), ("bars", "|")):
            path = self.write(name + ".csv", pathlib.Path(self.clouds).read_text(encoding="utf-8").replace(",", delimiter))
            self.assertIn("2 feature columns", self.run_ok("data", "upload", path, "--target", "target", "--id", name))
            self.train("whole")
            self.assertEqual(self.run_ok("predict", "whole", path), self.run_ok("predict", "whole", self.clouds))
        semicolons = self.path("semicolons.csv")
        self.expect(3, "--delimiter", "data", "upload", semicolons, "--target", "target", "--delimiter", ",")
        packed = self.path("packed.csv.gz")
        with gzip.open(packed, "wt") as file:
            file.write("width\theight\ttarget\n1\t2\ta\n2\t1\tb\n")
        self.run_ok("data", "upload", packed, "--target", "target")

    def test_rows_from_the_standard_input(self):
        self.train("piped")
        rows = pathlib.Path(self.clouds).read_bytes()
        environment = {**os.environ, "MERCER_SERVER": self.server.address}
        done = subprocess.run([PROGRAM, "predict", "piped", "-"], input=rows, capture_output=True, env=environment, timeout=60, check=True)
        self.assertEqual(done.stdout.decode(), self.run_ok("predict", "piped", self.clouds))
        done = subprocess.run([PROGRAM, "predict", "piped", "-"], input=gzip.compress(rows), capture_output=True, env=environment, timeout=60, check=True)
        self.assertEqual(len(done.stdout.splitlines()), 41)
        done = subprocess.run([PROGRAM, "predict", "piped", "-"], input=b"width,height\n", capture_output=True, env=environment, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stderr.decode()), (3, "error: the standard input has no rows\n"))

    def test_the_rows_of_the_training_are_no_test(self):
        self.train("fitted")
        self.assertIn("the model was trained on these rows", self.run_ok("evaluate", "fitted", "clouds"))
        self.run_ok("data", "upload", self.clouds, "--target", "target", "--id", "clouds-again")
        self.assertIn("the model was trained on these rows", self.run_ok("evaluate", "fitted", "clouds-again"))
        other = self.write("other.csv", "width,height,target\n" + "\n".join(self.rows[:20]) + "\n")
        self.run_ok("data", "upload", other, "--target", "target", "--id", "other")
        self.assertNotIn("trained on these", self.run_ok("evaluate", "fitted", "other"))

    def test_a_deleted_data_set_names_its_models(self):
        few = self.write("few.csv", "width,height,target\n" + "\n".join(self.rows[:18]) + "\n")
        self.run_ok("data", "upload", few, "--target", "target", "--id", "few")
        self.run_ok("train", "few", "svm", "--kernel", "linear", "--model", "of-few", "--watch")
        text = self.run_ok("data", "rm", "few")
        self.assertIn("datasets/few deleted", text)
        self.assertIn("models/of-few/versions/1", text)
        self.assertNotIn("models/whole", text)
        self.run_ok("data", "upload", few, "--target", "target", "--id", "few")
        self.assertIn("models/of-few/versions/1", self.run_ok("data", "rm", "few"))

    def test_versions_are_searched_and_sorted(self):
        self.train("search-b", "--hold-out", "0.25", "--label", "team=red")
        # A kernel that sees no row near another one knows nothing of the rows held out.
        self.run_ok("train", "clouds", "svm", "--kernel", "gaussian bandwidth=0.001", "--hold-out", "0.25", "--model", "search-a", "--watch")
        names = [line.split()[0] for line in self.run_ok("versions", "--search", "SEARCH-", "--sort", "name").splitlines()[1:]]
        self.assertEqual(names, ["models/search-a/versions/1", "models/search-b/versions/1"])
        newest = self.run_ok("versions", "--search", "search-", "--sort", "created", "--limit", "1")
        self.assertIn("models/search-a/", newest)
        self.assertNotIn("models/search-b/", newest)
        self.assertIn("search-b", self.run_ok("versions", "--search", "team=red"))
        best = self.run_ok("versions", "--search", "search-", "--sort", "quality").splitlines()[1]
        self.assertIn("search-b", best)
        self.expect(2, "", "versions", "--sort", "size")

    def test_versions_are_deleted_in_bulk(self):
        for model in ("bulk-a", "bulk-b"):
            self.train(model, "--label", "stage=trial")
        self.train("bulk-b")
        self.train("bulk-kept")
        self.run_ok("alias", "set", "bulk-a", "live", 1)
        everything = self.run_ok("versions")
        self.expect(3, "which models?", "versions", "rm")
        self.expect(3, "--yes", "versions", "rm", "bulk-*")
        self.expect(3, "--older-than", "versions", "rm", "--older-than", "soon")
        text = self.run_ok("versions", "rm", "bulk-*", "--label", "stage=trial", "--dry-run")
        self.assertIn("1 version would be deleted", text)
        self.assertIn("models/bulk-b/versions/1", text)
        self.assertIn("models/bulk-a/versions/1 stays: models/bulk-a/aliases/live points to it", text)
        self.assertIn("no such versions", self.run_ok("versions", "rm", "bulk-*", "--older-than", "1d", "--dry-run"))
        self.assertEqual(self.run_ok("versions"), everything)
        self.assertIn("models/bulk-b/versions/1 deleted", self.run_ok("versions", "rm", "--label", "stage=trial", "--yes"))
        self.assertIn("models/bulk-b/versions/2", self.run_ok("versions", "bulk-b"))
        self.assertIn("deleted", self.run_ok("versions", "rm", "bulk-b/versions/2", "--older-than", "0s", "--yes"))
        self.expect(4, "", "show", "bulk-b")
        self.run_ok("show", "bulk-kept")

    def test_a_person_is_asked_before_a_deletion(self):
        for answer, deleted in (("n\n", False), ("y\n", True)):
            self.train("asked")
            process_id, terminal = pty.fork()
            if process_id == 0:
                os.environ["MERCER_SERVER"] = self.server.address
                os.environ["TERM"] = "xterm"
                os.execv(PROGRAM, [PROGRAM, "versions", "rm", "asked"])
            written = b""
            while b"[y/N]" not in written:
                written += os.read(terminal, 4096)
            os.write(terminal, answer.encode())
            while True:
                try:
                    written += os.read(terminal, 4096)
                except OSError:  # how Linux ends a terminal that nobody has open any more
                    break
            os.close(terminal)
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(process_id, 0)[1]), 0, written)
            self.assertEqual(b"models/asked/versions/1 deleted" in written, deleted, written)

    def test_versions_are_a_flag(self):
        self.assertEqual(self.run_ok("--version"), self.run_ok("version"))

    def complete(self, shell, script):
        """What a shell offers, by a script in its language."""
        program = shutil.which(shell)
        if program is None:
            self.skipTest(f"{shell} is not installed")
        environment = {**os.environ, "MERCER_SERVER": self.server.address, "PATH": f"{server_lib.BIN}:{os.environ['PATH']}"}
        done = subprocess.run([program, "-c", script], capture_output=True, text=True, env=environment, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        return done.stdout.split()

    def test_bash_completes(self):
        ask = 'source <(mercer completion bash); COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _mercer_completion; echo "${{COMPREPLY[@]}}"'
        self.assertEqual(self.complete("bash", ask.format(words="mercer trai")), ["train"])
        self.assertEqual(self.complete("bash", ask.format(words="mercer train clou")), ["clouds"])
        self.assertEqual(self.complete("bash", ask.format(words="mercer train clouds svm --eps")), ["--epsilon"])
        self.assertIn("rm", self.complete("bash", ask.format(words="mercer data ''")))
        self.assertEqual(self.complete("bash", ask.format(words="mercer predict whole nothing-like-this")), [])

    def test_fish_completes(self):
        ask = "mercer completion fish | source; complete -C '{words}'"
        self.assertEqual(self.complete("fish", ask.format(words="mercer trai"))[0], "train")
        self.assertEqual(self.complete("fish", ask.format(words="mercer train clou")), ["clouds"])

    def test_zsh_completes(self):
        # Without a line editor the function itself is asked, with what zsh would have told it.
        ask = "compadd() {{ print -l -- ${{(P)2}} }}; _files() {{ print files }}; compdef() {{ }}; source <(mercer completion zsh); words=({words}); CURRENT=${{#words}}; _mercer"
        self.assertEqual(self.complete("zsh", ask.format(words="mercer trai")), ["train"])
        self.assertEqual(self.complete("zsh", ask.format(words="mercer train clou")), ["clouds"])
        self.assertEqual(self.complete("zsh", ask.format(words="mercer predict whole ''")), ["files"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
