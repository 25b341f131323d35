// `everthink dev` at a terminal: the log above, and below it the address, the turns that run and the keys.
import { join } from "node:path";
import { createThinkProject } from "../../framework/project/project.ts";
import { runningDevServer } from "../../framework/project/dev-server-record.ts";
import { DevStudio, openInBrowser } from "../../framework/studio/dev-studio.ts";
import { INSPECTION_VARIABLE } from "../../framework/studio/studio-arguments.ts";
import { errorMessage } from "../../util/errors.ts";
import { converse } from "../chat/converse.ts";
import { modelLabel } from "../chat/model-label.ts";
import type { CliContext, CliTerminal } from "../cli-context.ts";
import { connectClient } from "../connect.ts";
import { agentTarget, targetUrl } from "../target.ts";
import { paintFor } from "../terminal/paint.ts";
import { columnsOf, TerminalScreen } from "../terminal/screen.ts";
import type { Key } from "../terminal/line-editor.ts";
import { endedLine, helpLines, liveLines, KEYS, type DevKey, type DevLook } from "./dev-lines.ts";
import { DevProcess } from "./dev-process.ts";
import { FIRST_STATE, isShown, nextLevel, withLogLine, withTurns, type DevState } from "./dev-state.ts";
import { DEV_LOG, levelOf, LogFile } from "../logs/log-file.ts";
import { TurnWatch } from "./turn-watch.ts";

export interface DevTerminalInit {
  readonly root: string;
  readonly routePrefix: string | undefined;
  /** Vite's program and its arguments. */
  readonly program: readonly string[];
  readonly terminal: CliTerminal;
  readonly context: CliContext;
}

interface ShownProject {
  readonly agents: readonly { readonly id: string; readonly className: string }[];
  readonly prefix: string;
}

const ROUND_MS = 500;
const PROJECT_MS = 3_000;
/** Lines of the log that are kept while the user talks to an agent; the oldest are dropped past the limit. */
const MAX_HELD = 1_000;

/** Until the user quits or the server ends. */
export async function runDevTerminal(init: DevTerminalInit): Promise<number> {
  return new DevTerminal(init).run();
}

class DevTerminal {
  readonly #init: DevTerminalInit;
  readonly #studio: DevStudio;
  readonly #process: DevProcess;
  readonly #watch: TurnWatch;
  readonly #log: LogFile;
  readonly #ended = Promise.withResolvers<number>();
  /** Undefined while the user talks to an agent. */
  #screen: TerminalScreen | undefined;
  #held: string[] = [];
  #state: DevState = FIRST_STATE;
  #isRestarting = false;
  #known: ShownProject = { agents: [], prefix: "agents" };
  #readAt = 0;
  #isAsking = false;

  constructor(init: DevTerminalInit) {
    this.#init = init;
    const { root, program, context } = init;
    this.#log = new LogFile(join(root, DEV_LOG), (text) => this.#print(text));
    this.#studio = new DevStudio(root);
    this.#process = new DevProcess({
      ...{ root, program },
      environment: {
        ...context.environment,
        [INSPECTION_VARIABLE]: this.#studio.key,
        ...(init.terminal.hasColors && { FORCE_COLOR: "1" })
      },
      onLine: (line, stream) => this.#logged(line, stream),
      onEnd: (code) => this.#ended.resolve(code ?? 1)
    });
    this.#watch = new TurnWatch({
      ...{ root, key: this.#studio.key, origin: () => this.#state.origin },
      project: () => this.#project()
    });
  }

  async run(): Promise<number> {
    const { context } = this.#init;
    const quit = () => this.#ended.resolve(0);
    context.signal.addEventListener("abort", quit, { once: true });
    context.hurry.addEventListener("abort", () => void this.#process.kill(), { once: true });
    this.#open();
    this.#process.start();
    const timer = setInterval(() => void this.#round(), ROUND_MS);
    const code = await this.#ended.promise;
    clearInterval(timer);
    context.signal.removeEventListener("abort", quit);
    this.#screen?.close();
    await Promise.all([this.#process.stop(), this.#studio.close()]);
    return code;
  }

  // ── What the server does ──

  async #round(): Promise<void> {
    const origin = this.#isRestarting ? undefined : runningDevServer(this.#init.root);
    this.#state = { ...this.#state, origin, agents: this.#project().agents.length };
    if (!this.#isAsking) {
      this.#isAsking = true;
      const found = await this.#watch.round().catch(() => []);
      this.#isAsking = false;
      const { state, ended } = withTurns(this.#state, found);
      this.#state = state;
      for (const turn of ended) {
        this.#print(endedLine(turn, this.#look()));
        this.#log.write(
          endedLine(turn, { ...this.#look(), width: Infinity }),
          turn.status === "failed" ? "error" : "info"
        );
      }
    }
    this.#draw();
  }

  #logged(line: string, stream: "stdout" | "stderr"): void {
    this.#state = withLogLine(this.#state, line, Date.now());
    const level = levelOf(line, stream);
    this.#log.write(line, level);
    if (isShown(level, this.#state.level)) this.#print(withoutMoves(line));
  }

  /** Read again at most every few seconds: a round is too often to look at every file. */
  #project(): ShownProject {
    if (Date.now() - this.#readAt < PROJECT_MS) return this.#known;
    this.#readAt = Date.now();
    this.#known = this.#readProject() ?? this.#known;
    return this.#known;
  }

  #readProject(): ShownProject | undefined {
    try {
      const { manifest } = createThinkProject({ root: this.#init.root, routePrefix: this.#init.routePrefix });
      const agents = manifest.agents.filter(({ kind }) => kind === "top-level");
      return { agents, prefix: manifest.routePrefix.replaceAll(/^\/+|\/+$/g, "") };
    } catch {
      // A file is being edited; Vite says what is wrong with it.
      return undefined;
    }
  }

  // ── What the user types ──

  readonly #onKey = ({ name, sequence, ctrl, meta }: Key): boolean => {
    const key = sequence === "?" ? "?" : (name ?? "");
    if (!ctrl && !meta && isKey(key)) {
      this.#press(key).catch((error: unknown) => this.#print(errorMessage(error)));
    }
    return true;
  };

  async #press(key: DevKey): Promise<void> {
    switch (key) {
      case "?":
        return this.#print(...helpLines());
      case "q":
        return this.#ended.resolve(0);
      case "l":
        this.#state = { ...this.#state, level: nextLevel(this.#state.level) };
        return this.#draw();
      case "o":
        return this.#openPage();
      case "s":
        return this.#openStudio();
      case "c":
        return this.#chat();
      case "r":
        return this.#restart();
    }
  }

  #openPage(): void {
    const { origin } = this.#state;
    if (origin === undefined) return this.#print("The server is still starting.");
    this.#print(`Opens ${origin}/`);
    openInBrowser(`${origin}/`);
  }

  async #openStudio(): Promise<void> {
    const { root, context } = this.#init;
    const { agents, prefix } = this.#project();
    const folder = context.place.studioFolder;
    const url = await this.#studio.open({
      ...{ root, agents, prefix, folder, canWrite: false },
      origin: () => this.#state.origin
    });
    this.#state = { ...this.#state, studio: url };
    this.#print(`Studio: ${url} (read-only)`);
    openInBrowser(url);
  }

  async #restart(): Promise<void> {
    if (this.#isRestarting) return;
    this.#isRestarting = true;
    const before = this.#state.origin;
    this.#print("The server is killed, and started again …");
    await this.#process.kill();
    // The same address: pages that are open come back by themselves.
    this.#process.start(before === undefined ? [] : ["--port", new URL(before).port, "--strictPort"]);
    this.#isRestarting = false;
  }

  async #chat(): Promise<void> {
    const { origin } = this.#state;
    const [agent] = this.#project().agents;
    if (origin === undefined || agent === undefined) {
      return this.#print(agent === undefined ? "There is no agent yet." : "The server is still starting.");
    }
    const { context, terminal, routePrefix } = this.#init;
    const instance = [...this.#state.turns.values()].findLast(({ at }) => at.startsWith(`${agent.id}/`));
    const name = instance?.at.slice(agent.id.length + 1) ?? "default";
    this.#screen?.close();
    this.#screen = undefined;
    try {
      const parsed = {
        ...{ name: "chat", positionals: [agent.id, name], passedOn: [] },
        text: (option: string) => (option === "route-prefix" ? routePrefix : undefined),
        flag: () => undefined,
        list: () => []
      };
      const { manifest } = createThinkProject({ root: this.#init.root, routePrefix });
      const target = agentTarget(parsed, manifest, origin);
      const client = await connectClient(target, context);
      const title = `${agent.id} ${name}`;
      const model = () => modelLabel(targetUrl(target), target.query);
      await converse(client, terminal, { title, history: 4, signal: context.signal, model });
      client.close();
    } catch (error) {
      this.#held.push(errorMessage(error));
    }
    this.#open();
  }

  // ── The screen ──

  #open(): void {
    this.#screen = new TerminalScreen(this.#init.terminal, {
      onLine: () => undefined,
      onInterrupt: () => this.#ended.resolve(0),
      onKey: this.#onKey
    });
    const held = this.#held;
    this.#held = [];
    this.#print(...held);
    this.#draw();
  }

  #print(...lines: string[]): void {
    if (this.#screen === undefined) this.#held = [...this.#held, ...lines].slice(-MAX_HELD);
    else this.#screen.print(lines);
  }

  #draw(): void {
    this.#screen?.show([], liveLines(this.#state, this.#look()));
  }

  #look(): DevLook {
    const { hasColors, output } = this.#init.terminal;
    return { width: columnsOf(output) - 1, paint: paintFor(hasColors), now: Date.now() };
  }
}

function isKey(key: string): key is DevKey {
  return Object.hasOwn(KEYS, key);
}

/** Colours stay; what moves the cursor would write over the view. */
function withoutMoves(line: string): string {
  // oxlint-disable-next-line no-control-regex
  return line.replace(/\u001b\[[\d;?]*[A-Za-ln-z]|\u001b[^[]|[\u0000-\u0008\u000b-\u001a\u001c-\u001f\u007f]/g, "");
}
