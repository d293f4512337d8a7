// Two to six models side by side.
import { getVersion, listModels } from '../api/calls.ts';
import type { ModelVersion } from '../api/model_types.ts';
import { useLoad, useServices, useTitle } from '../context.tsx';
import { formatBytes, formatInteger, formatReal, metricWords } from '../lib/format.ts';
import { compareAddress, comparedFromQuery, MAX_COMPARED } from '../lib/model_list.ts';
import { accuracyWords, certifiedGap, metricText, optionText, stopWords, versionWords } from '../lib/models.ts';
import { describeRequest } from '../lib/request_words.ts';
import { kernelLabel, weightBars } from '../lib/weights.ts';
import { Link, navigate, type Route } from '../router.tsx';
import { Bars } from '../ui/bars.tsx';
import { SelectField } from '../ui/field.tsx';
import { Failure, Loading, PageHeader, Panel, Scroll } from '../ui/parts.tsx';

const PLACES = ['First', 'Second', 'Third', 'Fourth', 'Fifth', 'Sixth'];

export function ComparePage({ route }: { route: Route }) {
  useTitle('Compare models');
  const { client } = useServices();
  const names = comparedFromQuery(route.query);
  const all = useLoad((signal) => listModels(client, signal), []);
  const compared = useLoad((signal) => Promise.all(names.map((name) => getVersion(client, name, signal))), [names.join()]);
  const choose = (place: number, name: string) => {
    const changed = [...names];
    if (name) changed[place] = name;
    else changed.splice(place, 1);
    navigate(compareAddress([...new Set(changed)]), true);
  };
  const error = all.error ?? compared.error;
  // The last places are there to add one more, and at least two.
  const places = Math.min(MAX_COMPARED, Math.max(2, names.length + 1));
  const models = compared.value?.length === names.length ? compared.value : undefined;
  return (
    <>
      <PageHeader title="Compare models" above={<Link href="/models">Models</Link>} />
      <div class="compare-choice">
        {PLACES.slice(0, places).map((place, index) => (
          <ModelChoice key={place} label={`${place} model`} value={names[index] ?? ''} models={all.value ?? []} onChange={(name) => choose(index, name)} kind={['one', 'two'][index] ?? 'further'} />
        ))}
      </div>
      <Failure error={error} />
      {names.length < 2 ? <p class="hint">Choose two models.</p> : models ? <Comparison models={models} /> : error ? null : <Loading />}
    </>
  );
}

function ModelChoice(props: { label: string; value: string; models: ModelVersion[]; onChange: (name: string) => void; kind: string }) {
  const names = [...new Set([props.value, ...props.models.map((model) => model.name)].filter(Boolean))];
  const label = (
    <>
      <span class={`swatch ${props.kind}`} aria-hidden="true" /> {props.label}
    </>
  );
  const choices = [{ value: '', text: props.value ? 'None' : 'Choose…' }, ...names.map((name) => ({ value: name, text: versionWords(name) }))];
  return <SelectField path={props.label} label={label} value={props.value} choices={choices} onChange={props.onChange} />;
}

function linesOf(model: ModelVersion): Map<string, string> {
  const lines = new Map<string, string>();
  for (const metric of model.metrics ?? []) lines.set(metricWords(metric.name), metricText(metric.name, metric.value));
  lines.set('objective', formatReal(model.certificate?.primal, 7));
  if (certifiedGap(model.certificate) !== undefined) lines.set('optimum at least', formatReal(model.certificate?.dual, 7));
  lines.set(accuracyWords(model.certificate).toLowerCase(), formatReal(model.certificate?.accuracy, 3));
  lines.set('ended because', stopWords(model.stopReason));
  lines.set('support vectors', formatInteger(model.numSupportVectors));
  lines.set('training rows', formatInteger(model.numTrainingRows));
  lines.set('kernels in use', formatInteger(weightBars(model.kernelWeights, 0, 'kernel').filter((bar) => bar.value !== 0).length));
  lines.set('size', formatBytes(model.sizeBytes));
  for (const [term, value] of describeRequest(model.lineage?.request ?? {})) lines.set(term, value);
  for (const option of model.options ?? []) lines.set(option.name ?? '', optionText(option));
  return lines;
}

function Comparison({ models }: { models: ModelVersion[] }) {
  const columns = models.map(linesOf);
  const terms = [...new Set(columns.flatMap((lines) => [...lines.keys()]))];
  const [one, two] = models;
  return (
    <div class={models.length > 2 ? 'stack' : 'columns'}>
      <Panel title="Figures and request" aside={<span class="sub">what differs is bold</span>}>
        <Scroll label="Figures of all models">
          <table class={`table dense compare ${models.length > 2 ? 'many' : ''}`}>
            <thead>
              <tr>
                <th scope="col">
                  <span class="hidden-label">Figure</span>
                </th>
                {models.map((model) => (
                  <th key={model.name} scope="col">
                    {versionWords(model.name)}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {terms.map((term) => {
                const values = columns.map((lines) => lines.get(term) ?? '–');
                return (
                  <tr key={term} class={new Set(values).size === 1 ? '' : 'differs'}>
                    <th scope="row">{term}</th>
                    {values.map((value, index) => (
                      <td key={index}>{value}</td>
                    ))}
                  </tr>
                );
              })}
            </tbody>
          </table>
        </Scroll>
      </Panel>
      {one && two && models.length === 2 ? <WeightComparison one={one} two={two} /> : null}
    </div>
  );
}

/** Kernels of one name, or of one column, of both models. */
function WeightComparison({ one, two }: { one: ModelVersion; two: ModelVersion }) {
  const weights = (model: ModelVersion) => new Map(weightBars(model.kernelWeights, 0, 'kernel').map((bar) => [bar.title, bar.value]));
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
