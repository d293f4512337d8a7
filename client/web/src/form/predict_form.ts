// The form of a prediction by hand: an input for each column that the model reads, and the message that it becomes.
import type { Column, Dataset } from '../api/dataset_types.ts';
import type { ModelVersion, TypedColumn } from '../api/model_types.ts';
import { guessDelimiter, splitCsvLine } from '../lib/csv.ts';
import { parseReal, realFromText } from '../lib/numbers.ts';

export interface PredictInput {
  name: string;
  /** Empty: the column is numeric. */
  categories: string[];
  /** The mean, or the most frequent category. */
  typical: string;
}

function inputOf(column: Column): PredictInput {
  const counts = [...(column.valueCounts ?? [])].sort((a, b) => Number(b.count ?? 0) - Number(a.count ?? 0));
  const categories = column.type === 'COLUMN_TYPE_CATEGORICAL' ? counts.map((count) => count.value ?? '') : [];
  const mean = parseReal(column.statistics?.mean ?? 0) ?? 0;
  return { name: column.name ?? '', categories, typical: categories[0] ?? String(Number(mean.toPrecision(4))) };
}

/** From the data sets that the model was trained on; undefined: some of its columns have no names, so no form can ask for them. */
export function inputsFromDatasets(datasets: Dataset[], model: ModelVersion): PredictInput[] | undefined {
  const wanted = model.lineage?.request?.preprocessing?.blocks ?? [];
  const blocks = datasets.flatMap((dataset) => dataset.blocks ?? []).filter((block) => wanted.length === 0 || wanted.includes(block.name ?? ''));
  const complete = blocks.every((block) => !block.sparse && (block.columns?.length ?? 0) === Number(block.numColumns ?? 0));
  const squares = datasets.some((dataset) => (dataset.squares?.length ?? 0) > 0);
  return complete && !squares && blocks.length > 0 ? blocks.flatMap((block) => (block.columns ?? []).map(inputOf)) : undefined;
}

/** From view FULL of the model, when the data are gone. */
export function inputsFromModel(model: ModelVersion): PredictInput[] {
  return (model.preprocessing?.blocks ?? []).flatMap((block) =>
    (block.columns ?? []).map((column) => {
      const categories = column.categorical ? (column.categories ?? []) : [];
      return { name: column.name ?? '', categories, typical: categories[0] ?? String(Number(Number(column.offset ?? 0).toPrecision(4))) };
    }),
  );
}

/** One row. `errors` names the inputs that hold no number; an empty one is a missing value. */
export function rowToColumns(inputs: PredictInput[], values: Record<string, string>): { columns: TypedColumn[]; errors: Map<string, string> } {
  const errors = new Map<string, string>();
  const columns = inputs.map(({ name, categories, typical }): TypedColumn => {
    const text = values[name] ?? typical;
    if (categories.length > 0) return { name, texts: { values: [text] } };
    const number = text.trim() === '' ? 'NaN' : realFromText(text);
    if (number === undefined) errors.set(name, `"${text.trim()}" is not a number`);
    return { name, numbers: { values: [number ?? 'NaN'] } };
  });
  return { columns, errors };
}

/** Values by column from a pasted row, with or without a line of names before it; without, its cells are in the order of `inputs`.
 * undefined when it has neither these names nor as many cells. */
export function valuesFromCsv(text: string, inputs: PredictInput[]): Record<string, string> | undefined {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '');
  const delimiter = guessDelimiter(lines[0] ?? '');
  const cells = lines.map((line) => splitCsvLine(line, delimiter));
  const names = new Set(inputs.map((input) => input.name));
  const [first, second] = cells;
  if (!first) return undefined;
  if (second && first.some((cell) => names.has(cell))) {
    const pairs = first.map((name, index) => [name, second[index] ?? ''] as const);
    return Object.fromEntries(pairs.filter(([name]) => names.has(name)));
  }
  if (first.length < inputs.length) return undefined;
  return Object.fromEntries(inputs.map((input, index) => [input.name, first[index] ?? '']));
}
