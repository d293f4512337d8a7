"""Comments of the protos that follow from other sources, so that a range or a formula stands once."""

import re
import textwrap

import listed

COLUMNS = 140
# A field that has another name in JSON is the option of that name.
FIELD = re.compile(r'^  (?:optional|repeated) [\w.]+ (\w+) = \d+(?: \[json_name = "(\w+)"\])?;$')


def updated(root, learners):
    """Text by path below proto/mercer/v1, of those files that hold such comments."""
    folder = root / "proto/mercer/v1"
    kernels = listed.read(root / "core/kernels/formulas/kernels.inc", "MERCER_KERNEL")
    learner = (folder / "learner.proto").read_text(encoding="utf-8")
    made = {
        "learner.proto": with_options(learner, learners),
        "kernel.proto": with_kernels((folder / "kernel.proto").read_text(encoding="utf-8"), kernels),
    }
    for path in (folder / f"{one['name']}.proto" for one in learners):
        if path.exists():
            made[path.name] = with_options(path.read_text(encoding="utf-8"), learners, learner)
    return made


def comment(text, indent="  "):
    """Lines of a comment."""
    return textwrap.wrap(text, COLUMNS, initial_indent=indent + "// ", subsequent_indent=indent + "// ", break_on_hyphens=False)


def of_option(option):
    """What the comment of an option's field says: meaning, unit, range and default, from the learner's `Fields()`."""
    kind, default = option["type"].removeprefix("OPTION_TYPE_"), option.get("defaultValue", "")
    parts = [option["meaning"]]
    if option.get("unit"):
        parts.append(f"Unit: {option['unit']}.")
    if kind in ("INTEGER", "REAL", "REALS"):
        parts.append(f"{'Each in' if kind == 'REALS' else 'In'} {option['range'].removeprefix('each in ')}.")
    if kind == "CHOICE":
        parts.append(f"Absent or zero: {default.upper()}.")
    elif kind != "REALS":
        parts.append(f"Absent: {default}.")
    return " ".join(parts)


def with_options(text, learners, listing=None):
    """A proto with the comments of all fields that are options; `listing` has the list of learners, if it is another file."""
    for learner in learners:
        message = re.search(rf"^    (\w+) {learner['name']} = \d+;$", listing or text, re.MULTILINE)
        if not message or f"\nmessage {message[1]} {{\n" not in text:
            continue  # a new learner, whose message is not written yet, or one with a file of its own
        start = text.index(f"\nmessage {message[1]} {{\n")
        end = text.index("\n}\n", start)
        options = {option["name"]: option for option in learner.get("options", [])}
        text = text[:start] + with_comments(text[start:end], options) + text[end:]
    return text


def with_comments(message, options):
    lines = []
    for line in message.split("\n"):
        field = FIELD.match(line)
        option = options.get(field[2] or field[1]) if field else None
        if option:
            while lines[-1].startswith("  //"):
                lines.pop()
            lines += comment(of_option(option))
        lines.append(line)
    return "\n".join(lines)


def with_kernels(text, kernels):
    """kernel.proto with the values of KernelType."""
    start = text.index("  KERNEL_TYPE_UNSPECIFIED = 0;\n") + len("  KERNEL_TYPE_UNSPECIFIED = 0;\n")
    values = [line for i, (name, formula) in enumerate(kernels) for line in [*comment(formula), f"  KERNEL_TYPE_{name.upper()} = {i + 1};"]]
    return text[:start] + "\n".join(values) + "\n" + text[text.index("}\n", start) :]
