import { Component, createElement, type ComponentType, type FunctionComponent } from "preact";

/** A component that is drawn again only when a property is another value. (preact/compat has more than this page needs.) */
export function memo<P extends object>(inner: FunctionComponent<P>): ComponentType<P> {
  return class Memo extends Component<P> {
    override shouldComponentUpdate(next: P): boolean {
      const a = this.props as Record<string, unknown>, b = next as Record<string, unknown>;
      const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
      for (const k of keys) if (a[k] !== b[k]) return true;
      return false;
    }
    override render() {
      return createElement(inner, this.props as P);
    }
  };
}
