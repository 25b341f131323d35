import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { beforeEach, expect, test } from "vitest";
import { DevStudio, type DevelopedApp } from "./dev-studio.ts";
import { openStudio } from "./studio-command.ts";

let root: string;
let app: Server;
let asked: (string | undefined)[];

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), "everthink-dev-studio-"));
  asked = [];
  app = createServer((request, response) => {
    asked.push(request.url, request.headers.authorization);
    response.end("{}");
  }).listen(0, "127.0.0.1");
  await once(app, "listening");
  return () => {
    app.close();
    rmSync(root, { recursive: true, force: true });
  };
});

const developed = (origin?: string): DevelopedApp => ({
  root,
  origin: () => origin ?? `http://127.0.0.1:${(app.address() as AddressInfo).port}`,
  prefix: "agents",
  agents: [{ id: "assistant", className: "Assistant" }],
  canWrite: false
});

/** The database of an object, as the development server keeps it. */
function storeObject(name: string): void {
  const folder = join(root, ".wrangler/state/v3/do/my-app-Assistant");
  mkdirSync(folder, { recursive: true });
  const database = new DatabaseSync(join(folder, `${"a".repeat(64)}.sqlite`));
  database.exec("CREATE TABLE cf_meta (id INTEGER, identity TEXT)");
  database.prepare("INSERT INTO cf_meta VALUES (1, ?)").run(JSON.stringify({ name }));
  database.close();
}

test("everthink studio for an agent of the project lists its instances, so that the page need not make one", async () => {
  storeObject("main");
  const { agents, prefix } = developed();
  const stop = new AbortController();
  const said = Promise.withResolvers<string>();
  const command = openStudio(
    {
      target: { origin: "http://127.0.0.1:1", prefix, token: undefined, query: {} },
      agent: "assistant",
      agents: ["assistant"],
      instance: undefined,
      named: undefined,
      project: { root, agents },
      port: 0,
      canWrite: false
    },
    { folder: "/nowhere", say: said.resolve, stop: stop.signal }
  );
  const url = /http:\S+/.exec(await said.promise)?.[0];
  const config = await (await fetch(`${url}__studio/config.json`)).json();
  expect(config).toMatchObject({ target: { agent: "assistant", instance: null } });
  const instances = await fetch(`${url}__studio/instances.json?agent=assistant`);
  expect(await instances.json()).toMatchObject({ instances: [{ name: "main" }] });
  stop.abort();
  await command;
});

test("Studio of a development server asks its agents with the key, and knows their instances", async () => {
  storeObject("main");
  const studio = new DevStudio(root);
  expect(studio.key.length).toBeGreaterThan(60);
  const url = await studio.open(developed("http://127.0.0.1:1"));
  // A restart of the server gives it another port: the same Studio follows.
  expect(await studio.open(developed())).toBe(url);
  await fetch(`${url}__studio/agents/assistant/main/inspect/v1/agent`);
  expect(asked).toEqual(["/agents/assistant/main/inspect/v1/agent", `Bearer ${studio.key}`]);
  const instances = await fetch(`${url}__studio/instances.json?agent=assistant`);
  expect(await instances.json()).toMatchObject({ instances: [{ name: "main" }], isCut: false });
  const config = await (await fetch(`${url}__studio/config.json`)).text();
  expect(config).not.toContain(studio.key);
  // The page chooses among the instances there are.
  expect(JSON.parse(config)).toMatchObject({ target: { agent: null }, agents: [{ id: "assistant" }] });
  await studio.close();
});

test.each([".dev.vars", ".env"])("the project's own key in %s is the one that is used", (file) => {
  writeFileSync(join(root, file), 'OTHER=1\nEVERTHINK_INSPECTION_KEY="a-key-of-the-project"\n');
  expect(new DevStudio(root).key).toBe("a-key-of-the-project");
});
