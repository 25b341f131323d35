import { expect, test } from "vitest";
import { deliverMessengerReply } from "./deliver-reply.ts";

test("an interrupted turn posts the interrupted text, not the empty one, and no rest", async () => {
  for (const [said, expected] of [
    ["Beginning", ["Be", "Interrupted."]],
    ["", ["Interrupted."]]
  ] as const) {
    const posts: string[] = [];
    const stages: string[] = [];
    await deliverMessengerReply({
      event: {
        kind: "direct-message",
        messengerId: "own",
        provider: "own",
        capabilities: {},
        thread: { id: "own:1", providerThreadId: "own:1", isDirectMessage: true },
        message: { id: "m1", providerMessageId: "m1", text: "Hello", author: { userId: "7" }, attachments: [] }
      },
      target: {
        chat: async (_message, callback) => {
          if (said !== "") await callback.onEvent(JSON.stringify({ type: "text-delta", id: "1", delta: said }));
          await callback.onInterrupted?.();
        }
      },
      surface: {
        post: async (message) => {
          let shown = "";
          if (typeof message === "string") shown = message;
          else if ("markdown" in message) shown = message.markdown;
          else for await (const piece of message) shown += piece;
          posts.push(shown);
        }
      },
      delivery: {
        interruptedResponseText: "Interrupted.",
        emptyResponseText: "Empty.",
        visibleSoftLimit: 2,
        splitText: (rest) => [rest]
      },
      checkpoint: (stage) => void stages.push(stage)
    });
    expect(posts).toEqual(expected);
    expect([stages[0], stages.at(-1)]).toEqual(["accepted", "completed"]);
  }
});
