// Which of our functions one warm turn passes: V8's own count on the in-process host.
import { Session } from "node:inspector/promises";
import type { LanguageModel } from "ai";
import { createTestHost, reply, scriptedModel, text } from "../../src/testing/index.ts";

export interface PassedCode {
  files: string[];
  functions: string[];
}

type AgentClass = Parameters<typeof createTestHost>[0]["agents"][string];

/** A model that answers each question with one word. */
export function shortModel(): LanguageModel {
  return scriptedModel(Array.from({ length: 10 }, () => reply(text("Yes."))));
}

/** Asks three times over a socket: what the third turn calls is what each turn calls. */
export async function codeOfWarmTurn(agentClass: AgentClass): Promise<PassedCode> {
  const host = createTestHost({ agents: { CHAT: agentClass } });
  const socket = await host.connect("/agents/chat/budget");
  const ask = async (number: number) => {
    const message = { id: `u${number}`, role: "user", parts: [{ type: "text", text: "Is it?" }] };
    const init = { method: "POST", body: JSON.stringify({ messages: [message], trigger: "submit-message" }) };
    socket.send({ type: "cf_agent_use_chat_request", id: `r${number}`, init });
    await host.idle();
  };
  await ask(1);
  await ask(2);
  const session = new Session();
  session.connect();
  try {
    await session.post("Profiler.enable");
    await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
    await session.post("Profiler.takePreciseCoverage");
    await ask(3);
    const { result } = await session.post("Profiler.takePreciseCoverage");
    return passed(result);
  } finally {
    session.disconnect();
  }
}

function passed(
  scripts: readonly {
    url: string;
    functions: readonly { functionName: string; ranges: readonly { startOffset: number; count: number }[] }[];
  }[]
): PassedCode {
  const files = new Set<string>();
  const functions: string[] = [];
  for (const { url, functions: known } of scripts) {
    const path = /\/src\/(.+\.ts)/.exec(url)?.[1];
    if (path === undefined || path.startsWith("testing/")) continue;
    for (const { functionName, ranges } of known) {
      const [whole] = ranges;
      if (!whole || whole.count === 0 || whole.startOffset === 0) continue;
      files.add(path);
      functions.push(`${path} ${functionName}`);
    }
  }
  return { files: [...files].sort(), functions: functions.sort() };
}
