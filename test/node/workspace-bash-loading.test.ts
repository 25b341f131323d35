// When the package just-bash is loaded: with the first script, not with the first turn.
import { expect, test, vi } from "vitest";
import { Think } from "../../src/index.ts";
import {
  createScript,
  createTestHost,
  reply,
  scriptedModel,
  text,
  toolCall,
  type Script
} from "../../src/testing/index.ts";
import { user } from "../kit/messages.ts";

const loaded = vi.hoisted(() => ({ times: 0 }));
vi.mock("just-bash", async (original) => {
  loaded.times += 1;
  return original();
});

let script: Script;

class Helper extends Think {
  override getModel() {
    return scriptedModel(script);
  }

  async ask(question: string): Promise<string> {
    const message = user(question);
    return (await this.saveMessages([message])).status;
  }
}

test("bash is offered without loading the interpreter, which comes with the first call, once", async () => {
  const run = () => reply(toolCall("bash", { script: "echo hi | tr h H" }));
  script = createScript([reply(text("hello")), run(), reply(text("ran")), run(), reply(text("again"))]);
  const agent = await createTestHost({ agents: { Helper } }).get(Helper, "a");
  expect(await agent.ask("hello")).toBe("completed");
  expect(script.calls[0]?.tools?.map(({ name }) => name)).toContain("bash");
  expect(loaded.times).toBe(0);
  for (const question of ["run it", "and again"]) expect(await agent.ask(question)).toBe("completed");
  expect(JSON.stringify(script.calls.at(-1)?.prompt)).toContain('"stdout":"Hi\\n"');
  expect(loaded.times).toBe(1);
});
