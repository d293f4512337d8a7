// Groups as bars with their rows below them. Rows of weight 0, which are not selected, have a ring in place of a dot.
import { useState } from 'preact/hooks';
import { formatReal } from '../lib/format.ts';
import { firstRows, isSelected, restWords, type RowGroup, selectedWords } from '../lib/groups.ts';
import { useFirst } from './more.tsx';

interface GroupBarsProps {
  groups: RowGroup[];
  label: string;
  /** Of more rows in all, those that are selected are shown at first. */
  most?: number;
}

export function GroupBars({ groups, label, most = 15 }: GroupBarsProps) {
  const [shown, more] = useFirst(groups, most, 100, (rest) => `${rest.length === 1 ? 'group' : 'groups'}: ${selectedWords(rest.flatMap(({ rows }) => rows))}`);
  const total = groups.reduce((sum, { rows }) => sum + rows.length, 0);
  const largest = groups.reduce((size, group) => Math.max(size, Math.abs(group.value)), 1e-300);
  const withNorms = groups.some(({ norm }) => norm !== undefined);
  return (
    <>
      <ol class={`bars groups ${withNorms ? 'norms' : ''}`} aria-label={label}>
        {withNorms ? (
          <li class="bars-head" aria-hidden="true">
            <span />
            <span />
            <span>weight</span>
            <span>norm</span>
          </li>
        ) : null}
        {shown.map((group, place) => (
          <Group key={place} group={group} total={total} largest={largest} most={most} />
        ))}
      </ol>
      {more}
    </>
  );
}

function Group({ group, total, largest, most }: { group: RowGroup; total: number; largest: number; most: number }) {
  const [further, setFurther] = useState(0);
  const first = firstRows(group, total, most).length;
  const rows = group.rows.slice(0, first + further);
  const rest = group.rows.slice(first + further);
  return (
    <>
      <li class="group">
        <span class="bars-label">
          <strong title={group.label}>{group.label}</strong> <span class="sub">{selectedWords(group.rows)}</span>
        </span>
        <Numbers value={group.value} norm={group.norm} largest={largest} />
      </li>
      {rows.map((row, index) => (
        <li key={index} class={isSelected(row) ? 'selected' : 'not-selected'} title={row.title}>
          <span class="bars-label">
            <span class="dot" role="img" aria-label={isSelected(row) ? 'selected' : 'not selected'} /> {row.label}
          </span>
          <Numbers value={row.value} norm={row.norm} largest={largest} />
        </li>
      ))}
      {rest.length > 0 ? (
        <li class="group-rest">
          <button type="button" onClick={() => setFurther(further + 100)} aria-label={`${restWords(rest, group)}, of ${group.label}: show`}>
            {restWords(rest, group)}
          </button>
        </li>
      ) : null}
    </>
  );
}

function Numbers({ value, norm, largest }: { value: number; norm: number | undefined; largest: number }) {
  const width = `${(100 * Math.abs(value)) / largest}%`;
  return (
    <>
      <span class="bars-track" aria-hidden="true">
        <span class={`stripe one ${value < 0 ? 'negative' : ''} ${value === 0 ? 'none' : ''}`} style={{ width }} />
      </span>
      <span class="bars-value">{formatReal(value, 3)}</span>
      {norm === undefined ? null : <span class="bars-value bars-norm">{norm === 0 ? '' : formatReal(norm, 3)}</span>}
    </>
  );
}
