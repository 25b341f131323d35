import { beforeEach, expect, test } from "vitest";
import { Log } from "./log.ts";

let printed: string[] = [];
const target = (name: string) => ({ write: (text: string) => printed.push(`${name} ${text}`) });
const log = (withTime = false) =>
  new Log({ output: target("out"), errors: target("err"), now: () => new Date(0), withTime });
beforeEach(() => {
  printed = [];
});

test("a line has its time, unless the journal knows it", () => {
  log(true).say("Ready");
  log().warn("Careful");
  expect(printed).toEqual(["out 1970-01-01T00:00:00.000Z everthink Ready\n", "err everthink Careful\n"]);
});

test("pieces become whole lines, each stream by itself, and the rest is not lost", () => {
  const one = log();
  one.pass("hel", "stdout");
  one.pass("bad\r\n", "stderr");
  one.pass("lo\nwor", "stdout");
  one.pass("ld", "stdout");
  one.flush();
  one.flush();
  expect(printed).toEqual(["err worker    bad\n", "out worker    hello\n", "out worker    world\n"]);
});

test("a line without an end does not grow for ever", () => {
  const one = log();
  for (let count = 0; count < 50; count += 1) one.pass("x".repeat(1000), "stdout");
  one.flush();
  expect(printed.length).toBeGreaterThan(2);
  expect(Math.max(...printed.map((line) => line.length))).toBeLessThan(17_000);
  expect(printed.join("").replaceAll(/[^x]/g, "")).toHaveLength(50_000);
});

test("workerd's own words are put plainly, and its addresses left out", () => {
  const one = log();
  one.pass(
    'server.c++:3526: warning: A DurableObjectNamespace in the config referenced the class "Lost", but no such Durable Object class is exported from the worker.\n',
    "stderr"
  );
  one.pass("stack: /some/workerd@21ef80a /some/workerd@2111930\n", "stderr");
  one.pass(
    "workerd/jsg/util.c++:391: error: e = rust/cxx/kj-rs-io/async-io.c++:232: failed: connect() blocked by restrictPeers()\n" +
      "stack: /some/workerd@57f7f94 /some/workerd@2dfd470; sentryErrorContext = jsgInternalError; wdErrId = en09leqj\n",
    "stderr"
  );
  expect(printed.splice(1)).toEqual([
    "err worker    The Worker may not reach this machine or its local network, and tried to. --allow-private-network allows it.\n",
    "err worker    It was thrown as: internal error; reference = en09leqj\n"
  ]);
  expect(printed).toEqual([
    "err worker    The Worker does not export the Durable Object class Lost: calls to it will fail.\n"
  ]);
});
