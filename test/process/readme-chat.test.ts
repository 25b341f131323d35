// The README's chat.ts as a process of its own: when it cannot talk to its agent it says why, and a shell can tell.
import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";
import { removeFolder } from "../../tools/remove-folder.ts";
import { startWorker } from "./workerd-process.ts";

// Inside the repository, so that the package's own name leads to `dist/`.
const scratch = fileURLToPath(new URL("../../.tmp/", import.meta.url));
mkdirSync(scratch, { recursive: true });
const folder = mkdtempSync(join(scratch, "readme-chat-"));
afterAll(() => removeFolder(folder));

const source = readFileSync(new URL("../docs/examples/readme-chat.ts", import.meta.url), "utf8");

async function run(port: number): Promise<{ code: number | null; output: string }> {
  const file = join(folder, `chat-${port}.ts`);
  expect(source).toContain("localhost:8788");
  writeFileSync(file, source.replace("localhost:8788", `localhost:${port}`));
  const child = execFile(process.execPath, [file]);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (text) => (output += String(text)));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, output };
}

test("a server that is not there: the reason, and an exit code that is not 0", async () => {
  const free = createServer().listen(0, "127.0.0.1");
  await once(free, "listening");
  const { port } = free.address() as AddressInfo;
  free.close();
  const { code, output } = await run(port);
  expect(output).toContain("The server cannot be reached (ECONNREFUSED).");
  expect(code).toBe(1);
}, 30_000);

test("an agent that is not there: the server's words, and an exit code that is not 0", async () => {
  const entry = new URL("./fixtures/refusing-worker.ts", import.meta.url);
  const { url } = await startWorker({ entry, objects: ["Refusing"] });
  const { code, output } = await run(Number(new URL(url).port));
  expect(output).toContain("The server refused the connection: 400 ");
  expect(code).toBe(1);
}, 30_000);
