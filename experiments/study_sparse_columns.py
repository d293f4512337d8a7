"""The restricted problem with all columns of the data as its features (Table 3), and its solvers."""

from measurements import field, markdown, mean, spread, worst

SHARE = 0.95
SPLITS = {"wine": 30, "mfeat": 4}
COLUMNS = {"wine": 13, "mfeat": 649}
LAMBDAS = {"wine": (5.0, 0.1), "mfeat": (5.0, 1.0)}
SOLVERS = ("newton", "admm", "fista")
GAP = 1e-6
LIMIT_SECONDS = 60.0
BATCH = 100
# The paper's seconds and values: with ADMM, with FISTA.
PAPER = {
    ("wine", 5.0): ("0.09 s, 43.98", "0.33 s, 43.99"),
    ("wine", 0.1): ("0.50 s, 2.14", "13.08 s, 2.14"),
    ("mfeat", 5.0): ("207 s, 205.9", "785 s, 208.0"),
    ("mfeat", 1.0): ("1379 s, 52.23", "1239 s, 54.30"),
}


def settings(columns, loss="squared_hinge", gap=GAP, **more):
    """Of a sparse linear model on so many columns, all of which may enter."""
    return {
        "family": "columns", "loss": loss, "normalization": "none", "max_groups": columns,
        "groups_per_round": min(columns, BATCH), "violation": 0.0, "gap": gap, **more,
    }  # fmt: skip


def values(laboratory, names, numbers):
    """Values of the objective with a factor 1/2 before the squared hinge, as the paper has them."""
    lines = []
    for name in names or SPLITS:
        for penalty in LAMBDAS[name]:
            records = [_train(laboratory, name, number, penalty) for number in numbers or range(SPLITS[name])]
            known = [record for record in records if record]
            lines.append([
                name, f"{penalty:g}", len(known), *PAPER[name, penalty],
                spread([record["checked_objective"] / 2 for record in known]), worst(field(known, "gap")),
                worst(field(known, "checked_gap")), mean(field(known, "groups"), 0), mean(field(known, "seconds"), 2),
                spread(field(known, "accuracy")),
            ])  # fmt: skip
    header = [
        "data", "lambda", "splits", "paper, ADMM", "paper, FISTA", "objective", "worst gap",
        "worst gap over all columns", "columns in use", "training s", "accuracy %",
    ]  # fmt: skip
    return "Objectives, mean ± deviation over the splits:\n\n" + markdown(header, lines)


def solvers(laboratory, names, numbers):
    """Seconds and iterations of the solvers on the first split."""
    number = (numbers or range(1))[0]
    lines = []
    for name in names or SPLITS:
        for penalty in LAMBDAS[name]:
            for solver in SOLVERS:
                record = _train(laboratory, name, number, penalty, solver=solver, time_limit=LIMIT_SECONDS)
                if record:
                    lines.append([
                        name, f"{penalty:g}", solver, f"{record['seconds']:.2f}", record["iterations"],
                        f"{record['gap']:.0e}", f"{record['checked_objective'] / 2:.6f}", record["stop"],
                    ])  # fmt: skip
    header = ["data", "lambda", "solver", "training s", "iterations", "gap", "objective", "end"]
    return f"Solvers, to a relative gap of {GAP:g} or {LIMIT_SECONDS:g} s:\n\n" + markdown(header, lines)


def _train(laboratory, name, number, penalty, **more):
    # Without the factor 1/2 the objective is twice the paper's, at twice the lambda.
    chosen = settings(
        COLUMNS[name], penalty_shape="flat", penalty_q=1.0, lambda_unit="absolute", **{"lambda": 2 * penalty}, **more
    )  # fmt: skip
    return laboratory.sparse_linear(name, number, chosen, SHARE)
