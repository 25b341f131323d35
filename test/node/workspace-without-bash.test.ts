// An agent whose project does not have the package just-bash.
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
import { createBashTool } from "../../src/workspace/tools/index.ts";

vi.mock("just-bash", () => {
  throw new Error("Cannot find package 'just-bash'");
});

let script: Script;

class Plain extends Think {
  override getModel() {
    return scriptedModel(script);
  }

  async ask(): Promise<string> {
    const { status } = await this.saveMessages([{ id: "q", role: "user", parts: [{ type: "text", text: "go" }] }]);
    return status;
  }
}

class SetUp extends Plain {
  override workspaceBash = { timeout: 10_000 };
}

test("the other seven tools work, and bash is not offered", async () => {
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
  script = createScript([reply(toolCall("write", { path: "/f", content: "x" })), reply(text("done"))]);
  const agent = await createTestHost({ agents: { Plain } }).get(Plain, "a");
  expect(await agent.ask()).toBe("completed");
  const names = script.calls[0]?.tools?.map(({ name }) => name);
  expect(names).toEqual(["read", "write", "edit", "list", "find", "grep", "delete"]);
});

test("settings for bash are an error that names the package", async () => {
  const error = vi.spyOn(console, "error").mockImplementation(() => undefined);
  script = createScript([reply(text("never"))]);
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
