// The commands as functions, on projects in temporary folders: what is printed, what is written, the exit code.
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { discoverThinkApp } from "../framework/manifest/discover.ts";
import { AnswerPrinter } from "./answer-printer.ts";
import { testContext } from "./cli.test-support.ts";
import { parseCommandLine } from "./command-line.ts";
import { wranglerTypesArguments } from "./commands/declarations.ts";
import { mergedPackage, packageName, randomProjectName } from "./init/new-project.ts";
import { listStarters, starterFiles } from "./init/starters.ts";
import { dispatch } from "./main.ts";
import { messageText, printable } from "./message-text.ts";
import { CONNECTION_OPTIONS } from "./table/shared-options.ts";
import { agentTarget, connectionWords, targetUrl } from "./target.ts";

const repository = fileURLToPath(new URL("../..", import.meta.url));
const startersFolder = join(repository, "starters");

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "everthink-cli-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function put(files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}

const read = (path: string) => readFileSync(join(folder, path), "utf8");
const listing = () => readdirSync(folder, { recursive: true, encoding: "utf8" }).sort();

async function run(...args: string[]): Promise<{ code: number; output: string; notes: string }> {
  let output = "";
  let notes = "";
  const context = testContext({
    cwd: folder,
    print: (text) => (output += `${text}\n`),
    stream: (text) => (output += text),
    note: (text) => (notes += `${text}\n`)
  });
  return { code: await dispatch(args, context), output, notes };
}

const AGENT = `import { Think } from "everthink";\nexport class Support extends Think {}\n`;
const CONFIG = `{ "name": "shop", "main": "virtual:everthink/entry" } // ours\n`;

/** With Vite, whose parser reads the sources. */
function project(files: Record<string, string> = {}): void {
  put({ "package.json": "{}", "agents/support.ts": AGENT, "wrangler.jsonc": CONFIG, ...files });
  symlinkSync(join(repository, "node_modules"), join(folder, "node_modules"));
}

describe("inspect", () => {
  test("lists what is there, fails on errors, and is quiet about a complete project", async () => {
    project();
    const before = await run("inspect");
    expect(before.code).toBe(1);
    expect(before.output).toContain("support  ThinkAgent_Support  agents/support.ts");
    expect(before.output).toContain("error: [missing-durable-object-class]");
    await run("config", "--write");
    expect(await run("inspect")).toMatchObject({ code: 0, output: expect.stringContaining("Diagnostics\n  none") });
  });

  test("a broken agent file shows its own error, with its place", async () => {
    project({ "agents/support.ts": "export default class {\n" });
    expect((await run("inspect")).output).toMatch(/error: agents\/support\.ts:\d+:\d+: \[agent-syntax-error\]/);
  });

  test("warns about a place without an agent, and about a folder that holds none", async () => {
    put({ "wrangler.jsonc": "{}" });
    const empty = await run("inspect");
    expect(empty).toMatchObject({
      code: 0,
      output: expect.stringContaining("warning: [no-agents] There are no agents")
    });
    project({ "agents/sales/index.ts": AGENT, "agents/_shared/prices.ts": "", "agents/support/tools.ts": "" });
    const { output } = await run("inspect");
    expect(output).toContain("warning: agents/sales: [folder-without-agent] There is no agent in it.");
    expect(output).toContain("agents/sales/agent.ts");
    expect(output).not.toMatch(/_shared|agents\/support: /);
  });

  test("JSON has the documented keys", async () => {
    project({ "wrangler.jsonc": "{ broken" });
    const json = JSON.parse((await run("inspect", "--json")).output) as Record<string, unknown>;
    expect(Object.keys(json)).toEqual(["root", "manifest", "workerConfig", "diagnostics", "wranglerConfig"]);
    expect(json["wranglerConfig"]).toMatchObject({ path: "wrangler.jsonc", parsed: null, error: expect.any(String) });
    expect(json["diagnostics"]).toMatchObject([{ code: "unreadable-worker-config", severity: "warning" }]);
  });
});

describe("outside of a project", () => {
  test.each([
    ...["inspect", "types", "config", "eject", "doctor", "deploy", "dev", "chaos", "serve", "add openai"],
    ...["approve --all", "user ada@example.com --write"]
  ])("%s says so, and writes nothing", async (line) => {
    put({ "package.json": "{}" });
    await expect(run(...line.split(" "))).rejects.toMatchObject({
      message: expect.stringContaining("is no everthink project"),
      hint: expect.stringContaining("everthink init")
    });
    expect(listing()).toEqual(["package.json"]);
  });

  test.each(["chat assistant --message Hi", "state assistant", "costs assistant", "approve assistant"])(
    "%s says so where nothing answers",
    async (line) => {
      vi.stubGlobal("fetch", () => Promise.reject(new TypeError("fetch failed")));
      const context = testContext({
        ...{ cwd: folder, print: () => {}, stream: () => {}, note: () => {} },
        // At once, where it would try for 15 s.
        signal: AbortSignal.abort()
      });
      const ended = dispatch(line.split(" "), context).finally(() => vi.unstubAllGlobals());
      await expect(ended).rejects.toMatchObject({ hint: expect.stringContaining(`${folder} is no everthink project`) });
    }
  );
});

describe("types", () => {
  test("are written, stay the same, and are found stale exactly when they would change", async () => {
    project();
    expect((await run("types", "--check")).code).toBe(1);
    expect(existsSync(join(folder, "everthink.d.ts"))).toBe(false);
    expect((await run("types")).output).toBe("everthink.d.ts written\n");
    const first = read("everthink.d.ts");
    expect(first).toContain(`ThinkAgent_Support: DurableObjectNamespace<import("./agents/support").Support>;`);
    expect((await run("types")).output).toBe("everthink.d.ts is current\n");
    expect((await run("types", "--check")).code).toBe(0);
    expect(JSON.parse((await run("types", "--json")).output)).toEqual({ path: "everthink.d.ts", state: "current" });
    put({ "agents/sales.ts": "export default agent({ model });" });
    expect((await run("types", "--check")).code).toBe(1);
    expect(read("everthink.d.ts")).toBe(first);
  });

  test("have the names that wrangler.toml gives bindings", async () => {
    put({
      ...{ "package.json": "{}", "agents/support.ts": AGENT },
      "wrangler.toml": '[[durable_objects.bindings]]\nname = "SUPPORT"\nclass_name = "ThinkAgent_Support"\n'
    });
    await run("types");
    expect(read("everthink.d.ts")).toContain("    SUPPORT: DurableObjectNamespace<");
  });

  test("a file of the user's is never overwritten", async () => {
    project({ "everthink.d.ts": "declare const mine: 1;\n" });
    await expect(run("types")).rejects.toThrow("was not written by everthink");
    expect(read("everthink.d.ts")).toBe("declare const mine: 1;\n");
  });

  test("wrangler gets --include-runtime false, unless the user says otherwise in either form", () => {
    expect(wranglerTypesArguments("env.d.ts", ["--strict-vars"])).toEqual([
      "types",
      "env.d.ts",
      "--include-runtime",
      "false",
      "--strict-vars"
    ]);
    for (const flags of [["--include-runtime=true"], ["--include-runtime", "true"], ["--no-include-runtime"]]) {
      expect(wranglerTypesArguments("env.d.ts", flags)).toEqual(["types", "env.d.ts", ...flags]);
    }
  });
});

describe("config and eject", () => {
  test("config prints, and writes only what is missing", async () => {
    project();
    expect(JSON.parse((await run("config")).output)).toMatchObject({ name: "shop" });
    expect(read("wrangler.jsonc")).toBe(CONFIG);
    expect((await run("config", "--write")).output).toBe("wrangler.jsonc written.\n");
    expect(read("wrangler.jsonc")).toContain("// ours");
    expect(read("wrangler.jsonc")).toContain('"class_name": "ThinkAgent_Support"');
    expect((await run("config", "--write")).output).toBe("wrangler.jsonc has everything.\n");
  });

  test("eject prints the code, writes it to a new file, and never over another", async () => {
    project({ "src/server.ts": "export default {};" });
    const { output } = await run("eject");
    expect(output).toContain('import * as supportModule from "../agents/support.ts";');
    expect(output).toContain('import * as app from "./server.ts";');
    expect(output).toContain("export default createThinkWorkerEntry({");
    expect(output).not.toContain("virtual:");
    await run("eject", "src/entry.ts");
    expect(read("src/entry.ts")).toBe(output);
    expect(output).toContain("\n] as const;\n");
    await run("eject", "src/entry.js");
    expect(read("src/entry.js")).toBe(output.replace("] as const;", "];"));
    await expect(run("eject", "src/entry.ts")).rejects.toThrow("exists, and is left as it is");
    put({ "wrangler.jsonc": CONFIG.replace("virtual:everthink/entry", "src/entry.ts") });
    await run("config", "--write");
    expect(await run("inspect")).toMatchObject({ code: 0, output: expect.stringContaining("Diagnostics\n  none") });
    await expect(run("eject", "../entry.ts")).rejects.toThrow("outside of the project");
  });
});

describe("eject, with options of the plugin", () => {
  const configured = (options: string) =>
    `import { think } from "everthink/vite";\n// think({ authorize: "src/old.ts" })\nexport default { plugins: [think(${options})] };\n`;

  test("the code has who may enter, the messengers and the prefix", async () => {
    const options = `{ messengers: { agent: "support", name: "desk" }, authorize: "./src/auth.ts", routePrefix: "/api" }`;
    project({ "vite.config.ts": configured(options) });
    const { output } = await run("eject", "src/worker.ts").then(() => ({ output: read("src/worker.ts") }));
    expect(output).toContain('import authorize from "./auth.ts";');
    expect(output).toContain('messengers: {"agent":"support","name":"desk"}');
    expect(output).toContain('routePrefix: "/api"');
    expect((await run("eject", "--authorize", "src/other.ts")).output).toContain('import authorize from "./other.ts";');
  });

  test("what cannot be read is never left out in silence", async () => {
    project({ "vite.config.ts": configured("{ authorize: file, messengers }") });
    await expect(run("eject")).rejects.toMatchObject({ hint: "Name it: everthink eject --authorize <file>" });
    const { notes, output } = await run("eject", "--authorize", "src/auth.ts");
    expect(notes).toContain("The messengers of vite.config.ts cannot be read off it");
    expect(output).toContain("authorize");
    put({ "vite.config.ts": `const options = { authorize };\n${configured("options")}` });
    await expect(run("eject")).rejects.toThrow("Which file authorizes requests cannot be read off vite.config.ts.");
    put({ "vite.config.ts": configured("") });
    expect((await run("eject")).output).not.toContain("authorize");
  });
});

describe("init", () => {
  test("makes a project with its own name, a version, and a repository; with --yes in a folder of a random name", async () => {
    expect((await run("init", "My Shop", "--no-install")).output).toContain(
      "cd 'My Shop'\n  npm install\n  npm run dev"
    );
    const manifest = JSON.parse(read("My Shop/package.json")) as { name: string; dependencies: Record<string, string> };
    expect([manifest.name, manifest.dependencies["everthink"]]).toEqual(["my-shop", "^1.2.3"]);
    expect(read("My Shop/wrangler.jsonc")).toContain('"name": "my-shop"');
    expect(existsSync(join(folder, "My Shop/.gitignore"))).toBe(true);
    expect(existsSync(join(folder, "My Shop/.git"))).toBe(true);
    await run("init", "--yes", "--no-install");
    expect(readdirSync(folder).filter((name) => /^think-agent-\w+-\w+$/.test(name))).toHaveLength(1);
  });

  test("a folder that holds files is refused, and none of them changes", async () => {
    put({ "shop/notes.txt": "mine" });
    await expect(run("init", "shop", "--no-install")).rejects.toThrow("nothing in it was changed");
    expect(listing()).toEqual(["shop", "shop/notes.txt"]);
    expect(read("shop/notes.txt")).toBe("mine");
  });

  test("a file in the place of the directory is refused, and stays", async () => {
    put({ shop: "mine" });
    await expect(run("init", "shop", "--no-install")).rejects.toThrow("shop is a file, and was not changed.");
    expect(read("shop")).toBe("mine");
  });

  test.each(["/tmp/elsewhere", "../elsewhere", "a/../../elsewhere"])("%s is refused", async (directory) => {
    await expect(run("init", directory, "--no-install")).rejects.toThrow("The directory must be below");
  });

  test("an unknown template lists those there are", async () => {
    await expect(run("init", "shop", "--template", "x")).rejects.toMatchObject({
      hint: expect.stringContaining("basic, business-workflow, coding-agent")
    });
  });

  test("--dry-run writes nothing, in an empty folder and in a project", async () => {
    expect((await run("init", "shop", "--dry-run")).output).toContain("  agents/assistant/agent.ts\n");
    expect(listing()).toEqual([]);
    put({ "package.json": "{}" });
    await run("init", "--dry-run");
    expect(listing()).toEqual(["package.json"]);
  });

  test("a project gets an agent: files of its own are kept and listed, package.json is merged", async () => {
    const own = { name: "shop", type: "commonjs", scripts: { test: "mocha" }, dependencies: { zod: "3.0.0" } };
    put({ "package.json": JSON.stringify(own), "README.md": "# Shop" });
    const { output } = await run("init", "--no-install");
    expect(output).toContain("kept README.md");
    expect(read("README.md")).toBe("# Shop");
    expect(JSON.parse(read("package.json"))).toMatchObject({
      name: "shop",
      type: "module",
      scripts: { test: "mocha", dev: "everthink dev" },
      dependencies: { zod: "3.0.0", everthink: "^1.2.3" }
    });
    const after = listing();
    expect((await run("init", "--no-install")).output).toContain("Nothing was changed");
    expect(listing()).toEqual(after);
  });

  test("a file of the user's in an empty-looking place is never overwritten, and a project's folder of agents stays", async () => {
    put({ "package.json": "{}", "agents/assistant/agent.ts": "// mine", "vitest.config.ts": "// mine too" });
    const { output } = await run("init", "--no-install");
    expect(output).toContain("kept agents/assistant/agent.ts\n");
    expect([read("agents/assistant/agent.ts"), read("vitest.config.ts")]).toEqual(["// mine", "// mine too"]);
  });

  test.each(["vite.config.ts", "wrangler.toml"])("a project with a %s is refused with what to do", async (name) => {
    put({ "package.json": "{}", [name]: "" });
    await expect(run("init", "--no-install")).rejects.toThrow(`There is a ${name}`);
    expect(listing()).toEqual(["package.json", name].sort());
  });

  test("a prefix reaches plugin and page, and the project is inspected without a finding", async () => {
    await run("init", "shop", "--no-install", "--route-prefix", "/api/agents");
    expect(read("shop/page/use-conversations.ts")).toContain('agent: "conversations", prefix: "api/agents"');
    expect(read("shop/page/app.tsx")).toMatch(/agent="assistant"\n +prefix="api\/agents"/);
    expect(read("shop/vite.config.ts")).toContain('think({ routePrefix: "/api/agents", authorize: "src/auth.ts" }),');
    symlinkSync(join(repository, "node_modules"), join(folder, "shop/node_modules"));
    const { output, code } = await run("inspect", "--root", "shop");
    expect(code).toBe(0);
    expect(output).toContain("/api/agents/assistant/*");
    // No server is there: what counts is the address it tried.
    await expect(run("state", "assistant", "--root", "shop", "--host", "127.0.0.1:1")).rejects.toThrow(
      "No connection to http://127.0.0.1:1/api/agents/assistant/default."
    );
    expect(output).toContain("Diagnostics\n  none");
  });

  test.each(listStarters(startersFolder).map(({ name }) => name))(
    "starter %s is current and without a finding",
    async (name) => {
      await run("init", "app", "--template", name, "--no-install");
      symlinkSync(join(repository, "node_modules"), join(folder, "app/node_modules"));
      expect((await run("types", "--check", "--root", "app")).code).toBe(0);
      expect((await run("inspect", "--root", "app")).output).toContain("Diagnostics\n  none");
      expect((await run("init", "--help")).output).toContain(name);
      const files = [...starterFiles(startersFolder, name).keys()];
      expect(files).toEqual(expect.arrayContaining(["index.html", "test/assistant.test.ts", "test/chaos.ts"]));
    }
  );

  test("a starter's package.json adds to the shared one, and its README goes on after it", async () => {
    await run("init", "bot", "--template", "telegram-bot", "--no-install");
    const { dependencies, scripts } = JSON.parse(read("bot/package.json")) as Record<string, Record<string, string>>;
    expect(dependencies).toMatchObject({ "@chat-adapter/telegram": expect.any(String), everthink: "^1.2.3" });
    expect(scripts?.["chaos"]).toBe("everthink chaos");
    expect(read("bot/README.md")).toMatch(/^# bot\n[^]*npm run chaos[^]*\n\n## Telegram\n/);
  });

  test.each([
    ["My Shop!", "my-shop"],
    ["--", "think-agent"],
    ["Ünï", "n"]
  ])("the package name of %s is %s", (text, name) => {
    expect(packageName(text)).toBe(name);
  });

  test("random names and merged packages have their form", () => {
    expect(randomProjectName(() => 0.999)).toBe("think-agent-steady-willow");
    expect(JSON.parse(mergedPackage("{}", '{"scripts":{"a":"b"}}', "^1"))).toMatchObject({
      dependencies: { everthink: "^1" }
    });
  });
});

describe("the target of a connection", () => {
  const manifest = discoverThinkApp({ files: ["agents/support.ts"] });
  const given = ["agent", "instance"].map((name) => ({ name, text: "" }));
  const target = (...args: string[]) =>
    agentTarget(parseCommandLine(args, { name: "state", arguments: given, options: CONNECTION_OPTIONS }), manifest);

  test.each([
    [["support"], "http://localhost:5173/agents/support/default"],
    [["ThinkAgent_Support", "user/42"], "http://localhost:5173/agents/support/user%2F42"],
    [["OrderDesk", "a"], "http://localhost:5173/agents/order-desk/a"],
    [["support", "--url", "https://app.example.com/x"], "https://app.example.com/agents/support/default"],
    [["support", "--host", "h:1", "--protocol", "wss"], "https://h:1/agents/support/default"],
    [["support", "--route-prefix", "api/agents/"], "http://localhost:5173/api/agents/support/default"]
  ])("%j is %s", (args, url) => {
    expect(targetUrl(target(...args))).toBe(url);
  });

  test.each([
    [["support"], ""],
    [["support", "--host", "127.0.0.1:9"], " --host 127.0.0.1:9"],
    [
      ["support", "--url", "https://a.example", "--route-prefix", "/api/x", "--root", "my shop's"],
      " --url https://a.example --route-prefix /api/x --root 'my shop'\\''s'"
    ],
    [["support", "--token", "secret", "--query", "key=secret"], " --token … --query key=…"]
  ])("a command suggested after %j goes to the same server, without secrets: %j", (args, words) => {
    const command = { name: "chat", arguments: given, options: CONNECTION_OPTIONS };
    expect(connectionWords(parseCommandLine(args, command))).toBe(words);
  });

  test("an agent that the project does not have is tried, and a failure says which there are", () => {
    expect(target("suport").hint).toBe('This project has no agent "suport". Did you mean support?');
    expect(target("billing").hint).toBe('This project has no agent "billing". It has: support.');
    expect(target("Support").hint).toBeUndefined();
  });

  test("token and query are merged; a malformed one is an error", () => {
    expect(target("support", "--token", "t", "--query", "a=1", "--query", "b=x=y").query).toEqual({
      a: "1",
      b: "x=y",
      token: "t"
    });
    expect(() => target("support", "--query", "a")).toThrow('--query takes key=value, not "a".');
    expect(() => target()).toThrow("Which agent?");
  });
});

describe("answers in the terminal", () => {
  const assistant = (...parts: object[]) => ({ id: "a", role: "assistant", parts }) as never;

  test("text is printed as it grows, a call once, and what was printed is not repeated", () => {
    let output = "";
    const printer = new AnswerPrinter((text) => (output += text));
    const call = { type: "tool-pay", toolCallId: "c", input: { amount: 1 } };
    printer.show([assistant({ type: "text", text: "One " })]);
    printer.show([assistant({ type: "text", text: "One moment." }, { ...call, state: "input-available" })]);
    const done = { ...call, state: "output-available", output: "ok" };
    printer.show([assistant({ type: "text", text: "One moment." }, done, { type: "text", text: "Paid." })]);
    printer.show([assistant({ type: "text", text: "One moment." }, done, { type: "text", text: "Paid." })]);
    printer.endLine();
    expect(output).toBe('One moment.\n┌ pay {"amount":1}\n└ "ok"\nPaid.\n');
  });

  test("a model cannot move the cursor or set the title", () => {
    expect(printable("a\u001b[2Jb\u0007c\td\n")).toBe("a[2Jbc\td\n");
    const call = {
      type: "tool-pay\u001b[2J",
      toolCallId: "c",
      input: {},
      state: "output-error",
      errorText: "\u001b]0;x"
    };
    const shown = messageText(assistant({ type: "text", text: "\u001b[2Jgone" }, call));
    expect(shown).toBe("assistant: [2Jgone\n┌ pay[2J {}\n└ failed: ]0;x");
  });
});
