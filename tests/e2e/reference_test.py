#!/usr/bin/env python3
"""The pages of docs/reference: current, complete, without dead links; and what else is made with them."""

import difflib
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import server_lib

GENERATOR = server_lib.ROOT / "docs/reference/generator"
REFERENCE = server_lib.ROOT / "docs/reference"
LINK = re.compile(r"(?<!\\)\]\(([^)\s]+)\)")
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


def page(name):
    return (REFERENCE / name).read_text(encoding="utf-8")


def anchors(text):
    """Of the headings of a page: lower case, no punctuation, spaces as hyphens, a number after the second of a kind."""
    seen, found = {}, set()
    for title in re.findall(r"^#+ (.*)$", text, re.MULTILINE):
        plain = "".join(c for c in title.lower() if c.isalnum() or c in "_- ").replace(" ", "-")
        found.add(f"{plain}-{seen[plain]}" if plain in seen else plain)
        seen[plain] = seen.get(plain, 0) + 1
    return found


class ReferenceTest(unittest.TestCase):
    def test_the_pages_the_comments_of_the_protos_the_types_routes_and_the_fixture_of_the_dashboard_are_current(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            subprocess.run([sys.executable, GENERATOR, folder], check=True)
            made = {path.relative_to(folder): path.read_text(encoding="utf-8") for path in folder.rglob("*.*")}
        pages = {str(path) for path in made if path.suffix == ".md"}
        self.assertEqual(pages, {path.name for path in REFERENCE.glob("*.md")} | {"docs/http.md"})
        self.assertEqual({path.name for path in made if path.suffix == ".proto"}, {"kernel.proto", "learner.proto", "mixed_norm_mkl.proto", "sparse_multitask_svm.proto", "svm_rfe.proto", "coordinate_gradients.proto"})
        self.assertEqual({path.name for path in made if path.suffix == ".ts"}, {"routes.ts", "schema.ts"})
        self.assertEqual({path.name for path in made if path.suffix == ".json"}, {"learners.json", "openapi.json"})
        for path, text in made.items():
            committed = (REFERENCE if len(path.parts) == 1 else server_lib.ROOT) / path
            lines = committed.read_text(encoding="utf-8").splitlines()
            changes = list(difflib.unified_diff(lines, text.splitlines(), "committed", "made", lineterm="", n=0))
            self.assertFalse(changes, f"{path} is out of date: run ./dev docs\n" + "\n".join(changes[:20]))

    def test_ranges_and_defaults_of_options_reach_their_fields(self):
        sys.path.insert(0, str(GENERATOR))
        import proto_comments  # pylint: disable=import-outside-toplevel

        text = "  oneof learner {\n    Tide tide = 1;\n  }\n\nmessage Tide {\n  // Old.\n  optional double height = 1;\n}\n"
        height = {"name": "height", "type": "OPTION_TYPE_REAL", "meaning": "How high.", "unit": "metres", "range": "(0, 9]", "defaultValue": "2"}
        made = proto_comments.with_options(text, [{"name": "tide", "options": [height]}])
        self.assertIn("{\n  // How high. Unit: metres. In (0, 9]. Absent: 2.\n  optional double height = 1;\n}", made)
        self.assertNotIn("Old", made)

    def test_the_table_of_paths_and_the_routes_of_the_dashboard_follow_the_protos(self):
        sys.path.insert(0, str(GENERATOR))
        import http_page  # pylint: disable=import-outside-toplevel
        import protos  # pylint: disable=import-outside-toplevel
        import tables  # pylint: disable=import-outside-toplevel
        import typescript  # pylint: disable=import-outside-toplevel

        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            shutil.copytree(server_lib.ROOT / "proto", root / "proto")
            path = root / "proto/mercer/v1/training_service.proto"
            path.write_text(path.read_text(encoding="utf-8").replace("/v1/events", "/v1/news").replace(":cancel", ":end"), encoding="utf-8")
            files = protos.read_files(root)
        page = http_page.updated((server_lib.ROOT / "docs/http.md").read_text(encoding="utf-8"), files, tables.read_routes(files))
        self.assertIn("\n| `/v1/news` | GET: WatchJobs, as events |\n", page)
        self.assertIn("\n| *version* `:predict` | POST: Predict |\n", page)
        self.assertNotIn("| `/v1/events`", page)
        routes = typescript.routes(files)
        self.assertIn("\nexport const cancelJob = (name: string): Route => ({ verb: 'POST', path: `/v1/${name}:end` });\n", routes)
        self.assertIn("\nexport const watchJobs = (): Route => ({ verb: 'GET', path: '/v1/news' });\n", routes)
        self.assertIn("\nexport const getModelVersionModel = (name: string): Route => ({ verb: 'GET', path: `/v1/${name}:version` });\n", routes)

    def test_every_link_leads_somewhere(self):
        for name in ("api.md", "learners.md"):
            links = LINK.findall(CODE.sub("", page(name)))
            self.assertGreater(len(links), 20)
            for link in set(links):
                path, _, place = link.partition("#")
                target = (REFERENCE / path).resolve() if path else REFERENCE / name
                self.assertTrue(target.exists(), f"{name}: {link}")
                if place:
                    self.assertIn(place, anchors(target.read_text(encoding="utf-8")), f"{name}: {link}")

    def test_no_two_headings_share_an_anchor(self):
        for name in ("api.md", "learners.md"):
            titles = [title.lower() for title in re.findall(r"^#+ (.*)$", page(name), re.MULTILINE)]
            self.assertEqual(len(titles), len(set(titles)), name)

    def test_every_field_value_and_call_is_there(self):
        text = page("api.md")
        for path in (server_lib.ROOT / "proto/mercer/v1").glob("*.proto"):
            source = re.sub(r"//.*", "", path.read_text(encoding="utf-8"))
            for call in re.findall(r"\brpc (\w+)", source):
                self.assertIn(f"\n### {call}\n", text)
            for name in re.findall(r"(\w+) = \d+(?: \[.*\])?;", source):
                if not name.endswith("_UNSPECIFIED"):
                    self.assertIn(f"\n| `{name}` | ", text, path.name)

    def test_every_option_is_there(self):
        with server_lib.Server() as server:
            code, out, err = server_lib.mercer(server, "learners", "--json")
        self.assertEqual(code, 0, err)
        text = page("learners.md")
        for line in out.splitlines():
            learner = json.loads(line)
            section = text.partition(f"\n## {learner['name']}\n")[2].partition("\n## ")[0]
            for option in learner["options"]:
                row = next((row for row in section.splitlines() if row.startswith(f"| `{option['name']}` | ")), "")
                self.assertIn(f"`{option['defaultValue']}` |", row, option["name"])
                for choice in option.get("choices", []):
                    self.assertIn(f"\n| `{choice}` | ", section)

    def test_a_call_without_a_path_of_http_is_refused(self):
        sys.path.insert(0, str(GENERATOR))
        import protos  # pylint: disable=import-outside-toplevel

        source = 'syntax = "proto3";\npackage mercer.v1;\nmessage Tide {}\n// Of the sea.\nservice Sea {\n  // How high.\n  rpc Gauge(%sTide) returns (Tide);\n}\n'
        with tempfile.TemporaryDirectory() as folder:
            api = pathlib.Path(folder, "proto/mercer/v1")
            api.mkdir(parents=True)
            (api / "tide.proto").write_text(source % "stream ", encoding="utf-8")
            self.assertEqual(protos.read_files(pathlib.Path(folder))[0].services[0].rpcs[0].ways, [])
            (api / "tide.proto").write_text(source % "", encoding="utf-8")
            with self.assertRaisesRegex(SystemExit, "Gauge"):
                protos.read_files(pathlib.Path(folder))

    def test_a_field_without_a_comment_is_refused(self):
        sys.path.insert(0, str(GENERATOR))
        import protos  # pylint: disable=import-outside-toplevel

        with tempfile.TemporaryDirectory() as folder:
            api = pathlib.Path(folder, "proto/mercer/v1")
            api.mkdir(parents=True)
            head = 'syntax = "proto3";\npackage mercer.v1;\nmessage Tide {\n'
            (api / "tide.proto").write_text(head + "  // In metres.\n  double height = 1;\n}\n", encoding="utf-8")
            self.assertEqual(protos.read_files(pathlib.Path(folder))[0].messages[0].fields[0].comment, "In metres.")
            (api / "tide.proto").write_text(head + "  double height = 1;\n}\n", encoding="utf-8")
            with self.assertRaisesRegex(SystemExit, r"Tide\.height"):
                protos.read_files(pathlib.Path(folder))


if __name__ == "__main__":
    unittest.main()
