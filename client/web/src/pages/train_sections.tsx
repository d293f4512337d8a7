// The parts of the form that are the same for every learner, and its options, which are not.
import type { ComponentChildren } from 'preact';
import type { Dataset } from '../api/dataset_types.ts';
import type { LearnerDescription } from '../api/types.ts';
import { optionPath } from '../form/names.ts';
import { pathText, standardText } from '../form/option_texts.ts';
import type { TrainForm } from '../form/train_form.ts';
import { formatInteger, idOf } from '../lib/format.ts';
import { Link } from '../router.tsx';
import { boundTo, CheckField, ChoiceCards, SelectField, TextField } from '../ui/field.tsx';
import { OptionField } from '../ui/option_field.tsx';
import { Panel } from '../ui/parts.tsx';

export interface SectionProps {
  form: TrainForm;
  change: (part: Partial<TrainForm>) => void;
}

export function DataSection({ form, change, datasets, dataset }: SectionProps & { datasets: Dataset[]; dataset: Dataset | undefined }) {
  const targets = (dataset?.roleColumns ?? []).filter((column) => column.role === 'COLUMN_ROLE_TARGET');
  const target = targets.find((column) => column.name === form.target) ?? targets[0];
  const classes = target?.valueCounts ?? [];
  const chosen = datasets.find((each) => each.name === form.dataset);
  return (
    <Panel title="Data" aside={<Link href="/upload">Upload a file</Link>}>
      <div class="fields">
        <SelectField
          path="data"
          label="Data set"
          value={form.dataset}
          choices={[{ value: '', text: 'Choose…' }, ...datasets.map((each) => ({ value: each.name, text: datasetText(each) }))]}
          onChange={(value) => change({ dataset: value, target: '', kind: '', task: undefined, tasks: form.tasks.filter((each) => each !== value) })}
          help={chosen ? <Link href={`/${chosen.name}`}>Schema, quality and classes</Link> : undefined}
        />
        <SelectField
          path="target"
          label="Target"
          value={form.target}
          choices={targets.length > 1 ? targets.map(({ name = '' }) => ({ value: name, text: name })) : [{ value: '', text: target?.name ?? '–' }]}
          onChange={(value) => change({ target: value })}
          help={dataset && targets.length === 0 ? 'The data set has no target: upload it again and say which column is one.' : classText(classes)}
        />
        <SelectField
          path="target_kind"
          label="What is learned"
          value={form.kind}
          choices={[
            { value: '', text: 'as the target says' },
            { value: 'CLASSIFICATION', text: 'Classes' },
            { value: 'REGRESSION', text: 'A number' },
          ]}
          onChange={(value) => change({ kind: value as TrainForm['kind'] })}
        />
      </div>
    </Panel>
  );
}

export function datasetText(dataset: Dataset): string {
  return `${idOf(dataset.name)}: ${formatInteger(dataset.rows)} rows, ${formatInteger(dataset.numColumns)} columns`;
}

function classText(classes: { value?: string; count?: string | number }[]): string | undefined {
  if (classes.length === 0) return undefined;
  if (classes.length > 6) return `${classes.length} different values`;
  return classes.map(({ value, count }) => `${value} (${formatInteger(count)})`).join(', ');
}

interface LearnerProps {
  learners: LearnerDescription[];
  learner: LearnerDescription;
  choose: (learner: LearnerDescription) => void;
}

export function LearnerSection({ learners, learner, choose }: LearnerProps) {
  return (
    <Panel title="Learner">
      <ChoiceCards
        name="learner"
        label="Learner"
        value={learner.name}
        choices={learners.map((each) => ({ value: each.name, title: each.title ?? each.name, text: <code>{each.name}</code> }))}
        onChange={(name) => choose(learners.find((each) => each.name === name) ?? learner)}
      />
      <p class="sub learner-summary">{learner.summary}</p>
    </Panel>
  );
}

export function OptionsSection({ form, change, learner }: SectionProps & { learner: LearnerDescription }) {
  const options = learner.options ?? [];
  if (options.length === 0) return null;
  return (
    <Panel title="Options" aside={<span class="sub">empty: the default</span>}>
      <div class="fields">
        {options.map((option) => (
          <OptionField
            key={option.name}
            option={option}
            path={optionPath(learner, option.name)}
            value={form.options[option.name] ?? ''}
            standard={standardText(option, learner, form)}
            note={pathText(option, learner, form)}
            onChange={(value) => change({ options: { ...form.options, [option.name]: value } })}
          />
        ))}
      </div>
    </Panel>
  );
}

export function ValidationSection({ form, change, learner }: SectionProps & { learner: LearnerDescription }) {
  const bound = boundTo(form, change);
  return (
    <Panel title="How good is it on rows that it has not seen?">
      <div class="form">
        <ChoiceCards
          name="validation"
          label="Validation"
          value={form.validation}
          choices={[
            { value: 'hold_out', title: 'Hold out', text: 'One part of the rows measures the model.' },
            { value: 'folds', title: 'Folds', text: 'Every row is held out once; takes as many trainings more.' },
            { value: 'none', title: 'Not measured', text: 'All rows train; the model has no metrics.' },
          ]}
          onChange={(value) => change({ validation: value as TrainForm['validation'] })}
        />
        <div class="fields">
          {form.validation === 'hold_out' ? (
            <TextField path="validation.hold_out.fraction" label={ranged('Share held out', '(0, 1)')} numeric placeholder="default: 0.25" {...bound('holdOut')} />
          ) : null}
          {form.validation === 'folds' ? (
            <TextField path="validation.folds.count" label={ranged('Number of folds', '2 …')} numeric placeholder="default: 5" {...bound('folds')} />
          ) : null}
          {form.validation === 'none' ? null : (
            <TextField path="path.option" label="Option of a path" placeholder="none" help="Train for several values of this option in one job, and keep the best." {...bound('pathOption')} />
          )}
          {form.validation !== 'none' && form.pathOption ? (
            <>
              <TextField path="path.values" label="Its values, in order" placeholder="0.1, 0.03, 0.01" {...bound('pathValues')} />
              <CheckField label="Keep the models of all values, as versions" checked={form.keepPath} onChange={(keepPath) => change({ keepPath })} />
            </>
          ) : null}
          {learner.usesKernels ? (
            <TextField
              path="stability.resamples"
              label={ranged('Trainings on halves of the rows', '1 … 1000')}
              numeric
              placeholder="none"
              help="How stable is the selection? Trains so many times more, and tells how many select each kernel."
              {...bound('stability')}
            />
          ) : null}
          {learner.ranksColumns && form.validation !== 'none' && form.kind !== 'REGRESSION' ? (
            <TextField
              path="ranking_test.columns"
              label="Test of the ranking on so many first columns"
              placeholder="none; 1, 2, 4 or auto"
              help="How good is the ranking? Linear machines on its first columns are measured on the rows held out."
              {...bound('rankingTest')}
            />
          ) : null}
          <TextField
            path="stopping.relative_gap"
            label={ranged('Relative gap to reach', '(0, 1)')}
            numeric
            placeholder="default: 0.001"
            help="The training ends when the objective is proven to be this close to the optimum."
            {...bound('relativeGap')}
          />
          <TextField path="stopping.time_limit" label="Time limit" placeholder="none" help="As 90 s, 10 min or 2 h; the best model so far is kept." {...bound('timeLimit')} />
        </div>
      </div>
    </Panel>
  );
}

export function ranged(label: string, range: string): ComponentChildren {
  return (
    <>
      {label} <span class="range">in {range}</span>
    </>
  );
}

const SCALINGS = [
  { value: '', text: 'default: standardize' },
  { value: 'NONE', text: 'none' },
  { value: 'STANDARDIZE', text: 'standardize' },
  { value: 'MIN_MAX', text: 'to [0, 1]' },
  { value: 'UNIT_NORM', text: 'rows to unit norm' },
];
const IMPUTATIONS = [
  { value: '', text: 'default: refuse' },
  { value: 'REFUSE', text: 'refuse' },
  { value: 'MEAN_OR_MOST_FREQUENT', text: 'mean or most frequent' },
];
const UNSEEN = [
  { value: '', text: 'default: refuse' },
  { value: 'REFUSE', text: 'refuse' },
  { value: 'ALL_ZEROS', text: 'as none of the known' },
];
const TARGET_SCALINGS = [
  { value: '', text: 'default: standardize' },
  { value: 'NONE', text: 'none' },
  { value: 'STANDARDIZE', text: 'standardize' },
];
const CODINGS = [
  { value: '', text: 'default: automatic' },
  { value: 'ONE_VS_ALL', text: 'one against all' },
  { value: 'ONE_VS_ONE', text: 'one against one' },
];
const WEIGHTINGS = [
  { value: '', text: 'default: all rows alike' },
  { value: 'BALANCED', text: 'balanced: all classes alike' },
];

export function MoreSection({ form, change, open }: SectionProps & { open: boolean }) {
  const bound = boundTo(form, change);
  return (
    <Panel>
      <details class="more-options" open={open || undefined}>
        <summary>Names, preparation of the data, limits</summary>
        <div class="fields">
          <TextField path="model" label="Model" placeholder="a new one, named after the job" help="The job makes a new version of it." {...bound('model')} />
          <TextField path="display_name" label="Name for people" {...bound('displayName')} />
          <TextField path="labels" label="Labels" placeholder="team=spam, run=3" {...bound('labels')} />
          <SelectField path="preprocessing.scaling" label="Scaling" choices={SCALINGS} {...bound('scaling')} />
          <SelectField path="preprocessing.imputation" label="Missing values" choices={IMPUTATIONS} {...bound('imputation')} />
          <SelectField path="preprocessing.unseen_category" label="Categories not seen in training" choices={UNSEEN} {...bound('unseenCategory')} />
          {form.kind !== 'REGRESSION' ? (
            <>
              <SelectField path="class_weights" label="Class weights" choices={WEIGHTINGS} {...bound('classWeighting')} />
              <SelectField path="coding" label="More than two classes" choices={CODINGS} {...bound('coding')} />
            </>
          ) : null}
          {form.kind !== 'CLASSIFICATION' ? (
            <SelectField path="target_scaling" label="Scaling of the target" choices={TARGET_SCALINGS} {...bound('targetScaling')} />
          ) : null}
          <TextField path="stopping.max_iterations" label="Most iterations" numeric placeholder="default: 1,000,000" {...bound('maxIterations')} />
          <TextField path="seed" label="Seed" numeric placeholder="default: 0" help="The same data, request and seed give the same model." {...bound('seed')} />
          <TextField path="priority" label={ranged('Priority', '[−100, 100]')} numeric placeholder="default: 0" {...bound('priority')} />
          <TextField path="threads" label="Threads" numeric placeholder="as the server has it" {...bound('threads')} />
        </div>
      </details>
    </Panel>
  );
}
