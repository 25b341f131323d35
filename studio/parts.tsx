// Small pieces that every view uses. Whatever an agent holds is rendered as text by React, never as markup.
import { Component, useEffect, useLayoutEffect, useRef, useState, type ReactNode } from "react";
import type { ShownText } from "../src/features/inspection/index.ts";
import { printable } from "./format.ts";
import type { ViewSource } from "./source.ts";

interface TextProps {
  readonly value: ShownText;
  readonly label?: string;
  /** Written by a person or a model for a person: in the page's letters, still as text. */
  readonly isProse?: boolean;
  /** The next page, from this character on. */
  readonly more?: (from: number) => Promise<ShownText>;
}

export function Text({ value, label, isProse = false, more }: TextProps) {
  const [pages, setPages] = useState<readonly ShownText[]>([value]);
  // A turn that runs is read again and again: pages stay as long as the text is the same.
  useEffect(() => {
    setPages([value]);
  }, [value.text, value.chars]);
  const shown = pages.map(({ text }) => text).join("");
  const isCut = pages.at(-1)?.isCut ?? false;
  const [error, setError] = useState<string>();
  const showMore = () =>
    more?.(shown.length).then(
      (page) => setPages([...pages, page]),
      (failure: Error) => setError(failure.message)
    );
  return (
    <figure className="text">
      {label && <figcaption>{label}</figcaption>}
      <pre tabIndex={0} {...(isProse && { className: "prose" })}>
        {shown === "" ? <i className="faint">empty</i> : printable(shown)}
      </pre>
      {isCut && (
        <p className="faint">
          {shown.length.toLocaleString("en")} of {value.chars.toLocaleString("en")} characters.{" "}
          {more && <button onClick={() => void showMore()}>Show more</button>}
        </p>
      )}
      {error && <p className="error">{error}</p>}
    </figure>
  );
}

export function Badge({ kind, children }: { kind: string; children: ReactNode }) {
  return <span className={`badge badge-${kind}`}>{children}</span>;
}

export function Fact({ name, value, title }: { name: string; value: string; title?: string }) {
  return (
    <span className="fact" title={title}>
      <small>{name}</small>
      {value}
    </span>
  );
}

/** All agents of the project, or the one whose instance is open. */
export type Scope = "project" | "agent";

interface ScopesProps {
  readonly label: string;
  readonly chosen: Scope;
  readonly onChoose: (scope: Scope) => void;
  readonly address: string;
}

export function Scopes({ label, chosen, onChoose, address }: ScopesProps) {
  const scopes = [
    { name: "project", text: "All agents" },
    { name: "agent", text: address === "" ? "This agent" : `Only ${printable(address)}` }
  ] as const;
  return (
    <p className="filters scopes" role="group" aria-label={label}>
      {scopes.map(({ name, text }) => (
        <button key={name} aria-pressed={name === chosen} onClick={() => onChoose(name)}>
          {text}
        </button>
      ))}
    </p>
  );
}

export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="empty">
      <h3>{title}</h3>
      {children && <p>{children}</p>}
    </div>
  );
}

interface BoundaryProps {
  /** Another one is another try. */
  readonly of: string;
  readonly children: ReactNode;
}

/** A view that cannot be drawn, such as of a file that was changed by hand, does not take the page with it. */
export class Boundary extends Component<BoundaryProps, { readonly error?: Error; readonly of?: string }> {
  override state: { readonly error?: Error; readonly of?: string } = {};
  static getDerivedStateFromError(error: Error) {
    return { error };
  }
  static getDerivedStateFromProps({ of }: BoundaryProps, state: { readonly error?: Error; readonly of?: string }) {
    return state.of === of ? null : { error: undefined, of };
  }
  override render() {
    const { error } = this.state;
    return error ? <Empty title="This view cannot be drawn">{error.message}</Empty> : this.props.children;
  }
}

/** Shown after a moment only: most views are there before. */
export function Loading({ what }: { what: string }) {
  return (
    <p className="loading" role="status">
      Reading {what}…
    </p>
  );
}

export interface Loaded<View> {
  readonly value: View | undefined;
  readonly error: string | undefined;
}

/**
 * A view, read again when `version` changes. The old one stays until the new one is there, and while the app is away; an
 * answer that there is none takes its place.
 */
export function useView<View>(source: ViewSource, view: string | undefined, version: unknown): Loaded<View> {
  const [loaded, setLoaded] = useState<Loaded<View> & { of?: string }>({ value: undefined, error: undefined });
  const key = `${source.address} ${view}`;
  useEffect(() => {
    if (view === undefined) return;
    let isCurrent = true;
    source.get<View>(view).then(
      (value) => isCurrent && setLoaded({ value, error: undefined, of: key }),
      ({ message: error, cause }: Error) => {
        if (!isCurrent) return;
        const isAway = typeof cause !== "number" || cause >= 500;
        setLoaded((last) => ({ value: isAway && last.of === key ? last.value : undefined, error, of: key }));
      }
    );
    return () => void (isCurrent = false);
  }, [source, view, key, version]);
  return loaded.of === key ? loaded : { value: undefined, error: undefined };
}

interface VirtualListProps<Item> {
  readonly items: readonly Item[];
  readonly rowHeight: number;
  readonly label: string;
  readonly render: (item: Item, index: number) => ReactNode;
  readonly onEnd?: () => void;
  /** Scrolled into sight when another one becomes it, and not when the list grows above it. */
  readonly current?: { readonly id: string | undefined; readonly index: number };
}

/** Only what is in sight is in the page, however long the list. */
export function VirtualList<Item>({ items, rowHeight, label, render, onEnd, current }: VirtualListProps<Item>) {
  const ref = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 800 });
  useLayoutEffect(() => {
    const list = ref.current;
    if (!list) return;
    const update = () => setView({ top: list.scrollTop, height: list.clientHeight });
    update();
    const observer = new ResizeObserver(update);
    observer.observe(list);
    return () => observer.disconnect();
  }, []);
  const index = useRef(-1);
  index.current = current?.index ?? -1;
  const isListed = index.current >= 0;
  useLayoutEffect(() => {
    const list = ref.current;
    if (!list || !isListed) return;
    const top = index.current * rowHeight;
    const end = top + rowHeight;
    if (top < list.scrollTop) list.scrollTop = top;
    else if (end > list.scrollTop + list.clientHeight) list.scrollTop = end - list.clientHeight;
  }, [current?.id, isListed, rowHeight]);
  const first = Math.max(0, Math.floor(view.top / rowHeight) - 5);
  const last = Math.min(items.length, Math.ceil((view.top + view.height) / rowHeight) + 5);
  useEffect(() => {
    if (last >= items.length - 5) onEnd?.();
  }, [last, items.length, onEnd]);
  return (
    <div
      ref={ref}
      className="list"
      role="list"
      aria-label={label}
      onScroll={({ currentTarget }) => setView({ top: currentTarget.scrollTop, height: currentTarget.clientHeight })}
    >
      <div style={{ height: items.length * rowHeight, position: "relative" }}>
        {items.slice(first, last).map((item, index) => (
          <div
            key={first + index}
            role="listitem"
            aria-setsize={items.length}
            aria-posinset={first + index + 1}
            style={{ position: "absolute", top: (first + index) * rowHeight, height: rowHeight, left: 0, right: 0 }}
          >
            {render(item, first + index)}
          </div>
        ))}
      </div>
    </div>
  );
}
