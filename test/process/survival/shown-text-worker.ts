// An agent that tells an endless story at the pace its question names, and that ends it once it was interrupted: the end
// marks how much of the first telling was stored.
import { Think } from "everthink";
import { routeAgentRequest } from "everthink/agent";
import { questionOf, streamingModel, type Prompt } from "../fixtures/streaming-model.ts";

interface Env {
  Narrator: DurableObjectNamespace<Narrator>;
  Dictation: DurableObjectNamespace<Dictation>;
}

/** Characters of a piece and the time between two, by the name of the pace. */
const PACES: Record<string, { chars: number; pauseMs: number }> = {
  slow: { chars: 8, pauseMs: 120 },
  steady: { chars: 30, pauseMs: 15 },
  fast: { chars: 3_000, pauseMs: 4 }
};

export class Narrator extends Think<Env> {
  override getModel() {
    return streamingModel(story);
  }
}

/** Of its text a crash may take back a tenth of a second. */
export class Dictation extends Narrator {
  override maxUnstoredTextMs = 100;
}

async function* story(prompt: Prompt): AsyncGenerator<string, void> {
  const pace = PACES[questionOf(prompt)];
  // It was interrupted: what was stored of the answer is in the prompt.
  if (pace === undefined || prompt.some(({ role }) => role === "assistant")) return yield "[the end]";
  for (let piece = 0; ; piece += 1) {
    yield `${piece} `.padEnd(pace.chars, ".");
    await scheduler.wait(pace.pauseMs);
  }
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    return (await routeAgentRequest(request, env)) ?? new Response("Not found", { status: 404 });
  }
};
