#!/usr/bin/env python3
"""Plants one sum at a time in a small tree and proves that check_row_sums.py reports it, and nothing else."""

import pathlib
import tempfile
import unittest

import check_row_sums

CLEAN = {
    "core/solvers/svm/model.cc": (
        "// dual.sum() of a comment\n"
        'const char* kText = "a.dot(b)";\n'
        "double Objective(const Vector& a) { return DotOfRows(a, a) + SumOfRows(a); }\n"
        "double Count() { return (a.array() > 0).count(); }\n"
        "for (double work = 0; work < most;) { work += Cost(); }\n"
        "double largest = 0;\nlargest = std::max(largest, a(i));\n"
    ),
    "core/solvers/svm/allowed.cc": "double Slope() { return weights.dot(gradient); }\n",
    "core/learners/_template/template.cc": "double Sum() { return dual.sum(); }\n",
    "server/jobs/worker.cc": "double Sum() { return dual.sum(); }\n",
}
ALLOWED = {"core/solvers/svm/allowed.cc": (1, check_row_sums.FEATURES)}

# What is added to model.cc, each a sum of its own.
SUMS = (
    "double a = dual.sum();",
    "double a = dual.mean();",
    "double a = dual\n    .sum();",
    "double a = dual.cwiseAbs().sum() ;",
    "double a = dual.dot(targets);",
    "double a = (state.dual - state.center).squaredNorm();",
    "double a = dual.norm();",
    "double a = dual.lpNorm<1>();",
    "double a = matrix.template cast<double>().trace();",
    "Vector a = products.colwise().sum();",
    "Vector a = rows.transpose() * dual;",
    "Vector a = rows.transpose()*dual;",
    "double a = std::accumulate(dual.begin(), dual.end(), 0.0);",
    "double a = std::inner_product(dual.begin(), dual.end(), costs.begin(), 0.0);",
    "cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans);",
    "cblas_dsyrk(CblasColMajor, CblasLower, CblasTrans);",
    "double a = cblas_ddot(n, x, 1, y, 1);",
    "double a = Dot(x, y, n);",
    "double a = mercer::Dot(x, y, n);",
    "double a = 0;\nfor (Index i = 0; i < n; ++i) {\n  a += dual(i);\n}",
    "double a = 0.0;\nfor (Index i = 0; i < n; ++i) {\n  a -= dual(i);\n}",
    "struct Sums {\n  double a = 0;\n};\nfor (Index i = 0; i < n; ++i) {\n  sums.a += dual(i);\n}",
)


def check(files, allowed):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for path, text in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        return check_row_sums.check_tree(root, allowed)


class CheckRowSumsTest(unittest.TestCase):
    def test_what_is_clean_passes(self):
        self.assertEqual(check(CLEAN, ALLOWED), [])

    def test_each_planted_sum_is_found_where_it_is(self):
        path = "core/solvers/svm/model.cc"
        for planted in SUMS:
            line = CLEAN[path].count("\n") + 1 + planted.startswith(("double a = dual\n", "struct"))
            with self.subTest(planted):
                errors = check({**CLEAN, path: CLEAN[path] + planted + "\n"}, ALLOWED)
                self.assertEqual(len(errors), 1, errors)
                self.assertRegex(errors[0], rf"^{path}:{line}: error: 1 sums in lines {line}, none is allowed")

    def test_one_more_sum_in_an_allowed_file_is_found(self):
        path = "core/solvers/svm/allowed.cc"
        errors = check({**CLEAN, path: CLEAN[path] + "double a = dual.sum();\n"}, ALLOWED)
        self.assertEqual(len(errors), 1, errors)
        self.assertIn("2 sums in lines 1, 2, 1 are allowed (over features", errors[0])

    def test_a_number_that_is_too_high_and_a_file_without_sums_are_found(self):
        path = "core/solvers/svm/allowed.cc"
        self.assertIn("lower the number", check(CLEAN, {path: (2, "")})[0])
        self.assertIn("take it off the list", check({**CLEAN, path: ""}, ALLOWED)[0])

    def test_the_list_gives_reasons(self):
        for path, (count, reason) in check_row_sums.ALLOWED.items():
            self.assertGreater(count, 0, path)
            self.assertGreater(len(reason), 10, path)


if __name__ == "__main__":
    unittest.main()
