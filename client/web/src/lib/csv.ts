// Lines of CSV, as the command line reads them.

const DELIMITERS = [',', ';', '\t', '|'];

/** The one that there are most of. */
export function guessDelimiter(line: string): string {
  const count = (delimiter: string) => line.split(delimiter).length;
  return [...DELIMITERS].sort((a, b) => count(b) - count(a))[0] ?? ',';
}

/** Cells without the spaces around them; quotes as in RFC 4180. */
export function splitCsvLine(line: string, delimiter = guessDelimiter(line)): string[] {
  const cells: string[] = [];
  let cell = '';
  let quoted = false;
  for (let index = 0; index < line.length; ++index) {
    const character = line[index] ?? '';
    if (character === '"' && quoted && line[index + 1] === '"') cell += line[++index];
    else if (character === '"') quoted = !quoted;
    else if (character === delimiter && !quoted) {
      cells.push(cell.trim());
      cell = '';
    } else cell += character;
  }
  cells.push(cell.trim());
  return cells;
}
