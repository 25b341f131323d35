import { expect, test } from "vitest";
import { createTestHost } from "../../testing/test-host.ts";
import { AgentBase as Agent } from "../agent-base.ts";
import { FRAME_LIMIT_BYTES } from "./rpc.ts";

class Librarian extends Agent {
  static callables = ["read"];
  read(length: number, character = "x"): string {
    return character.repeat(length);
  }
}

interface Answer {
  readonly success: boolean;
  readonly result?: string;
  readonly error?: string;
}

async function read(...args: [number, string?]): Promise<Answer> {
  const host = createTestHost({ agents: { Librarian } });
  const socket = await host.connect("/agents/librarian/a");
  socket.send({ type: "rpc", id: "1", method: "read", args });
  return socket.next<Answer>("rpc");
}

// What is around the result in its frame.
const ENVELOPE_BYTES = JSON.stringify({ type: "rpc", id: "1", success: true, result: "", done: true }).length;

test("a result of 32 MiB, frame and all, arrives; one byte more is an error that says so", async () => {
  const largest = FRAME_LIMIT_BYTES - ENVELOPE_BYTES;
  expect((await read(largest)).result).toHaveLength(largest);
  const refused = await read(largest + 1);
  expect(refused).toEqual({
    type: "rpc",
    id: "1",
    success: false,
    error: expect.stringContaining("too large to send")
  });
});

test("bytes count, not characters", async () => {
  // Three bytes each.
  const fits = Math.floor((FRAME_LIMIT_BYTES - ENVELOPE_BYTES) / 3);
  expect((await read(fits, "€")).success).toBe(true);
  expect((await read(fits + 1, "€")).success).toBe(false);
});
