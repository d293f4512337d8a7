// What the form says of the options that are left empty: their default, or the path that is gone through instead of it.
import type { LearnerDescription, OptionDescription } from '../api/types.ts';
import type { TrainForm } from './train_form.ts';

/** Whether the server chooses the best of a default path, because nothing that prevents it is in the form. */
function takesDefaultPath(learner: LearnerDescription, form: TrainForm): boolean {
  const preventing = (learner.options ?? []).filter((option) => option.preventsDefaultPath);
  const ownPath = form.validation !== 'none' && form.pathOption !== '';
  return !ownPath && preventing.every((option) => !form.options[option.name]);
}

/** What stands in the field of an option while it is empty. */
export function standardText(option: OptionDescription, learner: LearnerDescription, form: TrainForm): string {
  if (option.defaultPath?.length && takesDefaultPath(learner, form)) return `default: the best of ${option.defaultPath.length}`;
  const standard = option.defaultValue === '[]' ? 'none' : (option.defaultValue ?? '');
  return standard ? `default: ${standard}` : 'default';
}

/** What the help of an option says of the default path: its values, or that setting the option prevents it; empty text: nothing. */
export function pathText(option: OptionDescription, learner: LearnerDescription, form: TrainForm): string {
  const pathed = (learner.options ?? []).find((each) => each.defaultPath?.length);
  if (!option.preventsDefaultPath || !pathed) return '';
  if (pathed.name === option.name) {
    return takesDefaultPath(learner, form) ? `While it is empty: the best of ${pathed.defaultPath?.join(', ')}; of few rows ${pathed.defaultValue}.` : '';
  }
  return `When this is set and ${pathed.name} is not, ${pathed.name} is ${pathed.defaultValue}; no path chooses it.`;
}
