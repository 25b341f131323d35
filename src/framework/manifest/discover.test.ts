import fc from "fast-check";
import { parseSync } from "vite";
import { describe, expect, test } from "vitest";
import { diagnoseAgentFolders, diagnoseThinkManifest } from "./diagnose.ts";
import { agentExport, diagnoseThinkSources } from "./diagnose-sources.ts";
import { discoverThinkApp } from "./discover.ts";
import { summarizeThinkManifest } from "./manifest.ts";
import { readModuleExports } from "./module-exports.ts";

const discover = (...files: string[]) => discoverThinkApp({ files });
const codes = (...files: string[]) => diagnoseThinkManifest(discover(...files)).map(({ code }) => code);

describe("discovery", () => {
  test("one file is one agent with its class, names, binding and route", () => {
    const manifest = discover("agents/support.ts");
    expect(manifest).toEqual({
      root: "",
      routePrefix: "/agents",
      agents: [
        {
          id: "support",
          className: "ThinkAgent_Support",
          aliases: ["support", "Support", "ThinkAgent_Support"],
          importPath: "/agents/support.ts",
          sourcePath: "agents/support.ts",
          kind: "top-level",
          features: [],
          env: []
        }
      ],
      bindings: [{ name: "ThinkAgent_Support", className: "ThinkAgent_Support", kind: "durable-object" }],
      workflows: [],
      routes: [{ id: "support", pattern: "/agents/support/*", agent: "ThinkAgent_Support" }],
      routeSurfaces: [
        { id: "agent:support", pattern: "/agents/support/*", requiredRunWorkerFirst: true },
        { id: "internal:think", pattern: "/__think/*", requiredRunWorkerFirst: true }
      ],
      schedules: [],
      messengers: [],
      tools: [],
      platformRequirements: [],
      env: [],
      features: []
    });
  });

  test.each([
    ["agents/assistant/agent.ts", "assistant", "ThinkAgent_Assistant"],
    ["agents/codeReviewer.tsx", "code-reviewer", "ThinkAgent_CodeReviewer"],
    ["agents/AIHelper.mjs", "ai-helper", "ThinkAgent_AiHelper"],
    ["agents/order_desk.js", "order-desk", "ThinkAgent_OrderDesk"],
    ["agents/a/agents/researcher.ts", "a/researcher", "ThinkSubAgent_A_Researcher"],
    ["agents/a/agents/code-reviewer/agent.ts", "a/code-reviewer", "ThinkSubAgent_A_CodeReviewer"],
    ["agents/a/agents/b/agents/c.ts", "a/b/c", "ThinkSubAgent_A_B_C"]
  ])("%s is agent %s of class %s", (path, id, className) => {
    expect(discover(path).agents).toMatchObject([{ id, className }]);
  });

  test.each([
    "agents/support.test.ts",
    "agents/support.spec.tsx",
    "agents/_shared.ts",
    "agents/index.ts",
    "agents/support.d.ts",
    "agents/.hidden.ts",
    "agents/readme.md",
    "agents/a/tools.ts",
    "agents/a/lib/agents/b.ts",
    "src/agents/support.ts",
    "lib/agents/support.ts"
  ])("%s is no agent", (path) => {
    expect(discover(path).agents).toEqual([]);
  });

  test("sub-agents have neither binding nor route, and a surface below their parent", () => {
    const manifest = discover("agents/a.ts", "agents/a/agents/b.ts", "agents/a/agents/b/agents/c.ts");
    expect(manifest.bindings.map(({ name }) => name)).toEqual(["ThinkAgent_A"]);
    expect(manifest.routes.map(({ id }) => id)).toEqual(["a"]);
    expect(manifest.routeSurfaces.map(({ pattern }) => pattern)).toEqual([
      "/agents/a/*",
      "/agents/a/{name}/sub/b/{subName}",
      "/agents/a/{name}/sub/b/{subName}/sub/c/{subName2}",
      "/__think/*"
    ]);
    expect(manifest.agents[1]).toMatchObject({
      kind: "sub-agent",
      parentId: "a",
      aliases: ["a/b", "b", "B", "ThinkSubAgent_A_B"]
    });
  });

  test("skills beside an agent are its feature, and only scripts need a loader", () => {
    const plain = discover("agents/a.ts", "agents/a/skills/review/SKILL.md");
    expect(plain.agents[0]).toMatchObject({ features: ["skills"], featureSources: { skills: "agents/a/skills" } });
    expect(plain.platformRequirements).toEqual([]);
    const scripted = discover("agents/b/agent.ts", "agents/b/skills/review/scripts/run.ts");
    expect(scripted.platformRequirements).toMatchObject([{ kind: "worker_loader", binding: "LOADER", agent: "b" }]);
    expect(scripted.features).toEqual(["skills"]);
  });

  test.each([
    [undefined, "/agents"],
    ["/", "/agents"],
    ["api/agents/", "/api/agents"],
    ["//chat//", "/chat"]
  ])("the prefix %s is %s", (routePrefix, expected) => {
    expect(discoverThinkApp({ files: [], ...(routePrefix !== undefined && { routePrefix }) }).routePrefix).toBe(
      expected
    );
  });

  test("order and duplicates of the listing do not matter, whatever the names", () => {
    const name = fc.stringMatching(/^[A-Za-z][A-Za-z\d_-]{0,8}$/);
    fc.assert(
      fc.property(fc.uniqueArray(name, { maxLength: 6 }), (names) => {
        const files = names.map((one) => `agents/${one}.ts`);
        expect(discover(...files.toReversed())).toEqual(discover(...files));
      })
    );
  });

  test("the app entry is found, and can be named", () => {
    expect(discover("src/server.mjs").appEntrypoint).toBe("src/server.mjs");
    expect(discoverThinkApp({ files: [], appEntry: "./worker/app.ts" }).appEntrypoint).toBe("worker/app.ts");
  });

  test("the summary has a count and a line per agent", () => {
    expect(summarizeThinkManifest(discover("agents/a.ts", "agents/a/agents/b.ts"))).toEqual([
      "1 agent, 1 sub-agent, routes below /agents",
      "- a | class ThinkAgent_A | /agents/a/*",
      "- a/b | class ThinkSubAgent_A_B | of a"
    ]);
  });
});

describe("diagnostics of a manifest", () => {
  test.each([
    [["agents/a.ts"], []],
    [
      ["agents/a.ts", "agents/a/agent.ts"],
      ["duplicate-agent-id", "duplicate-generated-agent-name", "duplicate-route-id", "duplicate-route-surface-id"]
    ],
    [["agents/a/agents/b.ts"], ["orphan-subagent"]],
    [
      [
        "agents/a.ts",
        "agents/a/agents/b.ts",
        "agents/a/agents/b/agents/c.ts",
        "agents/a/agents/b/agents/c/agents/d.ts"
      ],
      []
    ],
    [
      [
        "a",
        "a/agents/b",
        "a/agents/b/agents/c",
        "a/agents/b/agents/c/agents/d",
        "a/agents/b/agents/c/agents/d/agents/e"
      ].map((path) => `agents/${path}.ts`),
      ["unsupported-nested-subagent"]
    ],
    [["agents/日本.ts"], ["unusable-agent-name"]]
  ])("%j gives %j", (files, expected) => {
    expect(codes(...files)).toEqual(expected);
  });

  test("an orphan is reported at its file", () => {
    expect(diagnoseThinkManifest(discover("agents/a/agents/b.ts"))[0]).toMatchObject({
      severity: "error",
      path: "agents/a/agents/b.ts",
      message: expect.stringContaining("agents/a/agent.ts")
    });
  });
});

test.each<[string[], string[]]>([
  [[], ["no-agents"]],
  [["agents/index.ts", "agents/README.md"], ["no-agents"]],
  [["agents/a.ts", "agents/a/helper.ts"], []],
  [["agents/a/agent.ts", "agents/a/skills/x/SKILL.md", "agents/a/agents/b/agent.ts"], []],
  [["agents/a/Agent.ts"], ["folder-without-agent agents/a"]],
  [["agents/a.ts", "agents/b/index.ts", "agents/b/prices.json"], ["folder-without-agent agents/b"]],
  [["agents/a/agent.ts", "agents/a/agents/b/tools.ts"], ["folder-without-agent agents/a/agents/b"]],
  [["agents/a/agent.ts", "agents/_shared/x.ts", "agents/.cache/x.ts"], []],
  // The orphan is an error already.
  [["agents/a/agents/b.ts"], []]
])("%j is warned of: %j", (files, expected) => {
  const found = diagnoseAgentFolders(discover(...files), files);
  expect(found.map(({ code, path }) => [code, path].filter(Boolean).join(" "))).toEqual(expected);
  expect(found.every(({ severity }) => severity === "warning")).toBe(true);
});

describe("what files export", () => {
  const read = (text: string) => readModuleExports({ path: "agents/a.ts", text }, parseSync);
  const diagnose = (files: Record<string, string>) => {
    const manifest = discover(...Object.keys(files));
    const sources = new Map(
      Object.entries(files).map(([path, text]) => [path, readModuleExports({ path, text }, parseSync)] as const)
    );
    return diagnoseThinkSources(manifest, sources);
  };

  test.each([
    ["export default class A extends Think {}", "default"],
    ["class A extends Think {}\nexport { A as B };", "B"],
    ["class A extends Think {}\nexport default A;", "default"],
    ["export class A extends Think {}\nexport const limit = 3; export type T = string;", "A"],
    ["export const a = agent({ model });", "a"],
    ["// export class Old extends Think {}\nexport class New extends Think {}", "New"],
    ["export { A as default } from './a-class.ts';", "default"]
  ])("in %j the agent is %s", (text, name) => {
    expect(agentExport(read(text).exports)?.name).toBe(name);
  });

  test.each([
    ["", "missing-agent-export", undefined],
    ["export function helper() {}", "missing-agent-export", 1],
    ["\nexport default { model: 1 };", "missing-agent-export", 2],
    ["export class A {}", "missing-agent-export", 1],
    ["export class A extends Think {}\n\nexport class B extends Think {}", "ambiguous-agent-export", 3],
    ["export default class {", "agent-syntax-error", 1]
  ])("%j is %s at line %s", (text, code, line) => {
    const found = diagnose({ "agents/a.ts": text });
    expect(found).toMatchObject([{ code, severity: "error", path: "agents/a.ts" }]);
    expect(found[0]?.line).toBe(line);
  });

  test.each([
    "export class A extends Think {}\nexport class B extends Think {}\nexport default A;",
    "export * from './a-class.ts';",
    "export const className = 'ThinkAgent_Old';\nexport default class extends Think {}",
    "export default agent({ model });"
  ])("%j is fine", (text) => {
    expect(diagnose({ "agents/a.ts": text })).toEqual([]);
  });

  test("a look-alike is told to use agent()", () => {
    expect(diagnose({ "agents/a.ts": "export default { model: 1 } as const;" })[0]?.message).toContain("agent({ … })");
  });

  test("one class at two paths is an error", () => {
    expect(
      diagnose({
        "agents/a.ts": "export default class A extends Think {}",
        "agents/b.ts": "export { default } from './a.ts';"
      })
    ).toMatchObject([{ code: "shared-agent-class", path: "agents/b.ts", line: 1 }]);
  });

  test("an export of the app under a generated name is an error", () => {
    expect(
      diagnose({
        "agents/a.ts": "export default class A extends Think {}",
        "src/server.ts": "export default {};\nexport class ThinkAgent_A extends WorkflowEntrypoint {}"
      })
    ).toMatchObject([{ code: "app-export-conflict", path: "src/server.ts", line: 2 }]);
  });

  test("a pinned class is read, and used for class, binding and alias", () => {
    expect(read("export const className = 'ThinkAgent_Old';").className).toBe("ThinkAgent_Old");
    expect(read("const className = 'ThinkAgent_Old';").className).toBeUndefined();
    const { agents, bindings } = discoverThinkApp({
      files: ["agents/help.ts"],
      classNames: { "agents/help.ts": "ThinkAgent_Old" }
    });
    expect(agents[0]).toMatchObject({ id: "help", className: "ThinkAgent_Old" });
    expect(bindings).toMatchObject([{ name: "ThinkAgent_Old" }]);
  });
});

test("files may be sources by path: only the paths decide", () => {
  const files = ["agents/support.ts", "agents/support/skills/a/SKILL.md", "src/server.ts"];
  const sources = Object.fromEntries(files.map((file) => [file, "export class Other {}"]));
  expect(discoverThinkApp({ files: sources })).toEqual(discoverThinkApp({ files }));
});
