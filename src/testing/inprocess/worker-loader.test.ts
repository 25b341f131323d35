import { expect, test } from "vitest";
import { createTestHost } from "../test-host.ts";
import { createTestLoader } from "./worker-loader.ts";

const MAIN = `import { WorkerEntrypoint } from "cloudflare:workers";
export default class extends WorkerEntrypoint {
  async run(host) { return await host.ask(1); }
}`;

function open(): { run(host: object): Promise<unknown> } {
  const code = { mainModule: "main.js", modules: { "main.js": { js: MAIN } } };
  return createTestLoader()
    .load(code as never)
    .getEntrypoint() as { run(host: object): Promise<unknown> };
}

test("code in an isolate calls the functions it is given", async () => {
  expect(await open().run({ ask: (one: number) => one + 1 })).toBe(2);
});

test("code that waits for an agent whose process died does not keep the host busy", async () => {
  const host = createTestHost({ agents: {} });
  void open().run({ ask: () => new Promise(() => undefined) });
  expect(await host.idle()).toBeUndefined();
});
