// A deploy in the middle of a turn: the class has other tools and another prompt when the next process goes on.
import { tool, type ToolSet, type UIMessage } from "ai";
import { expect, test } from "vitest";
import { z } from "zod";
import { Think } from "../../src/index.ts";
import { createTestHost, reply, scriptedModel, text, toolCall } from "../../src/testing/index.ts";

interface Asked {
  readonly system: string;
  readonly tools: readonly string[];
}

let isNew = false;
let asked: Asked[] = [];
let hang = Promise.withResolvers<void>();

const nothing = z.object({});

class Clerk extends Think {
  override workspaceTools = false;

  override getModel() {
    return scriptedModel(
      Array(6).fill(
        ({ prompt, tools }: { prompt: { role: string; content: unknown }[]; tools?: { name: string }[] }) => {
          const system = prompt.flatMap(({ role, content }) => (role === "system" ? [String(content)] : [])).join(" ");
          asked.push({ system, tools: (tools ?? []).map(({ name }) => name) });
          return isNew ? reply(text("Done.")) : reply(text("I look. "), toolCall("lookUp", {}));
        }
      )
    );
  }

  override getSystemPrompt() {
    return isNew ? "You are the new clerk." : "You are the old clerk.";
  }

  override getTools(): ToolSet {
    const lookUp = tool({ inputSchema: nothing, execute: () => hang.promise });
    const find = tool({ inputSchema: nothing, execute: () => "found" });
    return isNew ? { find } : { lookUp };
  }
}

test("the next step after a deploy uses the new tools and the new prompt, and the turn's record has both", async () => {
  [isNew, asked, hang] = [false, [], Promise.withResolvers<void>()];
  const host = createTestHost({ agents: { Clerk } });
  const clerk = await host.get(Clerk, "a");
  void clerk
    .saveMessages([{ id: "u", role: "user", parts: [{ type: "text", text: "Look it up." }] }])
    .catch(() => undefined);
  await host.idle();
  expect(asked).toHaveLength(1);
  host.kill();
  isNew = true;
  await host.restart();
  await host.advance(120_000);
  const [before, after] = asked;
  expect([before?.tools, after?.tools]).toEqual([["lookUp"], ["find"]]);
  expect([before?.system, after?.system].map((system) => system?.match(/old|new/)?.[0])).toEqual(["old", "new"]);
  const again = await host.get(Clerk, "a");
  const messages = (await (again.getMessages() as Promise<unknown>)) as UIMessage[];
  const parts = messages.at(-1)?.parts.map((part) => ("state" in part ? `${part.type} ${part.state}` : part.type));
  // The tool that is gone had started: it is said to be cut off, and the answer goes on in the same message.
  expect(parts).toEqual(expect.arrayContaining(["tool-lookUp output-error"]));
  expect(JSON.stringify(messages.at(-1)?.parts)).toContain("Done.");
  const [row] = host.sql<{ body: string }>(Clerk, "a", "SELECT body FROM cf_turns");
  const { tools, models } = JSON.parse(row?.body ?? "{}") as {
    tools: { offered: string[] };
    models: unknown[];
    prompts: unknown[];
  };
  expect(models.length).toBeGreaterThan(0);
  expect(tools.offered).toEqual(expect.arrayContaining(["lookUp", "find"]));
});
