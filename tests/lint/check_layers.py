#!/usr/bin/env python3
"""Checks the tree against the arrows of CONTRIBUTING.md: who may include whom, file sizes, one list per thing.

Headers of all Debian packages share one include folder, so link lists alone cannot enforce the arrows.

    tests/lint/check_layers.py [ROOT]     prints `file:line: error: ...`, exits 1 if there is any
"""

import collections
import pathlib
import re
import sys

MAX_LINES = 500
MAX_FILES = {"core": 25, "server": 40}  # of a folder
WARN_LINES = 400
SOURCE_FOLDERS = ("core", "server", "client", "tests", "proto", "docs")
SIZED_SUFFIXES = {".h", ".cc", ".py", ".proto", ".js", ".mjs", ".ts", ".tsx"}
UNCHECKED = ("tests/fixtures/", "tests/data/")
GENERATED = {"node_modules", "target", "mercerv1"}  # folders that tools fill where they are run, in no version control
CPP_SUFFIXES = {".h", ".cc", ".inc"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')

# What each layer may include of ours, besides itself. Longest matching folder counts. 'proto' stands for generated headers.
# A folder with rooms stands for all of them.
CORE = {
    "core/base/numeric": (),
    "core/base/encoding": ("core/base/numeric",),
    "core/base/status": ("core/base/encoding",),
    "core/base/memory": ("core/base/status",),
    "core/base/process": ("core/base/memory",),
    "core/base": ("core/base/process",),
    "core/linalg": ("core/base",),
    "core/data/table": ("core/base",),
    "core/data/preprocess": ("core/data/table", "core/linalg"),  # eigenvalues of precomputed kernels
    "core/data/splits": ("core/data/table",),
    "core/data/metrics": ("core/base",),
    "core/data": ("core/data/preprocess", "core/data/splits", "core/data/metrics"),
    "core/io/text": ("core/data",),
    "core/io/images": ("core/data",),
    "core/io/quality": ("core/data",),
    "core/io/store": ("core/data",),
    "core/io": ("core/io/text", "core/io/images", "core/io/quality", "core/io/store"),
    "core/kernels/formulas": ("core/kernels/spec",),
    "core/kernels/spec": ("core/data", "core/linalg", "core/kernels/formulas"),  # the list of formulas
    "core/kernels/gram": ("core/kernels/spec",),
    "core/kernels/lowrank": ("core/kernels/gram",),
    "core/kernels": ("core/kernels/lowrank",),
    "core/features": ("core/data",),
    "core/objectives": ("core/kernels", "core/features"),
    "core/solvers/svm": ("core/objectives",),
    "core/solvers/factor": ("core/solvers/svm",),
    "core/solvers/mkl": ("core/solvers/factor",),  # machines of fixed weights, of low rank too
    "core/solvers/multitask": ("core/solvers/mkl",),  # machines of each task, and how their weights move
    "core/solvers/group": ("core/objectives",),
    "core/solvers": ("core/solvers/multitask", "core/solvers/group"),
    "core/training/encoding": ("core/solvers",),
    "core/training/targets": ("core/training/encoding",),
    "core/training/tables": ("core/base",),
    "core/training/terms": ("core/training/encoding",),
    "core/training/model": ("core/training/targets", "core/training/tables", "core/training/terms"),
    "core/training/contract": ("core/training/model",),
    "core/training/run": ("core/training/contract",),
    "core/training/recipe": ("core/training/run",),
    "core/training": ("core/training/recipe",),
    "core/learners": ("core/training",),
}
OTHERS = {
    "server/budget": ("core/base",),
    "server/storage": ("core/base",),
    "server/storage/sqlite/database": ("server/storage",),
    "server/storage/sqlite": ("server/storage/sqlite/database",),
    "server/digest": ("core/base",),
    "server/blobs": ("server/digest",),
    "server/jobs/record": ("server/storage", "core/training"),
    "server/jobs/data": ("server/storage", "server/blobs", "core/training", "core/io"),
    "server/jobs/upkeep": ("server/jobs/record", "server/blobs"),
    "server/jobs": ("server/jobs/data", "server/jobs/upkeep"),
    "server/watching": ("server/jobs",),  # its events and executors; jobs know nothing of who watches them
    "server/access": ("server/digest",),
    "server/net": ("core/base",),
    "server/backup": ("server/storage", "server/blobs"),
    "server/translation": ("server/jobs", "proto"),
    "server/rpc": ("server/translation", "server/watching", "server/access", "server/budget"),
    "server/uploads": ("server/rpc",),
    "server/prediction": ("server/rpc",),
    "server/api": ("server/uploads", "server/prediction", "server/backup"),
    "server/maintenance": ("server/translation", "server/backup", "server/storage/sqlite"),
    "server/gateway/http": ("server/rpc", "server/net"),
    "server/gateway/rows": ("server/rpc",),
    "server/gateway": ("server/gateway/http", "server/gateway/rows"),
    "server/app/access": ("server/rpc",),
    "server/app/process": ("server/maintenance", "core/linalg"),  # restores the folder; instructions
    "server/app": (
        "server/app/access",
        "server/app/process",
        "server/api",
        "server/gateway",
        "server/storage/sqlite",
        "core/learners",
    ),
    "client": ("proto",),
    "client/cpp": ("core/io", "core/kernels/spec", "proto"),
    "tests/core": ("core/learners", "core/io", "tests/support", "tests/conformance"),
}
ARROWS = {**CORE, **OTHERS}

# Libraries from outside. In the core everything else is refused; elsewhere these are confined to the folders that own them.
CORE_LIBRARIES = re.compile(r"^(Eigen/|absl/|hwy/|tbb/|oneapi/|coin/|sys/|(cblas|lapacke|zlib|png|unistd|sched|fcntl|dlfcn)\.h$)")
STANDARD_HEADER = re.compile(r"^[a-z_0-9]+$|^(c?(assert|errno|fenv|float|inttypes|limits|math|signal|std\w+|string|time)|stdlib|immintrin)\.h$")
NOT_IN_CORE = {"iostream": "the core writes no log"}
MESSAGES = ("server/api", "server/prediction", "server/uploads", "server/rpc", "server/translation", "server/gateway", "server/app", "client", "tests")
OWNED = (  # header, its owners
    (re.compile(r"^(grpc|grpcpp)/(?!health/)"), ("server/api", "server/rpc", "server/gateway", "server/app", "client", "tests")),
    (re.compile(r"^google/protobuf/"), MESSAGES),
    (re.compile(r"^sqlite3"), ("server/storage/sqlite", "tests")),
    (re.compile(r"^absl/container/"), ("tests",)),  # they break when memory runs out: core/base/numeric/hash_table.h
    (re.compile(r"^coin/"), ("core/objectives",)),
    (re.compile(r"^boost/"), ("server/gateway", "tests")),
    (re.compile(r"^spdlog/"), ("server", "tests")),
    (re.compile(r"^CLI/"), ("server/app", "client/cpp", "tests")),
    (re.compile(r"^(nlohmann/|libsvm/|gtest/|gmock/|benchmark/)"), ("tests",)),
)


def inside(path, folder):
    return path == folder or path.startswith(folder + "/")


def layer_of(path):
    """The longest folder of ARROWS that holds `path`, or None."""
    return max((folder for folder in ARROWS if inside(path, folder)), key=len, default=None)


def reachable(layer):
    """`layer` and every layer that its arrows lead to."""
    found, queue = set(), [layer]
    while queue:
        current = queue.pop()
        if current not in found:
            found.add(current)
            queue.extend(ARROWS.get(current, ()))
    return found


def target_layer(header):
    """The layer that an included header of ours belongs to; None for headers from outside."""
    if header.startswith(("mercer/v", "google/rpc/", "google/api/", "grpc/health/")):
        return "proto"
    if header.split("/")[0] in ("core", "server", "client"):
        return layer_of(header) or header.rsplit("/", 1)[0]
    if header.startswith("tests/"):
        return "/".join(header.split("/")[:2])
    return None


def learner_of(path):
    parts = path.split("/")
    return parts[2] if path.startswith("core/learners/") and len(parts) > 3 else None


def check_include(path, quote, header):
    """The complaint about one include line, or None."""
    layer, target = layer_of(path), target_layer(header)
    if target is None and quote == '"' and "/" not in header:
        return f'"{header}": name our headers from the root of the repository'
    if target is not None:
        if layer is None:
            return None  # other tests and benchmarks may use everything
        if target not in reachable(layer):
            return f'{layer} may not include "{header}" ({target}); its arrows lead to {", ".join(sorted(reachable(layer) - {layer})) or "nothing"}'
        here, there = learner_of(path), learner_of(header)
        if here and there and here != there:
            return f"learner {here} includes learner {there}; what two share moves down into core/solvers or core/objectives"
        return None
    return check_outside(path, header)


def check_outside(path, header):
    if inside(path, "core"):
        if header in NOT_IN_CORE:
            return f"<{header}>: {NOT_IN_CORE[header]}"
        if not STANDARD_HEADER.match(header) and not CORE_LIBRARIES.match(header):
            return f"<{header}>: not one of the core's few libraries"
    for pattern, owners in OWNED:
        if pattern.match(header) and not any(inside(path, owner) for owner in owners):
            return f'<{header}>: belongs to {", ".join(owners)} only'
    return None


def check_file(root, file):
    path = file.relative_to(root).as_posix()
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    errors, warnings = [], []
    if len(lines) > MAX_LINES:
        errors.append(f"{path}:{len(lines)}: error: {len(lines)} lines, at most {MAX_LINES}")
    elif len(lines) > WARN_LINES:
        warnings.append(f"{path}:{len(lines)}: warning: {len(lines)} lines, aim for {WARN_LINES}")
    if file.suffix in CPP_SUFFIXES:
        for number, line in enumerate(lines, 1):
            match = INCLUDE.match(line)
            complaint = match and check_include(path, *match.groups())
            if complaint:
                errors.append(f"{path}:{number}: error: {complaint}")
    return errors, warnings


def check_list(root, listing, macro, present, thing, form):
    """A file of lines `macro(name)` names exactly what is `present`, each once; `form` is what a thing of that name has."""
    line = re.compile(rf"^\s*{macro}\((\w+)\)")
    file = root / listing
    text = file.read_text().splitlines() if file.is_file() else []
    listed = [match.group(1) for match in map(line.match, text) if match]
    where = f"{listing}:1: error: {thing}"
    return (
        [f"{where} {name} has a {form} but no line" for name in sorted(present - set(listed))]
        + [f"{where} {name} has a line but no {form} with sources" for name in sorted(set(listed) - present)]
        + [f"{where} {name} is listed twice" for name in sorted(set(listed)) if listed.count(name) > 1]
    )


# Lists of files: the folder, the list in it, its macro, and what a line stands for.
FILE_LISTS = (
    ("core/kernels/formulas", "kernels.inc", "MERCER_KERNEL", "kernel"),
    ("core/objectives/losses", "losses.inc", "MERCER_LOSS", "loss"),
)


def check_lists(root):
    learners = root / "core/learners"
    folders = [child for child in learners.iterdir() if child.is_dir()] if learners.is_dir() else []
    present = {child.name for child in folders if child.name != "_template" and any(child.glob("*.cc"))}
    errors = check_list(root, "core/learners/learners.inc", "MERCER_LEARNER", present, "learner", "folder")
    for folder, listing, macro, thing in FILE_LISTS:
        present = {"".join(map(str.capitalize, file.stem.split("_"))) for file in (root / folder).glob("*.cc")}
        errors += check_list(root, f"{folder}/{listing}", macro, present, thing, "file")
    return errors


def check_rooms(root):
    """Folders are small enough to be looked through."""
    counts = collections.Counter(
        file.parent.relative_to(root) for top in MAX_FILES for file in sorted((root / top).rglob("*")) if file.suffix in CPP_SUFFIXES
    )
    limits = {folder: MAX_FILES[folder.parts[0]] for folder in counts}
    return [f"{folder.as_posix()}:1: error: {counts[folder]} files, at most {limit}" for folder, limit in limits.items() if counts[folder] > limit]


def check_tree(root):
    errors, warnings = check_lists(root) + check_rooms(root), []
    for top in SOURCE_FOLDERS:
        for file in sorted((root / top).rglob("*")):
            path = file.relative_to(root).as_posix()
            if file.suffix not in SIZED_SUFFIXES | CPP_SUFFIXES or path.startswith(UNCHECKED) or not file.is_file():
                continue
            if GENERATED & set(file.relative_to(root).parts):
                continue
            more_errors, more_warnings = check_file(root, file)
            errors += more_errors
            warnings += more_warnings
    return errors, warnings


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2])
    errors, warnings = check_tree(root)
    print(*warnings, *errors, f"layers: {len(errors)} errors, {len(warnings)} warnings", sep="\n")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
