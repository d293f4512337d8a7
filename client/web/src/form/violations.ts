// Which field of a form a violation of the service belongs to.
import type { FieldViolation } from '../api/types.ts';

export interface AssignedViolations {
  /** By the path of the form's field. */
  byPath: Map<string, string>;
  /** Those for which the form has no field. */
  rest: FieldViolation[];
}

/** The form's field itself, or the one that holds it: "kernels[0].columns[2]" belongs to "kernels[0].columns". */
function ownerOf(field: string, paths: ReadonlySet<string>): string | undefined {
  let path = field;
  while (path && !paths.has(path)) path = path.replace(/(\[[^\]]*\]|(^|\.)[^.[\]]+)$/, '');
  return path || undefined;
}

/** `prefix`: of the request within the message that was sent, as "training.". */
export function assignViolations(violations: FieldViolation[], paths: ReadonlySet<string>, prefix = ''): AssignedViolations {
  const byPath = new Map<string, string>();
  const rest: FieldViolation[] = [];
  for (const { field = '', description = '' } of violations) {
    const inRequest = field.startsWith(prefix) ? field.slice(prefix.length) : field;
    const owner = ownerOf(inRequest, paths);
    if (owner === undefined) rest.push({ field: inRequest, description });
    else byPath.set(owner, [byPath.get(owner), description].filter(Boolean).join('; '));
  }
  return { byPath, rest };
}
