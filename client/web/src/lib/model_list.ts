// Which models a list shows, and in what order.
import type { ModelVersion } from '../api/model_types.ts';
import { idOf } from './format.ts';
import { datasetsOf } from './jobs.ts';
import { aliasOf, certifiedGap, mainMetricOf, partsOf } from './models.ts';

export const ORDERS = ['name', 'version', 'quality', 'gap', 'created'] as const;
export type Order = (typeof ORDERS)[number];

export interface ModelFilter {
  text: string;
  /** Empty: all. */
  learner: string;
  order: Order;
  descending: boolean;
}

/** As many models as a comparison has room for. */
export const MAX_COMPARED = 6;

/** Every word must occur in name, learner, data set, target, alias, or in names, labels and descriptions that people have given. */
export function matchesModel(model: ModelVersion, text: string): boolean {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const { displayName, description } = model.about ?? {};
  const labels = [model.labels, model.about?.labels].flatMap((each) => Object.entries(each ?? {})).map(([key, value]) => `${key}=${value}`);
  const aliases = (model.aliases ?? []).map((alias) => `@${aliasOf(alias)}`);
  const all = [partsOf(model.name).model, displayName, description, model.learner, model.target, model.description, ...datasetsOf(model.lineage?.request).map(idOf), ...labels, ...aliases];
  const found = all.join(' ').toLowerCase();
  return words.every((word) => found.includes(word));
}

export function learnersOf(models: readonly ModelVersion[]): string[] {
  return [...new Set(models.map((model) => model.learner ?? ''))].filter(Boolean).sort();
}

/** Undefined: nothing to sort by, which comes last in either direction. */
function keyOf(model: ModelVersion, order: Order): number | string | undefined {
  switch (order) {
    case 'name':
      return partsOf(model.name).model;
    case 'version':
      return partsOf(model.name).version;
    case 'quality': {
      const metric = mainMetricOf(model);
      if (!metric) return undefined;
      return /rmse$/.test(metric.name ?? '') ? -Number(metric.value ?? 0) : Number(metric.value ?? 0);
    }
    case 'gap':
      return certifiedGap(model.certificate);
    case 'created':
      return Date.parse(model.createTime ?? '') || undefined;
  }
}

export function listed(models: readonly ModelVersion[], filter: ModelFilter): ModelVersion[] {
  const found = models.filter((model) => (!filter.learner || model.learner === filter.learner) && matchesModel(model, filter.text));
  const sign = filter.descending ? -1 : 1;
  return found.sort((a, b) => {
    const [one, two] = [keyOf(a, filter.order), keyOf(b, filter.order)];
    if (one === two) return partsOf(a.name).model < partsOf(b.name).model ? -1 : 1;
    if (one === undefined) return 1;
    if (two === undefined) return -1;
    return one < two ? -sign : sign;
  });
}

export function filterFromQuery(query: URLSearchParams): ModelFilter {
  const order = query.get('sort') as Order | null;
  return {
    text: query.get('q') ?? '',
    learner: query.get('learner') ?? '',
    order: order && ORDERS.includes(order) ? order : 'name',
    descending: query.get('desc') === '1',
  };
}

export function queryFromFilter(filter: ModelFilter): string {
  const query = new URLSearchParams();
  if (filter.text) query.set('q', filter.text);
  if (filter.learner) query.set('learner', filter.learner);
  if (filter.order !== 'name') query.set('sort', filter.order);
  if (filter.descending) query.set('desc', '1');
  const text = query.toString();
  return text ? `?${text}` : '';
}

/** The models that an address like "/compare?m=models/a/versions/1&m=..." names; "a" and "b" in old addresses. */
export function comparedFromQuery(query: URLSearchParams): string[] {
  const names = [...query.getAll('m'), query.get('a') ?? '', query.get('b') ?? ''].filter(Boolean);
  return [...new Set(names)].slice(0, MAX_COMPARED);
}

export function compareAddress(names: readonly string[]): string {
  return `/compare?${new URLSearchParams(names.map((name) => ['m', name]))}`;
}
