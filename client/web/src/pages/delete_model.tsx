// The deletion of one version of a model, or of all of them.
import { useState } from 'preact/hooks';
import { deleteModel, listVersions } from '../api/calls.ts';
import type { ModelVersion } from '../api/model_types.ts';
import { useLoad, useServices } from '../context.tsx';
import { deletionOf } from '../lib/deletion.ts';
import { partsOf } from '../lib/models.ts';
import { navigate } from '../router.tsx';
import { type Action, ActionDialog } from '../ui/action.tsx';
import { Loading } from '../ui/parts.tsx';

/** `onDelete`: once the page is another one. */
export function DeleteModelDialog({ model, action, onDelete, onNo }: { model: ModelVersion; action: Action; onDelete: () => void; onNo: () => void }) {
  const { client } = useServices();
  const { model: name, version } = partsOf(model.name);
  const [whole, setWhole] = useState(false);
  const { value: versions, error, reload } = useLoad((signal) => listVersions(client, `models/${name}`, signal), [name]);
  const deletion = versions ? deletionOf(model, versions, whole) : undefined;
  const remove = () =>
    deleteModel(client, deletion?.name ?? '').catch((failure: unknown) => {
      reload();
      throw failure;
    });
  const leave = () => {
    onNo();
    navigate(deletion?.last ? '/models' : `/models/${name}`);
    onDelete();
  };
  return (
    <ActionDialog
      title={whole ? `Delete ${name}?` : `Delete ${name}, version ${version}?`}
      yes={whole ? `Delete all ${versions?.length ?? ''} versions` : `Delete version ${version}`}
      action={action}
      blocked={!deletion || deletion.blocking.length > 0}
      error={error}
      call={remove}
      onDone={leave}
      onNo={onNo}
    >
      {deletion && versions && versions.length > 1 ? (
        <fieldset class="choices">
          <legend class="hidden-label">How much</legend>
          <label>
            <input type="radio" name="how-much" checked={!whole} onChange={() => setWhole(false)} /> version {version} alone
          </label>
          <label>
            <input type="radio" name="how-much" checked={whole} onChange={() => setWhole(true)} /> the model with all {versions.length} versions
          </label>
        </fieldset>
      ) : null}
      {deletion ? (
        <>
          <p>This goes, and cannot be brought back:</p>
          <ul class="going" aria-label="What goes">
            {deletion.going.map((line) => (
              <li key={line}>{line}</li>
            ))}
          </ul>
          {deletion.newest === undefined ? null : <p>Whoever asks for {name} without a version then gets version {deletion.newest}.</p>}
          <p>Jobs and data stay.</p>
          {deletion.blocking.length > 0 ? <p class="notice">{deletion.blocking.join(', ')}. Move or remove the alias first.</p> : null}
        </>
      ) : error === undefined ? (
        <Loading />
      ) : null}
    </ActionDialog>
  );
}
