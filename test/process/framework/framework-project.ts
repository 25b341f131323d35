// A project with an `agents/` directory in a temporary folder, built by Vite or run by its development server. It uses the
// repository's packages and the built `dist/` of ours.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { cloudflare } from "@cloudflare/vite-plugin";
import { createBuilder, createLogger } from "vite";
import { freePort } from "../../../tools/free-port.ts";
import { ServedProject, ServeRun } from "../served-project.ts";

const modules = fileURLToPath(new URL("../../../node_modules", import.meta.url));

export const SMALLEST_CONFIG = `{ "name": "app", "main": "virtual:everthink/entry", "compatibility_date": "2026-09-18" }\n`;

/** An agent that says who it is, and asks a sub-agent the same. */
export const SPEAKER = `import { Agent } from "everthink/agent";
export default class extends Agent {
  async onRequest() { return Response.json({ class: this.constructor.name, name: this.name }); }
}
`;

interface PluginModule {
  think(options?: object): never;
  thinkWorkerConfig(options?: object): never;
}

export interface BuildOutcome {
  readonly error: string;
  readonly output: string;
}

export class FrameworkProject extends ServedProject {
  readonly #servers: ServeRun[] = [];

  constructor(files: Record<string, string>) {
    super();
    this.put({ "package.json": `{ "name": "app", "type": "module" }`, "wrangler.jsonc": SMALLEST_CONFIG, ...files });
    symlinkSync(modules, join(this.folder, "node_modules"));
  }

  read(path: string): string {
    return readFileSync(join(this.folder, path), "utf8");
  }

  has(path: string): boolean {
    return existsSync(join(this.folder, path));
  }

  delete(path: string): void {
    rmSync(join(this.folder, path));
  }

  /** `vite build`; what failed is the outcome's error, empty when nothing did. */
  async build(options: { think?: object | false; isConfigMerged?: boolean } = {}): Promise<BuildOutcome> {
    // As a user's configuration imports it; not an import statement, because types come from the sources.
    const plugins = (await import(join(modules, "everthink", "dist", "vite.js"))) as PluginModule;
    const lines: string[] = [];
    const tell = (text: string) => void lines.push(text);
    const logger = { ...createLogger("silent"), info: tell, warn: tell, warnOnce: tell, error: tell };
    const config = options.isConfigMerged === false ? {} : { config: plugins.thinkWorkerConfig(options.think || {}) };
    try {
      const builder = await createBuilder({
        root: this.folder,
        configFile: false,
        customLogger: logger,
        plugins: [
          ...(options.think === false ? [] : [plugins.think(options.think)]),
          cloudflare({ inspectorPort: false, persistState: false, ...config })
        ]
      });
      await builder.buildApp();
      return { error: "", output: lines.join("\n") };
    } catch (error) {
      return { error: String((error as Error).message), output: lines.join("\n") };
    }
  }

  /** `tsc` with the project's tsconfig.json; what it complains about. */
  compile(): string {
    const tsc = join(modules, "typescript", "bin", "tsc");
    return spawnSync(process.execPath, [tsc, "-p", "."], { cwd: this.folder, encoding: "utf8" }).stdout;
  }

  /** `vite dev`; answers its address. */
  async develop(): Promise<{ url: string; run: ServeRun }> {
    this.put({
      "vite.config.ts": `import { cloudflare } from "@cloudflare/vite-plugin";
import { think, thinkWorkerConfig } from "everthink/vite";
export default { cacheDir: ".vite", plugins: [think(), cloudflare({ inspectorPort: false, config: thinkWorkerConfig() })] };
`
    });
    const port = await freePort();
    const vite = join(modules, "vite", "bin", "vite.js");
    const place = ["dev", "--host", "127.0.0.1", "--port", String(port), "--strictPort"];
    const env = { ...process.env, NO_COLOR: "1", CLOUDFLARE_CF_FETCH_ENABLED: "false", NODE_ENV: "development" };
    const run = new ServeRun(
      spawn(process.execPath, [vite, ...place], { cwd: this.folder, env, stdio: ["ignore", "pipe", "pipe"] })
    );
    this.#servers.push(run);
    await run.says(/Local:\s+http/);
    return { url: `http://127.0.0.1:${port}`, run };
  }

  override async remove(): Promise<void> {
    for (const run of this.#servers) run.child.kill("SIGTERM");
    await Promise.all(this.#servers.map(({ ended }) => ended));
    await super.remove();
  }
}
