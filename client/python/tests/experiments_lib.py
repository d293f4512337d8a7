"""What the tests of experiments share."""


def cells(tables):
    """The lines of Markdown tables, the header and the line below it included."""
    lines = [line for line in tables.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
