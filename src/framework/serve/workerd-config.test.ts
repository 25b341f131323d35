import { expect, test } from "vitest";
import { secretEnvironment, workerdConfig } from "./workerd-config.ts";

const modules = [{ name: "index.js", kind: "esModule" as const, file: "modules/index.js" }];

test("a secret is named in the configuration, and its value only in the environment", () => {
  const bindings = [{ type: "secret" as const, name: "KEY", value: "s3cret" }];
  expect(workerdConfig({ modules, objects: [], bindings })).toContain(
    '(name = "KEY", fromEnvironment = "EVERTHINK_SECRET_KEY")'
  );
  expect(workerdConfig({ modules, objects: [], bindings })).not.toContain("s3cret");
  expect(secretEnvironment(bindings)).toEqual({ EVERTHINK_SECRET_KEY: "s3cret" });
});

test.each([
  ['a "b" \\ c', '"a \\"b\\" \\\\ c"'],
  ["line\nend", '"line\\nend"'],
  ["bell\u0007", '"bell\\x07"'],
  ["\\u0007", '"\\\\u0007"'],
  ["é €", '"é €"']
])("the text %j cannot leave its quotes", (value, quoted) => {
  const text = workerdConfig({ modules, objects: [], bindings: [{ type: "text", name: "T", value }] });
  expect(text).toContain(`(name = "T", text = ${quoted})`);
});

test("without a front the Worker answers the port itself, and fetch() reaches the internet only", () => {
  const text = workerdConfig({ modules, objects: [], bindings: [] });
  expect(text).toContain('service = "main")]');
  expect(text).not.toMatch(/front|internet/);
});
