// Start a training: a form made from the learner's description, what it would cost, and the service's own objections beside the
// fields that they are about.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { getDataset, getJob, listDatasets, listLearners, train } from '../api/calls.ts';
import { ApiError } from '../api/error.ts';
import type { Dataset } from '../api/dataset_types.ts';
import type { FieldViolation, LearnerDescription, TrainRequest } from '../api/types.ts';
import { useLoad, useServices, useTitle } from '../context.tsx';
import { emptyForm, fromRequest, pathsOf, toRequest, type TrainForm, withLearner } from '../form/train_form.ts';
import { assignViolations } from '../form/violations.ts';
import { guessKind } from '../lib/datasets.ts';
import { type Route, useNavigate } from '../router.tsx';
import { ViolationsContext } from '../ui/field.tsx';
import { Empty, Failure, PageHeader, Panel, Unloaded } from '../ui/parts.tsx';
import { EstimatePanel, useEstimate } from './estimate_panel.tsx';
import { DataSection, LearnerSection, MoreSection, OptionsSection, ValidationSection } from './train_sections.tsx';
import { KernelsEditor } from './kernels_editor.tsx';
import { TasksSection } from './tasks_section.tsx';

export function TrainPage({ route }: { route: Route }) {
  useTitle('New training');
  const { client } = useServices();
  const from = route.query.get('from');
  const loaded = useLoad(
    async (signal) => {
      const [learners, datasets, job] = await Promise.all([
        listLearners(client, signal),
        listDatasets(client, signal),
        from ? getJob(client, `jobs/${from}`, signal) : undefined,
      ]);
      return { learners, datasets, request: job?.request };
    },
    [from],
  );
  if (!loaded.value) return <Unloaded error={loaded.error} retry={loaded.reload} />;
  const { learners, datasets, request } = loaded.value;
  if (datasets.length === 0) {
    return (
      <Empty title="There are no data yet" action={{ href: '/upload', text: 'Upload a file' }}>
        A training needs a data set: a CSV or svmlight file with one column to predict.
      </Empty>
    );
  }
  return (
    <>
      <PageHeader title="New training" below={from ? `with the request of ${from}` : undefined} />
      <TrainFormView repeated={request !== undefined} learners={learners} datasets={datasets} initial={initialForm(route, learners, datasets, request)} />
    </>
  );
}

function initialForm(route: Route, learners: LearnerDescription[], datasets: Dataset[], request: TrainRequest | undefined): TrainForm {
  if (request) return fromRequest(request);
  const given = route.query.get('dataset');
  const dataset = given ? `datasets/${given}` : datasets.length === 1 ? (datasets[0]?.name ?? '') : '';
  const [first] = learners;
  const form = { ...emptyForm(), dataset };
  return first ? withLearner(form, first) : form;
}

interface ViewProps {
  learners: LearnerDescription[];
  datasets: Dataset[];
  initial: TrainForm;
  /** It is the form of an earlier request. */
  repeated: boolean;
}

function TrainFormView({ learners, datasets, initial, repeated }: ViewProps) {
  const { client, live } = useServices();
  const go = useNavigate();
  const [form, setForm] = useState(initial);
  const [refused, setRefused] = useState<unknown>();
  const [sending, setSending] = useState(false);
  const element = useRef<HTMLFormElement>(null);
  const change = (part: Partial<TrainForm>) => setForm((old) => ({ ...old, ...part }));
  const learner = learners.find((each) => each.name === form.learner) ?? learners[0];
  const dataset = useLoad((signal) => (form.dataset ? getDataset(client, form.dataset, signal) : Promise.resolve(undefined)), [form.dataset]);
  const { request, violations } = useMemo(
    () => (learner ? toRequest(form, learner) : { request: {} as TrainRequest, violations: [] as FieldViolation[] }),
    [form, learner],
  );
  // Without what cannot be read, so that the service's objections to the rest stay.
  const estimate = useEstimate(form.dataset ? request : undefined);
  useEffect(() => setRefused(undefined), [request]);
  // A request that is repeated says itself what is learned.
  useEffect(() => {
    const stored = dataset.value;
    if (stored && !(repeated && stored.name === initial.dataset)) change({ kind: guessKind(stored, form.target) });
  }, [dataset.value]);
  if (!learner) return <Failure error={new Error('This server has no learner.')} />;

  // Which the form must then say what to do about.
  const hasMissing = Number(dataset.value?.quality?.numMissingCells ?? 0) > 0;
  const paths = pathsOf(form, learner);
  const failure = refused ?? estimate.error;
  const all = failure instanceof ApiError ? [...violations, ...failure.violations.map(withoutTraining)] : violations;
  const { byPath, rest } = assignViolations(all, paths);

  const submit = async (event: Event) => {
    event.preventDefault();
    if (violations.length > 0) return focusFirst(element.current);
    setSending(true);
    try {
      const job = await train(client, { ...request, requestId: newRequestId() });
      live.put(job);
      go(`/${job.name}`);
    } catch (error) {
      setRefused(error);
      setSending(false);
      setTimeout(() => focusFirst(element.current));
    }
    return undefined;
  };
  return (
    <ViolationsContext.Provider value={byPath}>
      <form class="form-layout" ref={element} onSubmit={(event) => void submit(event)} noValidate>
        <div class="form">
          <DataSection form={form} change={change} datasets={datasets} dataset={dataset.value} />
          <LearnerSection learners={learners} learner={learner} choose={(next) => setForm(withLearner(form, next))} />
          {learner.severalTasks ? <TasksSection form={form} change={change} datasets={datasets} dataset={dataset.value} /> : null}
          <OptionsSection form={form} change={change} learner={learner} />
          {learner.usesKernels ? <KernelsEditor form={form} change={change} learner={learner} dataset={dataset.value} /> : null}
          <ValidationSection form={form} change={change} learner={learner} />
          <MoreSection form={form} change={change} open={hasMissing || [...byPath.keys()].some((path) => !path.startsWith('learner') && path !== 'preprocessing.square_repair')} />
        </div>
        <div class="form-side">
          <EstimatePanel estimate={estimate} ready={Boolean(form.dataset)} />
          <Refusal error={failure} rest={rest} />
          <button type="submit" class="button primary" disabled={sending || !form.dataset}>
            {sending ? 'Starting…' : 'Start training'}
          </button>
        </div>
      </form>
    </ViolationsContext.Provider>
  );
}

function withoutTraining(violation: FieldViolation): FieldViolation {
  return { ...violation, field: (violation.field ?? '').replace(/^training\./, '') };
}

/** What no field of the form can show. */
function Refusal({ error, rest }: { error: unknown; rest: FieldViolation[] }) {
  if (!error && rest.length === 0) return null;
  if (rest.length === 0 && error instanceof ApiError && error.violations.length > 0) {
    return (
      <p class="field-error" role="alert">
        See the marked {error.violations.length === 1 ? 'field' : 'fields'}.
      </p>
    );
  }
  if (rest.length === 0) return <Failure error={error} />;
  return (
    <Panel class="failure">
      <ul role="alert">
        {rest.map((violation) => (
          <li key={violation.field}>
            <code>{violation.field}</code> {violation.description}
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function focusFirst(element: HTMLElement | null): void {
  element?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
}

/** Pressing the button twice, or again after a broken connection, does not make two jobs. */
function newRequestId(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
