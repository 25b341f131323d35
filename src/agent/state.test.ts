import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { createTestHost } from "everthink/testing";
import type { Connection } from "../host/connection.ts";
import { AgentBase as Agent } from "./agent-base.ts";

class Note extends Agent<object, unknown> {
  changes = vi.fn();
  write(state: unknown) {
    this.setState(state);
  }
  writeUnserializable() {
    const value: Record<string, unknown> = {};
    value["self"] = value;
    this.setState(value);
  }
  writeTooLarge() {
    this.setState({ text: "€".repeat(700_000) });
  }
  writeAndMutate() {
    const value = { list: [1] };
    this.setState(value);
    value.list.push(2);
    return this.state;
  }
  read() {
    return { state: this.state };
  }
  override onStateChanged(next: unknown, source: Connection | "server") {
    this.changes(next, source);
    if (next === "explode") throw new Error("observer failed");
  }
  override onError() {}
}

const open = () => createTestHost({ agents: { Note } });

describe("the state", () => {
  test("any JSON value survives a restart", async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), async (value) => {
        const host = open();
        await (await host.get(Note, "a")).write(value);
        await host.restart();
        expect(await (await host.get(Note, "a")).read()).toEqual({ state: JSON.parse(JSON.stringify(value)) });
      }),
      { numRuns: 30, examples: [[[{ ["__proto__"]: null }]]] }
    );
  });

  test("without initialState nothing is stored and no state frame is sent", async () => {
    const host = open();
    const socket = await host.connect("/agents/note/a");
    await host.idle();
    expect(socket.frames).toMatchObject([{ type: "cf_agent_identity", name: "a" }, { type: "cf_agent_mcp_servers" }]);
    expect(socket.frames[0]).not.toHaveProperty("stateFollows");
    expect(host.sql(Note, "a", "SELECT * FROM cf_state")).toEqual([]);
  });

  test("a value that cannot be stored leaves memory and disk as they were", async () => {
    const host = open();
    const note = await host.get(Note, "a");
    await note.write("kept");
    await expect(note.writeUnserializable()).rejects.toThrow("cannot be written as JSON");
    await expect(note.writeTooLarge()).rejects.toThrow("too large");
    expect(await note.read()).toEqual({ state: "kept" });
    await host.restart();
    expect(await (await host.get(Note, "a")).read()).toEqual({ state: "kept" });
  });

  test("changing the object that was passed in changes nothing", async () => {
    const host = open();
    expect(await (await host.get(Note, "a")).writeAndMutate()).toEqual({ list: [1] });
  });

  test("an observer that throws undoes nothing", async () => {
    const host = open();
    await (await host.get(Note, "a")).write("explode");
    await host.idle();
    expect(await (await host.get(Note, "a")).read()).toEqual({ state: "explode" });
  });

  test("one change writes one row", async () => {
    const host = open();
    const note = await host.get(Note, "a");
    await note.write(1);
    const before = host.counts.rowsWritten;
    await note.write(2);
    expect(host.counts.rowsWritten - before).toBe(1);
  });
});
