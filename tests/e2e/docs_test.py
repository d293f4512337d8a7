#!/usr/bin/env python3
"""The code blocks of docs/*.md, run page by page; which blocks of the documentation are not run, and why."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import page_lib  # noqa: E402

MAIL = """
printf 'label,a,b\\n' >mail.csv
for i in $(seq 40); do printf '%s,%s,%s\\n' $((i % 2)) $((i * 7 % 11 + i % 2 * 5)) $((i * 3 % 13)); done >>mail.csv
"""
HTTP_PAGE = MAIL + """
printf 'width,height,noise,colour,kind\\n' >flowers.csv
for i in $(seq 20); do
  printf '%s,%s,%s,blue,setosa\\n%s,%s,%s,red,virginica\\n' $((i % 3)) $((i % 5)) $((i % 7)) $((3 + i % 4)) $((i % 4 - 4)) $((i % 5))
done >>flowers.csv
cut -d, -f1-4 flowers.csv | head -n 4 >new.csv
mercer data upload flowers.csv --id flowers --target kind
mercer train flowers svm --model flowers --watch
"""
REGISTRY = MAIL + """
mercer data upload mail.csv --id mail --target label
mercer data upload mail.csv --id spam-of-june --target label
for i in 1 2 3 4; do mercer train mail svm --C $i --model spam --watch; done
"""
PEOPLE = """
printf 'subject,score,a,b\\n' >people.csv
for i in $(seq 60); do
  for who in ann bob eve; do printf '%s,%s,%s,%s\\n' $who $((i * 5 % 17 + i * 7 % 13)) $((i * 5 % 17)) $((i * 7 % 13)); done
done >>people.csv
head -n 9 people.csv >new.csv
sed -n '1p;/^ann/p' people.csv | cut -d, -f3- >ann.csv
sed -n '1p;/^ann/p' people.csv >june.csv
mercer data upload june.csv --target score --role subject=task --id june
"""
FRAMES = """
import numpy as np
import pandas as pd
import mercer
numbers = np.random.default_rng(0)
X = numbers.normal(size=(90, 3))
X_new = X[:2]
subjects = np.tile(["ann", "bob", "eve"], 30)
"""

TASK_NAMES = """
y = X[:, 0] + 0.1
client = mercer.connect()
frame = pd.DataFrame(X, columns=list("abc")).assign(score=y, subject=subjects)
"""
PYTHON_PAGE = """
printf 'a token of a caller\\n' >token
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key -out ca.pem -subj /CN=ca
"""
PYTHON_NAMES = """
y = X[:, 0] ** 2 > 0.5
frame = pd.DataFrame(X, columns=["age", "dose", "size"])
frame = frame.assign(town=np.tile(["Riga", "Tartu", "Vilnius"], 30), patient=np.arange(90) // 3, label=np.where(y, "ill", "well"))
scores = pd.DataFrame(X, columns=list("abc")).assign(score=X[:, 0], subject=subjects)
mercer.connect().upload(frame.iloc[::2], "label", id="june", roles={"patient": "group"})
"""
SECURITY_PAGE = """
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout server.key -out server.pem -subj /CN=mercer
mercer-server token --name root --scopes admin >tokens
"""

SCENES = {
    "docs/http.md": page_lib.Scene(HTTP_PAGE),
    "docs/operations.md": page_lib.Scene('serve --data-dir DIR; kill "$(tail -n 1 pids)"; wait "$!"\n'),
    "docs/python.md": page_lib.Scene(PYTHON_PAGE, FRAMES + PYTHON_NAMES),
    "docs/registry.md": page_lib.Scene(REGISTRY),
    "docs/security.md": page_lib.Scene(SECURITY_PAGE, server=False),
    "docs/tasks.md": page_lib.Scene(PEOPLE, FRAMES + TASK_NAMES),
}

NOT_RUN = {
    ("README.md", "installs packages and builds for many minutes; demo_test.py runs the demonstration"),
    ("README.md", "installs packages of the system"),
    ("docs/dashboard.md", "needs the dashboard's packages from a registry; ./dev test runs the first three where there is one"),
    ("docs/docker.md", "needs docker and a network; docker/test.sh runs the image"),
    ("docs/python.md", "builds the package; python_package_test.py runs its tests"),
}


class DocsTest(unittest.TestCase):
    def test_what_is_not_run_says_why(self):
        found = {(page, block.reason) for page in page_lib.pages() for block in page_lib.blocks(page) if block.reason}
        self.assertEqual(found, NOT_RUN)

    def test_every_block_has_a_language(self):
        for page in page_lib.pages():
            with self.subTest(page):
                self.assertEqual(page_lib.indented(page), [])
                languages = {block.language for block in page_lib.blocks(page)}
                self.assertLessEqual(languages, {*page_lib.RUN, *page_lib.SHOWN})

    def test_every_page_with_code_is_run(self):
        runs = {page for page in page_lib.pages() for block in page_lib.blocks(page) if block.language in page_lib.RUN and not block.reason}
        self.assertEqual(runs, {*SCENES, "README.md"})

    def test_a_block_that_fails_is_noticed(self):
        code = page_lib.Block(1, "sh", "false\n", "")
        original, page_lib.blocks = page_lib.blocks, lambda page: [code]
        try:
            self.assertFalse(page_lib.run("docs/http.md", page_lib.Scene())[0])
        finally:
            page_lib.blocks = original

    def check(self, page):
        passed, output, _ = page_lib.run(page, SCENES[page])
        self.assertTrue(passed, output)
        return output

    def test_http(self):
        self.assertIn("JOB_STATE_SUCCEEDED", self.check("docs/http.md"))

    def test_operations(self):
        self.check("docs/operations.md")

    def test_python(self):
        self.check("docs/python.md")

    def test_registry(self):
        self.check("docs/registry.md")

    def test_security(self):
        self.check("docs/security.md")

    def test_tasks(self):
        self.check("docs/tasks.md")


if __name__ == "__main__":
    unittest.main()
