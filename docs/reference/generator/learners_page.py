"""docs/reference/learners.md: every learner with its options, and the parts that a training is made of."""

import re

import listed
from markdown import code, table

PACKAGE = "mercer.v1."
KINDS = {"BOOL": "true or false", "INTEGER": "whole number", "REAL": "number", "CHOICE": "word", "TEXT": "text", "REALS": "numbers"}
INTRODUCTION = """# Learners and their options

`./dev docs` makes this page from what a server says of its learners (`mercer learners`, [ListLearners](api.md#listlearners)) and from the
comments in [proto/mercer/v1](../../proto/mercer/v1); a change belongs there.

An option has one name everywhere: `--inner_solver smo` of `mercer train`, `inner_solver=` of the Python package (`lambda_` for `lambda`),
`learner.lpMkl.innerSolver` in JSON, the field of the learner's message in gRPC, a field of the form in the dashboard. One that is not given
has its default; one out of its range is refused, never replaced. Every model lists the options that it was trained with, defaults included."""
RECIPE = """## Kernels

A list of families, each of which gives one kernel or many: a type, widths by one of three rules, and perhaps one kernel per column. On the
command line and in Python a family is written as `gaussian bandwidths=0.5,1,2 per_column` (`mercer train --help` has the syntax), in JSON
and gRPC as a [KernelGrid](api.md#kernelgrid)."""


def read(path):
    """A file, empty where a new learner does not have it yet."""
    return path.read_text(encoding="utf-8") if path.exists() else ""


def default_of(option):
    """The default of an option, or the values of the path that takes its place where there are enough rows to choose by."""
    path, default = option.get("defaultPath", []), code(option.get("defaultValue", ""))
    return f"the best of {', '.join(code(f'{value:g}') for value in path)}; of few rows {default}" if path else default


class LearnersPage:
    """Writes the page from the messages of the protos and the descriptions of a server; `writer` has links within api.md."""

    def __init__(self, root, files, learners, writer):
        self.root, self.learners, self.writer = root, learners, writer
        self.messages = {message.name: message for file in files for message in file.messages}

    def page(self):
        rows = [
            [f"[{code(learner['name'])}](#{learner['name']})", self._text(learner["title"]), self._targets(learner)]
            for learner in self.learners
        ]
        parts = [INTRODUCTION, table(["name", "what it is", "learns"], rows)]
        parts += [part for learner in self.learners for part in self._learner(learner)]
        parts += self._recipe()
        return "\n\n".join(parts) + "\n"

    def _text(self, text):
        """With links into api.md instead of within it."""
        return self.writer.text(text).replace("](#", "](api.md#")

    def _targets(self, learner):
        return " and ".join(word for key, word in (("classification", "classes"), ("regression", "numbers")) if learner.get(key))

    def _learner(self, learner):
        name = learner["name"]
        summary, _, source = learner["summary"].partition(" Source: ")
        message = self._message_of(name)
        yield f"## {name}"
        yield f"**{self._text(learner['title'])}**, for {self._targets(learner)}. {self._text(summary)}"
        problem = self._problem(name)
        if problem:
            yield f"*Problem:* {problem} ([more](../../core/learners/{name}/README.md))"
        yield f"*Paper:* {self._text(source)}"
        if learner.get("usesKernels"):
            yield f"*Kernels:* a list of [families](#kernels); an empty one means: {learner['defaultKernels']}."
        yield f"*Message:* [{message.name}](api.md#{message.name.lower()}). *Python:* {self._estimators(name) or 'none yet'}."
        yield table(
            ["option", "what", "default", "allowed", "meaning", "source of the default"],
            [self._option(option) for option in learner.get("options", [])],
        )
        for option in learner.get("options", []):
            yield from self._choices(message, option)

    def _message_of(self, learner):
        """The message of the learner's options: the type of its field in the message Learner."""
        field = next(field for field in self.messages["Learner"].fields if field.name == learner)
        return self.messages[field.type.removeprefix(PACKAGE)]

    def _problem(self, learner):
        """What the learner's own page, if it has one, says of its problem: a paragraph of that name, or all before the first table or title."""
        page = read(self.root / "core/learners" / learner / "README.md")
        paragraph = re.search(r"\*\*Problem\.\*\* (.*?)\n\n", page, re.DOTALL)
        beginning = re.match(r"# [^\n]*\n\n(.*?)\n\n(?:\||\*\*|#)", page, re.DOTALL)
        found = paragraph or beginning
        return found[1] if found else ""

    def _estimators(self, learner):
        """The classes of the learner's modules: one for classes, which has its name, and perhaps one for numbers."""
        folder = self.root / "client/python/src/mercer/estimators"
        sources = [read(folder / f"{module}.py") for module in (learner, f"{learner}_regression")]
        return ", ".join(code(name) for source in sources for name in re.findall(r"^class (\w+)", source, re.MULTILINE))

    def _option(self, option):
        unit = f" Unit: {option['unit']}." if option.get("unit") else ""
        return [
            code(option["name"]),
            KINDS[option["type"].removeprefix("OPTION_TYPE_")],
            default_of(option),
            self._text(option["range"]),
            self._text(option["meaning"] + unit),
            self._text(option["source"]),
        ]

    def _choices(self, message, option):
        """What the words of a choice mean, from the comments of its enum."""
        enum = next((self.messages.get(field.type.removeprefix(PACKAGE)) for field in message.fields if field.name == option["name"]), None)
        if enum is None or not option.get("choices"):
            return
        prefix = enum.fields[0].name.removesuffix("UNSPECIFIED")
        meanings = {value.name.removeprefix(prefix).lower(): value.comment for value in enum.fields}
        rows = [[code(choice), self._text(meanings.get(choice, ""))] for choice in option["choices"]]
        yield table([code(option["name"]), "meaning"], rows)

    def _recipe(self):
        yield RECIPE
        yield self._enum("KernelType", "type")
        yield "The other words of a family:"
        yield self._fields("KernelGrid", leave_out=("type", "rule", "normalization"))
        for name in ("KernelNormalization", "KernelScaling"):
            yield self._text(self.messages[name].comment)
            yield self._enum(name, "scaling") if self.messages[name].is_enum else self._fields(name)
        for title, enums in (
            ("Columns to numbers", ("Scaling", "Imputation", "UnseenCategory")),
            ("Numbers as targets", ("TargetScaling",)),
            ("Classes to outputs", ("CodingChoice", "ClassWeighting")),
        ):
            yield f"## {title}"
            for name in enums:
                yield self._text(self.messages[name].comment)
                yield self._enum(name, "word")
        yield "## Validation"
        yield self._text(self.messages["Validation"].comment)
        yield self._fields("HoldOut")
        yield self._fields("Folds")
        yield "## When a training ends"
        yield self._text(self.messages["Stopping"].comment)
        yield self._fields("Stopping")
        yield self._enum("StopReason", "reason")
        yield from self._losses()

    def _enum(self, name, head):
        """Its values in lower case and without the enum's name before them, as forms and command lines have them."""
        values = [value for value in self.messages[name].fields if not value.name.endswith("_UNSPECIFIED")]
        prefix = self.messages[name].fields[0].name.removesuffix("UNSPECIFIED")
        rows = [[code(value.name.removeprefix(prefix).lower()), self._text(value.comment)] for value in values]
        return table([head, f"meaning ([{name}](api.md#{name.lower()}))"], rows)

    def _fields(self, name, leave_out=()):
        fields = [field for field in self.messages[name].fields if field.name not in leave_out]
        return table([f"[{name}](api.md#{name.lower()})", "meaning"], [[code(f.name), self._text(f.comment)] for f in fields])

    def _losses(self):
        """Those that learners say they minimise, in an option or in words."""
        yield "## Losses"
        yield (
            "Of one row with target y and value f of the function; y is -1 or 1 for classes. The risk is the sum over the rows, each times its\n"
            "cost, never the mean."
        )
        rows = []
        for name, formula in listed.read(self.root / "core/objectives/losses/losses.inc", "MERCER_LOSS"):
            words = name.replace("epsilon_", "epsilon-").replace("_", " ")
            users = [one["name"] for one in self.learners if self._minimises(one, name, words)]
            if users:
                rows.append([words, code(formula), ", ".join(f"[{code(user)}](#{user})" for user in users)])
        yield table(["loss", "value", "learners"], rows)

    def _minimises(self, learner, loss, words):
        choices = next((option["choices"] for option in learner.get("options", []) if option["name"] == "loss"), [])
        said = re.search(rf"(?<!squared ){words} loss", learner["summary"] + self._problem(learner["name"]), re.IGNORECASE)
        return loss in choices or said is not None
