// What a job that is no training has made: metrics, a recomputed certificate, a new data set.
import type { ComponentChildren } from 'preact';
import type { Certificate, Verification } from '../api/model_types.ts';
import type { Job } from '../api/types.ts';
import { formatInteger, formatReal, idOf, wordsOf } from '../lib/format.ts';
import { accuracyWords, certificateWords, versionWords } from '../lib/models.ts';
import { Link } from '../router.tsx';
import { Figures } from '../ui/figures.tsx';
import { Definitions, Panel } from '../ui/parts.tsx';
import { EvaluationTable } from './evaluation_table.tsx';
import { useVersion } from './resources.tsx';

export function ResultPanel({ job }: { job: Job }) {
  const { evaluation, verification, prediction } = job;
  const model = useVersion(evaluation?.model);
  if (evaluation) {
    return (
      <Panel title="Metrics">
        <EvaluationTable model={model} evaluation={evaluation} />
      </Panel>
    );
  }
  if (verification) {
    return (
      <Panel title="Certificate">
        <VerificationView verification={verification} />
      </Panel>
    );
  }
  if (!prediction) return null;
  const items: [string, ComponentChildren][] = [
    ['data set', <Link href={`/${prediction.dataset}`}>{idOf(prediction.dataset)}</Link>],
    ['by', <Link href={`/${prediction.model}`}>{versionWords(prediction.model ?? '')}</Link>],
    ['rows', formatInteger(prediction.rows)],
  ];
  if (prediction.unpredictedRows) items.push(['not predicted', `${formatInteger(prediction.unpredictedRows)} with a category that training did not know`]);
  if (prediction.rowsByMean) items.push(['by the mean', `${formatInteger(prediction.rowsByMean)}, over all tasks`]);
  return (
    <Panel title="Predictions">
      <Definitions items={items} />
    </Panel>
  );
}

/** Whether a certificate was confirmed. */
export function Verdict({ verification, when = '' }: { verification: Verification; when?: string }) {
  return (
    <p class={verification.matches ? 'notice' : 'failure'}>
      {verification.matches ? `✓ Recomputed${when}: the same values.` : '✕ The recomputed certificate differs from the stored one.'}
    </p>
  );
}

function VerificationView({ verification }: { verification: Verification }) {
  const { certificate, storedCertificate } = verification;
  const rows: [string, (of: Certificate | undefined) => string][] = [
    ['objective', (of) => formatReal(of?.primal, 7)],
    ['optimum at least', (of) => formatReal(of?.dual, 7)],
    [accuracyWords(certificate).toLowerCase(), (of) => formatReal(of?.accuracy, 3)],
  ];
  if (certificate?.kind !== 'CERTIFICATE_KIND_GAP') rows.splice(1, 1); // its dual bounds no optimum
  if ((certificate?.outputs ?? []).length > 1) rows.push(['worst output', (of) => formatReal(of?.worstAccuracy, 3)]);
  return (
    <>
      <p>{certificateWords(certificate)}</p>
      {certificate?.kind === 'CERTIFICATE_KIND_NONE' ? null : (
        <Figures
          head={['Measure', 'Recomputed', 'Stored']}
          rows={rows.map(([name, text]) => ({ name, figures: [text(certificate), text(storedCertificate)] }))}
          label={`Certificate of the ${wordsOf(certificate?.scope, 'CERTIFICATE_SCOPE_')}`}
        />
      )}
      <Verdict verification={verification} />
    </>
  );
}
