// The examples of docs/workspace.md do what the page says.
import { expect, test, vi } from "vitest";
import { createScript, createTestHost, reply, scriptedModel, text, toolCall, type Script } from "everthink/testing";
import { Archive, Coder, Shared, toolsOver, Writer } from "./examples/workspace.ts";
import { user } from "../kit/messages.ts";

// The interpreter of bash is a large module.
vi.setConfig({ testTimeout: 30_000 });

let script: Script;

class ScriptedCoder extends Coder {
  override getModel() {
    return scriptedModel(script);
  }
}

test("the writer publishes, and finds what it wrote", async () => {
  const host = createTestHost({ agents: { Writer } });
  expect(await (await host.get(Writer, "a")).publish()).toMatchObject([{ path: "/notes/today.md", size: 8 }]);
});

test("the coder has bash", async () => {
  script = createScript([
    reply(toolCall("bash", { script: "echo 6*7 | bc > /answer || echo 42 > /answer" })),
    reply(text("42"))
  ]);
  const host = createTestHost({ agents: { ScriptedCoder } });
  const agent = await host.get(ScriptedCoder, "a");
  await agent.saveMessages([user("u", "go")]);
  expect(host.sql(ScriptedCoder, "a", "SELECT path FROM cf_workspace_default")).toEqual([{ path: "/answer" }]);
});

class Undoing extends Archive {
  async write(content: string) {
    await this.workspace.writeFile("/f", content);
  }
  async read() {
    return await this.workspace.readFile("/f");
  }
}

test("the archive takes a change back", async () => {
  const host = createTestHost({ agents: { Undoing } });
  const agent = await host.get(Undoing, "a");
  await agent.write("first");
  await agent.write("second");
  await agent.undo("/f");
  expect(await agent.read()).toBe("first");
});

test("shared files: the public reads what is public, the owner writes", async () => {
  const host = createTestHost({ agents: { Shared }, env: { OWNER_TOKEN: "owner" } });
  const owner = { authorization: "Bearer owner" };
  const address = (path: string) => `/agents/shared/a/workspace${path}`;
  expect((await host.fetch(address("/public/a.txt"), { method: "PUT", body: "hi", headers: owner })).status).toBe(201);
  expect(await (await host.fetch(address("/public/a.txt"))).text()).toBe("hi");
  expect((await host.fetch(address("/private"))).status).toBe(403);
  expect((await host.fetch(address("/public/a.txt"), { method: "PUT", body: "no" })).status).toBe(403);
});

test("tools over any file system", () => {
  expect(Object.keys(toolsOver({} as never))).not.toContain("bash");
});
