// The first lines of a file, unpacked when it is compressed with gzip.

const HEAD_BYTES = 256 * 1024;

async function isGzip(file: Blob): Promise<boolean> {
  const [first, second] = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  return first === 0x1f && second === 0x8b;
}

export async function readHead(file: Blob): Promise<string> {
  if (!(await isGzip(file))) return wholeLines(await file.slice(0, HEAD_BYTES).text(), file.size > HEAD_BYTES);
  const reader = file.stream().pipeThrough(new DecompressionStream('gzip')).getReader();
  const decoder = new TextDecoder();
  let text = '';
  let ended = false;
  while (!ended && text.length < HEAD_BYTES) {
    const { done, value } = await reader.read();
    ended = done;
    if (value) text += decoder.decode(value, { stream: true });
  }
  await reader.cancel().catch(() => {});
  return wholeLines(text, !ended);
}

/** Without the last line, which may be cut off. */
function wholeLines(text: string, cut: boolean): string {
  return cut ? text.slice(0, Math.max(0, text.lastIndexOf('\n'))) : text;
}
