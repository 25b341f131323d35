import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, posix } from "node:path";
import { gzipSync } from "node:zlib";
import { cloudflare } from "@cloudflare/vite-plugin";
import { createBuilder, createLogger } from "vite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import WebSocket from "ws";
import { SECTIONS } from "../../site/navigation.ts";
import { bundleWorker } from "../../tools/bundle-worker.ts";
import { startWorker } from "../process/workerd-process.ts";
import { fixture, PackedProject, repository } from "./packed-project.ts";

const require = createRequire(import.meta.url);
const kilobytes = (bytes: number) => `${(bytes / 1000).toFixed(1)} kB`;

let packed: PackedProject;
beforeAll(() => {
  packed = new PackedProject();
  packed.install();
});
afterAll(() => packed?.remove());

/** The next frame of the given type. Listens from the moment of the call: frames may arrive several at once. */
function frame(socket: WebSocket, type: string): Promise<Record<string, unknown>> {
  return new Promise((resolve, reject) => {
    socket.once("error", reject);
    socket.on("message", function look(data) {
      const parsed = JSON.parse(String(data)) as Record<string, unknown>;
      if (parsed.type !== type) return;
      socket.off("message", look);
      resolve(parsed);
    });
  });
}

function wranglerConfig(main: string): object {
  return {
    name: "thinker",
    main,
    compatibility_date: "2026-09-18",
    send_metrics: false,
    durable_objects: { bindings: [{ name: "Thinker", class_name: "Thinker" }] },
    migrations: [{ tag: "v1", new_sqlite_classes: ["Thinker"] }]
  };
}

/** What a user writes: the import of Vite, another folder, and the file that the command writes. */
const SKILLED = `
import type { SkillSource } from "everthink/skills";
import bundled from "everthink:skills";
import more from "agents:skills/more";
import generated from "./skills.generated";

export const sources: SkillSource[] = [bundled, more, generated];
// @ts-expect-error: it is a source and nothing else.
export const wrong: number = bundled;
`;

/** What another package does with the declarations of core-worker.ts. */
const IMPORTER = `
import { Cashier, Clerk, Librarian } from "./declared";

export class Manager extends Cashier {
  override async remind(owner: string): Promise<void> {
    await super.remind(owner);
    this.setState({ open: (await this.owed()) + (await this.pendingApprovals()).length });
  }
}
export const asked = (clerk: Clerk): string[] => clerk.state.asked;
export const lent = (librarian: Librarian): Promise<string> => librarian.lend();
// @ts-expect-error: the class has no queue.
export const wrong = (clerk: Clerk) => clerk.queue("ask", "a");
`;

/** What the compiler prints; nothing if all is well. */
function compile(config: string): string {
  const tsc = join(dirname(require.resolve("typescript/package.json")), "bin", "tsc");
  const { stdout, stderr } = spawnSync(process.execPath, [tsc, "-p", config], { encoding: "utf8" });
  return stdout + stderr;
}

describe("the packed package", () => {
  test("holds the build, the starters, its licence and its documents, and nothing else", () => {
    console.log(
      `tarball ${kilobytes(packed.report.size)}, unpacked ${kilobytes(packed.report.unpackedSize)}, ${packed.files.length} files`
    );
    const documents = ["package.json", "README.md", "LICENSE", "CHANGELOG.md", "llms.txt", "llms-full.txt"];
    const others = packed.files.filter(
      (path) => !/^(agent-skills|dist|starters|docs)\//.test(path) && !documents.includes(path)
    );
    expect(others).toEqual([]);
    const pages = SECTIONS.flatMap((section) => section.pages).map((path) => `docs/${path}.md`);
    expect(packed.files.filter((path) => path.startsWith("docs/")).toSorted()).toEqual(pages.toSorted());
    for (const page of pages) expect(packed.read("llms.txt")).toContain(`(${page})`);
    const built = packed.files.filter((path) => path.startsWith("dist/"));
    expect(built.filter((path) => /\.test\.|fixtures?\/|\.tsbuildinfo$/.test(path))).toEqual([]);
  });

  test("has every file its exports and imports name", () => {
    const manifest = JSON.parse(packed.read("package.json")) as { exports: unknown; imports: unknown };
    const named = JSON.stringify([manifest.exports, manifest.imports]).match(/"\.\/[^"]+\.(?:d\.ts|js|json)"/g) ?? [];
    expect(named.length).toBeGreaterThan(5);
    const missing = named.map((path) => path.slice(3, -1)).filter((path) => !packed.files.includes(path));
    expect(missing).toEqual([]);
  });

  test("has source maps that need nothing outside of it", () => {
    for (const path of packed.files.filter((file) => file.endsWith(".map"))) {
      const map = JSON.parse(packed.read(path)) as { sources: string[]; sourcesContent?: (string | null)[] };
      for (const [index, source] of map.sources.entries()) {
        const resolved = posix.normalize(posix.join(posix.dirname(path), source));
        const isInside = !posix.isAbsolute(source) && !source.includes(":") && !resolved.startsWith("..");
        const isReadable = packed.files.includes(resolved) || typeof map.sourcesContent?.[index] === "string";
        expect([path, source, isInside, isReadable]).toEqual([path, source, true, true]);
      }
    }
  });

  test("names no directory of the machine that built it", () => {
    const home = repository.replace(/\/$/, "");
    expect(packed.files.filter((path) => packed.read(path).includes(home))).toEqual([]);
  });

  test("loads in plain Node, where users test their agents", () => {
    const script = `const kit = await import("everthink/testing"); console.log(typeof kit.createTestHost);`;
    const output = execFileSync(process.execPath, ["--input-type=module", "-e", script], {
      cwd: packed.project,
      encoding: "utf8"
    });
    expect(output.trim()).toBe("function");
  });

  test("type checks a user's worker under strict settings", () => {
    packed.add("user-worker.ts");
    const compilerOptions = {
      target: "es2024",
      module: "esnext",
      moduleResolution: "bundler",
      lib: ["es2024", "esnext.disposable"],
      types: [dirname(require.resolve("@cloudflare/workers-types/package.json"))],
      strict: true,
      noEmit: true,
      skipLibCheck: false
    };
    writeFileSync(
      join(packed.project, "tsconfig.json"),
      JSON.stringify({ compilerOptions, files: ["user-worker.ts"] })
    );
    expect(compile(join(packed.project, "tsconfig.json"))).toBe("");
  });

  test("type checks classes with a part of the capabilities, and declarations of them for other packages", async () => {
    const linked = new PackedProject();
    try {
      linked.link();
      copyFileSync(fixture("core-worker.ts"), join(linked.directory, "core-worker.ts"));
      const compilerOptions = {
        target: "es2024",
        module: "esnext",
        moduleResolution: "bundler",
        lib: ["es2024", "esnext.disposable"],
        types: [dirname(require.resolve("@cloudflare/workers-types/package.json"))],
        strict: true,
        noImplicitOverride: true,
        declaration: true,
        outDir: "out",
        rootDir: ".",
        skipLibCheck: true
      };
      const config = join(linked.directory, "tsconfig.json");
      writeFileSync(config, JSON.stringify({ compilerOptions, files: ["core-worker.ts"] }));
      expect(compile(config)).toBe("");
      // A project that has the declarations only.
      const declared = readFileSync(join(linked.directory, "out", "core-worker.d.ts"), "utf8");
      writeFileSync(join(linked.directory, "declared.d.ts"), declared);
      writeFileSync(join(linked.directory, "importer.ts"), IMPORTER);
      writeFileSync(config, JSON.stringify({ compilerOptions, files: ["importer.ts"] }));
      expect(compile(config)).toBe("");
    } finally {
      await linked.remove();
    }
  });

  test("everthink skills build writes the module of a folder; it and the import of Vite have types", () => {
    mkdirSync(join(packed.project, "skills", "greet"), { recursive: true });
    mkdirSync(join(packed.project, "skills", "broken"));
    const skill = "---\nname: greet\ndescription: d\n---\nHello.";
    writeFileSync(join(packed.project, "skills", "greet", "SKILL.md"), skill);
    writeFileSync(join(packed.project, "skills", "broken", "SKILL.md"), "Hello.");
    const cli = join(packed.project, "node_modules", "everthink", "dist", "serve", "cli.js");
    const run = (...args: string[]) =>
      spawnSync(process.execPath, args, { cwd: packed.project, encoding: "utf8", timeout: 60_000 });
    expect(run(cli, "skills", "build")).toMatchObject({
      status: 0,
      stdout: "skills.generated.ts: greet\n",
      stderr: expect.stringMatching(/^broken\/SKILL\.md:1: .*: left out\n$/)
    });
    const refused = { status: 1, stderr: expect.stringMatching(/^There is no folder of skills at .*nowhere/) };
    expect(run(cli, "skills", "build", "nowhere")).toMatchObject(refused);
    writeFileSync(join(packed.project, "skilled.ts"), SKILLED);
    const options = {
      module: "esnext",
      moduleResolution: "bundler",
      target: "es2024",
      lib: ["es2024", "dom"],
      types: []
    };
    const compilerOptions = { ...options, strict: true, noEmit: true, skipLibCheck: true };
    const config = join(packed.project, "tsconfig.skills.json");
    writeFileSync(config, JSON.stringify({ compilerOptions, files: ["skilled.ts"] }));
    const tsc = join(dirname(require.resolve("typescript/package.json")), "bin", "tsc");
    expect(run(tsc, "-p", config)).toMatchObject({ stdout: "", status: 0 });
  });

  test("answers a request and syncs state to a second client under workerd", async () => {
    const server = await startWorker({ entry: packed.add("user-worker.ts"), objects: ["Greeter"] });
    const address = `${server.url}/agents/greeter/front%20desk`;
    expect(await (await fetch(address)).json()).toEqual({ name: "front desk", greeted: [] });

    const [first, second] = [1, 2].map((id) => new WebSocket(`${address.replace("http", "ws")}?_pk=${id}`));
    const initial = await Promise.all([first!, second!].map((socket) => frame(socket, "cf_agent_state")));
    expect(initial.map(({ state }) => state)).toEqual([{ greeted: [] }, { greeted: [] }]);

    const synced = frame(second!, "cf_agent_state");
    const answered = frame(first!, "rpc");
    first!.send(JSON.stringify({ type: "rpc", id: "1", method: "greet", args: ["Ada"] }));
    expect(await answered).toMatchObject({ id: "1", success: true, result: "Hello, Ada" });
    expect(await synced).toMatchObject({ state: { greeted: ["Ada"] } });
    expect(await (await fetch(address)).json()).toEqual({ name: "front desk", greeted: ["Ada"] });
    await server.kill();
  });

  test("without the optional packages a Think is built by Wrangler and by Vite without a warning", async () => {
    const main = packed.add("think-worker.ts");
    writeFileSync(join(packed.project, "wrangler.json"), JSON.stringify(wranglerConfig(main)));
    const wrangler = join(dirname(require.resolve("wrangler/package.json")), "bin", "wrangler.js");
    const env = { ...process.env, WRANGLER_SEND_METRICS: "false", NO_COLOR: "1" };
    const { stdout, stderr } = spawnSync(
      process.execPath,
      [wrangler, "deploy", "--dry-run", "--minify", "--outdir", "by-wrangler"],
      { cwd: packed.project, env, encoding: "utf8" }
    );
    expect(stdout).toContain("--dry-run: exiting now");
    expect(stdout + stderr).not.toMatch(/warning|error|could not resolve/i);

    const reported: string[] = [];
    const report = (text: string) => void reported.push(text);
    const logger = { ...createLogger("silent"), warn: report, warnOnce: report, error: report };
    const builder = await createBuilder({
      root: packed.project,
      configFile: false,
      customLogger: logger,
      plugins: [cloudflare({ inspectorPort: false, persistState: false })]
    });
    await builder.buildApp();
    expect(reported).toEqual([]);
    const built = join(packed.project, "dist", "thinker");
    const sizes = readdirSync(built, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".js"));
    console.log(
      `a Think by Wrangler: ${kilobytes(statSync(join(packed.project, "by-wrangler", "think-worker.js")).size)}; by Vite: `,
      Object.fromEntries(sizes.map((path) => [path, kilobytes(statSync(join(built, path)).size)]))
    );
  });

  test("without the client package for MCP adding a server names what is missing", async () => {
    const server = await startWorker({ entry: packed.add("think-worker.ts"), objects: ["Thinker"] });
    expect(await (await fetch(`${server.url}/agents/thinker/a`)).json()).toEqual({
      code: "mcp-package-missing",
      message: 'MCP servers need the package "@modelcontextprotocol/client", which is not installed.'
    });
    await server.kill();
  });

  test("costs a worker that only extends Agent a printed number of bytes", async () => {
    const outputFile = join(packed.project, "smallest.js");
    const { sizeBytes } = await bundleWorker({ entry: packed.add("smallest-worker.ts"), outputFile, minify: true });
    console.log(
      `smallest worker: ${kilobytes(sizeBytes)} minified, ${kilobytes(gzipSync(readFileSync(outputFile)).length)} gzip`
    );
    expect(sizeBytes).toBeGreaterThan(0);
  });
});
