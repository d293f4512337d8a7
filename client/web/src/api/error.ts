// Errors of the service: the body is a google.rpc.Status with its details, whatever went wrong.
import type { ApiErrorBody, FieldViolation, Status } from './types.ts';

export class ApiError extends Error {
  constructor(
    readonly httpStatus: number,
    readonly code: string,
    message: string,
    readonly reason: string = '',
    readonly violations: FieldViolation[] = [],
    readonly metadata: Record<string, string> = {},
    readonly retryAfterSeconds: number | undefined = undefined,
  ) {
    super(message);
  }

  get needsToken(): boolean {
    return this.httpStatus === 401;
  }
}

function detailed(status: Status & { status?: string }, httpStatus: number, retryAfter: number | undefined): ApiError {
  const details = status.details ?? [];
  const info = details.find((detail) => detail['@type'].endsWith('google.rpc.ErrorInfo'));
  const request = details.find((detail) => detail['@type'].endsWith('google.rpc.BadRequest'));
  return new ApiError(
    httpStatus,
    status.status ?? '',
    status.message || `the server answered ${httpStatus}`,
    info?.reason ?? '',
    request?.fieldViolations ?? [],
    info?.metadata ?? {},
    retryAfter,
  );
}

/** Of an answer that is no success. A body that is not the service's own (a proxy's page) is not shown. */
export async function errorOfResponse(response: Response): Promise<ApiError> {
  const seconds = Number(response.headers.get('Retry-After') ?? NaN);
  return errorOfText(response.status, await response.text().catch(() => ''), Number.isFinite(seconds) ? seconds : undefined);
}

export function errorOfText(httpStatus: number, text: string, retryAfter?: number): ApiError {
  try {
    const body = JSON.parse(text) as ApiErrorBody;
    if (body?.error) return detailed(body.error, httpStatus, retryAfter);
  } catch {
    // No JSON: something between browser and server answered.
  }
  return new ApiError(httpStatus, '', `the server answered ${httpStatus}`, '', [], {}, retryAfter);
}

export function errorOfStatus(status: Status): ApiError {
  return detailed(status, 0, undefined);
}

/** What the pages call the fields that would have helped, which errors name by their paths. */
const REMEDIES: Readonly<Record<string, string>> = {
  'csv.allow_missing': 'Upload it with “cells may be missing”, and choose at the training how missing values are filled in.',
  'csv.no_header': 'If it is, upload without “the first line holds the names of the columns”.',
  'csv.delimiter': 'Cells are separated by commas, semicolons, tabs or bars.',
  'preprocessing.imputation': 'Choose under “Missing values” of the training how they are filled in.',
};

/** For people: what failed, in the service's own words, and what helps, in those of the pages. */
export function messageOf(error: unknown): string {
  if (error instanceof ApiError) {
    const remedy = REMEDIES[error.metadata['remedy'] ?? ''];
    return remedy ? `${error.message}. ${remedy}` : error.message;
  }
  if (error instanceof TypeError) return 'The server does not answer.';
  return error instanceof Error ? error.message : String(error);
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}
