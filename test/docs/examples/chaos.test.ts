import { tool } from "ai";
import { Think } from "everthink";
import { chaos, formatChaos, planModel } from "everthink/testing";
import { expect, test } from "vitest";
import { z } from "zod";

let sent = 0;
let boundary = async () => {};

class Mailer extends Think {
  override getModel() {
    const answer = [{ text: "One moment. ", calls: [{ tool: "sendMail", input: { to: "ada" } }] }, { text: "Sent." }];
    return planModel({ "Write to Ada.": answer }, { boundary: () => boundary() });
  }

  override getTools() {
    return {
      sendMail: tool({
        inputSchema: z.object({ to: z.string() }),
        execute: async () => {
          await boundary(); // the process may die before the mail is sent,
          sent += 1;
          await boundary(); // and after
          return "ok";
        }
      })
    };
  }
}

test("no crash sends a mail twice, or loses the answer", async () => {
  const result = await chaos({
    agent: Mailer,
    begin: (run) => {
      sent = 0;
      boundary = run.boundary;
    },
    conversation: async (session) => {
      await session.ask("Write to Ada.");
    },
    effects: () => ({ sendMail: sent }),
    modes: ["after-write", "inside-await"],
    points: 20
  });
  expect(result.differences, formatChaos(result)).toEqual([]);
}, 60_000);
