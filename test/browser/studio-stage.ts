// Studio on an agent of this process: an app in front of it, the real command with the built page, and a page in a browser.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text as textOf } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import type { TestHost } from "everthink/testing";

const cli = fileURLToPath(new URL("../../dist/serve/cli.js", import.meta.url));
const shots = process.env["EVERTHINK_SCREENSHOTS"];
export const KEY = "a-key-of-the-operator-0123";

export interface RunningCommand {
  readonly url: string;
  readonly child: ChildProcess;
}

export interface StudioStage {
  /** Runs the command once more. */
  open(...options: string[]): Promise<RunningCommand>;
  close(): Promise<void>;
}

export async function openStage(host: Pick<TestHost<unknown>, "fetch" | "advance">): Promise<StudioStage> {
  const app = createServer((request, response) => {
    void (async () => {
      const isPost = request.method === "POST";
      const body = isPost ? await textOf(request) : undefined;
      const headers = { Authorization: request.headers.authorization ?? "", "Content-Type": "application/json" };
      const init = { method: request.method ?? "GET", headers, ...(body !== undefined && { body }) };
      const answer = await host.fetch(`http://localhost${request.url}`, init);
      response.writeHead(answer.status, { "content-type": "application/json" }).end(await answer.text());
      if (isPost) await host.advance(1000);
    })();
  }).listen(0, "127.0.0.1");
  await once(app, "listening");
  const running: ChildProcess[] = [];
  return {
    async open(...options) {
      const { port } = app.address() as AddressInfo;
      const args = [cli, "studio", "Subject", "a", "--url", `http://127.0.0.1:${port}`, "--port", "0", ...options];
      const child = spawn(process.execPath, args, { env: { ...process.env, EVERTHINK_INSPECTION_KEY: KEY } });
      running.push(child);
      const [line] = (await once(child.stdout, "data")) as [Buffer];
      return { url: /http:\S+/.exec(String(line))?.[0] ?? "", child };
    },
    async close() {
      for (const child of running) {
        if (child.exitCode !== null) continue;
        child.kill("SIGTERM");
        await once(child, "exit");
      }
      app.closeAllConnections();
      app.close();
    }
  };
}

/** With EVERTHINK_SCREENSHOTS set: into that folder. */
export async function shot(name: string, of: Page): Promise<void> {
  if (shots === undefined) return;
  mkdirSync(shots, { recursive: true });
  await of.screenshot({ path: join(shots, `studio-${name}.png`) });
}
