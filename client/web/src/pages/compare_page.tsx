// Two models side by side.
import { getModel, listModels } from '../api/calls.ts';
import type { Model } from '../api/model_types.ts';
import { useLoad, useServices, useTitle } from '../context.tsx';
import { formatBytes, formatInteger, formatReal, metricWords } from '../lib/format.ts';
import { metricText, optionText, stopWords, versionWords } from '../lib/models.ts';
import { describeRequest } from '../lib/request_words.ts';
import { kernelLabel, weightBars } from '../lib/weights.ts';
import { Link, navigate, type Route } from '../router.tsx';
import { Bars } from '../ui/bars.tsx';
import { Failure, Loading, PageHeader, Panel } from '../ui/parts.tsx';

export function ComparePage({ route }: { route: Route }) {
  useTitle('Compare models');
  const { client } = useServices();
  const [a, b] = [route.query.get('a') ?? '', route.query.get('b') ?? ''];
  const models = useLoad((signal) => listModels(client, signal), []);
  const one = useLoad((signal) => (a ? getModel(client, a, signal) : Promise.resolve(undefined)), [a]);
  const two = useLoad((signal) => (b ? getModel(client, b, signal) : Promise.resolve(undefined)), [b]);
  const choose = (side: 'a' | 'b', name: string) => navigate(`/compare?${new URLSearchParams({ a, b, [side]: name })}`, true);
  const error = models.error ?? one.error ?? two.error;
  return (
    <>
      <PageHeader title="Compare models" above={<Link href="/models">Models</Link>} />
      <div class="compare-choice">
        <ModelChoice label="First model" value={a} models={models.value ?? []} onChange={(name) => choose('a', name)} kind="one" />
        <ModelChoice label="Second model" value={b} models={models.value ?? []} onChange={(name) => choose('b', name)} kind="two" />
      </div>
      <Failure error={error} />
      {one.value && two.value ? <Comparison one={one.value} two={two.value} /> : error ? null : a && b ? <Loading /> : <p class="hint">Choose two models.</p>}
    </>
  );
}

function ModelChoice(props: { label: string; value: string; models: Model[]; onChange: (name: string) => void; kind: string }) {
  const names = [...new Set([props.value, ...props.models.map((model) => model.name)].filter(Boolean))];
  return (
    <label class="field">
      <span class="field-label">
        <span class={`swatch ${props.kind}`} aria-hidden="true" /> {props.label}
      </span>
      <select value={props.value} onChange={(event) => props.onChange(event.currentTarget.value)}>
        {props.value ? null : <option value="">Choose…</option>}
        {names.map((name) => (
          <option key={name} value={name} selected={name === props.value}>
            {versionWords(name)}
          </option>
        ))}
      </select>
    </label>
  );
}

type Line = [string, string, string];

function linesOf(model: Model): Map<string, string> {
  const lines = new Map<string, string>();
  for (const metric of model.metrics ?? []) lines.set(metricWords(metric.name), metricText(metric.name, metric.value));
  lines.set('objective', formatReal(model.certificate?.primal, 7));
  lines.set('optimum at least', formatReal(model.certificate?.dual, 7));
  lines.set('relative gap', formatReal(model.certificate?.accuracy, 3));
  lines.set('ended because', stopWords(model.stopReason));
  lines.set('support vectors', formatInteger(model.numSupportVectors));
  lines.set('training rows', formatInteger(model.numTrainingRows));
  lines.set('kernels in use', formatInteger(weightBars(model.kernelWeights, 0, 'kernel').filter((bar) => bar.value !== 0).length));
  lines.set('size', formatBytes(model.sizeBytes));
  for (const [term, value] of describeRequest(model.lineage?.request ?? {})) lines.set(term, value);
  for (const option of model.options ?? []) lines.set(option.name ?? '', optionText(option));
  return lines;
}

function Comparison({ one, two }: { one: Model; two: Model }) {
  const [left, right] = [linesOf(one), linesOf(two)];
  const terms = [...new Set([...left.keys(), ...right.keys()])];
  const lines: Line[] = terms.map((term) => [term, left.get(term) ?? '–', right.get(term) ?? '–']);
  return (
    <div class="columns">
      <Panel title="Figures and request" aside={<span class="sub">what differs is bold</span>}>
        <div class="scroll">
          <table class="table dense compare">
            <thead>
              <tr>
                <th scope="col">
                  <span class="hidden-label">Figure</span>
                </th>
                <th scope="col">{versionWords(one.name)}</th>
                <th scope="col">{versionWords(two.name)}</th>
              </tr>
            </thead>
            <tbody>
              {lines.map(([term, first, second]) => (
                <tr key={term} class={first === second ? '' : 'differs'}>
                  <th scope="row">{term}</th>
                  <td>{first}</td>
                  <td>{second}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </Panel>
      <WeightComparison one={one} two={two} />
    </div>
  );
}

/** Kernels of one name, or of one column, of both models. */
function WeightComparison({ one, two }: { one: Model; two: Model }) {
  const weights = (model: Model) => new Map(weightBars(model.kernelWeights, 0, 'kernel').map((bar) => [bar.title, bar.value]));
  const [left, right] = [weights(one), weights(two)];
  const names = [...new Set([...left.keys(), ...right.keys()])];
  const bars = names.map((name) => ({ label: kernelLabel(name), title: name, value: left.get(name) ?? 0, other: right.get(name) ?? 0 }));
  bars.sort((a, b) => Math.max(b.value, b.other) - Math.max(a.value, a.other));
  const outputs = one.coding?.outputNames ?? [];
  return (
    <Panel title="Kernel weights" aside={outputs.length > 1 ? <span class="sub">output {outputs[0]}</span> : null}>
      {bars.length > 0 ? <Bars key={`${one.name} ${two.name}`} bars={bars} label="Weights of both models, largest first" /> : <p class="sub">Neither model says any.</p>}
    </Panel>
  );
}
