// A chat agent whose model answers from what it was asked, inside the object: nothing crosses to another one.
import { tool } from "ai";
import { z } from "zod";
import { Think } from "../../src/index.ts";
import { createScript, reply, scriptedModel, text, toolCall, type Answer } from "../../src/testing/model/index.ts";
import { user } from "../kit/messages.ts";

export class Talker extends Think {
  override openAIEndpoint = true;
  override getModel() {
    return scriptedModel(
      createScript((call): Answer => {
        if (call.prompt.at(-1)?.role === "tool") return reply(text("done"));
        if (call.lastUserText === "pay") return reply(toolCall("pay", {}, { id: `pay-${call.prompt.length}` }));
        return reply(text("You said "), text(call.lastUserText ?? ""));
      })
    );
  }

  override getTools() {
    return { pay: tool({ inputSchema: z.object({}), needsApproval: true, execute: async () => this.#pay() }) };
  }

  #pay() {
    this.sql`CREATE TABLE IF NOT EXISTS payments (at INTEGER)`;
    this.sql`INSERT INTO payments VALUES (${Date.now()})`;
    return "paid";
  }

  payments() {
    this.sql`CREATE TABLE IF NOT EXISTS payments (at INTEGER)`;
    return this.sql`SELECT * FROM payments`.length;
  }

  async remindLater() {
    await this.schedule(0.05, "remind");
  }

  /** Asks its question; the first run never gets to its end. */
  async remind() {
    await this.saveMessages([user(crypto.randomUUID(), "remember")]);
    this.sql`CREATE TABLE IF NOT EXISTS reminders (at INTEGER)`;
    this.sql`INSERT INTO reminders VALUES (${Date.now()})`;
    if (this.reminders() === 1) await new Promise(() => undefined);
  }

  reminders() {
    this.sql`CREATE TABLE IF NOT EXISTS reminders (at INTEGER)`;
    return this.sql`SELECT * FROM reminders`.length;
  }
}
