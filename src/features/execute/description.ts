// What the model reads about the tool that runs code: declarations of what it can call as far as they fit, and a hint for
// the rest, which it finds by search. Pure.
import { declarationOf } from "./catalog.ts";
import type { Connector, OpenConnector } from "./connector.ts";

/** Characters of declarations; what does not fit is found by search. */
export const MAX_DESCRIBED_CHARS = 8_000;

export function executeDescription(connectors: readonly Connector[]): string {
  const names = [...connectors.map((one) => one.name()), "codemode"].join(", ");
  return [
    "Runs JavaScript or TypeScript in a sandbox and returns the value of the last expression. Use it to call several tools in one go.",
    `The only globals besides standard JavaScript are: ${names}. There is no fetch, no import, no file system but these. Each method takes one object and returns a promise: await it.`,
    "codemode.search(query) finds methods, codemode.describe(path) shows their types, codemode.run(name, input) runs a saved snippet.",
    "A call that needs an approval pauses the run, which goes on by itself when a human has decided: do not send the code again. The code is then run again from the top with the recorded results, so wrap what differs each time in codemode.step(name, () => Math.random()).",
    ...describedConnectors(connectors)
  ].join("\n");
}

/** In their order: a connector is declared if all of it fits into what is left. */
function describedConnectors(connectors: readonly Connector[]): string[] {
  let left = MAX_DESCRIBED_CHARS;
  return connectors.map((source) => {
    const hint = source.instructions?.();
    const open = openNow(source);
    if (!open) return `${hint ?? `${source.name()}.*`} Its methods are found with codemode.search.`;
    const declaration = declarationOf(open);
    const text = hint === undefined ? declaration : `// ${hint}\n${declaration}`;
    if (text.length <= left) {
      left -= text.length;
      return text;
    }
    return `${hint ?? `${source.name()}.*`} It has ${open.tools.size} methods: find them with codemode.search.`;
  });
}

/** Undefined: it is not known before it is asked, as with a server. */
function openNow(source: Connector): OpenConnector | undefined {
  const tools = source.tools();
  if (tools instanceof Promise) {
    // A server that cannot be reached now is the matter of the run.
    tools.catch(() => undefined);
    return undefined;
  }
  return { name: source.name(), instructions: undefined, tools: new Map(Object.entries(tools)), source };
}
