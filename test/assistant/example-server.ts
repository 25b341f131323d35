// The example as people run it: `npm start` on the built Worker, or `vite dev` on its sources. Its data are in a folder
// of their own, and everything is gone when the test file ends.
import { spawn } from "node:child_process";
import { mkdtempSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll } from "vitest";
import { freePort } from "../../tools/free-port.ts";
import { removeFolder } from "../../tools/remove-folder.ts";
import { ServeRun } from "../process/served-project.ts";

const repository = fileURLToPath(new URL("../../", import.meta.url));
const example = join(repository, "examples", "assistant");
/** Between two words of the offline model: an answer can be caught in the middle, and its end is not far. */
const PACE_MS = "5";
/** Ours to decide, not the developer's who runs the tests; and what the test runner sets would make another build. */
const NOT_INHERITED =
  /^(MODEL|OPENAI_|ANTHROPIC_|GOOGLE_|OFFLINE_|VITEST|NODE_ENV$|MODE$|DEV$|PROD$|SSR$|BASE_URL$|TEST$)/;

const started: ExampleServer[] = [];
afterAll(async () => {
  await Promise.all(started.splice(0).map((server) => server.stop()));
});

export type Mode = "production" | "development";

export class ExampleServer {
  readonly mode: Mode;
  /** Without a trailing slash. */
  readonly url: string;
  readonly #run: ServeRun;
  readonly #folder: string;

  constructor(init: { mode: Mode; url: string; run: ServeRun; folder: string }) {
    this.mode = init.mode;
    this.url = init.url;
    this.#run = init.run;
    this.#folder = init.folder;
  }

  /** The process id of its workerd; undefined between two of them. */
  workerd(): number | undefined {
    return this.#run.workerds()[0];
  }

  /**
   * After the plug was pulled. `vite dev` starts its whole server anew and loads the Worker module by module: how long that
   * takes is the machine's affair, so it is waited for by what the server says, and pages only after it.
   */
  async isBack(): Promise<void> {
    if (this.mode === "production") return;
    await this.#run.says(/The plug was pulled[^]*server restarted/);
    await isLoaded(this.url);
  }

  get output(): string {
    return this.#run.output;
  }

  /** What is stored of a conversation, past the page. */
  async storedMessages(conversationId: string): Promise<StoredMessage[]> {
    const response = await fetch(`${this.url}/agents/assistant/${conversationId}/get-messages`);
    return (await response.json()) as StoredMessage[];
  }

  async stop(): Promise<void> {
    this.#run.child.kill("SIGTERM");
    await this.#run.ended;
    await removeFolder(this.#folder);
  }
}

export interface StoredMessage {
  id: string;
  role: string;
  parts: { type: string; text?: string; url?: string; mediaType?: string }[];
}

export function storedText({ parts }: StoredMessage): string {
  return parts.map(({ type, text }) => (type === "text" ? text : "")).join("");
}

export async function startProduction(variables: Readonly<Record<string, string>> = {}): Promise<ExampleServer> {
  const folder = mkdtempSync(join(tmpdir(), "everthink-assistant-"));
  const settings = { PORT: "0", DATA_DIRECTORY: folder, OFFLINE_PACE_MS: PACE_MS, ...variables };
  const run = spawnNode([join(repository, "tools", "start.ts")], settings);
  return keep({ mode: "production", url: await run.url(), run, folder });
}

export async function startDevelopment(): Promise<ExampleServer> {
  const folder = mkdtempSync(join(tmpdir(), "everthink-assistant-dev-"));
  const config = join(folder, "vite.config.mjs");
  symlinkSync(join(repository, "node_modules"), join(folder, "node_modules"));
  writeFileSync(config, developmentConfig(folder));
  const vite = join(repository, "node_modules", "vite", "bin", "vite.js");
  const port = String(await freePort());
  const place = ["--host", "127.0.0.1", "--port", port, "--strictPort"];
  const run = spawnNode([vite, "dev", example, "--config", config, ...place], {
    NO_COLOR: "1",
    CLOUDFLARE_CF_FETCH_ENABLED: "false"
  });
  await run.says(/Local:\s+http/);
  const url = `http://127.0.0.1:${port}`;
  await isLoaded(url);
  return keep({ mode: "development", url, run, folder });
}

/** Vite lets the first request wait while it loads the Worker. */
async function isLoaded(url: string): Promise<void> {
  const response = await fetch(`${url}/__think/health`);
  if (!response.ok) throw new Error(`The Worker is not there: ${response.status} ${await response.text()}`);
}

/** The example's own configuration, but for where data and caches are kept, and how slowly the model speaks. */
function developmentConfig(folder: string): string {
  const cloudflareOptions = { inspectorPort: false, persistState: { path: join(folder, "state") } };
  return `
    import { cloudflare } from "@cloudflare/vite-plugin";
    import react from "@vitejs/plugin-react";
    import { think, thinkWorkerConfig } from "everthink/vite";
    import { plug } from ${JSON.stringify(join(example, "plug.ts"))};
    const addAgents = thinkWorkerConfig();
    const config = (worker) => {
      addAgents(worker);
      worker.vars = { ...worker.vars, OFFLINE_PACE_MS: ${JSON.stringify(PACE_MS)} };
    };
    export default {
      cacheDir: ${JSON.stringify(join(repository, "node_modules", ".vite-assistant-test"))},
      plugins: [
        react(),
        think({ types: false }),
        cloudflare({ ...${JSON.stringify(cloudflareOptions)}, config }),
        plug()
      ]
    };
  `;
}

function spawnNode(command: readonly string[], variables: Readonly<Record<string, string>>): ServeRun {
  const inherited = Object.entries(process.env).filter(([name]) => !NOT_INHERITED.test(name));
  const env = { ...Object.fromEntries(inherited), ...variables };
  return new ServeRun(spawn(process.execPath, command, { cwd: repository, env, stdio: ["ignore", "pipe", "pipe"] }));
}

function keep(init: ConstructorParameters<typeof ExampleServer>[0]): ExampleServer {
  const server = new ExampleServer(init);
  started.push(server);
  return server;
}
