#!/usr/bin/env python3
"""Plants one violation at a time in a small tree and proves that check_layers.py reports it, and nothing else."""

import pathlib
import tempfile
import unittest

import check_layers

CLEAN = {
    "core/base/numeric/types.h": "#include <vector>\n#include <Eigen/Core>\n",
    "core/data/table/dataset.cc": '#include "core/base/numeric/types.h"\n#include "absl/status/status.h"\n#include <zlib.h>\n',
    "core/kernels/spec/gaussian.cc": '#include "core/data/table/dataset.h"\n#include <hwy/highway.h>\n',
    "core/kernels/formulas/chi_square.cc": '#include "core/kernels/spec/gaussian.h"\n',
    "core/kernels/formulas/kernels.inc": "MERCER_KERNEL(ChiSquare)\n",
    "core/objectives/losses/hinge.cc": '#include "core/kernels/spec/gaussian.h"\n',
    "core/objectives/losses/losses.inc": "MERCER_LOSS(Hinge)\n",
    "core/training/model/model.h": '#include "core/kernels/spec/gaussian.h"\n',
    "core/learners/svm/svm.cc": '#include "core/learners/svm/svm.h"\n#include "core/training/model/model.h"\n',
    "core/learners/csi/csi.cc": '#include "core/training/model/model.h"\n',
    "core/learners/_template/template.cc": "",
    "core/learners/learners.inc": "// names\nMERCER_LEARNER(svm)\nMERCER_LEARNER(csi)\n",
    "server/storage/job_store.h": '#include "absl/status/status.h"\n',
    "server/storage/sqlite/db.cc": '#include "server/storage/job_store.h"\n#include <sqlite3.h>\n',
    "server/jobs/worker.cc": '#include "server/storage/job_store.h"\n#include "core/training/model/model.h"\n#include <spdlog/spdlog.h>\n',
    "server/api/train.cc": '#include "server/jobs/worker.h"\n#include "mercer/v1/job.grpc.pb.h"\n#include <grpcpp/grpcpp.h>\n',
    "server/app/main.cc": '#include "server/storage/sqlite/db.h"\n#include "core/learners/registry.h"\n#include <CLI/CLI.hpp>\n',
    "client/cpp/client.h": '#include "core/data/table/dataset.h"\n#include "google/rpc/status.pb.h"\n',
    "tests/core/base/types_test.cc": '#include "tests/support/random.h"\n#include <gtest/gtest.h>\n',
    "tests/integration/all_test.cc": '#include "server/app/main.h"\n#include "core/learners/svm/svm.h"\n',
}

# file, its new content, what the report must say
VIOLATIONS = (
    ("core/base/bad.h", '#include "core/data/table/dataset.h"\n', "core/base may not include"),
    ("core/data/bad.h", '#include "core/kernels/spec/gaussian.h"\n', "core/data may not include"),
    ("core/kernels/bad.cc", '#include "core/features/fourier.h"\n', "core/kernels may not include"),
    ("core/features/bad.cc", '#include "core/kernels/spec/gaussian.h"\n', "core/features may not include"),
    ("core/objectives/bad.cc", '#include "core/solvers/svm/smo.h"\n', "core/objectives may not include"),
    ("core/solvers/bad.cc", '#include "core/training/model/model.h"\n', "core/solvers may not include"),
    ("core/training/bad.cc", '#include "core/learners/registry.h"\n', "core/training may not include"),
    ("core/learners/svm/bad.cc", '#include "core/learners/csi/csi.h"\n', "learner svm includes learner csi"),
    ("core/training/bad.cc", '#include "server/jobs/worker.h"\n', "core/training may not include"),
    ("core/training/bad.cc", '#include "mercer/v1/model.pb.h"\n', "core/training may not include"),
    ("core/training/bad.cc", "#include <grpcpp/grpcpp.h>\n", "not one of the core's"),
    ("core/training/bad.cc", "#include <google/protobuf/message.h>\n", "not one of the core's"),
    ("core/data/bad.cc", "#include <sqlite3.h>\n", "not one of the core's"),
    ("core/data/bad.cc", "#include <boost/json.hpp>\n", "not one of the core's"),
    ("core/data/bad.cc", "#include <spdlog/spdlog.h>\n", "not one of the core's"),
    ("core/data/bad.cc", "#  include <nlohmann/json.hpp>\n", "not one of the core's"),
    ("core/data/bad.cc", "#include <iostream>\n", "writes no log"),
    ("core/data/bad.cc", '#include "dataset.h"\n', "from the root of the repository"),
    ("server/storage/bad.cc", '#include "core/data/table/dataset.h"\n', "server/storage may not include"),
    ("server/storage/bad.cc", '#include "mercer/v1/job.pb.h"\n', "server/storage may not include"),
    ("server/storage/bad.cc", '#include "server/storage/sqlite/db.h"\n', "server/storage may not include"),
    ("server/storage/bad.cc", "#include <sqlite3.h>\n", "belongs to server/storage/sqlite"),
    ("server/blobs/bad.cc", '#include "core/data/table/dataset.h"\n', "server/blobs may not include"),
    ("server/jobs/bad.cc", '#include "server/api/train.h"\n', "server/jobs may not include"),
    ("server/jobs/bad.cc", '#include "mercer/v1/job.pb.h"\n', "server/jobs may not include"),
    ("server/jobs/bad.cc", "#include <grpcpp/grpcpp.h>\n", "belongs to server/api"),
    ("server/jobs/bad.cc", '#include "core/learners/registry.h"\n', "server/jobs may not include"),
    ("server/jobs/bad.cc", '#include "server/storage/sqlite/db.h"\n', "server/jobs may not include"),
    ("server/api/bad.cc", '#include "core/learners/svm/svm.h"\n', "server/api may not include"),
    ("server/api/bad.cc", '#include "server/app/flags.h"\n', "server/api may not include"),
    ("server/api/bad.cc", "#include <sqlite3.h>\n", "belongs to server/storage/sqlite"),
    ("server/translation/bad.cc", '#include "server/rpc/call.h"\n', "server/translation may not include"),
    ("server/translation/bad.cc", "#include <grpcpp/grpcpp.h>\n", "belongs to server/api"),
    ("server/rpc/bad.cc", '#include "server/uploads/session.h"\n', "server/rpc may not include"),
    ("server/uploads/bad.cc", '#include "server/prediction/cache.h"\n', "server/uploads may not include"),
    ("server/prediction/bad.cc", '#include "server/api/train.h"\n', "server/prediction may not include"),
    ("server/gateway/bad.cc", '#include "server/api/train.h"\n', "server/gateway may not include"),
    ("server/api/bad.cc", "#include <boost/beast.hpp>\n", "belongs to server/gateway"),
    ("client/cpp/bad.cc", '#include "core/features/fourier.h"\n', "client/cpp may not include"),
    ("client/cpp/bad.cc", '#include "server/api/train.h"\n', "client/cpp may not include"),
    ("tests/core/bad_test.cc", '#include "server/jobs/worker.h"\n', "tests/core may not include"),
    ("core/data/long.cc", "//\n" * 501, "501 lines, at most 500"),
    ("core/learners/ikl/ikl.cc", "", "learner ikl has a folder but no line"),
    ("core/learners/learners.inc", "MERCER_LEARNER(svm)\nMERCER_LEARNER(csi)\nMERCER_LEARNER(x)\n", "learner x has a line but"),
    ("core/learners/learners.inc", "MERCER_LEARNER(svm)\nMERCER_LEARNER(csi)\nMERCER_LEARNER(csi)\n", "csi is listed twice"),
    ("core/kernels/formulas/linear.cc", "", "kernel Linear has a file but no line"),
    ("core/kernels/formulas/kernels.inc", "MERCER_KERNEL(ChiSquare)\nMERCER_KERNEL(X)\n", "kernel X has a line but"),
    ("core/objectives/losses/square.cc", "", "loss Square has a file but no line"),
)


def check(files):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, content in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(content)
        return check_layers.check_tree(root)


class CheckLayersTest(unittest.TestCase):
    def test_clean_tree_passes(self):
        self.assertEqual(check(CLEAN), ([], []))

    def test_each_violation_is_reported_alone(self):
        for name, content, message in VIOLATIONS:
            with self.subTest(file=name, content=content[:60]):
                errors, _ = check({**CLEAN, name: content})
                self.assertEqual(len(errors), 1, errors)
                self.assertIn(message, errors[0])

    def test_long_file_is_warned_about_before_it_is_refused(self):
        errors, warnings = check({**CLEAN, "core/data/long.cc": "//\n" * 401})
        self.assertEqual(errors, [])
        self.assertIn("401 lines", warnings[0])

    def test_folders_have_few_files(self):
        for folder, limit in {"core/data/table": 25, "server/storage/sqlite": 40}.items():
            with self.subTest(folder=folder):
                full = CLEAN | {f"{folder}/file{number}.h": "" for number in range(limit - 1)}  # beside the one of CLEAN
                self.assertEqual(check(full)[0], [])
                errors, _ = check(full | {f"{folder}/last.h": ""})
                self.assertEqual(errors, [f"{folder}:1: error: {limit + 1} files, at most {limit}"])

    def test_line_number_is_named(self):
        errors, _ = check({**CLEAN, "core/base/bad.h": '\n\n#include "core/data/table/dataset.h"\n'})
        self.assertTrue(errors[0].startswith("core/base/bad.h:3: error:"), errors)


if __name__ == "__main__":
    unittest.main()
