// Editors show the doc comment of an override point or setting, with an example that compiles.
import { readFileSync } from "node:fs";
import { parseAst } from "rolldown/parseAst";
import { expect, test } from "vitest";

const read = (path: string) => readFileSync(new URL(path, import.meta.url), "utf8");
const source = read("../../src/think/think-core.ts");
const samples = squeeze(read("../types/hover-samples.ts").replaceAll("override ", ""));

function squeeze(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}

/** Members that user code calls or reads, and never overrides; the runtime asks for `getFeatures` of the package's own classes. */
const CALLED = /^(constructor|getFeatures|getConfig|getMessages|getOnStartDegradations|session|messages)$/;
const OVERRIDE_POINT = /^(get|configure|before|after|on|authorize|classify|repair)[A-Z]/;

interface Member {
  type: string;
  start: number;
  static?: boolean;
  computed?: boolean;
  key?: { name?: string };
}

/** Settings, and the methods that are there to be overridden, with the comment above each. */
function documented(): { name: string; comment: string }[] {
  const program = parseAst(source, { lang: "ts" }) as unknown as {
    body: { declaration?: { body?: { body: Member[] } } }[];
  };
  const members = program.body.flatMap(({ declaration }) => declaration?.body?.body ?? []);
  return members.flatMap(({ type, start, static: isStatic, computed, key }) => {
    const name = key?.name ?? "";
    if (isStatic || computed || name === "" || CALLED.test(name)) return [];
    if (!type.endsWith("PropertyDefinition") && !OVERRIDE_POINT.test(name)) return [];
    const before = source.slice(0, start).trimEnd();
    const comment = before.endsWith("*/") ? before.slice(before.lastIndexOf("/**")) : "";
    return [{ name, comment }];
  });
}

test("there are settings and override points to look at", () => {
  const names = documented().map(({ name }) => name);
  expect(names).toEqual(
    expect.arrayContaining(["maxSteps", "getModel", "getTools", "beforeTurn", "classifyChatError"])
  );
  expect(names.length).toBeGreaterThan(25);
});

test.each(documented())("$name says what it is for, with an example that compiles", ({ name, comment }) => {
  const [text = "", example = ""] = comment.replaceAll(/^\s*\/?\*+\/?/gm, "").split("@example");
  expect(squeeze(text).length).toBeGreaterThan(20);
  expect(squeeze(example)).toMatch(new RegExp(`^${name}\\b`));
  expect(samples).toContain(squeeze(example.replace(/\*\/$/, "")));
});
