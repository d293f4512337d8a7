#!/usr/bin/env python3
"""What newcomers ask: each question is answered by one command, or by the README or a page that it links.

Commands run in their order against a real server, on every tenth row of the demo's data. What a command must say to answer its question
stands beside it."""

import csv
import dataclasses
import gzip
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import server_lib  # noqa: E402


@dataclasses.dataclass
class Command:
    """A question and the command that answers it: words behind `mercer`, where a word in capitals is a file of the test."""

    question: str
    words: list
    says: list  # regular expressions, all of which its output has
    code: int = 0
    standard_input: str = ""


@dataclasses.dataclass
class Page:
    """A question and the page that answers it, linked from the README (or the README itself)."""

    question: str
    page: str
    says: list


KERNEL = ["--kernel", "gaussian median"]
SPAM = ["train", "mail", "svm", *KERNEL]

COMMANDS = [
    Command("Which version have I got?", ["--version"], [r"^mercer \d+\.\d+\.\d+$"]),
    Command("Is the server there?", ["health"], [r"serving|ready|ok"]),
    Command("Which commands are there?", ["--help"], [r"(?m)^  train ", r"(?m)^  predict ", r"Exit codes"]),
    Command("How does my table get in?", ["data", "upload", "MAIL", "--target", "label", "--id", "mail"], [r"461 rows, 57 feature columns", r"target  label: -1 \(279\), 1 \(182\)"]),
    Command("I do not know the name of my column", ["data", "upload", "MAIL", "--target", "lable"], [r"did you mean 'label'\?"], code=3),
    Command("What if that name is taken?", ["data", "upload", "MAIL", "--target", "label", "--id", "mail"], [r"take another id, or delete it first", r"--id takes another id, and 'mercer data rm ID'"], code=5),
    Command("My table has semicolons", ["data", "upload", "SEMICOLONS", "--target", "y", "--id", "semicolons"], [r"2 feature columns", r"separated by ';'"]),
    Command("My table has holes", ["data", "upload", "HOLES", "--target", "y"], [r"row 2, column 'a': the value is missing", r"--allow-missing", r"--impute"], code=3),
    Command("My numbers have decimal commas", ["data", "upload", "COMMAS", "--target", "price", "--id", "commas"], [r"price: 0,5"]),
    Command("My table predicts a number", ["data", "upload", "NUMBERS", "--target", "y", "--id", "numbers"], [r"1200 rows"]),
    Command("Why is that training so long?", ["train", "commas", "svm", "--dry-run"], [r"'price' holds numbers with a comma, .* is a\s+class\s+of\s+its\s+own;\s+write\s+them\s+with\s+a\s+point"]),
    Command("My numbers have grouped thousands", ["data", "upload", "THOUSANDS", "--target", "price", "--id", "thousands"], [r"60 rows"]),
    Command("Why can no rows be held out of them?", ["train", "thousands", "svm", "--hold-out", "0.25"], [r"every\s+row\s+of\s+column\s+'price'\s+is\s+of\s+a\s+class\s+of\s+its\s+own", r"without\s+the\s+comma\s+if\s+it\s+groups\s+thousands"], code=3),
    Command("Hardly any of my rows are of the class that matters", ["data", "upload", "RARE", "--target", "sick", "--id", "rare"], [r"240 rows"]),
    Command("Is that a problem?", ["train", "rare", "svm", "--dry-run"], [r"Class\s+'1'\s+has\s+6\s+of\s+240\s+rows", r"--class-weights\s+balanced"]),
    Command("And one of my columns has the same name twice", ["data", "upload", "TWICE", "--target", "y"], [r"the columns 1 and 3 are both named 'a': rename one of them"], code=3),
    Command("I forgot to say what to predict", ["data", "upload", "HOLES", "--allow-missing", "--id", "open"], [r"--target COLUMN"]),
    Command("Can I say it later?", ["train", "open", "svm", "--target", "y"], [r"no target column: upload it again"], code=3),
    Command("Can ikl predict a number?", ["train", "numbers", "ikl"], [r"'ikl' learns classes alone, and column 'y' holds 1200 different\s+numbers"], code=3),
    Command("What is in my data, and is something wrong with it?", ["data", "show", "mail"], [r"word_freq_make +features +numeric", r"(?m)^quality"]),
    Command("Which data have I got?", ["data", "list"], [r"datasets/mail +461 +57"]),
    Command("What can be trained?", ["learners"], [r"(?m)^svm +Support vector machine", r"(?m)^lp_mkl "]),
    Command("What does C mean, and who says that 1 is good?", ["learners", "svm"], [r"--C  \(0, inf\)  default 1", r"Larger fits the training rows more closely", r"Default from: LIBSVM"]),
    Command("How do I write a kernel, and where is gamma?", ["train", "--help"], [r"gaussian", r"per_column", r"bandwidth=1/sqrt\(2 gamma\)"]),
    Command("I know it as rbf", ["train", "mail", "svm", "--kernel", "rbf gamma=0.5"], [r"did you mean 'gaussian'\?"], code=3),
    Command("How long will it take, and does it fit?", [*SPAM, "--dry-run"], [r"(?m)^time +about", r"(?m)^memory +at most .* of "]),
    Command("Train, and tell me how good it is", [*SPAM, "--C", "10", "--hold-out", "0.25", "--model", "spam", "--label", "stage=trial", "--watch"], [r"held-out rows accuracy 0\.[89]", r"models/spam/versions/1"]),
    Command("How close is that to the best possible?", ["show", "spam"], [r"the objective is within \S+ % of the optimum"]),
    Command("Which C is best?", [*SPAM, "--folds", "3", "--path", "C=0.1,1,10", "--model", "chosen", "--watch"], [r"folds +accuracy 0\.[89]"]),
    Command("And how good was each?", ["show", "chosen"], [r"(?m)^values of C, of which \S+ is best$", r"(?m)^ +\S+ +0\.[89]"]),
    Command(
        "Which columns matter?",
        ["train", "mail", "lp_mkl", "--kernel", "gaussian bandwidth=1 per_column", "--p", "1.2", "--gap", "0.01", "--model", "columns", "--watch"],
        [r"models/columns/versions/1"],
    ),
    Command("And which are they?", ["show", "columns", "--kernels", "3"], [r"kernel weights", r"columns=(word_freq_|char_freq_|capital_)"]),
    Command("I predict numbers, not classes", ["train", "semicolons", "kernel_ridge", *KERNEL, "--regression", "--hold-out", "0.25", "--watch"], [r"held-out rows .*rmse"]),
    Command("What are my new rows?", ["predict", "spam", "NEW"], [r"(?m)\A(\S*label\S*)\n(-?1\n){5}\Z"]),
    Command("How sure is it?", ["predict", "spam", "NEW", "--values"], [r"value"]),
    Command("My rows come from another program", ["predict", "spam", "-"], [r"(?m)\A(\S*label\S*)\n(-?1\n){5}\Z"], standard_input="NEW"),
    Command("How good is it on other data that I know the answers of?", ["evaluate", "spam", "mail"], [r"accuracy 0\.9", r"the model was trained on these rows"]),
    Command("What is my server doing?", ["jobs"], [r"jobs/\S+ +succeeded"]),
    Command("Which of my models is the best?", ["versions", "--sort", "quality"], [r"\AVERSION.*\nmodels/(chosen|spam)/"]),
    Command("The programs of others shall use this version", ["alias", "set", "spam", "live", "1"], [r"models/spam/aliases/live"]),
    Command("Do they get it?", ["predict", "spam@live", "NEW", "--json"], [r"\"model\":\"models/spam/versions/1\""]),
    Command("Is the certificate true?", ["verify", "spam"], [r"the certificate is confirmed"]),
    Command("Can I have the model as a file?", ["export", "spam", "MODEL"], [r"written to", r"sha256 [0-9a-f]{64}"]),
    Command("What would go if I tidied up?", ["versions", "rm", "--label", "stage=trial", "--dry-run"], [r"models/spam/versions/1 stays: models/spam/aliases/live points to it"]),
    Command("Away with the other one", ["versions", "rm", "chosen", "--yes"], [r"models/chosen/versions/1 deleted"]),
    Command("Away with the data, and what then of my models?", ["data", "rm", "mail"], [r"datasets/mail deleted", r"models/spam/versions/1"]),
    Command("My shell does not know the names", ["completion", "bash"], [r"complete .*mercer"]),
]

PAGES = [
    Page("What is it for?", "README.md", [r"which of my many candidate kernels", r"certificate"]),
    Page("How do I build it?", "README.md", [r"\./dev demo", r"Debian 12"]),
    Page("I come from scikit-learn", "README.md", [r"GridSearchCV", r"1 / sqrt\(2 g\)"]),
    Page("Is there something to click on?", "docs/dashboard.md", [r"(?i)upload", r"(?i)token"]),
    Page("How do I use it from Python?", "docs/python.md", [r"mercer\.estimators", r"(?i)pip install"]),
    Page("Which options has every learner?", "docs/reference/learners.md", [r"lp_mkl", r"infinite_features"]),
    Page("What is the API?", "docs/reference/api.md", [r"TrainRequest", r"PredictStream"]),
    Page("One row over HTTP", "docs/one-row.md", [r":predict", r"curl", r"urllib", r"fetch\("]),
    Page("Which learner, which kernels, which C?", "docs/which-learner.md", [r"--path C=", r"infinite_features"]),
    Page("Where are the probabilities?", "docs/probabilities.md", [r"NOT_CALIBRATED", r"CalibratedClassifierCV"]),
    Page("What do these lines mean?", "docs/first-training.md", [r"relative gap", r"kernel weights"]),
    Page("My language is none of these", "docs/grpc.md", [r"protoc", r"ListLearners"]),
    Page("What does this error mean?", "docs/errors.md", [r"BAD_CELL", r"MISSING_TARGET"]),
    Page("How do others reach my server, and nobody else?", "docs/security.md", [r"--tokens", r"--tls-cert"]),
    Page("How do I run it in a container?", "docs/docker.md", [r"docker run|docker compose"]),
    Page("And on Kubernetes?", "docs/kubernetes.md", [r"kind: Deployment", r"/readyz"]),
    Page("How do I stop a training and keep what it has learned?", "docs/jobs.md", [r"mercer stop"]),
    Page("What about a training when the server restarts?", "docs/jobs.md", [r"(?i)checkpoint|restart"]),
    Page("How do I make a backup?", "docs/operations.md", [r"mercer admin backup"]),
    Page("How does a version come back that was better?", "docs/registry.md", [r"alias rollback"]),
]


def linked_pages():
    """The files that the README links, and itself."""
    readme = (server_lib.ROOT / "README.md").read_text(encoding="utf-8")
    return {"README.md", *(target.split("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", readme))}


class NewcomerTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="mercer-newcomer.")
        self.addCleanup(self.folder.cleanup)
        with gzip.open(server_lib.SPAMBASE, "rt", encoding="utf-8") as file:
            header, *rows = list(csv.reader(file))
        self.files = {
            "MAIL": self.write("mail.csv", [header, *rows[::10]]),
            "NEW": self.write("new.csv", [header[:-1], *(row[:-1] for row in rows[3:2500:500])]),
            "SEMICOLONS": self.write("semicolons.csv", [["a", "b", "y"], *([i % 7, i % 5, 2 * (i % 7) - i % 5] for i in range(60))], ";"),
            "HOLES": self.write("holes.csv", [["a", "b", "y"], [1, 2, "p"], ["", 3, "q"], [4, 5, "p"]]),
            "COMMAS": self.write("commas.csv", [["size", "price"], *([i, f"{i},5"] for i in range(60))], ";"),
            "THOUSANDS": self.write("thousands.csv", [["size", "price"], *([i, f"{1000 + 7 * i:,}"] for i in range(60))]),
            "RARE": self.write("rare.csv", [["a", "b", "sick"], *([i % 7, i % 5, int(i % 40 == 0)] for i in range(240))]),
            "TWICE": self.write("twice.csv", [["a", "b", "a", "y"], *([i, i, i, i % 2] for i in range(20))]),
            "NUMBERS": self.write("numbers.csv", [["x", "y"], *([i % 37, i + 0.5] for i in range(1200))]),
            "MODEL": os.path.join(self.folder.name, "spam.model"),
        }

    def write(self, name, rows, delimiter=","):
        path = os.path.join(self.folder.name, name)
        with open(path, "w", encoding="utf-8", newline="") as file:
            csv.writer(file, delimiter=delimiter, lineterminator="\n").writerows(rows)
        return path

    def run_command(self, server, command):
        done = subprocess.run(
            [server_lib.BIN / "mercer", *(self.files.get(word, word) for word in command.words)],
            input=pathlib.Path(self.files[command.standard_input]).read_text(encoding="utf-8") if command.standard_input else "",
            capture_output=True,
            text=True,
            env={**os.environ, "MERCER_SERVER": server.address, "NO_COLOR": "1"},
            timeout=server_lib.COMMAND_SECONDS,
            check=False,
        )
        self.assertEqual(done.returncode, command.code, done.stdout + done.stderr + server.log())
        if "--json" in command.words:
            for line in done.stdout.splitlines():
                json.loads(line)
        return done.stdout + done.stderr

    def test_commands_answer(self):
        with server_lib.Server() as server:
            for command in COMMANDS:
                with self.subTest(command.question, command=" ".join(command.words)):
                    said = self.run_command(server, command)
                    for pattern in command.says:
                        self.assertRegex(said, pattern)

    def test_pages_answer(self):
        linked = linked_pages()
        for page in PAGES:
            with self.subTest(page.question, page=page.page):
                self.assertIn(page.page, linked, "is not linked from the README")
                text = (server_lib.ROOT / page.page).read_text(encoding="utf-8")
                for pattern in page.says:
                    self.assertRegex(text, pattern)

    def test_there_are_as_many_as_newcomers_have(self):
        questions = [one.question for one in (*COMMANDS, *PAGES)]
        self.assertGreaterEqual(len(questions), 30)
        self.assertEqual(len(set(questions)), len(questions))


if __name__ == "__main__":
    unittest.main(verbosity=2)
