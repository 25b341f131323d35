import fc from "fast-check";
import { expect, test } from "vitest";
import { attachOrigin, detachOrigin, ORIGIN_KEY, type WorkflowOrigin } from "./origin.ts";

const ORIGIN: WorkflowOrigin = {
  agentName: "bob",
  agentClass: "Team",
  agentBinding: null,
  agentId: "0f",
  path: [
    { className: "Team", name: "blue" },
    { className: "Member", name: "bob" }
  ],
  workflowName: "IMPORTER"
};

test("whatever the params are, they and the origin come apart as they were put together", () => {
  fc.assert(
    fc.property(fc.anything({ withNullPrototype: false }), (params) => {
      expect(detachOrigin(attachOrigin(params, ORIGIN))).toEqual({ origin: ORIGIN, params });
    })
  );
});

test("keys of plain params stay where a workflow without our base class looks for them", () => {
  expect(attachOrigin({ url: "x", params: 1 }, ORIGIN)).toEqual({ url: "x", params: 1, [ORIGIN_KEY]: ORIGIN });
});

test("an origin among the params, as in a workflow that starts another, is replaced", () => {
  const nested = attachOrigin(attachOrigin({ url: "x" }, { ...ORIGIN, agentName: "other" }), ORIGIN);
  expect(detachOrigin(nested)).toEqual({ origin: ORIGIN, params: { url: "x" } });
});

test.each([undefined, null, "text", 7, [], {}, { [ORIGIN_KEY]: "text" }])("%j has no origin", (payload) => {
  expect(detachOrigin(payload)).toBeUndefined();
});
