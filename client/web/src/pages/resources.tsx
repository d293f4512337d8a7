// What pages show of resources besides their own: names that lead to them, and the model that something was made by.
import { getVersion } from '../api/calls.ts';
import type { ModelVersion } from '../api/model_types.ts';
import { useLive, useLoad, useServices } from '../context.tsx';
import { idOf } from '../lib/format.ts';
import { aliasOf } from '../lib/models.ts';
import { Link } from '../router.tsx';

export function DatasetLinks({ names }: { names: string[] }) {
  return (
    <>
      {names.map((name, index) => (
        <span key={name}>
          {index > 0 ? ', ' : ''}
          <Link href={`/${name}`}>{idOf(name)}</Link>
        </span>
      ))}
    </>
  );
}

export function Aliases({ of }: { of: ModelVersion }) {
  return (
    <>
      {(of.aliases ?? []).map((alias) => (
        <span key={alias} class="alias">
          @{aliasOf(alias)}
        </span>
      ))}
    </>
  );
}

/** A version of a model; undefined: none is named, it is not here yet, or it has been deleted. */
export function useVersion(name: string | undefined): ModelVersion | undefined {
  const { client } = useServices();
  return useLoad(async (signal) => (name ? getVersion(client, name, signal).catch(() => undefined) : undefined), [name]).value;
}

/** Changes when a job has made a model whose name begins so. */
export function useModelsMade(prefix: string): number {
  return useLive(({ jobs }) => jobs.made(prefix));
}
