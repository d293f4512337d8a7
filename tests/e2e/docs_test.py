#!/usr/bin/env python3
"""The code blocks of docs/*.md, run page by page; which blocks of the documentation are not run, and why."""

import json
import os
import re
import shutil
import sys
import unittest

try:
    import yaml
except ImportError:
    yaml = None

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import page_lib  # noqa: E402
import server_lib  # noqa: E402

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
UPLOADED = MAIL + """
mercer data upload mail.csv --id mail --target label
"""
# Images of 60 x 60 pixels, which have 2025 patches of 16 x 16 each: the page takes 1000 of them.
TEXTURES = """
for kind in wood stone; do
  mkdir -p textures/$kind
  for i in 1 2; do { printf 'P5\\n60 60\\n255\\n'; seq $i 1500 | head -c 3600; } >textures/$kind/$i.pgm; done
done
"""
REGISTRY = UPLOADED + """
mercer data upload mail.csv --id spam-of-june --target label
for i in 1 2 3 4; do mercer train mail svm --C $i --model spam --watch; done
"""
PEOPLE = """
printf 'subject,score,a,b\\n' >people.csv
for i in $(seq 60); do
  for who in ann bob eve; do printf '%s,%s,%s,%s\\n' $who $((i * 5 % 17 + i * 7 % 13)) $((i * 5 % 17)) $((i * 7 % 13)); done
done >>people.csv
printf 'subject,label,c1_t1,c1_t2,c2_t1,c2_t2\\n' >signals.csv
for i in $(seq 60); do
  for who in ann bob eve; do
    if [ $((i % 2)) = 1 ]; then label=yes; else label=no; fi
    printf '%s,%s,%s,%s,%s,%s\\n' $who $label $((i * 5 % 17)) $((i % 2 * 9 + i * 7 % 13)) $((i * 3 % 11)) $((i * 4 % 19))
  done
done >>signals.csv
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
labels = np.where(y > 0, "yes", "no")
client = mercer.connect()
frame = pd.DataFrame(X, columns=list("abc")).assign(score=y, subject=subjects)
"""
LISTS_NAMES = """
import mercer
client = mercer.connect()
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
    "docs/grpc.md": page_lib.Scene(UPLOADED),
    "docs/http.md": page_lib.Scene(HTTP_PAGE),
    "docs/images.md": page_lib.Scene(TEXTURES),
    "docs/lists.md": page_lib.Scene(UPLOADED + "mercer train mail svm --model spam --watch\n", LISTS_NAMES),
    "docs/one-row.md": page_lib.Scene(HTTP_PAGE),
    "docs/operations.md": page_lib.Scene('serve --data-dir DIR; kill "$(tail -n 1 pids)"; wait "$!"\n'),
    "docs/probabilities.md": page_lib.Scene(),
    "docs/python.md": page_lib.Scene(PYTHON_PAGE, FRAMES + PYTHON_NAMES),
    "docs/registry.md": page_lib.Scene(REGISTRY),
    "docs/security.md": page_lib.Scene(SECURITY_PAGE, server=False),
    "docs/tasks.md": page_lib.Scene(PEOPLE, FRAMES + TASK_NAMES),
    "docs/which-learner.md": page_lib.Scene(UPLOADED),
}

NOT_RUN = {
    ("README.md", "installs packages and builds for many minutes; demo_test.py runs the demonstration"),
    ("docs/dashboard.md", "needs the dashboard's packages from a registry; ./dev test runs the first three where there is one"),
    ("docs/docker.md", "needs docker and a network; docker/test.sh runs the image"),
    ("docs/grpc.md", "installs packages of the system"),
    ("docs/kubernetes.md", "needs a cluster"),
    ("docs/one-row.md", "needs a server on another machine"),
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

    def test_links_between_pages_lead_somewhere(self):
        for page in page_lib.pages():
            folder = (server_lib.ROOT / page).parent
            for target in re.findall(r"\]\((?!https?:)([^)#\s]*)", page_lib.text_of(page)):
                with self.subTest(page, target=target):
                    self.assertTrue((folder / target).exists())

    def test_manifests_are_those_of_the_image(self):
        """Ports, user and folder of docs/kubernetes.md are the Dockerfile's."""
        dockerfile = page_lib.text_of("docker/Dockerfile")
        manifest, access = (block.code for block in page_lib.blocks("docs/kubernetes.md") if block.language == "yaml")
        for port in re.search(r"(?m)^EXPOSE (.*)$", dockerfile)[1].split():
            self.assertIn(f"containerPort: {port}}}", manifest)
        self.assertIn(f"runAsUser: {re.search(r'--uid ([0-9]+)', dockerfile)[1]}\n", manifest)
        self.assertIn(f"mountPath: {re.search(r'(?m)^VOLUME (.*)$', dockerfile)[1]}}}", manifest)
        self.assertIn("access=/data/access", page_lib.text_of("docker/start.sh"))
        self.assertIn("mountPath: /data/access,", access)
        if yaml:
            kinds = [part["kind"] for part in yaml.safe_load_all(manifest)]
            self.assertEqual(kinds, ["PersistentVolumeClaim", "Deployment", "Service"])
            self.assertEqual(yaml.safe_load(access)["volumes"][0]["secret"]["secretName"], "mercer-access")

    def test_grpc(self):
        output = self.check("docs/grpc.md")
        self.assertIn("lp_mkl - ", output)

    def test_images(self):
        self.assertIn("datasets/textures  4000 rows", self.check("docs/images.md"))

    def test_lists(self):
        self.assertIn('"learner":"svm"', self.check("docs/lists.md").replace('": "', '":"'))

    def test_one_row(self):
        output = self.check("docs/one-row.md")
        shown = [json.loads(block.code) for block in page_lib.blocks("docs/one-row.md") if block.language == "json"]
        self.assertEqual(len(shown), 1)
        answered = json.loads(next(line for line in output.splitlines() if line.startswith('{"model"')))
        self.assertEqual(answered["predictions"][0].keys(), shown[0]["predictions"][0].keys())
        self.assertEqual(answered["predictions"][0]["label"], shown[0]["predictions"][0]["label"])
        programs = 1 + bool(shutil.which("node")) if page_lib.python_package_lib.IS_COMPLETE else bool(shutil.which("node"))
        self.assertEqual(output.splitlines().count(shown[0]["predictions"][0]["label"]), programs)

    def test_probabilities(self):
        output = self.check("docs/probabilities.md")
        if page_lib.python_package_lib.IS_COMPLETE:
            self.assertRegex(output, r"log loss 0\.19|log loss 0\.20")

    def test_which_learner(self):
        output = self.check("docs/which-learner.md")
        self.assertIn("models/columns/versions/1", output)
        self.assertIn("best", output)

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
