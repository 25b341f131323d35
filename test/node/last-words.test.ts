// What a list of agents shows of a conversation, read from the rows that a real agent has written.
import { expect, test } from "vitest";
import { Think } from "../../src/index.ts";
import { readLastWords } from "../../src/session/last-words.ts";
import { createTestHost, reply, scriptedModel, text } from "../../src/testing/index.ts";

class Speaker extends Think {
  override getModel() {
    return scriptedModel([reply(text("Four o\u2019clock."))]);
  }
  lastWords() {
    return readLastWords((query) => this.ctx.storage.sql.exec<Record<string, SqlStorageValue>>(query).toArray());
  }
  async ask(words: string) {
    await this.runTurn({ input: words });
  }
}

test("an agent that has said nothing has no last words, and one that has answered has its answer", async () => {
  const start = Date.UTC(2030, 0, 1);
  const host = createTestHost({ agents: { Speaker }, now: start });
  const speaker = await host.get(Speaker, "a");
  expect(await speaker.lastWords()).toEqual({ spokenAt: null, title: null, words: null });
  await speaker.ask("When is tea?");
  const said = await speaker.lastWords();
  expect(said).toMatchObject({ title: "When is tea?", words: "Four o\u2019clock." });
  expect(Math.abs((said.spokenAt ?? 0) - start)).toBeLessThan(60_000);
  await host.restart();
  expect(await (await host.get(Speaker, "a")).lastWords()).toEqual(said);
});
