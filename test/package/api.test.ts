// What can be imported, as declarations: api/ is the report that a review reads, and this test keeps it true.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { apiReport } from "../../tools/declarations.ts";

const repository = fileURLToPath(new URL("../..", import.meta.url));
const kept = join(repository, "api");

test("the declarations of everything that can be imported are those of the report: npm run api writes it", () => {
  const built = apiReport(repository);
  expect(readdirSync(kept).toSorted()).toEqual([...built.keys()].toSorted());
  for (const [name, text] of built) expect(text, name).toBe(readFileSync(join(kept, name), "utf8"));
});

test("the report follows what is exported into what it is made of", () => {
  const report = apiReport(repository);
  expect(report.get("everthink.api.txt")).toContain("declare abstract class Think<");
  expect(report.get("everthink-agent.api.txt")).not.toContain("class ThinkError ");
  expect(report.get("not-exported.api.txt")).toContain("interface ThinkMembers");
  expect([...report.values()].join("")).not.toMatch(/\/\*\*|\$\d/);
});
