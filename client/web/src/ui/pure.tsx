// A component that is drawn again only when one of its properties has become another one: long lists stay cheap.
import { Component, type ComponentType } from 'preact';

export function pure<P extends object>(Inner: ComponentType<P>): ComponentType<P> {
  return class Pure extends Component<P> {
    override shouldComponentUpdate(next: P): boolean {
      const keys = new Set([...Object.keys(next), ...Object.keys(this.props)]) as Set<keyof P>;
      for (const key of keys) {
        if (!Object.is(next[key], (this.props as P)[key])) return true;
      }
      return false;
    }

    override render() {
      return <Inner {...(this.props as P)} />;
    }
  };
}
