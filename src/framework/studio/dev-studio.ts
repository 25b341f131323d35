// Studio beside a development server: started with a key press, kept over restarts of the server. The Worker of that server
// gets a key that only this process has, or the project's own.
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseVariables } from "../serve/variables.ts";
import { type DevelopedProject, INSPECTION_VARIABLE } from "./studio-arguments.ts";
import { developedAgents } from "../local-data/waiting-agents.ts";
import { developedInstances } from "./local-instances.ts";
import { newInspectionKey } from "./studio-command.ts";
import { startStudio, STUDIO_PORT, type RunningStudio } from "./studio-server.ts";

/** Read by those servers; what is in them wins over the configuration. */
const VARIABLE_FILES = [".dev.vars", ".env"];

export interface DevelopedApp extends DevelopedProject {
  /** Of the running server; it may change with a restart. */
  readonly origin: () => string | undefined;
  readonly prefix: string;
  readonly canWrite: boolean;
  /** Of the built page; beside this code without it. */
  readonly folder?: string;
}

export class DevStudio {
  /** What the Worker must have as EVERTHINK_INSPECTION_KEY. */
  readonly key: string;
  #app: DevelopedApp | undefined;
  /** While the server restarts it has no address: it comes back at the same one. */
  #origin = "http://localhost:5173";
  #running: Promise<RunningStudio> | undefined;

  constructor(root: string) {
    this.key = ownKey(root) ?? (process.env[INSPECTION_VARIABLE] || newInspectionKey());
  }

  /** Starts it, or finds it running. Throws an AddressError. */
  async open(app: DevelopedApp): Promise<string> {
    this.#app = app;
    this.#running ??= this.#start(app);
    try {
      return (await this.#running).url;
    } catch (error) {
      this.#running = undefined;
      throw error;
    }
  }

  async close(): Promise<void> {
    const running = await this.#running?.catch(() => undefined);
    this.#running = undefined;
    await running?.close();
  }

  #start({ root, agents, canWrite, folder }: DevelopedApp): Promise<RunningStudio> {
    const local = developedAgents(root, agents);
    const shown = agents.map(({ id }) => ({ id, label: id }));
    return startStudio({
      // Built, this code is beside the page's folder.
      folder: folder ?? fileURLToPath(new URL("./studio", import.meta.url)),
      target: () => {
        this.#origin = this.#app?.origin() ?? this.#origin;
        return { origin: this.#origin, prefix: this.#app?.prefix ?? "agents", token: this.key, query: {} };
      },
      agents: shown,
      // The page begins at the newest instance: asking for one that does not exist would make it.
      agent: undefined,
      instance: undefined,
      canWrite,
      port: STUDIO_PORT,
      instances: developedInstances({ root, agents }),
      waiting: () => local.waiting()
    });
  }
}

function ownKey(root: string): string | undefined {
  for (const name of VARIABLE_FILES) {
    const file = join(root, name);
    const value = existsSync(file) ? parseVariables(readFileSync(file, "utf8")).get(INSPECTION_VARIABLE) : undefined;
    if (value) return value;
  }
  return undefined;
}

/** Best effort: the address is printed in any case. `BROWSER=none` opens nothing. */
export function openInBrowser(url: string): void {
  if (process.env["BROWSER"] === "none") return;
  const [command, ...args] =
    process.platform === "darwin"
      ? ["open", url]
      : process.platform === "win32"
        ? ["cmd", "/c", "start", "", url]
        : ["xdg-open", url];
  if (command === undefined) return;
  const child = spawn(command, args, { stdio: "ignore", detached: true });
  // A machine without a desktop has no such command.
  child.on("error", () => {});
  child.unref();
}
