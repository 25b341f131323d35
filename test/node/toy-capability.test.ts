// A capability that the package does not have, made as the architecture page says: one folder, and one line in a list.
import { expect, test } from "vitest";
import type { Connection, ConnectionContext } from "../../src/agent-class/index.ts";
import { withCapabilities } from "../../src/core/index.ts";
import {
  createScript,
  createTestHost,
  reply,
  scriptedModel,
  text,
  toolCall,
  type Script
} from "../../src/testing/index.ts";
import { ThinkCore } from "../../src/think/think-core.ts";
import { greetings } from "../docs/examples/greetings/capability.ts";

let script: Script;

/** The one line. */
class Usher extends withCapabilities(ThinkCore, greetings) {
  static override callables = ["greet"];

  override getModel() {
    return scriptedModel(script);
  }

  override shouldConnectionBeReadonly(_connection: Connection, { request }: ConnectionContext) {
    return new URL(request.url).searchParams.has("watch");
  }
}

class Formal extends Usher {
  override greeting = "Good evening";

  override greet(name: string): string {
    return `${super.greet(name)}!`;
  }
}

/** A class without it. */
class Plain extends ThinkCore {
  override getModel() {
    return scriptedModel(script);
  }
}

const open = () => createTestHost({ agents: { USHER: Usher, FORMAL: Formal, PLAIN: Plain } });

test("its method is the agent's, its setting has a default, and a class overrides both with super", async () => {
  const host = open();
  expect(await (await host.get(Usher, "a")).greet("Ada")).toBe("Hello, Ada");
  expect(await (await host.get(Formal, "a")).greet("Ada")).toBe("Good evening, Ada!");
});

test("its table is made by its first write, and is there after a restart", async () => {
  const host = open();
  const usher = await host.get(Usher, "a");
  const tables = () => host.sql(Usher, "a", "SELECT name FROM sqlite_master WHERE name = 'cf_greetings'");
  expect(tables()).toEqual([]);
  await usher.greet("Ada");
  await host.restart();
  await (await host.get(Usher, "a")).greet("Bob");
  expect(host.sql(Usher, "a", "SELECT name FROM cf_greetings ORDER BY name")).toEqual([
    { name: "Ada" },
    { name: "Bob" }
  ]);
});

test("its tool and its paragraph are in every turn of its class, and in none of another", async () => {
  const host = open();
  const usher = await host.get(Usher, "a");
  await usher.greet("Ada");
  script = createScript([reply(toolCall("known_names", {})), reply(text("Ada."))]);
  const part = { type: "tool-known_names", state: "output-available", output: ["Ada"] };
  expect(await usher.runTurn({ input: "Whom do you know?" })).toMatchObject({
    message: { parts: expect.arrayContaining([expect.objectContaining(part)]) }
  });
  expect((await usher.explainPrompt()).sections.map(({ text: words }) => words)).toContain(
    "You have greeted 1 people."
  );
  const plain = await (await host.get(Plain, "a")).explainPrompt();
  expect(JSON.stringify(plain)).not.toContain("known_names");
});

test("a readonly client cannot call what it declared as a change", async () => {
  const host = open();
  const watcher = await host.connect("/agents/usher/a?watch");
  watcher.send({ type: "rpc", id: "1", method: "greet", args: ["Eve"] });
  await host.idle();
  expect(watcher.frames).toContainEqual(expect.objectContaining({ type: "rpc", id: "1", success: false }));
  expect(host.sql(Usher, "a", "SELECT name FROM sqlite_master WHERE name = 'cf_greetings'")).toEqual([]);
});
