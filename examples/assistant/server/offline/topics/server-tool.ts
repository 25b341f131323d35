// A tool of an MCP server, called by its name: "Use echo with "hello"". What goes in is taken from the question: the JSON
// in it, or its quoted texts and its numbers in the order of the tool's fields.
import { fieldOf, textIn } from "../outcome.ts";
import { outcomeOfCall, trouble, type Asked, type Topic } from "../topic.ts";
import type { Step } from "../plan.ts";

export const serverTool: Topic = {
  isAbout: (asked) => namedTool(asked) !== undefined,
  plan(asked) {
    const named = namedTool(asked);
    if (named === undefined) return [];
    const { key, name, schema } = named;
    const call: Step = { text: `I call ${name}.`, call: { tool: key, input: inputFor(asked.question, schema) } };
    const outcome = outcomeOfCall(asked, key);
    if (outcome === undefined || outcome.kind === "waiting") return [call];
    if (outcome.kind !== "done") return [call, { text: trouble(`${name} did not work`, outcome) }];
    return [call, { text: `It says: ${wordsOf(outcome.value)}` }];
  }
};

function namedTool({ question, tools, answer }: Asked): { key: string; name: string; schema: unknown } | undefined {
  // One that was called and is gone since is still what the answer is about.
  const called = answer.flatMap((part) => (part.type === "call" ? [part.tool] : []));
  for (const key of [...tools.keys(), ...called]) {
    const [, name] = /^tool_[a-z0-9]+_(.+)$/.exec(key) ?? [];
    if (name === undefined) continue;
    const wanted = new RegExp(`\\b(use|call|run)\\s+${name.replaceAll(/[^\w-]/g, ".")}(?![\\w-])`, "i");
    if (wanted.test(question)) return { key, name, schema: tools.get(key) };
  }
  return undefined;
}

function inputFor(question: string, schema: unknown): object {
  const [json] = /\{.*\}/s.exec(question) ?? [];
  if (json !== undefined) return parsedObject(json);
  const texts = [...question.matchAll(/"([^"]*)"|“([^”]*)”/g)].map(([, plain, curly]) => plain ?? curly ?? "");
  const numbers = question.match(/-?\d+(?:\.\d+)?/g) ?? [];
  const input: Record<string, string | number> = {};
  for (const [name, field] of Object.entries(fieldOf(schema, "properties") ?? {})) {
    const type = textIn(field, "type");
    if (type === "string" && texts.length > 0) input[name] = texts.shift() ?? "";
    if ((type === "number" || type === "integer") && numbers.length > 0) input[name] = Number(numbers.shift());
  }
  return input;
}

function parsedObject(json: string): object {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    // The tool says what it misses.
    return {};
  }
}

/** The texts of a result, or all of it. */
function wordsOf(value: unknown): string {
  if (!Array.isArray(value)) return typeof value === "string" ? value : JSON.stringify(value);
  return value.map((part) => textIn(part, "text") ?? `(${textIn(part, "type") ?? "something"})`).join("\n");
}
