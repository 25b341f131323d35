// The model loads extensions by itself: within its ceiling, after an approval, and with what the human is shown.
import { expect, test, vi } from "vitest";
import { ExtensionManager } from "../index.ts";
import { createTestLoader } from "../../../testing/index.ts";
import { checkManifest } from "../manifest.ts";
import { createExtensionTools, type LoadExtensionInput } from "./index.ts";
import { reviewOf } from "./load-approval.ts";
import { sourceDiff } from "./source-diff.ts";

const GREETER = `({ tools: { greet: { execute: () => "hello" }, fail: { execute: () => { throw new Error("no") } } } })`;
const greeter = { name: "greeter", version: "1.0.0" };

const open = () => new ExtensionManager({ loader: createTestLoader() });

const load = (manager: ExtensionManager, options: object, request: Partial<LoadExtensionInput>) => {
  const tools = createExtensionTools({ manager, ...options });
  const input = { name: "greeter", version: "1.0.0", source: GREETER, ...request };
  return tools.load_extension.execute?.(input, {} as never);
};

test("15: the model loads within the ceiling only, and not more than ten", async () => {
  const manager = open();
  expect(await load(manager, {}, { workspace_access: "read-write" })).toMatchObject({
    loaded: false,
    error: expect.stringContaining("read-write")
  });
  expect(await load(manager, {}, { network: ["api.example.com"] })).toMatchObject({ loaded: false });
  expect(
    await load(manager, { ceiling: { network: ["*.example.com"] } }, { network: ["api.example.com"] })
  ).toMatchObject({
    loaded: true,
    prefix: "greeter",
    tools: ["greeter_greet", "greeter_fail"]
  });
  expect(await load(manager, {}, { name: "broken", source: "({" })).toMatchObject({ loaded: false });
  for (let n = 0; n < 9; n++) expect(await load(manager, {}, { name: `e${n}` })).toMatchObject({ loaded: true });
  expect(await load(manager, {}, { name: "more" })).toMatchObject({
    loaded: false,
    error: expect.stringContaining("At most 10")
  });
});

test("15: nor do more than ten of one step, whose calls run side by side", async () => {
  const manager = open();
  const { load_extension } = createExtensionTools({ manager });
  const options = { toolCallId: "c", messages: [], context: {} } as never;
  const requests = Array.from({ length: 12 }, (_, n) => ({ name: `e${n}`, version: "1.0.0", source: GREETER }));
  await Promise.all(requests.map((request) => load_extension.execute?.(request, options)));
  expect(manager.list()).toHaveLength(10);
});

const asks = async (options: object, request: Partial<LoadExtensionInput> = {}) => {
  const { load_extension } = createExtensionTools({ manager: open(), ...options });
  const { needsApproval } = load_extension;
  const input = { ...greeter, source: GREETER, ...request };
  const isAsked = typeof needsApproval === "function" && (await needsApproval(input, { toolCallId: "c" } as never));
  return { isAsked, run: () => load_extension.execute?.(input, { toolCallId: "c" } as never) };
};

test("15: with approval on, loading asks a human, or asks the developer's function whether to", async () => {
  expect((await asks({})).isAsked).toBe(false);
  expect((await asks({ approval: true })).isAsked).toBe(true);
  const approval = vi.fn(() => true);
  expect((await asks({ approval })).isAsked).toBe(true);
  expect(approval).toHaveBeenCalledWith(expect.objectContaining({ source: GREETER }));
  expect((await asks({ approval: () => false })).isAsked).toBe(false);
});

test("what cannot be loaded is not shown to a human, and is not loaded without one either", async () => {
  const manager = open();
  await manager.load(greeter, GREETER);
  const { isAsked, run } = await asks({ approval: true, manager });
  expect(isAsked).toBe(false);
  // What was wrong is right by now.
  await manager.unload("greeter");
  expect(await run()).toMatchObject({ loaded: false, error: expect.stringContaining("already loaded") });
  expect(manager.list()).toEqual([]);
  expect((await asks({ approval: true }, { source: "({" })).isAsked).toBe(false);
  expect((await asks({ approval: true }, { workspace_access: "read-write" })).isAsked).toBe(false);
});

test("the model replaces what it loaded by a new version, and not what the application loaded", async () => {
  const manager = open();
  await manager.load({ ...greeter, name: "own" }, GREETER);
  await load(manager, {}, { name: "mine" });
  const next = `({ tools: { wave: { execute: () => "waves" } } })`;
  expect(await load(manager, {}, { name: "mine", version: "2.0.0", source: next })).toMatchObject({
    loaded: true,
    tools: ["mine_wave"]
  });
  expect(manager.list().map(({ name, version }) => `${name} ${version}`)).toEqual(["own 1.0.0", "mine 2.0.0"]);
  expect(await load(manager, {}, { name: "own", source: next })).toMatchObject({
    loaded: false,
    error: expect.stringContaining("already loaded")
  });
});

test("hooks in what the model wrote are not called: they would see the whole conversation", async () => {
  const manager = open();
  const hooks = "hooks: { beforeTurn: () => ({}), afterToolCall() {} }";
  expect(await load(manager, {}, { source: `({ tools: { a: { execute: () => 1 } }, ${hooks} })` })).toMatchObject({
    loaded: true
  });
  expect([manager.getHookSubscribers("beforeTurn"), manager.getHookSubscribers("afterToolCall")]).toEqual([[], []]);
  expect(await load(manager, {}, { name: "only", source: `({ ${hooks} })` })).toMatchObject({
    loaded: false,
    error: expect.stringContaining("must have tools")
  });
});

test("the review of a new version names what is new, and shows the lines that changed", async () => {
  const manager = open();
  const before = "({\n  tools: {\n    greet: { execute: () => 'hello' },\n    old: { execute: () => 1 }\n  }\n})";
  const after = before.replace("'hello'", "'hi'").replace("old:", "fresh:");
  const permissions = { workspace: "read" as const, network: ["a.example.com"] };
  await manager.load({ ...greeter, permissions, origin: "model" }, before);
  const asked = { ...permissions, network: ["a.example.com", "b.example.com"], workspace: "none" as const };
  const manifest = checkManifest({ ...greeter, version: "1.1.0", permissions: asked });
  const review = reviewOf(manager, { manifest, source: after, info: await manager.check(manifest, after) });
  expect(review).toMatchObject({
    permissions: ["Sends requests to a.example.com", "Sends requests to b.example.com"],
    replaces: {
      version: "1.0.0",
      addedPermissions: ["Sends requests to b.example.com"],
      removedPermissions: ["Reads your files"],
      addedTools: ["greeter_fresh"],
      removedTools: ["greeter_old"]
    }
  });
  const marks = { same: " ", added: "+", removed: "-", skipped: "…" };
  expect(review.replaces?.changes.map(({ kind, text }) => marks[kind] + text)).toEqual([
    " ({",
    "   tools: {",
    "-    greet: { execute: () => 'hello' },",
    "-    old: { execute: () => 1 }",
    "+    greet: { execute: () => 'hi' },",
    "+    fresh: { execute: () => 1 }",
    "   }",
    " })"
  ]);
});

test("a difference is bounded, whatever the sources are", () => {
  const lines = (n: number, mark: string) => Array.from({ length: n }, (_, at) => `${mark}${at}`).join("\n");
  expect(sourceDiff(lines(5_000, "a"), lines(5_000, "b"))).toHaveLength(400);
  expect(sourceDiff(lines(50, "a"), `${lines(50, "a")}\nend`)).toEqual([
    { kind: "skipped", text: "47 unchanged lines" },
    ...[47, 48, 49].map((at) => ({ kind: "same", text: `a${at}` })),
    { kind: "added", text: "end" }
  ]);
  expect(sourceDiff("same", "same")).toEqual([{ kind: "skipped", text: "1 unchanged lines" }]);
});

test("the model unloads what it loaded, and nothing else", async () => {
  const manager = open();
  await manager.load({ ...greeter, name: "own" }, GREETER);
  await load(manager, {}, { name: "mine" });
  const { unload_extension: unload, list_extensions: list } = createExtensionTools({ manager });
  expect(await unload.execute?.({ name: "own" }, {} as never)).toMatchObject({ unloaded: false });
  expect(await unload.execute?.({ name: "mine" }, {} as never)).toEqual({ unloaded: true });
  expect(await list.execute?.({}, {} as never)).toMatchObject({ count: 1, extensions: [{ name: "own" }] });
});
