// Tables whose rows are the cells of a grid, such as channels and times: "Fz_t1", "Fz_t2", "Cz_t1", "Cz_t2".
import type { ModelTable } from '../api/model_types.ts';
import { tableRows } from './model_tables.ts';

// What stands between the two parts of a name, the first that fits all of them.
const BETWEEN = ['@', '_', ':', '/', '.', '-', ' '];

/** The column that a linear kernel is of, as its own name; "Fz[1]" is another form of "Fz@1". */
const ofColumn = (name: string) => (/^linear\(columns=([^,]+)\)$/.exec(name)?.[1] ?? name).replace(/^(.+)\[([^[\]]+)\]$/, '$1@$2');

function split(name: string, between: string): [string, string] {
  const at = name.lastIndexOf(between);
  return at < 0 ? ['', name] : [name.slice(0, at), name.slice(at + between.length)];
}

/** A column of the table as a heat map whose rows and columns are the two parts of the rows' names; undefined: they are no grid of at
 * least two by two. */
export function gridOf(table: ModelTable, column: number): ModelTable | undefined {
  const rows = tableRows(table);
  for (const between of BETWEEN) {
    const parts = rows.map(({ label }) => split(ofColumn(label), between));
    const firsts = [...new Set(parts.map(([first]) => first))];
    const lasts = [...new Set(parts.map(([, last]) => last))];
    const cells = new Map(parts.map(([first, last], row) => [JSON.stringify([first, last]), rows[row]?.values[column] ?? 0]));
    const named = parts.every(([first, last]) => first !== '' && last !== '');
    if (!named || Math.min(firsts.length, lasts.length) < 2) continue;
    if (cells.size !== rows.length || rows.length !== firsts.length * lasts.length) continue;
    const values = firsts.flatMap((first) => lasts.map((last) => cells.get(JSON.stringify([first, last])) ?? 0));
    return {
      ...table,
      rows: firsts,
      columns: lasts,
      columnAxis: '',
      rowGroups: [],
      values: { rows: String(firsts.length), columns: String(lasts.length), values },
      drawing: 'TABLE_DRAWING_HEAT_MAP',
    };
  }
  return undefined;
}
