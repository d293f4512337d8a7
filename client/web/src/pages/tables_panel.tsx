// What the learner tells beside the function: a panel for each table, drawn as the learner wants it.
import { useMemo, useState } from 'preact/hooks';
import type { ModelVersion, ModelTable } from '../api/model_types.ts';
import { formatReal } from '../lib/format.ts';
import { gridOf } from '../lib/grids.ts';
import { tableGroups } from '../lib/groups.ts';
import { curvePoints, furtherTables, largestValue, sizeWords, tableBars, tableRows } from '../lib/model_tables.ts';
import { Bars } from '../ui/bars.tsx';
import { GroupBars } from '../ui/group_bars.tsx';
import { useFirst } from '../ui/more.tsx';
import { Panel, Scroll } from '../ui/parts.tsx';
import { Switch } from '../ui/switch.tsx';
import { XyPlot } from '../ui/xy_plot.tsx';
import { OutputSelect } from './weights_panel.tsx';

// As many curves as can be told apart; of more one is chosen by name.
const CURVES_AT_ONCE = 4;
// A page with all entries of a large table would answer slowly.
const ROWS_AT_FIRST = 30;
const MOST_COLUMNS = 40;

export function TablePanels({ model }: { model: ModelVersion }) {
  return (
    <>
      {furtherTables(model).map((table) => (
        <Panel key={`${model.name} ${table.name}`} title={titleOf(table)} aside={<span class="sub">{sizeWords(table)}</span>}>
          <Drawing table={table} />
        </Panel>
      ))}
    </>
  );
}

function titleOf(table: ModelTable): string {
  return table.title || table.name || 'Table';
}

function Drawing({ table }: { table: ModelTable }) {
  const [form, setForm] = useState<'list' | 'grid'>('list');
  const [column, setColumn] = useState(0);
  const grid = useMemo(() => gridOf(table, column), [table, column]);
  if (!grid) return <Listed table={table} />;
  return (
    <>
      <div class="panel-tools">
        <Switch label="As" value={form} choices={['list', 'grid']} onChange={setForm} />
        {form === 'grid' ? <OutputSelect label={table.columnAxis} outputs={table.columns ?? []} value={column} onChange={setColumn} /> : null}
      </div>
      {form === 'grid' ? <TableNumbers table={grid} coloured /> : <Listed table={table} />}
    </>
  );
}

function Listed({ table }: { table: ModelTable }) {
  switch (table.drawing) {
    case 'TABLE_DRAWING_BARS':
      return <TableBars table={table} />;
    case 'TABLE_DRAWING_CURVE':
      return <TableCurves table={table} />;
    default:
      return <TableNumbers table={table} coloured={table.drawing === 'TABLE_DRAWING_HEAT_MAP'} />;
  }
}

function TableBars({ table }: { table: ModelTable }) {
  const [column, setColumn] = useState(0);
  return (
    <>
      <div class="panel-tools">
        <OutputSelect label={table.columnAxis} outputs={table.columns ?? []} value={column} onChange={setColumn} />
      </div>
      {table.rowGroups?.length ? (
        <GroupBars key={`${column}`} groups={tableGroups(table, column)} label={`${titleOf(table)}, in groups, largest first`} />
      ) : (
        <Bars key={`${column}`} bars={tableBars(table, column)} label={`${titleOf(table)}, largest first`} />
      )}
    </>
  );
}

function TableCurves({ table }: { table: ModelTable }) {
  const [chosen, setChosen] = useState(0);
  const columns = table.columns ?? [];
  const few = columns.length <= CURVES_AT_ONCE;
  const shown = few ? columns.map((_, column) => column) : [chosen];
  return (
    <>
      <div class="panel-tools">{few ? null : <OutputSelect label={table.columnAxis} outputs={columns} value={chosen} onChange={setChosen} />}</div>
      <XyPlot
        series={shown.map((column, index) => ({
          label: columns[column] ?? '',
          colour: `--series-${index + 1}`,
          kind: 'line and points' as const,
          points: curvePoints(table, column),
        }))}
        xLabel={table.rowAxis || 'row'}
        yLabel={table.unit || titleOf(table)}
        description={`${titleOf(table)}: ${sizeWords(table)}`}
      />
    </>
  );
}

function TableNumbers({ table, coloured }: { table: ModelTable; coloured: boolean }) {
  const rows = tableRows(table);
  const [shown, more] = useFirst(rows, ROWS_AT_FIRST, 100);
  const columns = (table.columns ?? []).slice(0, MOST_COLUMNS);
  const leftOut = (table.columns?.length ?? 0) - columns.length;
  const largest = largestValue(rows) || 1;
  return (
    <>
      <Scroll label={titleOf(table)}>
        <table class={`table dense ${coloured ? 'heat' : ''}`}>
          <thead>
            <tr>
              <th scope="col">{table.rowAxis}</th>
              {columns.map((name, column) => (
                <th key={column} scope="col" class="number">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map(({ label, values }, row) => (
              <tr key={row}>
                <th scope="row">{label}</th>
                {values.slice(0, MOST_COLUMNS).map((value, column) => (
                  <td
                    key={column}
                    class={`number ${value < 0 ? 'negative' : ''}`}
                    style={coloured ? { '--share': `${Math.round((100 * Math.abs(value)) / largest)}%` } : undefined}
                  >
                    {formatReal(value, 3)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {more}
      {leftOut > 0 ? <p class="sub">{leftOut} more columns are in what the API and Python tell.</p> : null}
    </>
  );
}
