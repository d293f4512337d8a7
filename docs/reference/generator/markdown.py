"""Comments of protos and sources as Markdown."""

import re

CODES = (
    "CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED RESOURCE_EXHAUSTED "
    "FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS UNAUTHENTICATED"
).split()
RESOURCE = re.compile(r'"([^"\s]*[/{][^"]*)"')  # "jobs/{id}"
NAME = re.compile(r"\b(?:[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)+|[A-Z][A-Za-z]+(?=\.[a-z_]+))\b(?:\.[a-z_]+)*")  # UploadHeader.parts
WORD = re.compile(r"\b[A-Z][A-Z_]{3,}\b")


def anchor(heading):
    """Where GitHub puts a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def escape(text):
    """Text in which nothing is markup."""
    text = re.sub(r"([\\*<\[\]|`])", r"\\\1", text)
    return re.sub(r"(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])", r"\\_", text)


def code(text):
    """Also within a table, where a bar would end the cell."""
    return "`" + text.replace("|", "\\|") + "`"


class Writer:
    """Turns comments into text with links. `names`: anchors of messages and calls; `reasons`: where errors are explained."""

    def __init__(self, names, reasons):
        self.names = names
        self.reasons = reasons

    def text(self, comment):
        """One line of Markdown."""
        parts = re.split(r"`([^`]*)`", " ".join(comment.split()))
        return "".join(code(part) if i % 2 else self._plain(part) for i, part in enumerate(parts))

    def _plain(self, text):
        parts = RESOURCE.split(text)
        return "".join(code(part) if i % 2 else self._linked(part) for i, part in enumerate(parts))

    def _linked(self, text):
        out, end = [], 0
        for match in sorted([*NAME.finditer(text), *WORD.finditer(text)], key=lambda match: match.start()):
            link = self._link(match[0])
            if link and match.start() >= end:
                out += [escape(text[end : match.start()]), link]
                end = match.end()
        return "".join(out) + escape(text[end:])

    def _link(self, word):
        if word in CODES:
            return code(word)
        if word in self.reasons:
            return f"[{code(word)}]({self.reasons[word]})"
        place = self.names.get(word.split(".")[0])
        return f"[{escape(word)}]({place})" if place else ""

    def paragraphs(self, comment):
        """Several; indented ones are formulas."""
        out = []
        for paragraph in re.split(r"\n\s*\n", comment):
            if paragraph and all(line.startswith("  ") for line in paragraph.split("\n")):
                out.append("```text\n" + "\n".join(line[2:] for line in paragraph.split("\n")) + "\n```")
            elif paragraph:
                out.append(self.text(paragraph))
        return "\n\n".join(out)


def table(head, rows):
    """`rows` of cells that are Markdown already."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def first_sentence(comment):
    """Of a comment, without its full stop."""
    return re.split(r"[.:](?=\s|$)", " ".join(comment.split()), maxsplit=1)[0]


def read_reasons(page, path):
    """Links to the sections of docs/errors.md that explain each reason of an error, which has a code, by reason."""
    places, section = {}, ""
    for line in page.split("\n"):
        if line.startswith("## "):
            section = f"{path}#{anchor(line[3:])}"
        row = re.match(r"\| `([A-Z_]+)` \| [A-Z_]+ \|", line)
        if row:
            places.setdefault(row[1], section)
    return places
