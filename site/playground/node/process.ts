// What the host asks of Node's process: a say in failures that nothing handles, because those of dead objects are none;
// and turns of the event loop.
export const process = {
  env: {},
  /** The host replaces it. True: the failure is of a dead object. */
  emit(_event: string, _failure: unknown): boolean {
    return false;
  }
};

addEventListener("unhandledrejection", (event: PromiseRejectionEvent) => {
  if (process.emit("unhandledRejection", event.reason)) event.preventDefault();
});
addEventListener("error", (event) => {
  if (process.emit("uncaughtException", event.error)) event.preventDefault();
});

const turns: (() => void)[] = [];
const { port1, port2 } = new MessageChannel();
port1.onmessage = () => turns.shift()?.();

Object.defineProperty(globalThis, "setImmediate", {
  value: (work: () => void) => {
    turns.push(work);
    port2.postMessage(null);
  }
});
