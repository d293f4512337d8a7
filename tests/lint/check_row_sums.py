#!/usr/bin/env python3
"""Finds floating-point sums in the core that may go over training rows and are not those of core/base/process/row_sums.h.

A pattern cannot see over what a sum goes. So it finds all sums, and ALLOWED says of each file that has any how many there are and why
they may be there. A sum over training rows belongs into SumOverRows, PairwiseSum or row_vectors.h; for any other, put the new
number, and if need be another reason, into the list.

    tests/lint/check_row_sums.py [ROOT]     prints `file:line: error: ...`, exits 1 if there is any
    tests/lint/check_row_sums.py --list     prints every sum that is found
"""

import pathlib
import re
import sys

SUFFIXES = {".h", ".cc", ".inc"}
SUMS = re.compile(
    r"\.\s*(?:template\s+)?(?:sum|mean|norm|squaredNorm|stableNorm|blueNorm|trace)\(\)"  # of Eigen
    r"|\.dot\(|\blpNorm<[12]>"
    r"|\bstd::(?:accumulate|reduce|transform_reduce|inner_product)\b"
    r"|\bcblas_[ds](?:dot|asum|nrm2|gemm|gemv|syrk|symm|symv|syr2k)\b"
    r"|\.(?:transpose|adjoint)\(\)\s*\*"
    r"|(?<![\w.])(?:mercer::)?Dot(?:Row)?\((?!const)"  # calls of linalg/vector_math.h and row_operations.h
)
ACCUMULATOR = re.compile(r"(?<!for \()\bdouble (\w+) = -?0(?:\.0)?\s*;")
COMMENT = re.compile(r'//[^\n]*|"(?:\\.|[^"\\\n])*"')

# Why sums may be there.
FEATURES = "over features, kernels, tasks or the entries of their small systems"
ROW = "over the values of one row"
PIECES = "within a piece of SumOverRows, PairwiseSum or SumPieces"
MATRICES = "products and factors of matrices, whatever they hold"
KERNEL = "on a formed kernel matrix, whose rows and columns are training rows: made for one host"
PAIRS = "over columns; over pairs of rows, which one host holds"
SAMPLES = "over a system of chosen rows, which one host solves"
NUMBERS = "over numbers of a report, a fold or a time"

ALLOWED = {
    "core/base/numeric/all_finite.h": (1, ROW),
    "core/base/process/row_vectors.cc": (1, "over columns, of sums over rows"),
    "core/data/metrics/weighted_metrics.cc": (15, "over rows that are judged, not trained on"),
    "core/data/preprocess/preprocessing.cc": (1, ROW),
    "core/data/preprocess/square_repair.cc": (3, "over eigenvalues; over the eigenvectors at one row"),
    "core/data/splits/group_splits.cc": (2, NUMBERS),
    "core/data/splits/splits.cc": (1, NUMBERS),
    "core/features/column_sums.cc": (3, PIECES),
    "core/features/fourier_family.cc": (3, "over the entries of a frequency"),
    "core/features/gabor_family.cc": (1, "over the pixels of a filter"),
    "core/features/normalization.cc": (2, FEATURES),
    "core/io/quality/column_scan.h": (1, "over the rows of a file, when it is looked at"),
    "core/kernels/gram/exact_kernel_family_make.cc": (1, KERNEL),
    "core/kernels/gram/factor_rows.cc": (6, "row by row, or within a piece"),
    "core/kernels/gram/factor_rows.h": (1, ROW),
    "core/kernels/gram/kernel_columns.cc": (2, KERNEL),
    "core/kernels/gram/kernel_operator.cc": (2, "over features; products of a formed kernel matrix, which is made for one host"),
    "core/kernels/gram/quadratic_forms.cc": (2, KERNEL),
    "core/kernels/gram/tile_source.cc": (2, ROW),
    "core/kernels/lowrank/csi.cc": (7, "over columns of the look-ahead; row by row"),
    "core/kernels/lowrank/fit_probes.cc": (1, SAMPLES),
    "core/kernels/lowrank/joint_basis.cc": (14, SAMPLES),
    "core/kernels/lowrank/kernel_landmarks.cc": (1, ROW),
    "core/kernels/lowrank/low_rank_family.cc": (11, FEATURES),
    "core/kernels/lowrank/low_rank_operator.cc": (3, FEATURES),
    "core/kernels/lowrank/low_rank_operator.h": (1, FEATURES),
    "core/kernels/lowrank/lost_traces.cc": (1, ROW),
    "core/kernels/spec/normalization.cc": (3, KERNEL),
    "core/kernels/spec/pair_values.cc": (2, ROW),
    "core/learners/coordinate_gradients/own_gradient.cc": (5, PAIRS),
    "core/learners/coordinate_gradients/verify.cc": (2, FEATURES),
    "core/learners/csi/csi.cc": (3, "over kernels, outputs and counts; over pivots"),
    "core/learners/csi/verify.cc": (8, FEATURES),
    "core/learners/ikl/ikl.cc": (2, KERNEL),
    "core/learners/ikl/verify.cc": (3, KERNEL),
    "core/learners/infinite_features/ascent.cc": (8, FEATURES),
    "core/learners/infinite_features/groups.cc": (1, FEATURES),
    "core/learners/infinite_features/infinite_features.cc": (2, "over tables, of sums over rows"),
    "core/learners/infinite_features/search.cc": (1, FEATURES),
    "core/learners/infinite_features/state.cc": (2, FEATURES),
    "core/learners/infinite_features/verify.cc": (11, PIECES),
    "core/learners/kernel_ridge/kernel_ridge.cc": (3, KERNEL),
    "core/learners/kernel_ridge/verify.cc": (6, KERNEL),
    "core/learners/lp_mkl/verify.cc": (3, FEATURES),
    "core/learners/mixed_norm_mkl/entry.cc": (3, "over classes, for estimates"),
    "core/learners/mixed_norm_mkl/problem.cc": (1, FEATURES),
    "core/learners/mixed_norm_mkl/shared_bounds.cc": (3, FEATURES),
    "core/learners/mixed_norm_mkl/verify.cc": (3, FEATURES),
    "core/learners/sparse_multitask_svm/problem.cc": (2, FEATURES + "; costs of tasks"),
    "core/learners/sparse_multitask_svm/tables.cc": (1, FEATURES),
    "core/learners/sparse_multitask_svm/verify.cc": (8, PIECES + "; " + FEATURES),
    "core/learners/svm_rfe/svm_rfe.cc": (6, "over columns or outputs"),
    "core/learners/svm_rfe/verify.cc": (6, PIECES + "; " + FEATURES),
    "core/linalg/blocked_cholesky.cc": (5, MATRICES),
    "core/linalg/exponential_table.cc": (1, MATRICES),
    "core/linalg/matrix_products.cc": (2, MATRICES),
    "core/linalg/row_operations.cc": (2, ROW),
    "core/linalg/row_products.cc": (4, PIECES),
    "core/linalg/shifted_factor.cc": (1, MATRICES),
    "core/linalg/symmetric_eigen.cc": (5, MATRICES),
    "core/linalg/tridiagonal_eigen.cc": (2, MATRICES),
    "core/objectives/block_penalty.cc": (6, FEATURES),
    "core/objectives/cutting_plane_program.cc": (3, "over planes; over columns"),
    "core/objectives/loss_of.h": (1, PIECES),
    "core/objectives/losses/squared_hinge.cc": (4, PIECES),
    "core/objectives/lp_weights.cc": (9, FEATURES),
    "core/objectives/mixed_norm.cc": (6, FEATURES),
    "core/objectives/norm_prox.cc": (4, FEATURES),
    "core/objectives/simplex_program.cc": (8, FEATURES),
    "core/objectives/step_search.cc": (1, PIECES),
    "core/objectives/task_norm.cc": (2, FEATURES),
    "core/solvers/factor/coordinate_descent_svm.cc": (2, "over features; one variable after the other, which is made for one host"),
    "core/solvers/factor/factor_svm.cc": (13, FEATURES),
    "core/solvers/factor/factor_svm_direction.cc": (5, SAMPLES),
    "core/solvers/factor/gfb_svm.cc": (6, FEATURES),
    "core/solvers/factor/interior_point_svm.cc": (3, FEATURES),
    "core/solvers/factor/ridge.cc": (3, KERNEL),
    "core/solvers/gradients/box_interior_point.cc": (6, PAIRS),
    "core/solvers/gradients/box_newton.cc": (6, PAIRS),
    "core/solvers/gradients/coordinate_newton.cc": (5, PAIRS),
    "core/solvers/gradients/coordinate_weight_solver.cc": (3, PAIRS),
    "core/solvers/gradients/gradient_problem.cc": (5, PAIRS),
    "core/solvers/gradients/gradient_problem.h": (1, FEATURES),
    "core/solvers/gradients/gradient_results.cc": (15, PAIRS),
    "core/solvers/gradients/pair_kernel.cc": (1, PAIRS),
    "core/solvers/gradients/pair_preconditioner.cc": (5, PAIRS),
    "core/solvers/gradients/pair_solver.cc": (2, PAIRS),
    "core/solvers/gradients/pair_system.cc": (4, PAIRS),
    "core/solvers/gradients/pair_weights.cc": (1, PAIRS),
    "core/solvers/group/admm_group_solver.cc": (8, FEATURES),
    "core/solvers/group/admm_systems.cc": (6, FEATURES),
    "core/solvers/group/feature_columns.cc": (4, "row by row, or within a piece"),
    "core/solvers/group/fista_group_solver.cc": (6, FEATURES),
    "core/solvers/group/group_certificate.cc": (1, FEATURES),
    "core/solvers/group/group_evaluation.cc": (2, "over features, or within a piece"),
    "core/solvers/group/group_model.cc": (7, FEATURES),
    "core/solvers/group/group_system.cc": (11, FEATURES),
    "core/solvers/group/newton_group_solver.cc": (5, "over features, or within a piece"),
    "core/solvers/mkl/machines.cc": (2, FEATURES),
    "core/solvers/mkl/mixed_norm_methods.cc": (1, FEATURES),
    "core/solvers/mkl/mkl_bounds.cc": (2, FEATURES),
    "core/solvers/mkl/mkl_loop.cc": (3, FEATURES),
    "core/solvers/mkl/reduced_gradient.cc": (4, FEATURES),
    "core/solvers/mkl/smo_mkl.cc": (1, KERNEL),
    "core/solvers/mkl/weight_hessian.cc": (8, KERNEL),
    "core/solvers/mkl/weight_term.cc": (4, FEATURES),
    "core/solvers/multitask/alternation_solver.cc": (1, FEATURES),
    "core/solvers/multitask/joint_direction.cc": (6, "over features; over rows of systems that one host factors"),
    "core/solvers/multitask/joint_interior_point.cc": (12, "over features; over rows of systems that one host factors"),
    "core/solvers/multitask/joint_start.cc": (7, "over features; over rows of systems that one host factors"),
    "core/solvers/multitask/row_pairs.cc": (3, "over columns"),
    "core/solvers/multitask/task_system.cc": (2, "over rows of a system that one host factors; " + MATRICES),
    "core/solvers/multitask/working_set_solver.cc": (1, FEATURES),
    "core/solvers/svm/curved_svm.cc": (1, FEATURES),
    "core/solvers/svm/curved_system.cc": (4, "over features; " + KERNEL),
    "core/solvers/svm/smo.cc": (3, KERNEL),
    "core/solvers/svm/smo_iterate.cc": (3, KERNEL),
    "core/solvers/svm/svm_newton.cc": (10, KERNEL),
    "core/solvers/svm/svm_newton_model.cc": (3, PIECES),
    "core/training/contract/target_unit.cc": (2, "over tasks, of sums over rows"),
    "core/training/contract/work.h": (1, NUMBERS),
    "core/training/model/predictor.cc": (1, FEATURES),
    "core/training/recipe/recipe_progress.cc": (2, NUMBERS),
    "core/training/run/machine_rates.cc": (1, "of ones, to see how long it takes"),
    "core/training/run/run_training.cc": (1, "over tasks, of sums over rows"),
    "core/training/terms/differentiable_term.cc": (3, ROW),
}


def blank(match):
    """Comments and texts hold no code; lines keep their numbers."""
    return " " * len(match.group(0))


def find_sums(text):
    """The line numbers of the sums in a file's text: calls, and numbers that begin at 0 and are added to."""
    code = COMMENT.sub(blank, text)
    found = [match.start() for match in SUMS.finditer(code)]
    for match in ACCUMULATOR.finditer(code):
        if re.search(rf"\b{match.group(1)} [+-]= ", code[match.end():]):
            found.append(match.start())
    return sorted(code.count("\n", 0, start) + 1 for start in found)


def sums_of_tree(root):
    for file in sorted((root / "core").rglob("*")):
        path = file.relative_to(root).as_posix()
        if file.suffix in SUFFIXES and "/_template/" not in path:
            lines = find_sums(file.read_text(encoding="utf-8", errors="replace"))
            if lines:
                yield path, lines


def check_tree(root, allowed):
    errors, seen = [], set()
    for path, lines in sums_of_tree(root):
        seen.add(path)
        count, reason = allowed.get(path, (0, ""))
        if len(lines) > count:
            known = f"{count} are allowed ({reason})" if reason else "none is allowed"
            where = ", ".join(map(str, lines))
            errors.append(
                f"{path}:{lines[-1]}: error: {len(lines)} sums in lines {where}, {known}; over training rows use "
                "core/base/process/row_sums.h, else change ALLOWED of tests/lint/check_row_sums.py"
            )
        elif len(lines) < count:
            errors.append(f"{path}:1: error: {len(lines)} sums, {count} are allowed: lower the number")
    errors += [f"{path}:1: error: has no sums any more: take it off the list" for path in sorted(set(allowed) - seen)]
    return errors


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    if sys.argv[1:] == ["--list"]:
        for path, lines in sums_of_tree(root):
            print(path, len(lines), *lines)
        return 0
    errors = check_tree(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else root, ALLOWED)
    print(*errors, f"sums over rows: {len(errors)} errors", sep="\n")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
