import fc from "fast-check";
import { expect, test } from "vitest";
import { frames, parseClientFrame } from "./frames.ts";

test.each([
  ['{"type":"cf_agent_state","state":null}', { type: "state", state: null }],
  ['{"type":"cf_agent_state","state":{"a":1},"extra":true}', { type: "state", state: { a: 1 } }],
  ['{"type":"rpc","id":"1","method":"m","args":[1]}', { type: "rpc", id: "1", method: "m", args: [1] }],
  ['{"type":"cf_agent_state"}', undefined],
  ['{"type":"rpc","id":1,"method":"m","args":[]}', undefined],
  ['{"type":"rpc","id":"1","method":"m"}', undefined],
  ['{"type":"rpc","id":"1","args":[]}', undefined],
  ["null", undefined],
  ["[]", undefined],
  ['"x"', undefined],
  ["{", undefined],
  ["", undefined]
])("%s is read as the command it is, or left to onMessage", (text, expected) => {
  expect(parseClientFrame(text)).toEqual(expected);
});

test("no text makes the parser throw", () => {
  fc.assert(fc.property(fc.string(), (text) => void parseClientFrame(`{${text}`)));
});

test("a state frame carries the stored text as it is", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (state) => {
      const json = JSON.stringify(state);
      expect(JSON.parse(frames.state(json))).toEqual({ type: "cf_agent_state", state: JSON.parse(json) });
    })
  );
});
