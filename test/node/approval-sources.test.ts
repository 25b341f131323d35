// Everything that asks a person, through everything that a person answers by: a decision is taken once, the same one sent
// again is the same one, a changed input is what runs, and the model reads why a call was rejected.
import { afterEach, describe, expect, test, vi } from "vitest";
import {
  openQuestion,
  SOURCES,
  Subject,
  SURFACES,
  type Sent,
  type Source,
  type Surface
} from "./approval-sources-kit.ts";

afterEach(() => void vi.restoreAllMocks());

const PAIRS = SOURCES.flatMap((source) =>
  SURFACES.filter((surface) => surface.can(source)).map((surface) => ({ source, surface }))
);
const named = PAIRS.map(({ source, surface }): [string, string, Source, Surface] => [
  source.name,
  surface.name,
  source,
  surface
]);
const changeable = named.filter(([, , source]) => source.changed);

async function ready(source: Source) {
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
  const { opened, question } = await openQuestion(source);
  const { inputHash, seq } = question;
  const sent: Sent = { isApproved: true, user: "ann", question: { inputHash, seq } };
  const effects = source.effect === "" ? [] : [source.effect];
  return { opened, question, sent, effects };
}

describe("every source and every surface", () => {
  test.each(named)("%s, by %s: an approval that is sent again is the same one", async (_, __, source, surface) => {
    const { opened, sent, effects } = await ready(source);
    expect(await surface.decide(opened, sent)).toBeUndefined();
    await opened.host.advance(1_000);
    expect(await surface.decide(opened, sent)).toBeUndefined();
    await opened.host.advance(1_000);
    expect(opened.effects()).toEqual(effects);
  });

  test.each(named)("%s, by %s: of two decisions the first counts, and the other is told which", async (...row) => {
    const [, , source, surface] = row;
    const { opened, sent } = await ready(source);
    expect(await surface.decide(opened, { ...sent, isApproved: false, reason: "Not today" })).toBeUndefined();
    await opened.host.advance(1_000);
    // The client library sees that the question is gone, and names none.
    expect(await surface.decide(opened, { ...sent, user: "bob" })).toMatch(/rejected before|not wait|no longer/);
    expect(opened.effects()).toEqual([]);
    if (opened.told() !== "") expect(opened.told()).toContain("Not today");
  });

  test.each(changeable)("%s, by %s: runs with the changed input, and the model is told", async (...row) => {
    const [, , source, surface] = row;
    const { opened, sent } = await ready(source);
    const { input, effect } = source.changed ?? { input: {}, effect: "" };
    expect(await surface.decide(opened, { ...sent, input: { euros: "many", book: 7 } })).toMatch(/not valid/);
    expect(await (await opened.agent()).pendingApprovals(opened.id)).toHaveLength(1);
    expect(await surface.decide(opened, { ...sent, input })).toBeUndefined();
    await opened.host.advance(1_000);
    expect(await surface.decide(opened, { ...sent, input })).toBeUndefined();
    expect(opened.effects()).toEqual([effect]);
    expect(opened.told()).toMatch(/user changed|edited/);
  });

  test.each(changeable)("%s, by %s: another changed input after the decision is told the first", async (...row) => {
    const [, , source, surface] = row;
    const { opened, sent, effects } = await ready(source);
    expect(await surface.decide(opened, sent)).toBeUndefined();
    await opened.host.advance(1_000);
    const { input } = source.changed ?? {};
    expect(await surface.decide(opened, { ...sent, input })).toMatch(/approved before|not wait/);
    expect(opened.effects()).toEqual(effects);
  });

  test.each(named.filter(([, , source]) => !source.changed))(
    "%s, by %s: is approved as it is, or not at all",
    async (...row) => {
      const [, , source, surface] = row;
      const { opened, sent } = await ready(source);
      expect(await surface.decide(opened, { ...sent, input: { name: "other" } })).toMatch(/cannot be changed/);
      expect(await (await opened.agent()).pendingApprovals(opened.id)).toHaveLength(1);
    }
  );
});

test.each(SOURCES.map((source): [string, Source] => [source.name, source]))(
  "%s: a decision over another question decides nothing, by every surface that says which",
  async (_, source) => {
    const { opened, sent } = await ready(source);
    for (const surface of SURFACES.slice(0, 3).filter((one) => one.can(source))) {
      const error = await surface.decide(opened, { ...sent, question: { inputHash: "another" } });
      expect(error).toMatch(/another input|not wait/);
    }
    expect(await (await opened.agent()).pendingApprovals(opened.id)).toHaveLength(1);
    expect(opened.effects()).toEqual([]);
  }
);

test.each(SOURCES.slice(0, 4).map((source): [string, Source] => [source.name, source]))(
  "%s: the changed input is what runs, once, when the agent is restarted right after the decision",
  async (_, source) => {
    const { opened, sent } = await ready(source);
    const { input, effect } = source.changed ?? { input: {}, effect: "" };
    const method = SURFACES[0];
    void method?.decide(opened, { ...sent, input }).catch(() => undefined);
    // The schema may be asked later; what follows the decision may not have begun.
    const isDecided = () =>
      opened.host.sql(Subject, "a", "SELECT 1 FROM sqlite_master WHERE name = 'cf_decisions'").length > 0;
    for (let tick = 0; tick < 500 && !isDecided(); tick += 1) await Promise.resolve();
    for (let tick = 0; tick < 50 && !isDecided(); tick += 1) await new Promise((resolve) => setImmediate(resolve));
    await opened.host.restart();
    await opened.host.advance(400_000);
    expect(opened.effects()).toEqual([effect]);
  }
);
