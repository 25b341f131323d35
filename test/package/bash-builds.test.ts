// The optional package just-bash in the builds of users: Wrangler and Vite, with and without it. Each build is quiet, and
// what it made runs on workerd.
import { spawnSync } from "node:child_process";
import { copyFileSync, cpSync, mkdirSync, readdirSync, statSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { ServedProject } from "../process/served-project.ts";
import manifest from "../../package.json" with { type: "json" };
import { repository } from "./packed-project.ts";

const SEVEN = ["read", "write", "edit", "list", "find", "grep", "delete"];
const CONFIG = {
  name: "app",
  main: "worker.ts",
  compatibility_date: "2026-09-18",
  send_metrics: false,
  durable_objects: { bindings: [{ name: "Helper", class_name: "Helper" }] },
  migrations: [{ tag: "v1", new_sqlite_classes: ["Helper"] }]
};
const VITE = `import { cloudflare } from "@cloudflare/vite-plugin";
export default { plugins: [cloudflare({ inspectorPort: false })] };`;
/** What the package and the builds need. Links: they bring their own dependencies. */
const INSTALLED = ["ai", "zod", ...Object.keys(manifest.dependencies), "vite", "@cloudflare/vite-plugin"];

/** The built package as it is installed: a copy, because a link would find what this repository has. */
function projectWith(packages: readonly string[]): ServedProject {
  const project = new ServedProject();
  project.installWorkerd();
  const modules = join(project.folder, "node_modules");
  cpSync(join(repository, "dist"), join(modules, "everthink", "dist"), {
    recursive: true,
    filter: (path) => !path.endsWith(".map")
  });
  copyFileSync(join(repository, "package.json"), join(modules, "everthink", "package.json"));
  for (const name of [...INSTALLED, ...packages]) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(repository, "node_modules", name), join(modules, name));
  }
  copyFileSync(fileURLToPath(new URL("./fixtures/bash-worker.ts", import.meta.url)), join(project.folder, "worker.ts"));
  project.put({
    "package.json": JSON.stringify({ name: "app", private: true, type: "module" }),
    "wrangler.jsonc": JSON.stringify(CONFIG),
    "vite.config.js": VITE
  });
  return project;
}

/** What the build printed. */
function run({ folder }: ServedProject, tool: string, args: readonly string[]): string {
  const bin = join(repository, "node_modules", ".bin", tool);
  const { status, stdout, stderr } = spawnSync(bin, args, {
    cwd: folder,
    encoding: "utf8",
    env: { ...process.env, CI: "1", NO_COLOR: "1", WRANGLER_SEND_METRICS: "false" }
  });
  if (status !== 0) throw new Error(`${tool} failed:\n${stdout}\n${stderr}`);
  return stdout + stderr;
}

const BUILDS = {
  Wrangler(project: ServedProject): string {
    const output = run(project, "wrangler", ["deploy", "--dry-run", "--minify", "--outdir", "dist/app"]);
    const { main: _main, ...config } = CONFIG;
    const modules = { main: "worker.js", no_bundle: true, rules: [{ type: "ESModule", globs: ["**/*.js"] }] };
    project.put({ "dist/app/wrangler.json": JSON.stringify({ ...config, ...modules }) });
    return output;
  },
  Vite: (project: ServedProject): string => run(project, "vite", ["build"])
};

const bytesOf = (folder: string): number =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => /\.m?js$/.test(name))
    .reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);

test.each([
  ["Wrangler", true],
  ["Wrangler", false],
  ["Vite", true],
  ["Vite", false]
] as const)("%s builds quietly, just-bash installed: %s, and the model is offered what can run", async (name, has) => {
  const project = projectWith(has ? ["just-bash"] : []);
  const output = BUILDS[name](project);
  expect(output).not.toMatch(/warn|could not|failed|\(!\)|▲|✘/i);
  const served = project.serve();
  await served.url();
  const started = performance.now();
  const answer = (await served.json("/agents/helper/a")) as { offered: string[]; ran: string };
  const first = performance.now();
  await served.json("/agents/helper/b");
  const times = `first turn ${Math.round(first - started)} ms, another agent's ${Math.round(performance.now() - first)} ms`;
  console.log(
    `${name}, just-bash ${has ? "" : "not "}installed: ${bytesOf(join(project.folder, "dist"))} bytes, ${times}`
  );
  expect(answer.offered).toEqual(has ? [...SEVEN, "bash"] : SEVEN);
  if (has) expect(answer.ran).toContain('"stdout":"Hi\\n"');
  expect(served.output).not.toMatch(/just-bash|error/i);
  served.child.kill("SIGTERM");
  await served.ended;
});
