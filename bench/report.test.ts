import { expect, test } from "vitest";
import { CONTENDERS } from "./contenders.ts";
import { renderAims, renderReport, replaceMeasured, reportJson, type Run } from "./report.ts";
import { Results } from "./results.ts";

function run(): Run {
  const results = new Results();
  for (const [round, baseline, everthink] of [
    [0, 10, 13],
    [1, 20, 24]
  ] as const) {
    results.add("baseline", round, { turnDone: baseline });
    results.add("everthink", round, { turnDone: everthink, rowsWrittenTurn: 6 });
  }
  return {
    contenders: CONTENDERS.filter(({ name }) => name === "baseline" || name === "everthink"),
    results,
    rounds: 2,
    date: "2030-01-02",
    machine: { cores: 2, cpu: "a CPU", node: "22.0.0", workerd: "2030-01-01" }
  };
}

test("ratios come first, then the numbers with their spread, and what was not measured is left out", () => {
  const lines = renderReport(run())
    .split("\n")
    .filter((line) => line.includes("turn") || line.startsWith("Measured"))
    .map((line) => line.replaceAll(/ +/g, " "));
  expect(lines).toEqual([
    "Measured 2030-01-02, 2 rounds, on 2 cores of a CPU; Node 22.0.0, workerd 2030-01-01.",
    "| One-chunk turn, to done | 1.25 |",
    "| Rows written, one-chunk turn | – |",
    "| One-chunk turn, to done, ms | 15 (12.5–17.5) | 18.5 (15.8–21.3) |",
    "| Rows written, one-chunk turn, rows | – | 6 |"
  ]);
});

test("a contender that failed is named", () => {
  const failed = run();
  failed.results.failures.push({ scenario: "replay", contender: "everthink", message: "It hung." });
  expect(renderReport(failed)).toContain("Not measured: replay of everthink: It hung.");
});

test("aims say what was reached and what was not measured", () => {
  const aims = renderAims(run().results);
  expect(aims).toMatch(/One-chunk turn, to done \/ baseline +\| ≤ 1\.30 \| +1\.25 \| +met \|/);
  expect(aims).toMatch(/Reconnect .* \| +– \| not measured \|/);
});

test("the file for programs has every number that was measured", () => {
  const { metrics, rounds } = JSON.parse(reportJson(run()));
  expect(rounds).toBe(2);
  expect(metrics.turnDone.contenders.everthink).toMatchObject({ median: 18.5, samples: 2 });
  expect(metrics.replay).toBeUndefined();
});

test("only the measured part of a document is replaced, as often as one likes", () => {
  const document = "# Title\n\n<!-- measured: begin -->\nold\n<!-- measured: end -->\n\nThe end.\n";
  const once = replaceMeasured(document, "new");
  expect(once).toBe("# Title\n\n<!-- measured: begin -->\n\nnew\n\n<!-- measured: end -->\n\nThe end.\n");
  expect(replaceMeasured(once, "new")).toBe(once);
});

test.each(["# Title", "<!-- measured: end -->\n<!-- measured: begin -->", "<!-- measured: begin -->"])(
  "a document without a place for the numbers is refused: %j",
  (document) => {
    expect(() => replaceMeasured(document, "new")).toThrow("measured: begin");
  }
);
