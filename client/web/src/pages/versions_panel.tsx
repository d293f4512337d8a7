// All versions of a model, and its aliases: movable names that programs ask for.
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { listAliases, listVersions, setAlias } from '../api/calls.ts';
import type { ModelVersion } from '../api/model_types.ts';
import { useLoad, useNow, useServices } from '../context.tsx';
import { formatAgo } from '../lib/format.ts';
import { compareAddress } from '../lib/model_list.ts';
import { aliasOf, mainMetric, partsOf } from '../lib/models.ts';
import { Link } from '../router.tsx';
import { useAction } from '../ui/action.tsx';
import { useFirst } from '../ui/more.tsx';
import { Failure, Panel } from '../ui/parts.tsx';
import { Aliases, useModelsMade } from './resources.tsx';

const FIRST = 8;

export function VersionsPanel({ model, onChange }: { model: ModelVersion; onChange: () => void }) {
  const { client } = useServices();
  const parent = `models/${partsOf(model.name).model}`;
  const made = useModelsMade(`${parent}/`);
  const now = useNow(30);
  const versions = useLoad((signal) => listVersions(client, parent, signal), [parent, made, model]);
  const [shown, more] = useFirst(versions.value ?? [model], FIRST);
  return (
    <Panel title="Versions" aside={<AliasForm model={model} parent={parent} onChange={onChange} />}>
      <Failure error={versions.error} retry={versions.reload} />
      <ul class="versions">
        {shown.map((each) => (
          <li key={each.name} aria-current={each.name === model.name ? 'true' : undefined}>
            <Link href={`/${each.name}`}>version {partsOf(each.name).version}</Link>{' '}
            <Aliases of={each} />
            <span class="sub">
              {mainMetric(each)} · {formatAgo(each.createTime, now)}
              {each.name === model.name ? null : (
                <>
                  {' · '}
                  <Link href={compareAddress([model.name, each.name])}>compare</Link>
                </>
              )}
            </span>
          </li>
        ))}
      </ul>
      {more}
    </Panel>
  );
}

function AliasForm({ model, parent, onChange }: { model: ModelVersion; parent: string; onChange: () => void }) {
  const { client } = useServices();
  const [open, setOpen] = useState(false);
  const [alias, setAliasText] = useState('');
  const action = useAction();
  const toggle = useRef<HTMLButtonElement>(null);
  const input = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => input.current?.focus(), [open]);
  const close = () => {
    setOpen(false);
    setAliasText('');
    action.forget();
    toggle.current?.focus();
  };
  const move = async () => {
    const known = (await listAliases(client, parent)).find((each) => aliasOf(each.name) === alias);
    await setAlias(client, parent, alias, model.name, known?.etag ?? 'none');
    close();
    onChange();
  };
  return (
    <form
      class="inline-form"
      onSubmit={(event) => {
        event.preventDefault();
        void action.run(move);
      }}
      onKeyDown={(event) => event.key === 'Escape' && close()}
    >
      {open ? (
        <>
          <label>
            <span class="hidden-label">Alias</span>
            <input ref={input} type="text" placeholder="production" autocomplete="off" value={alias} onInput={(event) => setAliasText(event.currentTarget.value)} />
          </label>
          <button type="submit" class="button small" disabled={!alias} aria-disabled={action.running}>
            Point to version {partsOf(model.name).version}
          </button>
        </>
      ) : null}
      <button ref={toggle} type="button" class="button small" aria-expanded={open} onClick={() => (open ? close() : setOpen(true))}>
        {open ? 'Go back' : 'Set an alias'}
      </button>
      <Failure error={action.error} />
    </form>
  );
}
