// The session's context blocks as a turn sees them: their tools, made into tools of the SDK, and the prompt they render
// to. A session without blocks adds nothing and reads nothing.
import { jsonSchema, type ToolSet } from "ai";
import { wasNotLoaded } from "../session/context/document-calls.ts";
import type { Session } from "../session/session.ts";
import { isObject } from "../util/json.ts";
import type { Feature } from "../feature/feature.ts";
import type { SessionPrompt } from "./prompt.ts";

type ContextSession = Pick<Session, "tools" | "promptSections">;
type PromptSession = Pick<Session, "promptSections">;

/** The tools of the layer "context". Every agent has it: sessions may be given blocks while they run. */
export function contextFeature(session: ContextSession): Feature {
  return {
    name: "context",
    toolNames: ["set_context", "load_context", "unload_context", "search_context"],
    inTurn: async () => ({ tools: { context: await contextTools(session) } }),
    calls: { keepOutput: keptDocument }
  };
}

async function contextTools(session: ContextSession): Promise<ToolSet> {
  const described = Object.entries(await session.tools());
  return Object.fromEntries(
    described.map(([name, { description, inputSchema, execute }]) => [
      name,
      { description, inputSchema: jsonSchema<unknown>(inputSchema), execute: (input: unknown) => execute(input) }
    ])
  );
}

/** A document the model loaded is what it works with, however long ago that was: one copy of each stays whole. */
export function keptDocument(call: { toolName: string; input: unknown; output: unknown }): string | undefined {
  if (call.toolName !== "load_context" || !isObject(call.input)) return undefined;
  const { label, key } = call.input;
  if (typeof label !== "string" || typeof key !== "string") return undefined;
  return wasNotLoaded(call.output, { label, key }) ? undefined : JSON.stringify(["load_context", label, key]);
}

/** Undefined when no block says anything. */
export async function contextPrompt(session: PromptSession): Promise<SessionPrompt | undefined> {
  const blocks = await session.promptSections();
  if (blocks.length === 0) return undefined;
  return {
    text: blocks.map(({ text }) => text).join("\n\n"),
    replacesBase: blocks.some(({ isDeclared, text }) => isDeclared && text !== ""),
    blocks: blocks.map(({ label, text }) => ({ label, text }))
  };
}
