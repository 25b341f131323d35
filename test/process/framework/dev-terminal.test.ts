// `everthink dev` in a real terminal (a pseudo-terminal, made by `script`): the view, its keys, and a kill from the keyboard.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runningDevServer } from "../../../src/framework/project/dev-server-record.ts";
import { until } from "../../browser/until.ts";
import { FrameworkProject } from "./framework-project.ts";
import { Screen } from "./screen.ts";
import { CONTROL_C, ENTER } from "./terminal-user.ts";

const program = fileURLToPath(new URL("../../../dist/serve/cli.js", import.meta.url));
const starter = (path: string) =>
  readFileSync(fileURLToPath(new URL(`../../../starters/${path}`, import.meta.url)), "utf8");

const CONFIG = `import { cloudflare } from "@cloudflare/vite-plugin";
import { think, thinkWorkerConfig } from "everthink/vite";
export default { cacheDir: ".vite", plugins: [think(), cloudflare({ inspectorPort: false, config: thinkWorkerConfig() })] };
`;
const AGENT = `import { Think } from "everthink";
import { offlineModel } from "../models/offline-model.ts";
export default class extends Think {
  getModel() {
    return offlineModel([{ match: /digest/, steps: () => [{ text: "Nothing is **open** today." }] }]);
  }
}
`;
/** A development server starts slowly on a machine that does other work. */
const DEADLINE_MS = 90_000;

let project: FrameworkProject;
let child: ChildProcess;
const screen = new Screen();

beforeAll(() => {
  project = new FrameworkProject({
    "agents/assistant.ts": AGENT,
    "models/offline-model.ts": starter("shared/models/offline-model.ts"),
    "vite.config.ts": CONFIG
  });
  const command = `stty cols 100 rows 40; exec "${process.execPath}" "${program}" dev --port 0`;
  const { CI: _ci, NO_COLOR: _plain, ...inherited } = process.env;
  child = spawn("script", ["-qfec", command, "/dev/null"], {
    cwd: project.folder,
    env: { ...inherited, TERM: "xterm-256color", BROWSER: "none", CLOUDFLARE_CF_FETCH_ENABLED: "false" },
    stdio: ["pipe", "pipe", "inherit"]
  });
  child.stdout?.setEncoding("utf8").on("data", (text: string) => screen.write(text));
});
afterAll(async () => {
  if (child.exitCode === null) child.kill("SIGKILL");
  await project.remove();
});

const types = (keys: string) => void child.stdin?.write(keys);
const sees = (shown: RegExp) =>
  until({
    what: `the terminal shows ${String(shown)}`,
    look: async () => screen.text,
    fits: (text) => shown.test(text),
    tell: (text) => text,
    deadlineMs: DEADLINE_MS
  });

test.runIf(existsSync("/usr/bin/script"))(
  "address, keys, Studio, a chat, the turns that ran, a kill and a recovery, and q",
  async () => {
    await sees(/everthink {2}http:\/\/localhost:\d+\/ {2}Studio: press s {2}1 agent\n/);
    types("?");
    await sees(/\n {2}r {2}kills the server and starts it again/);
    types("s");
    await sees(/\nStudio: http:\/\/127\.0\.0\.1:\d+\/ \(read-only\)\n[^]*\no open {2}s Studio {2}c chat/);

    types("c");
    await sees(/assistant default \(Ctrl-C leaves, \/help lists commands\)\n>/);
    types(`Write a digest.${ENTER}`);
    await sees(/Nothing is open today\.\n>/);
    types(CONTROL_C);
    await sees(/✓ assistant\/default {2}1 step · [^\n]*“Write a digest\.”\n/);

    const before = runningDevServer(project.folder);
    types("r");
    await sees(/The server is killed, and started again …\n[^]*VITE[^]*everthink {2}http:\/\/localhost:\d+\//);
    // The same address: pages that are open come back by themselves.
    expect(runningDevServer(project.folder)).toBe(before);

    types("q");
    const [code] = (await once(child, "close")) as [number | null];
    expect(code).toBe(0);
    expect(runningDevServer(project.folder)).toBeUndefined();
  },
  300_000
);
