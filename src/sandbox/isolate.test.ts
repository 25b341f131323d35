// What an isolate is loaded with: the local engine does not enforce it, the platform does.
import { expect, test } from "vitest";
import { openIsolate } from "./isolate.ts";

/** What the loader is given. */
function loadedWith(init: { cpuMs: number; outbound?: object | null }): Record<string, unknown> {
  let given: Record<string, unknown> = {};
  const loaded = { getEntrypoint: () => ({}) };
  const loader = {
    load: (code: Record<string, unknown>) => {
      given = code;
      return loaded;
    },
    get: () => loaded
  };
  openIsolate({ loader: loader as never, modules: { "main.js": "export default {}" }, ...init });
  return given;
}

test("an isolate has a limit on its CPU, no bindings and no network", () => {
  expect(loadedWith({ cpuMs: 30_000 })).toMatchObject({ env: {}, globalOutbound: null, limits: { cpuMs: 30_000 } });
});

test("one whose requests go somewhere may send 50 of them", () => {
  const outbound = { fetch: () => undefined };
  expect(loadedWith({ cpuMs: 5_000, outbound })).toMatchObject({
    globalOutbound: outbound,
    limits: { cpuMs: 5_000, subRequests: 50 }
  });
});
