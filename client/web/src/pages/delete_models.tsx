// The deletion of several models with all their versions.
import { deleteModel, listVersions } from '../api/calls.ts';
import type { ModelVersion } from '../api/model_types.ts';
import { useLoad, useServices } from '../context.tsx';
import { deletionOf, deletionsFor } from '../lib/deletion.ts';
import { partsOf } from '../lib/models.ts';
import { ActionDialog, useAction } from '../ui/action.tsx';
import { Loading } from '../ui/parts.tsx';

interface Props {
  models: ModelVersion[];
  onNo: () => void;
  /** All are deleted. */
  onDone: () => void;
  /** At least one is deleted. */
  onDelete: () => void;
}

export function DeleteModelsDialog({ models, onNo, onDone, onDelete }: Props) {
  const { client } = useServices();
  const action = useAction();
  const nameOf = ({ name }: { name: string }) => partsOf(name).model;
  const names = models.map(nameOf);
  // Each deletion carries its name: `models` may have shrunk before the next answer is here.
  const { value: loaded, error } = useLoad(
    (signal) =>
      Promise.all(models.map(async (model) => deletionOf(model, await listVersions(client, `models/${partsOf(model.name).model}`, signal), true))),
    [names.join()],
  );
  // The answer for an earlier selection says nothing of this one; while they are being deleted, models leave the selection.
  const deletions = action.running ? loaded : deletionsFor(models, loaded);
  const shown = deletions?.map(nameOf) ?? names;
  const count = (deletions ?? []).reduce((sum, { going }) => sum + going.length, 0);
  const blocking = (deletions ?? []).flatMap((deletion) => deletion.blocking.map((line) => `${partsOf(deletion.name).model}: ${line}`));
  // One after the other: an error leaves the others as they are, and says which one it is.
  const remove = async () => {
    try {
      for (const deletion of deletions ?? []) await deleteModel(client, deletion.name);
    } finally {
      onDelete();
    }
  };
  return (
    <ActionDialog
      title={shown.length === 1 ? `Delete ${shown[0]}?` : `Delete ${shown.length} models?`}
      yes={`Delete ${count === 1 ? 'the version' : `all ${count} versions`}`}
      action={action}
      blocked={!deletions || blocking.length > 0}
      error={error}
      call={remove}
      onDone={onDone}
      onNo={onNo}
    >
      {deletions ? (
        <>
          <p>These go with all their versions, and cannot be brought back:</p>
          <ul class="going" aria-label="What goes">
            {deletions.map(({ name, going }) => (
              <li key={name}>
                {partsOf(name).model}: {going.length === 1 ? '1 version' : `${going.length} versions`}
              </li>
            ))}
          </ul>
          <p>Jobs and data stay.</p>
          {blocking.length > 0 ? <p class="notice">{blocking.join(', ')}. Move or remove these aliases first.</p> : null}
        </>
      ) : error === undefined ? (
        <Loading />
      ) : null}
    </ActionDialog>
  );
}
