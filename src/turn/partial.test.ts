// What is kept of an answer, as a table of the points at which a process may die, and of what its records may say.
import type { UIMessage, UIMessageChunk } from "ai";
import { describe, expect, test } from "vitest";
import { call, SAMPLES, settledCall } from "../journal/record-samples.test-support.ts";
import type { JournalRecord } from "../journal/records.ts";
import { isToolPart } from "../model/index.ts";
import { INTERRUPTED_TEXT } from "../session/open-calls.ts";
import { approvalId, callId } from "../util/ids.ts";
import { beginAndDie, leave, rescue, type Written } from "./answer-scripts.test-support.ts";
import type { RecoveredPartial, PartialInit } from "./partial.ts";

const start: UIMessageChunk = { type: "start", messageId: "m" };
const step: UIMessageChunk = { type: "start-step" };
const endStep: UIMessageChunk = { type: "finish-step" };
const finish: UIMessageChunk = { type: "finish", finishReason: "stop" };
const open = (kind: "text" | "reasoning", id: string, ...words: string[]): UIMessageChunk[] => [
  { type: `${kind}-start`, id },
  ...words.map((delta): UIMessageChunk => ({ type: `${kind}-delta`, id, delta }))
];
const closed = (kind: "text" | "reasoning", id: string, ...words: string[]): UIMessageChunk[] => [
  ...open(kind, id, ...words),
  { type: `${kind}-end`, id }
];
const half = (toolCallId: string): UIMessageChunk[] => [
  { type: "tool-input-start", toolCallId, toolName: "weather" },
  { type: "tool-input-delta", toolCallId, inputTextDelta: '{"ci' }
];
const input = { city: "Ulm" };
const whole = (toolCallId: string, toolName = "weather"): UIMessageChunk => ({
  type: "tool-input-available",
  toolCallId,
  toolName,
  input
});
const output = (toolCallId: string): UIMessageChunk => ({ type: "tool-output-available", toolCallId, output: 21 });
const asks = (toolCallId: string): UIMessageChunk => ({
  type: "tool-approval-request",
  approvalId: `a-${toolCallId}`,
  toolCallId
});
const succeeded = (id: string) => settledCall(id, { kind: "output", output: 21 });
const asked = (id: string): JournalRecord => ({
  ...SAMPLES["approval-asked"],
  callId: callId(id),
  approvalId: approvalId(`a-${id}`)
});

/** What was written: chunks, and records where they fell between them. */
function wrote(...events: (UIMessageChunk | JournalRecord)[]): Written[] {
  const isRecord = (event: UIMessageChunk | JournalRecord): event is JournalRecord => "turnId" in event;
  return events.map((event) => (isRecord(event) ? { record: event } : { chunk: event }));
}

/** A message in a line: text as it is, reasoning in brackets, calls with their state. */
function line({ fold: { message } }: Pick<RecoveredPartial, "fold">): string {
  const said = message.parts.map((part) => {
    if (part.type === "text") return part.text;
    if (part.type === "reasoning") return `(${part.text})`;
    if (part.type === "step-start") return "|";
    if (!isToolPart(part)) return part.type;
    const end = part.errorText === INTERRUPTED_TEXT ? "cut off" : (part.errorText ?? part.output ?? part.state);
    return `${part.toolCallId}=${String(end)}`;
  });
  return said.join(" ");
}

describe("a process that dies", () => {
  type Row = [string, Written[], Partial<RecoveredPartial> & { says: string }];
  const rows: Row[] = [
    ["before anything was streamed leaves nothing", wrote(), { says: "", progress: "nothing", keeps: 0 }],
    ["waiting for the first token too", wrote(start, step), { says: "", progress: "nothing", keeps: 0 }],
    ["in reasoning too", wrote(start, step, ...open("reasoning", "r", "hm")), { says: "", progress: "nothing" }],
    ["after reasoning too", wrote(start, step, ...closed("reasoning", "r", "hm")), { says: "", progress: "nothing" }],
    ["before the first word too", wrote(start, step, ...open("text", "t", "")), { says: "", progress: "nothing" }],
    [
      "in a text leaves the text, open",
      wrote(start, step, ...open("text", "t", "a", "b")),
      { says: "| ab", progress: "partial", keeps: 5, openTextId: "t" }
    ],
    [
      "in a text after reasoning leaves both",
      wrote(start, step, ...closed("reasoning", "r", "hm"), ...open("text", "t", "a")),
      { says: "| (hm) a", openTextId: "t" }
    ],
    [
      "between two blocks leaves the first, closed",
      wrote(start, step, ...closed("text", "t", "a"), ...open("text", "u")),
      { says: "| a", keeps: 5, openTextId: undefined }
    ],
    [
      "in reasoning after a text leaves the text, closed",
      wrote(start, step, ...closed("text", "t", "a"), endStep, step, ...open("reasoning", "r", "hm")),
      { says: "| a", keeps: 6, openTextId: undefined }
    ],
    [
      "in the input of a call drops the call",
      wrote(start, step, ...closed("text", "t", "a"), ...half("c")),
      { says: "| a", keeps: 5, repairs: [] }
    ],
    [
      "before a complete call started drops the call: it can be asked for again",
      wrote(start, step, ...closed("text", "t", "a"), ...half("c"), whole("c")),
      { says: "| a", keeps: 5, unknownCalls: [] }
    ],
    [
      "while a tool runs leaves a call with an unknown outcome",
      wrote(start, step, ...half("c"), whole("c"), call("c")),
      { says: "| c=cut off", progress: "partial", keeps: 5, unknownCalls: [callId("c")], hasResults: true }
    ],
    [
      "while a tool runs whose chunk was not written yet leaves the same",
      wrote(start, step, call("c")),
      { says: "| c=cut off", keeps: 0, unknownCalls: [callId("c")] }
    ],
    [
      "after the outcome was recorded and before it was streamed leaves the outcome",
      wrote(start, step, whole("c"), call("c"), succeeded("c")),
      { says: "| c=21", keeps: 3, repairs: [output("c")], unknownCalls: [], hasResults: true }
    ],
    [
      "after the outcome was streamed leaves it as it is",
      wrote(start, step, whole("c"), call("c"), succeeded("c"), output("c"), endStep, step),
      { says: "| c=21", keeps: 5, repairs: [], unknownCalls: [] }
    ],
    [
      "between two parallel outcomes leaves one, and one cut off",
      wrote(start, step, whole("c"), call("c"), whole("d"), call("d"), succeeded("d"), output("d")),
      { says: "| c=cut off d=21", unknownCalls: [callId("c")] }
    ],
    [
      "with a preliminary output leaves no result",
      wrote(start, step, whole("c"), call("c"), {
        type: "tool-output-available",
        toolCallId: "c",
        output: 1,
        preliminary: true
      }),
      { says: "| c=cut off", unknownCalls: [callId("c")] }
    ],
    [
      "after the end of the stream leaves a finished answer",
      wrote(start, step, ...closed("text", "t", "a"), endStep, finish),
      { says: "| a", progress: "finished", keeps: 7, repairs: [] }
    ],
    [
      "before the end of the stream leaves one that goes on",
      wrote(start, step, ...closed("text", "t", "a"), endStep),
      { says: "| a", progress: "partial", keeps: 6 }
    ],
    [
      "with a question to a client leaves the question",
      wrote(start, step, whole("c", "locate"), call("c", { executor: "client" }), endStep, finish),
      { says: "| c=input-available", progress: "awaiting", repairs: [], unknownCalls: [] }
    ],
    [
      "with a question to a person leaves the question",
      wrote(start, step, whole("c"), asks("c"), call("c"), asked("c")),
      { says: "| c=approval-requested", progress: "awaiting", repairs: [], unknownCalls: [] }
    ],
    [
      "with a question beside a running tool leaves the question, and the other call cut off",
      wrote(start, step, whole("c"), call("c"), whole("d", "locate"), call("d", { executor: "client" })),
      { says: "| c=cut off d=input-available", progress: "awaiting", unknownCalls: [callId("c")] }
    ],
    [
      "after people said no leaves the no",
      wrote(
        start,
        step,
        whole("c"),
        asks("c"),
        call("c"),
        asked("c"),
        settledCall("c", { kind: "denied", reason: null })
      ),
      { says: "| c=output-denied", progress: "partial", repairs: [{ type: "tool-output-denied", toolCallId: "c" }] }
    ],
    [
      "with a file, a source and data leaves them",
      wrote(
        start,
        step,
        { type: "data-note", data: 1 },
        { type: "source-url", sourceId: "s", url: "https://example.com/" },
        {
          type: "data-blink",
          data: 1,
          transient: true
        }
      ),
      { says: "| data-note source-url", keeps: 4 }
    ]
  ];

  test.each(rows)("%s", (_promise, events, { says, ...found }) => {
    const left = rescue(leave(events));
    expect(line(left)).toBe(says);
    expect(left).toMatchObject(found);
  });
});

describe("a call that only its record knows", () => {
  test("is introduced in the step it belongs to, not in the one before", () => {
    const first = wrote(start, step, whole("c"), call("c"), succeeded("c"), output("c"), endStep);
    expect(line(rescue(leave([...first, ...wrote(call("d"))])))).toBe("| c=21 | d=cut off");
    expect(line(rescue(leave([...first, ...wrote(step, call("d"))])))).toBe("| c=21 | d=cut off");
    expect(line(rescue(leave(wrote(start, step, ...closed("text", "t", "a"), call("d")))))).toBe("| a d=cut off");
  });

  test("is introduced below the stored answer in a step of its own, without naming the message again", () => {
    const base: UIMessage = {
      id: "m",
      role: "assistant",
      parts: [{ type: "step-start" }, { type: "text", text: "a" }]
    };
    const left = rescue(leave(wrote(call("d"))), { base });
    expect(line(left)).toBe("| a | d=cut off");
    expect(left.repairs.slice(0, 2)).toEqual([{ type: "start" }, step]);
    expect(left.changedBase).toBeUndefined();
  });

  test("stays with the reasoning that led to it", () => {
    const thought = wrote(start, step, ...closed("reasoning", "r", "hm"), ...half("c"));
    expect(line(rescue(leave(thought)))).toBe("");
    expect(line(rescue(leave([...thought, ...wrote(call("c"))])))).toBe("| (hm) c=cut off");
  });

  test("has the input that it ran with, also if half of it was streamed", () => {
    const events = wrote(start, step, whole("c"), call("c"), ...half("d"), call("d"), succeeded("c"), output("c"));
    for (const more of [[], wrote(succeeded("d"))]) {
      const parts = rescue(leave([...events, ...more])).fold.message.parts.filter((part) => isToolPart(part));
      expect(parts).toMatchObject([{ input }, { toolCallId: "d", input }]);
    }
  });

  test("is still a question if it was one", () => {
    const left = rescue(leave(wrote(start, step, ...closed("text", "t", "a"), call("c"), asked("c"))));
    expect(line(left)).toBe("| a c=approval-requested");
    expect(left.progress).toBe("awaiting");
  });

  test("closes the text it interrupts before it is told", () => {
    const { repairs, openTextId } = rescue(leave(wrote(start, step, ...open("text", "t", "a"), call("c"))));
    expect(repairs.map(({ type }) => type)).toEqual(["text-end", "tool-input-available", "tool-output-error"]);
    expect(openTextId).toBeUndefined();
  });
});

test("a result that was streamed stays, even if its record is lost", () => {
  const left = rescue(leave(wrote(start, step, whole("c"), call("c"), output("c"))));
  expect(line(left)).toBe("| c=21");
  expect(left.unknownCalls).toEqual([]);
});

describe("a call whose input is lost from the middle of its chunks", () => {
  const torn: UIMessageChunk[] = [
    { type: "tool-input-start", toolCallId: "c", toolName: "weather" },
    { type: "tool-input-delta", toolCallId: "c", inputTextDelta: 'ty":"Ulm"}' }
  ];
  const rows: [string, Written[], string][] = [
    ["that was asked for and cut off", wrote(asks("c"), call("c")), "| c=cut off"],
    ["that is a question", wrote(asks("c"), call("c"), asked("c")), "| c=approval-requested"],
    ["that has its result", wrote(call("c"), succeeded("c"), output("c")), "| c=21"]
  ];

  test.each(rows)("%s has the input of its record, after every death", (_promise, events, says) => {
    const left = leave([...wrote(start, step, ...torn), ...events]);
    const first = rescue(left);
    expect(line(first)).toBe(says);
    expect(first.fold.message.parts[1]).toMatchObject({ toolCallId: "c", input });
    expect(rescue(beginAndDie(left, first)).fold.message).toEqual(first.fold.message);
  });

  test("has the input that was streamed, if that is still there: a hook may have run it with another", () => {
    const ran = call("c", { input: { city: "Bonn" } });
    const left = leave(wrote(start, step, ...torn, whole("c"), ran, succeeded("c"), output("c")));
    expect(rescue(left).fold.message.parts[1]).toMatchObject({ toolCallId: "c", input });
  });
});

describe("whole steps", () => {
  const first = wrote(start, step, whole("c"), call("c"), succeeded("c"), output("c"), endStep);

  test("are kept with their results; the text of the last one is not", () => {
    const left = rescue(leave([...first, ...wrote(step, ...open("text", "t", "too long"))]), { wholeSteps: true });
    expect(line(left)).toBe("| c=21");
    expect([left.keeps, left.openTextId]).toEqual([5, undefined]);
  });

  test("are none: then nothing is, but what ran", () => {
    expect(rescue(leave(wrote(start, step, ...open("text", "t", "a"))), { wholeSteps: true })).toMatchObject({
      keeps: 0,
      progress: "nothing"
    });
    const ran = wrote(start, step, ...closed("text", "t", "a"), whole("c"), call("c"), succeeded("c"), output("c"));
    expect(line(rescue(leave(ran), { wholeSteps: true }))).toBe("| c=21");
  });
});

describe("an answer that is extended", () => {
  const waiting = { type: "tool-weather", toolCallId: "c", toolName: "weather", state: "approval-responded", input };
  // A stored part as an approval leaves it.
  const part = { ...waiting, approval: { id: "a", approved: true } } as UIMessage["parts"][number];
  const base: UIMessage = { id: "m", role: "assistant", parts: [{ type: "step-start" }, part] };

  test("gets the outcome of its own call in its own place, and nothing of it is streamed", () => {
    const left = rescue(leave(wrote({ type: "start" }, call("c"), succeeded("c"))), { base });
    expect(line(left)).toBe("| c=21");
    expect(left.changedBase?.parts).toEqual(left.fold.message.parts);
    expect([left.repairs, left.progress]).toEqual([[], "nothing"]);
  });

  test("learns that its call was cut off, once, whatever stands for it", () => {
    for (const [repairPart, says] of [
      [undefined, "| c=cut off"],
      [(): UIMessage["parts"][number] => ({ type: "text", text: "sorry" }), "| sorry"]
    ] satisfies [PartialInit["repairPart"] | undefined, string][]) {
      const more = { base, ...(repairPart && { repairPart }) };
      const left = leave(wrote({ type: "start" }, call("c")));
      const first = rescue(left, more);
      expect([line(first), first.unknownCalls, first.repairs]).toEqual([says, [callId("c")], []]);
      const second = rescue(beginAndDie(left, first), {
        ...more,
        ...(first.changedBase && { base: first.changedBase })
      });
      expect([line(second), second.unknownCalls, second.repairs]).toEqual([says, [], []]);
    }
  });

  test("is not changed by what the turn adds to it", () => {
    const stored: UIMessage = { id: "m", role: "assistant", parts: [{ type: "text", text: "a" }] };
    const left = rescue(leave(wrote({ type: "start" }, step, ...open("text", "t", "b"))), { base: stored });
    expect([line(left), left.changedBase, left.openTextId]).toEqual(["a | b", undefined, "t"]);
  });
});

describe("what stands for a cut-off call", () => {
  const events = wrote(start, step, whole("c"), call("c"));
  const rows: [string, UIMessage["parts"][number], UIMessageChunk, string][] = [
    ["an error", tool({ state: "output-error", errorText: "gone" }), error("gone"), "| c=gone"],
    [
      "a result",
      tool({ state: "output-available", output: 7 }),
      { ...output("c"), output: 7 } as UIMessageChunk,
      "| c=7"
    ],
    [
      "a denial",
      tool({ state: "output-denied" }),
      { type: "tool-output-denied", toolCallId: "c" },
      "| c=output-denied"
    ],
    ["a text", { type: "text", text: "sorry" }, error("The call was interrupted."), "| sorry"]
  ];

  test.each(rows)(
    "may be %s: readers are told as far as a stream can, the message has it",
    (_what, stands, told, says) => {
      const repairPart = () => stands;
      const left = leave(events);
      const first = rescue(left, { repairPart });
      expect([line(first), first.repairs]).toEqual([says, [told]]);
      const second = rescue(beginAndDie(left, first), { repairPart });
      expect([line(second), second.repairs]).toEqual([says, []]);
    }
  );

  test("is decided from the call as it was: complete, with its input, and without a result", () => {
    const seen: UIMessage["parts"] = [];
    const repairPart = (part: UIMessage["parts"][number]) => {
      seen.push(part);
      return tool({ state: "output-error", errorText: "gone" });
    };
    const left = leave(events);
    rescue(beginAndDie(left, rescue(left, { repairPart })), { repairPart });
    const asItWas = tool({ state: "input-available" });
    expect(seen).toEqual([asItWas, asItWas]);
  });

  function tool(more: object): UIMessage["parts"][number] {
    const part = { type: "tool-weather", toolCallId: "c", toolName: "weather", input, ...more };
    // The SDK's union ties fields to states; the rows above keep to it.
    return part as UIMessage["parts"][number];
  }

  function error(errorText: string): UIMessageChunk {
    return { type: "tool-output-error", toolCallId: "c", errorText };
  }
});

test.each([
  ["text", { answerBytes: 100, heldChars: Infinity }, { type: "text-delta", id: "t", delta: "word " }],
  [
    "input of a tool",
    { answerBytes: 100, heldChars: Infinity },
    { type: "tool-input-delta", toolCallId: "c", inputTextDelta: "1," }
  ],
  ["data", { answerBytes: Infinity, heldChars: 1_000 }, { type: "data-log", data: "x" }]
])("of %s without end no more is read than its limits allow", (_what, limits, chunk) => {
  let read = 0;
  function* endless() {
    for (;;) {
      read += 1;
      if (read > 1_000) throw new Error("It reads on.");
      yield { seq: read, body: JSON.stringify(chunk) };
    }
  }
  const left = rescue(leave([]), { chunks: endless(), limits });
  expect(left.isTooLarge).toBe(true);
  expect(read).toBeLessThan(100);
});
