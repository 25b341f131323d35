// An agent whose project does not have the package just-bash, or has one that does not load.
import { expect, test, vi } from "vitest";
import { Think } from "../../src/index.ts";
import {
  createTestHost,
  createScript,
  reply,
  scriptedModel,
  text,
  toolCall,
  type Script
} from "../../src/testing/index.ts";
import { loadShell } from "../../src/features/workspace/bash/load-shell.ts";
import { createBashTool } from "../../src/features/workspace/tools/index.ts";
import { user } from "../kit/messages.ts";

vi.mock("just-bash", () => {
  throw new Error("Cannot find package 'just-bash'");
});

let script: Script;

class Plain extends Think {
  override getModel() {
    return scriptedModel(script);
  }

  async ask(): Promise<string> {
    const { status } = await this.saveMessages([user(crypto.randomUUID(), "go")]);
    return status;
  }
}

class SetUp extends Plain {
  override workspaceBash = { timeout: 10_000 };
}

const offered = (call: number) => script.calls[call]?.tools?.map(({ name }) => name);
const SEVEN = ["read", "write", "edit", "list", "find", "grep", "delete"];

// First: what loading came to is known from then on.
test("a package that was found and does not load costs the call that needs it, and is not offered again", async () => {
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
  script = createScript([reply(toolCall("bash", { script: "echo" })), reply(text("a pity")), reply(text("again"))]);
  const agent = await createTestHost({ agents: { Plain } }).get(Plain, "a");
  expect(await agent.ask()).toBe("completed");
  expect(offered(0)).toEqual([...SEVEN, "bash"]);
  expect(JSON.stringify(script.calls[1]?.prompt)).toContain("needs the package just-bash");
  expect(await agent.ask()).toBe("completed");
  expect(offered(2)).toEqual(SEVEN);
});

test("the other seven tools work, and bash is not offered", async () => {
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
  script = createScript([reply(toolCall("write", { path: "/f", content: "x" })), reply(text("done"))]);
  await loadShell();
  const agent = await createTestHost({ agents: { Plain } }).get(Plain, "a");
  expect(await agent.ask()).toBe("completed");
  expect(offered(0)).toEqual(SEVEN);
});

test("settings for bash are an error that names the package", async () => {
  const error = vi.spyOn(console, "error").mockImplementation(() => undefined);
  script = createScript([reply(text("never"))]);
  await loadShell();
  const agent = await createTestHost({ agents: { SetUp } }).get(SetUp, "a");
  expect(await agent.ask()).toBe("error");
  expect(script.calls).toEqual([]);
  expect(JSON.stringify(error.mock.calls)).toContain("npm install just-bash");
});

test("the tool alone says so when it is called", async () => {
  const tool = createBashTool({ ops: {} as never });
  const call = tool.execute?.({ script: "echo" }, { toolCallId: "c", messages: [] } as never);
  await expect(call).rejects.toMatchObject({ code: "bash-missing", message: expect.stringContaining("just-bash") });
});
