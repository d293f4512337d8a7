// The rows of a model of several tasks are predicted by their task, or by the mean over all tasks.
import type { ModelVersion, TaskChoice } from '../api/model_types.ts';

export interface NamedChoice {
  /** The same for each page: the task after a letter, for a task may have any name. */
  value: string;
  text: string;
  choice: TaskChoice;
}

const byTask = (model: ModelVersion, words: (name: string) => string): NamedChoice[] =>
  (model.tasks?.names ?? []).map((task) => ({ value: `t${task}`, text: words(task), choice: { task } }));

/** Of a row that is typed in; none for models of a single task. */
export function choicesOfRow(model: ModelVersion): NamedChoice[] {
  const tasks = byTask(model, (name) => name);
  return tasks.length > 0 ? [...tasks, { value: 'mean', text: 'mean over all tasks', choice: { taskRule: 'TASK_RULE_MEAN' } }] : [];
}

/** Of the rows of a data set; none for models of a single task. */
export function choicesOfRows(model: ModelVersion): NamedChoice[] {
  const tasks = byTask(model, (name) => `all of ${name}`);
  if (tasks.length === 0) return [];
  const column = `tasks by column ${model.tasks?.column}`;
  return [
    { value: 'own', text: column, choice: {} },
    { value: 'if unknown', text: `${column}, others by the mean`, choice: { taskRule: 'TASK_RULE_MEAN_IF_UNKNOWN' } },
    { value: 'mean', text: 'all by the mean over all tasks', choice: { taskRule: 'TASK_RULE_MEAN' } },
    ...tasks,
  ];
}

export const choiceOf = (choices: NamedChoice[], value: string): TaskChoice => choices.find((each) => each.value === value)?.choice ?? {};
