// What the pages say of data sets.
import type { Column, ColumnPlace, DataQuality, Dataset } from '../api/dataset_types.ts';
import { formatInteger, formatReal } from './format.ts';

export const MAX_NUMERIC_CLASSES = 20;

export function targetsOf(dataset: Dataset | undefined): Column[] {
  return (dataset?.roleColumns ?? []).filter((column) => column.role === 'COLUMN_ROLE_TARGET');
}

/** A numeric target with many different values is a number to be predicted, not the name of a class. */
export function guessKind(dataset: Dataset, target: string): 'CLASSIFICATION' | 'REGRESSION' {
  const columns = targetsOf(dataset);
  const column = columns.find((each) => each.name === target) ?? columns[0];
  if (column?.type !== 'COLUMN_TYPE_NUMERIC') return 'CLASSIFICATION';
  const values = column.valueCounts?.length ?? 0;
  return values === 0 || values > MAX_NUMERIC_CLASSES ? 'REGRESSION' : 'CLASSIFICATION';
}

export interface Finding {
  tone: 'bad' | 'warn' | 'good';
  title: string;
  text: string;
}

function placeName(place: ColumnPlace | undefined): string {
  return place?.name || `${place?.block ? `${place.block} ` : ''}column ${place?.position ?? '?'}`;
}

function some(names: string[], total: number): string {
  const shown = names.slice(0, 5);
  return total > shown.length ? `${shown.join(', ')} and ${formatInteger(total - shown.length)} more` : shown.join(', ');
}

function counted(count: number, one: string, many: string): string {
  return `${formatInteger(count)} ${count === 1 ? one : many}`;
}

/** What may be wrong with the data, the worst first. */
export function findingsOf(quality: DataQuality): Finding[] {
  const findings: Finding[] = [];
  const add = (tone: Finding['tone'], count: string | number | undefined, title: (count: number) => string, text: string) => {
    if (Number(count ?? 0) > 0) findings.push({ tone, title: title(Number(count)), text });
  };
  const leaking = (quality.leakingColumns ?? []).map((leak) => `${placeName(leak.column)} tells ${placeName(leak.target)}`);
  add('bad', quality.numLeakingColumns, (n) => counted(n, 'column gives the target away', 'columns give the target away'), some(leaking, Number(quality.numLeakingColumns ?? 0)));
  add('bad', quality.numConflictingRows, (n) => counted(n, 'row contradicts', 'rows contradict') + ' an equal one', 'The same features with another target.');
  const missing = (quality.missing ?? []).map((cells) => `${placeName(cells.column)} (${formatInteger(cells.count)})`);
  add('warn', quality.numMissingCells, (n) => counted(n, 'cell is missing', 'cells are missing'), `${some(missing, Number(quality.numMissingColumns ?? 0))}. A training must be told to fill them.`);
  add('warn', quality.numDuplicateRows, (n) => counted(n, 'row repeats', 'rows repeat') + ' an earlier one', 'Held-out rows may then be known from training.');
  const identifiers = (quality.identifierColumns ?? []).map(placeName);
  add('warn', quality.numIdentifierColumns, (n) => counted(n, 'column looks like an identifier', 'columns look like identifiers') + ' of the rows', `${some(identifiers, Number(quality.numIdentifierColumns ?? 0))}. Nothing is learned from them for other rows: upload them as ignored.`);
  const texts = (quality.textColumns ?? []).map((each) => `${placeName(each.column)} holds ${each.holds}`);
  add('warn', quality.numTextColumns, (n) => counted(n, 'column is read as texts', 'columns are read as texts'), `${some(texts, Number(quality.numTextColumns ?? 0))}. Each value is a category of its own.`);
  const constant = (quality.constantColumns ?? []).map(placeName);
  add('warn', quality.numConstantColumns, (n) => counted(n, 'column is constant', 'columns are constant'), some(constant, Number(quality.numConstantColumns ?? 0)));
  const nearly = (quality.nearlyConstantColumns ?? []).map((column) => placeName(column.column));
  add('warn', quality.numNearlyConstantColumns, (n) => counted(n, 'column is nearly constant', 'columns are nearly constant'), some(nearly, Number(quality.numNearlyConstantColumns ?? 0)));
  const equal = (quality.equalColumns ?? []).map((pair) => `${placeName(pair.column)} = ${placeName(pair.equalTo)}`);
  add('warn', quality.numEqualColumns, (n) => counted(n, 'column repeats another one', 'columns repeat another one'), some(equal, Number(quality.numEqualColumns ?? 0)));
  if (quality.smallestScale && quality.largestScale) {
    const scale = (each: DataQuality['smallestScale']) => `${placeName(each?.column)} (${formatReal(each?.range)})`;
    findings.push({ tone: 'warn', title: 'Columns have very different ranges', text: `From ${scale(quality.smallestScale)} to ${scale(quality.largestScale)}. Scaling, the default, mends that.` });
  }
  if (findings.length === 0) findings.push({ tone: 'good', title: 'Nothing stands out', text: 'No missing cells, repeated rows or columns, constant or telling columns.' });
  return findings;
}
