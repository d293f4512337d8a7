// The aliases of a model: movable names that programs ask for, and every move of them.
import { useState } from 'preact/hooks';
import { listAliases, listAliasHistory, removeAlias, rollbackAlias } from '../api/calls.ts';
import type { Alias, AliasChange, ModelVersion } from '../api/model_types.ts';
import { useLoad, useNow, useServices } from '../context.tsx';
import { formatAgo, formatTime } from '../lib/format.ts';
import { aliasOf, canRollBack, moveWords, partsOf } from '../lib/models.ts';
import { ActionDialog, AskButton, useAction } from '../ui/action.tsx';
import { useFirst } from '../ui/more.tsx';
import { Failure, Panel } from '../ui/parts.tsx';

const FIRST = 5;

interface Named {
  alias: Alias;
  history: AliasChange[];
}

/** `onChange` is told when an alias was moved or removed. Nothing is shown of a model without aliases. */
export function AliasesPanel({ model, onChange }: { model: ModelVersion; onChange: () => void }) {
  const { client } = useServices();
  const parent = `models/${partsOf(model.name).model}`;
  const { value, error, reload } = useLoad(
    async (signal): Promise<Named[]> => {
      const aliases = await listAliases(client, parent, signal);
      return Promise.all(
        aliases.map(async (alias) => ({ alias, history: await listAliasHistory(client, parent, aliasOf(alias.name), signal) })),
      );
    },
    [parent, model],
  );
  if (!value?.length && error === undefined) return null;
  return (
    <Panel title="Aliases">
      <Failure error={error} retry={reload} />
      {(value ?? []).map((named) => (
        <AliasHistory key={named.alias.name} {...named} parent={parent} onChange={onChange} />
      ))}
    </Panel>
  );
}

function AliasHistory({ alias, history, parent, onChange }: Named & { parent: string; onChange: () => void }) {
  const { client } = useServices();
  const now = useNow(30);
  const [shown, more] = useFirst(history, FIRST);
  const action = useAction();
  const [removed, setRemoved] = useState(false);
  const name = aliasOf(alias.name);
  const { version } = partsOf(alias.version ?? '');
  // A refusal may mean that it was moved meanwhile: the next try is made with what it is then.
  const remove = () => removeAlias(client, parent, name, alias.etag ?? '').finally(onChange);
  if (removed) return null;
  return (
    <div class="alias-history">
      <div class="panel-tools">
        <span>
          <span class="alias">@{name}</span> points to version {version}
        </span>
        <span class="actions">
          {canRollBack(history) ? (
            <button type="button" class="button small" title="Points it to the version before its last move" aria-disabled={action.running} onClick={() => void action.run(() => rollbackAlias(client, parent, name, alias.etag ?? '')).then(onChange)}>
              Roll back<span class="hidden-label"> {name}</span>
            </button>
          ) : null}
          <AskButton
            class="small"
            text={
              <>
                Remove<span class="hidden-label"> {name}</span>
              </>
            }
          >
            {(asked) => (
              <ActionDialog {...asked} title={`Remove @${name}?`} yes="Remove the alias" call={remove} onDone={() => setRemoved(true)}>
                Whoever asks for {partsOf(parent).model}@{name} finds nothing then. Version {version} stays.
              </ActionDialog>
            )}
          </AskButton>
        </span>
      </div>
      <Failure error={action.error} />
      <table class="table history" aria-label={`Moves of ${name}`}>
        <thead>
          <tr>
            <th scope="col">Move</th>
            <th scope="col">By</th>
            <th scope="col" class="number">When</th>
          </tr>
        </thead>
        <tbody>
          {shown.map((change) => (
            <tr key={change.sequence}>
              <td>{moveWords(change)}</td>
              <td>{change.caller || '–'}</td>
              <td class="number" title={formatTime(change.time)}>{formatAgo(change.time, now)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {more}
    </div>
  );
}
