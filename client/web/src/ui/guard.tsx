// A page that fails to draw says so instead of leaving nothing behind.
import { Component, type ComponentChildren } from 'preact';
import { Failure } from './parts.tsx';

export class Guard extends Component<{ children: ComponentChildren }, { error?: unknown }> {
  override state: { error?: unknown } = {};

  override componentDidCatch(error: unknown): void {
    this.setState({ error });
  }

  override render() {
    const { error } = this.state;
    if (error === undefined) return this.props.children;
    return (
      <>
        <p class="hint">This page cannot be shown; the others can.</p>
        <Failure error={error} retry={() => this.setState({ error: undefined })} />
      </>
    );
  }
}
