// Upload a file: drop it, say which column is to be predicted, send it.
import { useRef, useState } from 'preact/hooks';
import { uploadDataset } from '../api/calls.ts';
import { ApiError, isAbort } from '../api/error.ts';
import { useServices, useTitle } from '../context.tsx';
import { guessTarget, idFromFile, looksLikeSvmlight, type Preview, previewOf, type Role, ROLE_WORDS, ROLES, roleOf, targetOf, UPLOAD_PATHS, type UploadForm, uploadHeader, withTarget } from '../form/upload_form.ts';
import { assignViolations } from '../form/violations.ts';
import { formatBytes, idOf } from '../lib/format.ts';
import { readHead } from '../lib/read_head.ts';
import { Link, useNavigate } from '../router.tsx';
import { CheckField, SelectField, TextField, ViolationsContext } from '../ui/field.tsx';
import { Failure, PageHeader, Panel, ProgressBar, Scroll } from '../ui/parts.tsx';

interface Chosen {
  file: File;
  head: string;
}

export function UploadPage() {
  useTitle('Upload a file');
  const [chosen, setChosen] = useState<Chosen>();
  const [error, setError] = useState<unknown>();
  const choose = (file: File | undefined) => {
    if (!file) return;
    readHead(file).then((head) => setChosen({ file, head }), setError);
  };
  return (
    <>
      <PageHeader title="Upload a file" above={<Link href="/datasets">Data</Link>} below="CSV or svmlight, compressed with gzip or not." />
      <Failure error={error} />
      {chosen ? <UploadFormView key={chosen.file.name} chosen={chosen} back={() => setChosen(undefined)} /> : <DropZone choose={choose} />}
    </>
  );
}

function DropZone({ choose }: { choose: (file: File | undefined) => void }) {
  const [over, setOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  return (
    <div
      class={`drop ${over ? 'over' : ''}`}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        choose(event.dataTransfer?.files[0]);
      }}
    >
      <p>Drop a file here, or</p>
      <input ref={input} type="file" class="hidden-label" aria-label="File to upload" tabIndex={-1} onChange={(event) => choose(event.currentTarget.files?.[0])} />
      <button type="button" class="button primary" onClick={() => input.current?.click()}>
        Choose a file
      </button>
      <p class="sub">It is read on this computer first, to show you its columns.</p>
    </div>
  );
}

function firstForm({ file, head }: Chosen): UploadForm {
  const svmlight = looksLikeSvmlight(head);
  const { names, delimiter } = previewOf(head, true);
  const roles = svmlight ? {} : withTarget({}, guessTarget(names));
  return { id: idFromFile(file.name), format: svmlight ? 'svmlight' : 'csv', delimiter, hasHeader: true, target: '', roles, allowMissing: false };
}

function UploadFormView({ chosen, back }: { chosen: Chosen; back: () => void }) {
  const { client } = useServices();
  const go = useNavigate();
  const [form, setForm] = useState(() => firstForm(chosen));
  const [sent, setSent] = useState<number>();
  const [error, setError] = useState<unknown>();
  const controller = useRef<AbortController | undefined>(undefined);
  const change = (part: Partial<UploadForm>) => setForm({ ...form, ...part });
  const preview = previewOf(chosen.head, form.hasHeader);
  const { byPath, rest } = assignViolations(error instanceof ApiError ? error.violations : [], UPLOAD_PATHS, 'header.');
  const shownBeside = error instanceof ApiError && error.violations.length > 0 && rest.length === 0;

  const submit = async (event: Event) => {
    event.preventDefault();
    controller.current = new AbortController();
    setError(undefined);
    setSent(0);
    try {
      const dataset = await uploadDataset(client, uploadHeader(form, chosen.file), chosen.file, setSent, controller.current.signal);
      go(`/datasets/${idOf(dataset.name)}`);
    } catch (failure) {
      setSent(undefined);
      if (!isAbort(failure)) setError(failure);
    }
  };
  return (
    <ViolationsContext.Provider value={byPath}>
      <form class="form" onSubmit={(event) => void submit(event)} noValidate>
        <Panel title={chosen.file.name} aside={<span class="sub">{formatBytes(chosen.file.size)}</span>}>
          <UploadFields form={form} change={change} names={preview.names} />
        </Panel>
        {form.format === 'csv' ? <PreviewPanel preview={preview} roles={form.roles} onChange={(roles) => change({ roles })} /> : null}
        {shownBeside ? null : <Failure error={error} />}
        {sent === undefined ? (
          <div class="actions">
            <button type="submit" class="button primary">
              Upload
            </button>
            <button type="button" class="button" onClick={back}>
              Choose another file
            </button>
          </div>
        ) : (
          <div class="uploading">
            <ProgressBar fraction={chosen.file.size > 0 ? sent / chosen.file.size : 0} label="Upload" />
            <p class="sub" role="status">
              {sent < chosen.file.size ? `${formatBytes(sent)} of ${formatBytes(chosen.file.size)} sent` : 'Sent; the server is reading it.'}
            </p>
            <button type="button" class="button small" onClick={() => controller.current?.abort()}>
              Cancel
            </button>
          </div>
        )}
      </form>
    </ViolationsContext.Provider>
  );
}

function UploadFields({ form, change, names }: { form: UploadForm; change: (part: Partial<UploadForm>) => void; names: string[] }) {
  const csv = form.format === 'csv';
  return (
    <>
      <div class="fields">
        <TextField path="dataset_id" label="Name" placeholder="the server chooses one" help="Small letters, digits, - and _" value={form.id} onChange={(id) => change({ id })} />
        <SelectField
          path="format"
          label="Format"
          value={form.format}
          choices={[
            { value: 'csv', text: 'CSV' },
            { value: 'svmlight', text: 'svmlight' },
          ]}
          onChange={(format) => change({ format: format as UploadForm['format'], roles: format === 'csv' ? withTarget({}, guessTarget(names)) : {} })}
        />
        {csv ? (
          <SelectField
            path="parts[0].csv.roles"
            label="Column to predict"
            value={targetOf(form.roles)}
            choices={[{ value: '', text: 'none' }, ...names.map((name) => ({ value: name, text: name }))]}
            onChange={(target) => change({ roles: withTarget(form.roles, target) })}
          />
        ) : (
          <TextField path="parts[0].svmlight.target_name" label="Name of the target" placeholder="default: label" value={form.target} onChange={(target) => change({ target })} />
        )}
      </div>
      {csv ? (
        <div class="actions upload-checks">
          <CheckField label="the first line holds the names of the columns" checked={form.hasHeader} onChange={(hasHeader) => change({ hasHeader, roles: {} })} />
          <CheckField label="cells may be missing" checked={form.allowMissing} onChange={(allowMissing) => change({ allowMissing })} />
        </div>
      ) : null}
    </>
  );
}

function PreviewPanel({ preview, roles, onChange }: { preview: Preview; roles: Record<string, Role>; onChange: (roles: Record<string, Role>) => void }) {
  const role = (name: string | undefined): Role => roleOf(roles, name ?? '');
  const others = [...new Set(Object.values(roles))].filter((role) => role !== 'feature' && role !== 'target');
  return (
    <Panel title="Columns and first rows">
      <Scroll label="The first rows of the file">
        <table class="preview">
          <thead>
            <tr>
              {preview.names.map((name, index) => (
                <th key={index} scope="col" class={`is-${role(name)}`}>
                  {name}
                </th>
              ))}
            </tr>
            <tr>
              {preview.names.map((name, index) => (
                <td key={index} class={`is-${role(name)}`}>
                  <select aria-label={`Role of ${name}`} value={role(name)} onChange={(event) => onChange({ ...roles, [name]: event.currentTarget.value as Role })}>
                    {ROLES.map((choice) => (
                      <option key={choice} value={choice} selected={choice === role(name)}>
                        {choice}
                      </option>
                    ))}
                  </select>
                </td>
              ))}
            </tr>
          </thead>
          <tbody>
            {preview.rows.map((row, index) => (
              <tr key={index}>
                {row.map((cell, place) => (
                  <td key={place} class={`is-${role(preview.names[place])}`}>
                    {cell}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {others.map((role) => (
        <p key={role} class="sub">
          {role}: {ROLE_WORDS[role]}
        </p>
      ))}
    </Panel>
  );
}
