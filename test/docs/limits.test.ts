// The numbers of the limits pages are those of the code, and every page with limits is found from the page of limits.
import { expect, test } from "vitest";
import { NAME_LIMIT_BYTES } from "../../src/agent/errors.ts";
import { FRAME_LIMIT_BYTES } from "../../src/agent/connections/rpc.ts";
import { STATE_LIMIT_BYTES } from "../../src/agent/state.ts";
import { STORED_JSON_LIMIT_BYTES } from "../../src/agent/stored-json.ts";
import { TREE_DEPTH_LIMIT } from "../../src/agent/tree/sub-agent-errors.ts";
import { MAX_ATTACHMENT_TURNS, MAX_ATTACHMENTS } from "../../src/features/actions/attachments.ts";
import { MAX_PARKED, MAX_PARKED_INPUT_BYTES } from "../../src/features/actions/parked.ts";
import { MAX_OUTPUT_CHARS, MAX_RESULTS } from "../../src/features/actions/results.ts";
import { METADATA_LIMIT_BYTES } from "../../src/features/fibers/fiber-table.ts";
import { DEAD_LETTER_LIMIT, QUEUE_ITEM_LIMIT } from "../../src/features/queue/queue-item.ts";
import { INTERVAL_LIMIT_SECONDS, SCHEDULE_LIMIT } from "../../src/features/schedules/schedules.ts";
import { MISSING_CALLBACK_MS } from "../../src/features/schedules/schedule-runner.ts";
import { MAX_METADATA_BYTES, MAX_REQUEST_BYTES } from "../../src/features/submissions/request.ts";
import { MAX_WAITING } from "../../src/features/submissions/submissions.ts";
import { MAX_BODY_BYTES } from "../../src/features/submissions/submit-http.ts";
import { MAX_FILE_BYTES } from "../../src/features/workspace/store/contents.ts";
import { MAX_HOPS } from "../../src/features/workspace/store/entries.ts";
import { MAX_GLOB_MATCHES } from "../../src/features/workspace/store/tree.ts";
import {
  MAX_HISTORY_BYTES,
  MAX_VERSION_BYTES,
  MAX_VERSIONS_PER_FILE
} from "../../src/features/workspace/store/versions.ts";
import { MAX_CHANGES, MAX_LOOSE_TURNS, TURN_ROW_BYTES } from "../../src/journal/history.ts";
import { DEFAULT_MAX_STEPS } from "../../src/model/call.ts";
import { MAX_DOWNLOAD_BYTES, MAX_DOWNLOAD_REDIRECTS, MAX_STEP_DOWNLOAD_BYTES } from "../../src/model/download.ts";
import { MAX_OUTPUT_BYTES } from "../../src/model/tool-wrap.ts";
import { MAX_ARMED } from "../../src/turn/answers.ts";
import { QUEUE_LIMIT } from "../../src/turn/engine.ts";
import { DEFAULT_MAX_ANSWER_BYTES } from "../../src/turn/stream.ts";
import { MAX_ERROR_TEXT_BYTES } from "../../src/util/errors.ts";
import { pages, read } from "./samples.ts";

const count = (value: number) => value.toLocaleString("en-US");
const bytes = (value: number) => `${count(value)} bytes`;
const kib = (value: number) => `${value / 1024} KiB`;
const mib = (value: number) => `${value / (1024 * 1024)} MiB`;
const mb = (value: number) => `${value / 1_000_000} MB`;
const days = (milliseconds: number) => `${milliseconds / 86_400_000} days`;

const NUMBERS: readonly (readonly [page: string, row: string, numbers: readonly string[]])[] = [
  ["limits", "State, as JSON", [bytes(STATE_LIMIT_BYTES)]],
  ["limits", "One WebSocket frame", [mib(FRAME_LIMIT_BYTES)]],
  ["limits", "Output of one tool call, as JSON", [mib(MAX_OUTPUT_BYTES)]],
  ["limits", "Text of an error", [kib(MAX_ERROR_TEXT_BYTES)]],
  [
    "limits",
    "Files of messages",
    [mb(MAX_DOWNLOAD_BYTES), mb(MAX_STEP_DOWNLOAD_BYTES), `${MAX_DOWNLOAD_REDIRECTS} redirects`]
  ],
  ["limits", "Nesting of agents", [`${TREE_DEPTH_LIMIT} levels`]],
  ["limits", "Name of an agent", [bytes(NAME_LIMIT_BYTES)]],
  ["limits", "Schedule, queue and stash values", [bytes(STORED_JSON_LIMIT_BYTES)]],
  ["limits", "`scheduleEvery`", [`${count(INTERVAL_LIMIT_SECONDS)} s`]],
  ["limits", "Schedules of one agent", [count(SCHEDULE_LIMIT)]],
  ["limits", "Items in the queue of one agent", [count(QUEUE_ITEM_LIMIT)]],
  ["limits", "Dead letters", [count(DEAD_LETTER_LIMIT)]],
  ["limits", "Metadata of a fiber", [bytes(METADATA_LIMIT_BYTES)]],
  ["limits", "A schedule whose method", [days(MISSING_CALLBACK_MS)]],
  ["limits", "Waiting submissions", [count(MAX_WAITING)]],
  ["limits", "Messages and body of a submission", [mib(MAX_REQUEST_BYTES), mib(MAX_BODY_BYTES)]],
  ["limits", "Metadata of a submission", [kib(MAX_METADATA_BYTES)]],
  ["chat", "Turns waiting", [count(QUEUE_LIMIT)]],
  ["chat", "Steps of a turn", [count(DEFAULT_MAX_STEPS)]],
  ["chat", "Text, reasoning and tool inputs", [bytes(DEFAULT_MAX_ANSWER_BYTES)]],
  ["chat", "Answers whose calls", [count(MAX_ARMED)]],
  ["chat", "Turn history", [`${TURN_ROW_BYTES / 1024} KB`, `${MAX_LOOSE_TURNS} turns`]],
  ["chat", "Changes listed", [count(MAX_CHANGES)]],
  ["actions", "Output shown to the model", [count(MAX_OUTPUT_CHARS)]],
  ["actions", "Whole outputs kept", [count(MAX_RESULTS)]],
  ["actions", "Actions waiting for a human", [count(MAX_PARKED)]],
  ["actions", "Input of a parked action", [bytes(MAX_PARKED_INPUT_BYTES)]],
  ["actions", "Attachments of a turn", [count(MAX_ATTACHMENTS)]],
  ["actions", "Turns whose attachments", [count(MAX_ATTACHMENT_TURNS)]],
  ["workspace", "a file", [mib(MAX_FILE_BYTES)]],
  ["workspace", "links for one path", [count(MAX_HOPS)]],
  ["workspace", "versions of a file", [count(MAX_VERSIONS_PER_FILE), mib(MAX_HISTORY_BYTES)]],
  ["workspace", "a version", [mib(MAX_VERSION_BYTES)]],
  ["workspace", "`glob`", [count(MAX_GLOB_MATCHES)]]
];

test.each(NUMBERS)("%s: the row %j has the number of the code", (page, row, numbers) => {
  const rows = read(`docs/${page}.md`)
    .split("\n")
    .filter((line) => line.startsWith(`| ${row}`));
  expect(rows.length).toBeGreaterThan(0);
  for (const number of numbers)
    expect(rows.join("\n")).toMatch(new RegExp(`(?<![\\d,.])${number.replaceAll(".", "\\.")}`));
});

test("every page with limits is linked from the page of limits", () => {
  const limits = read("docs/limits.md");
  const others = pages.filter((page) => page !== "docs/limits.md");
  const withLimits = others.flatMap((page) => {
    const heading = /^## (.*\blimits?\b.*)$/im.exec(read(page))?.[1];
    return heading === undefined
      ? []
      : `${page.replace("docs/", "")}#${heading
          .toLowerCase()
          .replaceAll(/[^\w -]/g, "")
          .replaceAll(" ", "-")}`;
  });
  expect(withLimits.length).toBeGreaterThan(15);
  expect(withLimits.filter((link) => !limits.includes(`(${link})`))).toEqual([]);
});
