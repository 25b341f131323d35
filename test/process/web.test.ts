// `fetch_url` in a real workerd: the guard, the limits, and what the platform itself lets through.
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  bomb,
  endless,
  redirectTo,
  send,
  serveWeb,
  stalled,
  type WebServer
} from "../../src/features/web/web-server.test-support.ts";
import { bundleWorker } from "../../tools/bundle-worker.ts";
import { ServedProject, type ServeRun } from "./served-project.ts";

let project: ServedProject;
let server: WebServer;
let other: WebServer;

beforeAll(async () => {
  other = await serveWeb({ "/secret": send("secret", "text/plain") });
  server = await serveWeb({
    "/page": send("a page", "text/plain"),
    "/moved": redirectTo("/page"),
    "/away": redirectTo(`${other.origin}/secret`),
    "/endless": endless,
    "/bomb": bomb(),
    "/stalled": stalled
  });
  project = new ServedProject();
  project.installWorkerd();
  const entry = fileURLToPath(new URL("./fixtures/web-worker.ts", import.meta.url));
  await bundleWorker({ entry, outputFile: join(project.folder, "worker.js") });
});
afterAll(async () => {
  await server.close();
  await other.close();
});

const serve = (data: string, ...args: string[]) =>
  project.serve(["worker.js", "--objects", "Reader", "--data", data, ...args]);

async function fetched(run: ServeRun, url: string): Promise<{ content?: string; error?: string; url?: string }> {
  const answer = await run.fetch(`/agents/reader/a/ask?${new URLSearchParams({ url, allow: server.origin })}`);
  const { output } = (await answer.json()) as { output: object };
  return output;
}

test("an address that the class names is fetched where the operator lets the Worker reach it, and no other is", async () => {
  const run = serve("data-open", "--allow-private-network");
  expect(await fetched(run, `${server.origin}/page`)).toMatchObject({ content: "a page" });
  expect(await fetched(run, `${server.origin}/moved`)).toMatchObject({ url: `${server.origin}/page` });
  for (const url of [
    `${server.origin}/away`,
    `${other.origin}/secret`,
    "http://localhost:8080/",
    "http://[::1]:8080/"
  ]) {
    expect(await fetched(run, url), url).toEqual({ error: expect.stringContaining("own machine") });
  }
  expect(await fetched(run, `${server.origin}/endless`)).toEqual({ error: expect.stringContaining("larger than") });
  expect(await fetched(run, `${server.origin}/bomb`)).toEqual({ error: expect.stringContaining("larger than") });
  expect(await fetched(run, `${server.origin}/stalled`)).toEqual({
    error: expect.stringContaining("longer than 2000 ms")
  });
  expect(other.asked).toEqual([]);
});

test("the platform refuses what is inside, also where the class names it: the guard is not the only one", async () => {
  const asked = server.asked.length;
  const run = serve("data-closed");
  expect(await fetched(run, `${server.origin}/page`)).toEqual({
    error: expect.stringContaining("could not be fetched")
  });
  expect(server.asked).toHaveLength(asked);
});
