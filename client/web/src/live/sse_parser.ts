// Server-sent events from pieces of text, as the HTML standard says: lines end with CR, LF or both, a blank line ends an event,
// lines that begin with a colon are comments, one space after a field's colon is dropped.

export interface ServerSentEvent {
  event: string;
  data: string;
  id: string;
}

export class SseParser {
  private rest = '';
  private skipLineFeed = false;
  private data: string[] = [];
  private event = '';
  private id = '';

  /** Takes the next piece of the stream; returns the events that it completes. */
  push(text: string): ServerSentEvent[] {
    const done: ServerSentEvent[] = [];
    if (this.skipLineFeed && text.length > 0) {
      if (text[0] === '\n') text = text.slice(1);
      this.skipLineFeed = false;
    }
    // A carriage return at the very end may belong to a line feed that has not come yet.
    if (text.endsWith('\r')) this.skipLineFeed = true;
    const lines = (this.rest + text).split(/\r\n|\r|\n/);
    this.rest = lines.pop() ?? '';
    for (const line of lines) {
      const event = this.line(line);
      if (event) done.push(event);
    }
    return done;
  }

  private line(line: string): ServerSentEvent | undefined {
    if (line === '') return this.finish();
    const colon = line.indexOf(':');
    if (colon === 0) return undefined;
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'data') this.data.push(value);
    else if (field === 'event') this.event = value;
    else if (field === 'id' && !value.includes('\0')) this.id = value;
    return undefined;
  }

  private finish(): ServerSentEvent | undefined {
    const event = this.data.length > 0 ? { event: this.event || 'message', data: this.data.join('\n'), id: this.id } : undefined;
    this.data = [];
    this.event = '';
    return event;
  }
}
