// Which turns run in the agents of a development server: objects whose files have changed are asked over the inspection API.
// An agent that does nothing is not asked, and none is started for it.
import { readAgentName, identityIn } from "../../framework/local-data/agent-name.ts";
import {
  developedFolders,
  objectFiles,
  readCopyOfObject,
  type ObjectFile
} from "../../framework/local-data/object-files.ts";
import type { TurnsView, TurnTimeline } from "../../features/inspection/index.ts";
import { isObject } from "../../util/json.ts";
import { isEnded, turnOf, type DevTurn } from "./dev-state.ts";

export interface WatchedServer {
  readonly root: string;
  readonly project: () => {
    readonly agents: readonly { readonly id: string; readonly className: string }[];
    readonly prefix: string;
  };
  readonly key: string;
  readonly origin: () => string | undefined;
}

/** Objects that are asked in one round; the others in the next. */
const MAX_ASKED = 20;
/** Turns of an object that are read: several end between two rounds at most. */
const TURNS = 10;
const ANSWER_LIMIT_MS = 5_000;

export class TurnWatch {
  readonly #server: WatchedServer;
  readonly #since: number;
  readonly #stamps = new Map<string, string>();
  readonly #names = new Map<string, string>();
  /** They have an open turn: time passes in them without a write. */
  readonly #busy = new Set<string>();

  constructor(server: WatchedServer, now = Date.now()) {
    this.#server = server;
    this.#since = now;
  }

  /** The newest turns of each agent that has changed since the last round, oldest first. */
  async round(): Promise<DevTurn[]> {
    const origin = this.#server.origin();
    if (origin === undefined) return [];
    const found: DevTurn[] = [];
    for (const { at, file } of this.#changed().slice(0, MAX_ASKED)) {
      const turns = await this.#ask(origin, at).catch(() => undefined);
      // It does not answer now: it is asked in the next round.
      if (turns === undefined) continue;
      this.#stamps.set(file.file, file.stamp);
      if (turns.some((turn) => !isEnded(turn))) this.#busy.add(file.file);
      else this.#busy.delete(file.file);
      found.push(...turns.filter(({ settledAt }) => settledAt === null || settledAt >= this.#since));
    }
    return found;
  }

  #changed(): { at: string; file: ObjectFile }[] {
    const { root, project } = this.#server;
    return project().agents.flatMap(({ id, className }) =>
      developedFolders(root, className)
        .flatMap(objectFiles)
        .filter(({ isChild, changedAt }) => !isChild && changedAt >= this.#since)
        .filter(({ file, stamp }) => this.#stamps.get(file) !== stamp || this.#busy.has(file))
        .flatMap((file) => {
          const name = this.#nameOf(file);
          return name === undefined ? [] : [{ at: `${id}/${name}`, file }];
        })
    );
  }

  #nameOf({ file }: ObjectFile): string | undefined {
    const known = this.#names.get(file);
    if (known !== undefined) return known;
    // A new object has its name in its log.
    const name = readAgentName(file) ?? readCopyOfObject(file, identityIn)?.name;
    if (name !== undefined) this.#names.set(file, name);
    return name;
  }

  async #ask(origin: string, at: string): Promise<DevTurn[] | undefined> {
    const [agent = "", ...name] = at.split("/");
    const base = `${origin}/${this.#server.project().prefix}/${agent}/${encodeURIComponent(name.join("/"))}/inspect/v1`;
    const view = (await this.#read(`${base}/turns?limit=${TURNS}`)) as TurnsView | undefined;
    if (view === undefined || !Array.isArray(view.turns)) return undefined;
    const turns: DevTurn[] = [];
    for (const summary of view.turns) {
      const path = `${base}/turns/${encodeURIComponent(summary.turnId)}`;
      const timeline = isEnded(summary) ? undefined : ((await this.#read(path)) as TurnTimeline | undefined);
      turns.push(turnOf(at, summary, timeline));
    }
    return turns.reverse();
  }

  async #read(url: string): Promise<object | undefined> {
    const headers = { authorization: `Bearer ${this.#server.key}` };
    const signal = AbortSignal.timeout(ANSWER_LIMIT_MS);
    const response = await fetch(url, { headers, redirect: "error", signal });
    const body: unknown = response.ok ? await response.json() : undefined;
    return isObject(body) ? body : undefined;
  }
}
