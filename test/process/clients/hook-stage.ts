// Renders one hook with the real react-dom, in Node and without a DOM: the component renders nothing, so React never
// creates an element and needs of its container only what stands here. Effects, state updates and unmounting are
// React's own. What a browser adds (pages, tabs, network events) is left to the browser tests.
import { createElement } from "react";
import { createRoot } from "react-dom/client";
import { EventLog } from "./event-log.ts";

const ELEMENT_NODE = 1;
const DOCUMENT_NODE = 9;

const listeners = { addEventListener: () => undefined, removeEventListener: () => undefined };
const stageWindow = { ...listeners, HTMLIFrameElement: class {}, event: undefined };
const stageDocument = { ...listeners, nodeType: DOCUMENT_NODE, defaultView: stageWindow, activeElement: null };

// React asks the window which event is being handled, to decide how urgent an update is.
Object.assign(globalThis, { window: stageWindow });

export interface Rendered<Result, View> {
  /** What a component would have shown, render by render. */
  readonly renders: EventLog<View>;
  /** What the hook returned last. */
  readonly current: Result;
  unmount(): void;
}

/** Resolves after the first render. `view` picks what is recorded: the hook may return the same object each time. */
export async function renderHook<Result, View>(
  useHook: () => Result,
  view: (result: Result) => View
): Promise<Rendered<Result, View>> {
  const renders = new EventLog<View>();
  let current: Result | undefined;
  function Stage(): null {
    current = useHook();
    renders.add(view(current));
    return null;
  }
  const root = createRoot({
    ...listeners,
    nodeType: ELEMENT_NODE,
    nodeName: "DIV",
    tagName: "DIV",
    namespaceURI: "http://www.w3.org/1999/xhtml",
    ownerDocument: stageDocument,
    textContent: "",
    childNodes: []
  });
  root.render(createElement(Stage));
  await renders.find(() => true);
  return {
    renders,
    get current() {
      // Rendered at least once, see above.
      return current as Result;
    },
    unmount: () => root.unmount()
  };
}
