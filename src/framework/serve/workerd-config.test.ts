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

test("the plug is bound to the front, and to nothing else", () => {
  const front = {
    file: "front.js",
    settings: { htmlHandling: "none" as const, notFoundHandling: "none" as const, workerFirst: [] },
    bodySilenceMs: 30_000,
    hasAssets: false
  };
  expect(workerdConfig({ modules, objects: [], bindings: [], front })).not.toMatch(/plug/i);
  const text = workerdConfig({ modules, objects: [], bindings: [], front: { ...front, plugSocket: "/tmp/a/plug" } });
  expect(text).toContain('(name = "plug", external = (address = "unix:/tmp/a/plug", http = ()))');
  const [main = "", behind = ""] = text.slice(text.indexOf("const main")).split("const front");
  expect(main).not.toMatch(/plug/i);
  expect(behind).toContain('(name = "PLUG", service = "plug")');
});

test("with a private network agents have a variable for it, and what the app says about it wins", () => {
  const binding = /name = "EVERTHINK_PRIVATE_NETWORK", text = "(.)"/g;
  const values = (given: Partial<Parameters<typeof workerdConfig>[0]>) =>
    [...workerdConfig({ modules, objects: [], bindings: [], ...given }).matchAll(binding)].map(([, value]) => value);
  expect(values({})).toEqual([]);
  expect(values({ allowsPrivateNetwork: true })).toEqual(["1"]);
  const own = [{ type: "text" as const, name: "EVERTHINK_PRIVATE_NETWORK", value: "0" }];
  expect(values({ allowsPrivateNetwork: true, bindings: own })).toEqual(["0"]);
});
