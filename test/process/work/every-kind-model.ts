// The model of the kill run. It has no memory: what it says next follows from the prompt alone, so that an agent that was killed
// and asks again is given the rest.
import {
  reply,
  scriptedModel,
  text,
  toolCall,
  waitFor,
  type PromptMessage,
  type PromptPart
} from "../../../src/testing/model/index.ts";
import { answerTo } from "./jobs.ts";

const ASKED = /Do (\w+) ([\w.-]+)/;
/** Between two pieces of an answer: time for a kill. */
const PIECE_MS = 30;
/** Before a call whose outcome is not known is made again under its key. */
const AGAIN_MS = 150;
/** Calls of one job. */
const MOST_CALLS = 15;
/** May be called again, because its effect is known by a key. */
const KEYED = "keyed";

export function everyKindModel() {
  return scriptedModel(
    ({ prompt }) => {
      const at = prompt.findLastIndex((message) => message.role === "user" && ASKED.test(textOf(message)));
      const [, tool = "say", id = "nothing"] = ASKED.exec(textOf(prompt[at])) ?? [];
      const since = prompt.slice(at + 1);
      const parts = since.flatMap(partsOf);
      const calls = parts.filter((part) => part.type === "tool-call" && part.toolName === tool).length;
      const isRepeated = tool === KEYED && calls < MOST_CALLS && !JSON.stringify(since).includes(`did ${id}`);
      if (tool !== "say" && (calls === 0 || isRepeated)) {
        const pause = calls === 0 ? [] : [waitFor(() => scheduler.wait(AGAIN_MS))];
        return reply(...pause, toolCall(tool, inputOf(tool, id), { id: `call-${crypto.randomUUID()}` }));
      }
      const isCutOff = /interrupted/.test(JSON.stringify(parts.filter(({ type }) => type === "tool-result")));
      return rest(`${answerTo(id)}${isCutOff ? " (cut off)" : ""}`, saidIn(since));
    },
    { maxCalls: 100_000 }
  );
}

function inputOf(tool: string, id: string): object {
  if (tool === "execute") return { code: codeOf(id) };
  if (tool === "research" || tool === "survey") return { query: `Do work ${id}` };
  return { id };
}

function codeOf(id: string): string {
  return `const id = ${JSON.stringify(id)};
await world.repeatable({ id });
let once; try { once = await world.once({ id }) } catch { once = "unknown" }
await world.gated({ id });
["did " + id, once]`;
}

/** An answer that was cut off is continued from where it was. */
function rest(whole: string, said: string) {
  let length = whole.length;
  while (length > 0 && !said.endsWith(whole.slice(0, length))) length -= 1;
  const left = whole.slice(length);
  if (left === "") return reply(text("So it is."));
  const half = Math.ceil(left.length / 2);
  const pause = () => waitFor(() => scheduler.wait(PIECE_MS));
  return reply(text(left.slice(0, half)), pause(), ...(half < left.length ? [text(left.slice(half))] : []));
}

function saidIn(messages: readonly PromptMessage[]): string {
  return messages.map((message) => (message.role === "assistant" ? textOf(message) : "")).join("");
}

function textOf(message: PromptMessage | undefined): string {
  return message
    ? partsOf(message)
        .map((part) => (part.type === "text" ? part.text : ""))
        .join("")
    : "";
}

function partsOf(message: PromptMessage): readonly PromptPart[] {
  return message.role === "system" ? [] : message.content;
}
