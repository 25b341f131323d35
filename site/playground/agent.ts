// The agent of the playground: a tool, an action that asks first, and a model that needs no network.
import { tool } from "ai";
import { z } from "zod";
import { actions, action } from "../../src/core/actions.ts";
import { ThinkCore, withCapabilities } from "../../src/core/index.ts";
import type { AnswerPlans } from "../../src/testing/model/plan.ts";
import { planModel } from "../../src/testing/model/plan-model.ts";
import { pause } from "./pace.ts";

/** Between two words. */
const PACE_MS = 60;

const STORY =
  "Once there was a lighthouse at the end of a long pier. Every evening its keeper climbed the stairs and lit the lamp, and every morning she " +
  "wrote into the log how many ships had passed. One night the light went out in the middle of a storm. The ships waited. Then the lamp was " +
  "lit again, and the beam went on from exactly where it had stopped, as if nothing had happened. In the log there was one line more, and not " +
  "one line was missing.";

const PLANS: AnswerPlans = {
  "Tell me a story.": [{ text: STORY }],
  "Write into the log that the lamp is lit.": [
    { text: "I write it down. ", calls: [{ tool: "log", input: { line: "The lamp is lit." } }] },
    { text: "It is in the log, once." }
  ],
  "Sound the horn.": [
    { text: "That is loud, so I ask you first. ", calls: [{ tool: "soundHorn", input: { seconds: 9 } }] },
    { text: "The horn has sounded." }
  ]
};

type Model = ReturnType<typeof planModel>;

/** The words come one after the other, as from a real model. */
function paced(model: Model): Model {
  return {
    ...model,
    async doStream(call) {
      const { stream, ...rest } = await model.doStream(call);
      const slow = new TransformStream<unknown, never>({
        async transform(part, controller) {
          await pause(PACE_MS);
          controller.enqueue(part as never);
        }
      });
      return { ...rest, stream: stream.pipeThrough(slow) };
    }
  };
}

export class Assistant extends withCapabilities(ThinkCore, actions) {
  override getModel() {
    return paced(planModel(PLANS, { pieceLength: 6 }));
  }

  override getTools() {
    return {
      log: tool({
        description: "Writes a line into the log",
        inputSchema: z.object({ line: z.string() }),
        execute: async ({ line }) => {
          this.sql`CREATE TABLE IF NOT EXISTS log (line TEXT)`;
          this.sql`INSERT INTO log VALUES (${line})`;
          return `Line ${this.sql`SELECT * FROM log`.length}`;
        }
      })
    };
  }

  override getActions() {
    return {
      soundHorn: action({
        description: "Sounds the fog horn",
        inputSchema: z.object({ seconds: z.number() }),
        approval: true,
        approvalSummary: "Sound the fog horn",
        execute: async ({ seconds }) => {
          this.sql`CREATE TABLE IF NOT EXISTS horn (seconds INTEGER)`;
          this.sql`INSERT INTO horn VALUES (${seconds})`;
          return { sounded: seconds };
        }
      })
    };
  }
}
