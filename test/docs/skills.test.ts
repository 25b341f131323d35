// The examples of docs/skills.md do what the page says.
import { expect, test, vi } from "vitest";
import { createScript, createTestHost, reply, scriptedModel, text, toolCall, type Script } from "everthink/testing";
import { MemoryBucket, skillFile } from "../../src/features/skills/skills.test-support.ts";
import { answer, Shared, Writer } from "./examples/skills.ts";
import { Greeter } from "./examples/skilled-project/agent.ts";
import { user } from "../kit/messages.ts";

// The interpreter of bash is a large module.
vi.setConfig({ testTimeout: 60_000 });

let script: Script;

class ScriptedWriter extends Writer {
  override getModel() {
    return scriptedModel(script);
  }
}

class ScriptedShared extends Shared {
  override getModel() {
    return scriptedModel(script);
  }
}

class ScriptedGreeter extends Greeter {
  override getModel() {
    return scriptedModel(script);
  }
}

const question = user("u", "go");
const spoken = () => JSON.stringify(script.calls.at(-1)?.prompt);

test("the writer activates its skill, reads a file of it and runs its script", async () => {
  script = createScript([
    reply(toolCall("activate_skill", { name: "release-notes" })),
    reply(toolCall("read_skill_resource", { path: "release-notes/references/style-guide.md" })),
    reply(
      toolCall("run_skill_script", { name: "release-notes", path: "scripts/count.sh", input: { changes: [1, 2] } })
    ),
    reply(text("done"))
  ]);
  const host = createTestHost({ agents: { ScriptedWriter } });
  await (await host.get(ScriptedWriter, "a")).saveMessages([question]);
  expect(spoken()).toContain("Group the changes");
  expect(spoken()).toContain("Short sentences.");
  expect(spoken()).toContain('"stdout":"2\\n"');
});

test("the shared agent takes one skill of a bucket", async () => {
  script = createScript([reply(text("done"))]);
  const bucket = new MemoryBucket()
    .put("skills/release-notes/SKILL.md", skillFile("release-notes"))
    .put("skills/other/SKILL.md", skillFile("other"));
  const host = createTestHost({ agents: { ScriptedShared }, env: { SKILLS_BUCKET: bucket } });
  await (await host.get(ScriptedShared, "a")).saveMessages([question]);
  expect(spoken()).toContain("- release-notes: What release-notes is for.");
  expect(spoken()).not.toContain("- other");
});

test("any call of the SDK can have skills", async () => {
  script = createScript([reply(toolCall("activate_skill", { name: "release-notes" }))]);
  const result = await answer(scriptedModel(script), [{ role: "user", content: "go" }]);
  expect(JSON.stringify(await result.toolResults)).toContain("Group the changes");
  expect(spoken()).toContain("You help the team.");
});

test("the greeter has the skills of the folder beside it", async () => {
  script = createScript([reply(toolCall("activate_skill", { name: "greet" })), reply(text("done"))]);
  const host = createTestHost({ agents: { ScriptedGreeter } });
  await (await host.get(ScriptedGreeter, "a")).saveMessages([question]);
  expect(spoken()).toContain("- greet: How we greet customers.");
  expect(spoken()).toContain("Say hello, then the name of the ship.");
});
