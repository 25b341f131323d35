// A captain whose orders go down a chain of sailors, each a sub-agent of the one before: "down down aye" is answered two
// levels below.
import { z } from "zod";
import { agentTool, Think } from "../../src/index.ts";
import {
  createScript,
  reply,
  scriptedModel,
  stall,
  text,
  toolCall,
  type Answer,
  type RecordedCall
} from "../../src/testing/model/index.ts";

export class Captain extends Think {
  override getModel() {
    return scriptedModel(createScript(answer));
  }
  override getTools() {
    const inputSchema = z.object({ order: z.string() });
    return { hand_down: agentTool(Sailor, { description: "Hand an order down.", inputSchema }) };
  }
  override formatAgentToolInput(input: unknown): string {
    return (input as { order: string }).order;
  }
}

export class Sailor extends Captain {}

function answer({ prompt, lastUserText = "" }: RecordedCall): Answer {
  const results = prompt.flatMap((message) =>
    message.role === "tool"
      ? message.content.flatMap((part) => (part.type === "tool-result" ? [JSON.stringify(part.output.value)] : []))
      : []
  );
  if (results.length > 0) return reply(text(`heard ${results.join(" and ")}`));
  const [word, ...rest] = lastUserText.split(" ");
  if (word === "wait") return reply(text("waiting"), stall());
  if (word !== "down") return reply(text("aye"));
  const order = rest.join(" ");
  return reply(
    toolCall("hand_down", { order }, { id: `first-${rest.length}` }),
    toolCall("hand_down", { order: "aye" }, { id: `second-${rest.length}` })
  );
}
