// `everthink add messenger`, `mcp` and `skills` on projects in temporary folders. That they type check and pass their tests is
// checked with the packed package: test/package/add.test.ts.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseSync } from "vite";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { testContext } from "../cli.test-support.ts";
import { dispatch } from "../main.ts";
import { addMember, importPath } from "./agent-source.ts";
import { serverId } from "./mcp-file.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "everthink-add-"));
  symlinkSync(fileURLToPath(new URL("../../../node_modules", import.meta.url)), join(folder, "node_modules"));
  put("package.json", "{}");
  put("agents/support.ts", AGENT);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const AGENT = `import { Think } from "everthink";

export default class extends Think {
  getModel() {
    return "openai/gpt-5" as const;
  }
}
`;

function put(path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}
const read = (path: string) => readFileSync(join(folder, path), "utf8");

async function add(...args: string[]): Promise<string> {
  let output = "";
  const print = (text: string) => void (output += `${text}\n`);
  expect(await dispatch(["add", ...args], testContext({ cwd: folder, print, note: print, stream: print }))).toBe(0);
  return output;
}

describe("a messenger", () => {
  test("is a file of its own, two lines in the class, and names of variables; a further one joins it", async () => {
    put(".dev.vars.example", "MODEL=\n");
    put("src/login.ts", "export const login = createLogin<Cloudflare.Env>({ about: (env) => ({ model: env }) });\n");
    expect(await add("messenger", "telegram")).toMatch(
      /^Changed: src\/support-messengers\.ts, agents\/support\.ts, src\/login\.ts, \.dev\.vars\.example\nNext:\n {2}npm install @chat-adapter\/telegram\n/
    );
    expect(read("agents/support.ts")).toBe(`import { Think } from "everthink";
import { messengersOf } from "../src/support-messengers.ts";

export default class extends Think {
  getModel() {
    return "openai/gpt-5" as const;
  }

  override getMessengers() {
    return messengersOf(this.env);
  }
}
`);
    expect(read(".dev.vars.example")).toBe("MODEL=\nTELEGRAM_BOT_TOKEN=\nTELEGRAM_WEBHOOK_SECRET_TOKEN=\n");
    expect(read("src/login.ts")).toContain('needsNoLogin: ({ method, url }) => method === "POST"');
    expect(parseSync("login.ts", read("src/login.ts")).errors).toEqual([]);
    await add("messenger", "slack");
    expect(read("src/support-messengers.ts")).toContain(`  return defineMessengers({
    ...telegram(env as Variables),
    ...slack(env as Variables)
  });`);
  });

  test("that is there is not added again", async () => {
    await add("messenger", "discord");
    const before = read("src/support-messengers.ts") + read("agents/support.ts");
    expect(await add("messenger", "discord")).toContain("It is there already: nothing was changed.");
    expect(read("src/support-messengers.ts") + read("agents/support.ts")).toBe(before);
  });

  test("nothing is written where the class has messengers of its own: it says what to write", async () => {
    const own = AGENT.replace("getModel() {", "getMessengers() {\n    return {};\n  }\n\n  getModel() {");
    put("agents/support.ts", own);
    await expect(add("messenger", "teams")).rejects.toMatchObject({
      message: "The class in agents/support.ts has its own getMessengers(). Nothing was changed.",
      hint: expect.stringContaining("return messengersOf(this.env);")
    });
    expect(read("agents/support.ts")).toBe(own);
    expect(() => read("src/support-messengers.ts")).toThrow("ENOENT");
    await expect(add("messenger", "icq")).rejects.toMatchObject({
      message: expect.stringContaining("telegram, slack")
    });
  });
});

describe("an MCP server", () => {
  test("is registered at the start; a further one joins the list, the same one does not", async () => {
    await add("mcp", "https://mcp.linear.app/mcp");
    await add("mcp", "https://docs.example.com/mcp", "--name", "my-docs");
    expect(await add("mcp", "https://docs.example.com/mcp")).toContain("nothing was changed");
    expect(read("src/support-mcp.ts")).toContain(`{
  linear: { name: "linear", url: "https://mcp.linear.app/mcp" },
  "my-docs": { name: "my-docs", url: "https://docs.example.com/mcp" }
};`);
    expect(read("agents/support.ts").match(/registerServer/g)).toHaveLength(1);
    await expect(add("mcp", "https://linear.other.example/mcp", "--name", "linear")).rejects.toMatchObject({
      hint: expect.stringContaining("--name")
    });
  });

  test("joins an onStart() that is there", async () => {
    put(
      "agents/support.ts",
      AGENT.replace("getModel() {", "async onStart() {\n    await this.begin();\n  }\n\n  getModel() {")
    );
    await add("mcp", "https://docs.example.com/mcp");
    expect(read("agents/support.ts")).toContain(
      "async onStart() {\n    for (const [id, server] of Object.entries(MCP_SERVERS)) this.mcp.registerServer(id, server);\n    await"
    );
  });

  test.each([
    ["https://mcp.linear.app/mcp", "linear"],
    ["https://docs.example.com/sse", "docs"],
    ["http://127.0.0.1:8000/mcp", "127"]
  ])("%s is named %s", (url, id) => {
    expect(serverId(new URL(url))).toBe(id);
  });

  test("anything else than an address is refused", async () => {
    await expect(add("mcp", "docs")).rejects.toMatchObject({ message: expect.stringContaining('not "docs"') });
  });
});

describe("skills for coding agents", () => {
  test("are in both folders and in AGENTS.md, once; one that was changed stays", async () => {
    put("AGENTS.md", "# Ours\n");
    await add("skills");
    const skill = ".claude/skills/everthink-build/SKILL.md";
    expect(read(skill)).toBe(read(".agents/skills/everthink-build/SKILL.md"));
    expect(read("AGENTS.md")).toMatch(/^# Ours\n\n## Skills\n[^]*`\.agents\/skills\/everthink-debug\/SKILL\.md`\n$/);
    expect(await add("skills")).toContain("nothing was changed");
    put(skill, "mine");
    expect(await add("skills")).toContain(`${skill} differs from this version's and was kept`);
    expect(read(skill)).toBe("mine");
  });
});

describe("which agent", () => {
  test("is asked for where there are several", async () => {
    put("agents/sales.ts", AGENT);
    await expect(add("messenger", "slack")).rejects.toMatchObject({
      message: "Which agent? --agent takes one of: sales, support."
    });
    await add("messenger", "slack", "--agent", "sales");
    expect(read("src/sales-messengers.ts")).toContain('userName: "sales"');
    await expect(add("messenger", "slack", "--agent", "none")).rejects.toMatchObject({
      hint: "It has: sales, support."
    });
  });
});

describe("a member of a class", () => {
  const added = { import: 'import { a } from "./a.ts";', name: "x", member: ["x() {", "  return a;", "}"] };
  test.each<[what: string, text: string, shown: string]>([
    [
      "an empty class without imports",
      "export default class extends Think {}\n",
      'import { a } from "./a.ts";\nexport default class extends Think {\n  x() {\n    return a;\n  }\n}\n'
    ],
    [
      "a named export",
      'import { Think } from "everthink";\nexport class Support extends Think {\n  y = 1;\n}\n',
      'import { Think } from "everthink";\nimport { a } from "./a.ts";\nexport class Support extends Think {\n  y = 1;\n\n  x() {\n    return a;\n  }\n}\n'
    ]
  ])("%s", (_what, text, shown) => {
    expect(addMember({ path: "a.ts", text }, added, parseSync)).toEqual({ state: "changed", text: shown });
    expect(addMember({ path: "a.ts", text: shown }, added, parseSync)).toEqual({ state: "current" });
  });

  test("of a file that is no module, or has no class, is impossible", () => {
    expect(addMember({ path: "a.ts", text: "class {" }, added, parseSync)).toMatchObject({ state: "impossible" });
    expect(addMember({ path: "a.ts", text: "export default agent({})" }, added, parseSync)).toEqual({
      state: "impossible",
      why: "a.ts has no class as its default export."
    });
  });

  test.each([
    ["agents/support.ts", "src/a.ts", "../src/a.ts"],
    ["agents/assistant/agent.ts", "src/a.ts", "../../src/a.ts"],
    ["src/agents/x.ts", "src/a.ts", "../a.ts"]
  ])("from %s to %s it is %s", (from, to, path) => {
    expect(importPath(from, to)).toBe(path);
  });
});
