import { existsSync, statSync } from "node:fs";
import { request } from "node:http";
import { afterEach, expect, test } from "vitest";
import { Plug } from "./plug.ts";

const open: Plug[] = [];
afterEach(() => {
  for (const plug of open.splice(0)) plug.close();
});

async function openPlug(temporaryFolder?: string): Promise<Plug> {
  const plug = await Plug.open(temporaryFolder);
  open.push(plug);
  return plug;
}

/** The status of the answer. */
function ask({ socketPath }: Plug): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request({ socketPath, method: "POST", agent: false }, ({ statusCode }) => resolve(statusCode))
      .once("error", reject)
      .end();
  });
}

test("only this user can reach the socket, and nothing of it stays", async () => {
  const plug = await openPlug();
  expect(statSync(plug.folder).mode & 0o077).toBe(0);
  plug.close();
  expect(existsSync(plug.folder)).toBe(false);
});

test("a pull is answered, and reported to the watcher", async () => {
  const plug = await openPlug();
  const over = new AbortController();
  const pulled = plug.untilPulled(over.signal);
  expect(await ask(plug)).toBe(202);
  await pulled;
});

test("a pull that is not watched for is answered, and not kept for later", async () => {
  const plug = await openPlug();
  expect(await ask(plug)).toBe(503);
  const over = new AbortController();
  let isPulled = false;
  void plug.untilPulled(over.signal).then(() => (isPulled = true));
  over.abort();
  expect(await ask(plug)).toBe(503);
  expect(isPulled).toBe(false);
});

test("a temporary folder with a long name is not used: the address of a socket is short", async () => {
  const plug = await openPlug(`/${"long/".repeat(30)}`);
  expect(plug.socketPath.length).toBeLessThan(100);
});
