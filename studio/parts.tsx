// Small pieces that every view uses. Whatever an agent holds is rendered as text by React, never as markup.
import { useEffect, useLayoutEffect, useRef, useState, type ReactNode } from "react";
import type { ShownText } from "../src/inspect/index.ts";
import type { ViewSource } from "./source.ts";

export function Text({ value, label, more }: { value: ShownText; label?: string; more?: () => Promise<ShownText> }) {
  const [pages, setPages] = useState<readonly ShownText[]>([value]);
  useEffect(() => setPages([value]), [value]);
  const shown = pages.map(({ text }) => text).join("");
  const isCut = pages.at(-1)?.isCut ?? false;
  return (
    <figure className="text">
      {label && <figcaption>{label}</figcaption>}
      <pre tabIndex={0}>{printable(shown)}</pre>
      {isCut && (
        <p className="faint">
          {shown.length.toLocaleString("en")} of {value.chars.toLocaleString("en")} characters.{" "}
          {more && <button onClick={() => void more().then((page) => setPages([...pages, page]))}>Show more</button>}
        </p>
      )}
    </figure>
  );
}

/** Control characters are shown as symbols, so that escape sequences of terminals are seen and do nothing. */
function printable(text: string): string {
  // oxlint-disable-next-line no-control-regex
  return text.replaceAll(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, (char) =>
    String.fromCodePoint(0x2400 + char.charCodeAt(0))
  );
}

export function Badge({ kind, children }: { kind: string; children: ReactNode }) {
  return <span className={`badge badge-${kind}`}>{children}</span>;
}

export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="empty">
      <h3>{title}</h3>
      {children && <p>{children}</p>}
    </div>
  );
}

export interface Loaded<View> {
  readonly value: View | undefined;
  readonly error: string | undefined;
}

/** A view, read again when `version` changes; the old one stays until the new one is there. */
export function useView<View>(source: ViewSource, view: string | undefined, version: unknown): Loaded<View> {
  const [loaded, setLoaded] = useState<Loaded<View> & { of?: string }>({ value: undefined, error: undefined });
  const key = `${source.address} ${view}`;
  useEffect(() => {
    if (view === undefined) return;
    let isCurrent = true;
    source.get<View>(view).then(
      (value) => isCurrent && setLoaded({ value, error: undefined, of: key }),
      (error: Error) => isCurrent && setLoaded({ value: undefined, error: error.message, of: key })
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
}

/** Only what is in sight is in the page, however long the list. */
export function VirtualList<Item>({ items, rowHeight, label, render, onEnd }: VirtualListProps<Item>) {
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
            style={{ position: "absolute", top: (first + index) * rowHeight, height: rowHeight, left: 0, right: 0 }}
          >
            {render(item, first + index)}
          </div>
        ))}
      </div>
    </div>
  );
}
