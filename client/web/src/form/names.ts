// Field names of protobuf and of its JSON mapping.

/** "inner_solver" -> "innerSolver"; a single capital, as C, stays. */
export function camelCase(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** "innerSolver" -> "inner_solver". */
export function snakeCase(name: string): string {
  return name.replace(/([a-z0-9])([A-Z])/g, (_, before: string, after: string) => `${before}_${after.toLowerCase()}`);
}

interface Named {
  name: string;
  needsOther?: boolean;
}

/** The path of a learner's message in a request. */
export function learnerPath(learner: Named): string {
  return `learner.${learner.needsOther ? 'other' : learner.name}`;
}

/** The path of one of its options. */
export function optionPath(learner: Named, option: string): string {
  return learner.needsOther ? `learner.other.options['${option}']` : `${learnerPath(learner)}.${option}`;
}

/** The enum's value of a choice of an option: ("inner_solver", "auto") -> "INNER_SOLVER_AUTO". */
export function enumName(option: string, choice: string): string {
  return `${option}_${choice}`.toUpperCase();
}
