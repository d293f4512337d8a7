// The proof of a model, and its recomputation.
import { verifyModel } from '../api/calls.ts';
import type { ModelVersion, Verification } from '../api/model_types.ts';
import { useServices } from '../context.tsx';
import { formatReal, wordsOf } from '../lib/format.ts';
import { certificateWords } from '../lib/models.ts';
import { useAction } from '../ui/action.tsx';
import { Definitions, Failure, Panel } from '../ui/parts.tsx';
import { Verdict } from './job_result.tsx';

export function CertificatePanel({ model }: { model: ModelVersion }) {
  const { client } = useServices();
  const action = useAction<Verification>();
  const { certificate } = model;
  const outputs = certificate?.outputs ?? [];
  return (
    <Panel
      title="Certificate"
      aside={
        <button type="button" class="button small" aria-disabled={action.running} onClick={() => void action.run(() => verifyModel(client, model.name))}>
          {action.running ? 'Recomputing…' : 'Recompute'}
        </button>
      }
    >
      <p>{certificateWords(certificate)}</p>
      <p class="sub">Recomputed from the data after the training, by code that shares nothing with the solver.</p>
      {certificate?.kind === 'CERTIFICATE_KIND_GAP' ? (
        <Definitions
          items={[
            ['objective', formatReal(certificate.primal, 7)],
            ['optimum', `at least ${formatReal(certificate.dual, 7)}`],
            ['relative gap', formatReal(certificate.accuracy, 3)],
            ...(outputs.length > 1 ? ([['worst output', formatReal(certificate.worstAccuracy, 3)]] as [string, string][]) : []),
            ['of', wordsOf(certificate.scope, 'CERTIFICATE_SCOPE_')],
          ]}
        />
      ) : null}
      <div role="status">{action.value ? <Verdict verification={action.value} when=" just now" /> : null}</div>
      <Failure error={action.error} />
    </Panel>
  );
}
