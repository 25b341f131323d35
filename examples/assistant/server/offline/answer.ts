// What the offline model says next, from a prompt alone. Pure.
import type { ModelCall } from "../language-model.ts";
import { readConversation } from "./conversation.ts";
import { decisionReport } from "./decision.ts";
import { memoryIn } from "./memory-block.ts";
import { remaining, type Step } from "./plan.ts";
import type { Asked, Topic } from "./topic.ts";
import { arithmetic } from "./topics/arithmetic.ts";
import { browser } from "./topics/browser.ts";
import { failure } from "./topics/failure.ts";
import { fileWork, listFiles, script } from "./topics/files.ts";
import { greeting } from "./topics/greeting.ts";
import { help } from "./topics/help.ts";
import { markdown } from "./topics/markdown.ts";
import { recall, remember } from "./topics/memory.ts";
import { newYear } from "./topics/new-year.ts";
import { existingNote, listNotes, newNote } from "./topics/notes.ts";
import { picture } from "./topics/picture.ts";
import { primes } from "./topics/primes.ts";
import { program } from "./topics/program.ts";
import { serverTool } from "./topics/server-tool.ts";
import { logEntry, passage } from "./topics/skills.ts";
import { story } from "./topics/story.ts";
import { critique, research, team } from "./topics/team.ts";
import { berth, tides } from "./topics/web.ts";
import { improveWindTool, wind, writeWindTool } from "./topics/wind.ts";

/** The first that fits answers; the last fits always. */
const TOPICS: readonly Topic[] = [
  picture,
  failure,
  team,
  research,
  critique,
  serverTool,
  program,
  tides,
  berth,
  passage,
  logEntry,
  writeWindTool,
  improveWindTool,
  wind,
  script,
  fileWork,
  listFiles,
  newNote,
  existingNote,
  listNotes,
  primes,
  newYear,
  browser,
  recall,
  remember,
  story,
  markdown,
  arithmetic,
  greeting,
  help
];

export function nextStep({ prompt, tools = [] }: Pick<ModelCall, "prompt" | "tools">): Step {
  const conversation = readConversation(prompt);
  if (conversation.isDecision) {
    const text = decisionReport(conversation.exchanges);
    return text === "" ? {} : { text };
  }
  const exchange = conversation.exchanges.at(-1) ?? { question: "", pictures: [], answer: [] };
  const asked: Asked = {
    ...exchange,
    memory: memoryIn(conversation.system),
    tools: new Map(tools.map((tool) => [tool.name, tool.type === "function" ? tool.inputSchema : undefined]))
  };
  const topic = TOPICS.find((candidate) => candidate.isAbout(asked)) ?? help;
  return remaining(topic.plan(asked), asked.answer);
}
