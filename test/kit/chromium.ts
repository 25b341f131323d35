// A Chromium that is driven by its protocol, for tests of what agents do in one.
import bundledChromium from "@sparticuz/chromium";
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface Chromium {
  /** `http://127.0.0.1:<port>` of its protocol. */
  readonly url: string;
  close(): Promise<void>;
}

const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--no-zygote",
  "--disable-gpu",
  "--disable-quic",
  "--remote-debugging-port=0"
];

/** The machine's own when CHROMIUM_PATH names it, otherwise the one an npm package carries. */
export async function startChromium(): Promise<Chromium> {
  const path = process.env["CHROMIUM_PATH"] ?? (await bundledChromium.executablePath());
  const profile = await mkdtemp(join(tmpdir(), "everthink-chromium-"));
  const child = spawn(path, [...FLAGS, `--user-data-dir=${profile}`], { stdio: ["ignore", "ignore", "pipe"] });
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const url = await new Promise<string>((resolve, reject) => {
    let said = "";
    child.stderr.on("data", (chunk: Buffer) => {
      said += chunk.toString();
      const port = /ws:\/\/127\.0\.0\.1:(\d+)\//.exec(said)?.[1];
      if (port !== undefined) resolve(`http://127.0.0.1:${port}`);
    });
    child.once("exit", () => reject(new Error(`Chromium ended: ${said.slice(0, 1_000)}`)));
  });
  return {
    url,
    close: async () => {
      child.kill("SIGKILL");
      await ended;
      await rm(profile, { recursive: true, force: true, maxRetries: 5 });
    }
  };
}
