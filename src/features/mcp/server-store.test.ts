// What is asked for in every turn is kept in memory; every change of the table must be seen there.
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { memoryStorage } from "../../host/memory-storage.test-support.ts";
import { openSchema } from "../../host/schema.ts";
import { openSql } from "../../host/sql.ts";
import { ofAddress } from "./credentials.ts";
import { DEFAULT_RETRY, MCP_CALL_TIMEOUT_MS, type McpServerRecord } from "./server-record.ts";
import { McpStore } from "./server-store.ts";

const record = (id: string): McpServerRecord => ({
  id,
  name: id,
  url: `https://${id}.example/mcp`,
  callbackUrl: null,
  clientId: null,
  authUrl: null,
  options: {
    clientName: "test",
    clientVersion: "1",
    headers: {},
    transport: "auto",
    retry: DEFAULT_RETRY,
    timeoutMs: MCP_CALL_TIMEOUT_MS
  },
  session: null
});

test("a server that was added, changed, renamed or removed is listed so at once", () => {
  const sql = openSql(memoryStorage(new DatabaseSync(":memory:")));
  openSchema(sql);
  const store = new McpStore(sql);
  const listed = () => store.list().map(({ id, authUrl }) => [id, authUrl]);
  expect(listed()).toEqual([]);
  store.insert(record("a"), "a");
  expect(listed()).toEqual([["a", null]]);
  store.update(record("a"), { authUrl: "https://login.example" });
  expect(listed()).toEqual([["a", "https://login.example"]]);
  store.rename("a", "b");
  expect(listed()).toEqual([["b", null]]);
  store.remove("b");
  expect(listed()).toEqual([]);
});

test("what the old address gives late does not take the place of what a provider of the class's own has for the new one", async () => {
  const sql = openSql(memoryStorage(new DatabaseSync(":memory:")));
  openSchema(sql);
  const store = new McpStore(sql);
  const kept: Record<string, unknown> = {};
  const own = {
    redirectUrl: undefined,
    clientMetadata: {},
    clientInformation: () => kept["client"],
    saveClientInformation: (information: never) => void (kept["client"] = information),
    tokens: () => kept["tokens"],
    saveTokens: (tokens: never) => void (kept["tokens"] = tokens)
  };
  const [old, renewed] = [record("a"), { ...record("a"), url: "https://new.example/mcp" }];
  store.insert(old, "a");
  const before = ofAddress(own, store, old);
  await before.saveTokens("old" as never);
  store.replace(old, renewed, "new");
  const after = ofAddress(own, store, renewed);
  expect([after.tokens(), after.clientInformation()]).toEqual([undefined, undefined]);
  await after.saveTokens("new" as never);
  await after.saveClientInformation?.("new" as never);
  await before.saveTokens("late" as never);
  await before.saveClientInformation?.("late" as never);
  expect([after.tokens(), after.clientInformation()]).toEqual(["new", "new"]);
});
