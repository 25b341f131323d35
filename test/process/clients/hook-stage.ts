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

export interface Rendered<Result> {
  /** What the hook returned, render by render. */
  readonly renders: EventLog<Result>;
  /** What it returned last. */
  readonly current: Result;
  unmount(): void;
}

/** Resolves after the first render. */
export async function renderHook<Result>(useHook: () => Result): Promise<Rendered<Result>> {
  const renders = new EventLog<Result>();
  function Stage(): null {
    renders.add(useHook());
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
      return renders.events.at(-1) as Result;
    },
    unmount: () => root.unmount()
  };
}
