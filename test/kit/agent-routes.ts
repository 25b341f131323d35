// Every address that the package serves below an agent, for tests of who may reach it.
import { user } from "./messages.ts";

/** A request with a JSON body. */
export const json = (body: object, method = "POST") => ({
  method,
  body: JSON.stringify(body),
  headers: { "Content-Type": "application/json" }
});
const question = user("u1", "Hello");
/** An approval that a stranger makes up. */
export const decision = { decision: "approve", by: "telegram:7" };

/** Every address that the package serves below an agent, by how it is asked for. */
export const ROUTES: readonly [path: string, init?: RequestInit][] = [
  ["/get-messages"],
  ["/approvals"],
  ["/approvals/c1", json(decision)],
  ["/chat", json({ id: "x", messages: [question], trigger: "submit-message" })],
  ["/chat", { method: "DELETE" }],
  ["/chat/x/stream"],
  ["/v1/models"],
  ["/v1/chat/completions", json({ model: "support", messages: [{ role: "user", content: "Hello" }] })],
  ["/v1/responses", json({ model: "support", input: "Hello" })],
  ["/submit", json({ input: "Hello" })],
  ["/submit/some-id"],
  ["/workspace/notes.md"],
  ["/workspace/notes.md", { method: "PUT", body: "written" }],
  ["/workspace/notes.md", { method: "DELETE" }],
  ["/inspect/v1/agent"],
  ["/inspect/v1/conversations"],
  ["/inspect/v1/turns"],
  ["/inspect/v1/inbox"],
  ["/inspect/v1/state"],
  ["/inspect/v1/file?path=/notes.md"],
  ["/inspect/v1/decide", json({ id: "c1", decision: "approve", by: "telegram:7" })],
  ["/inspect/v1/try", json({ turnId: "t" })],
  ["/messengers/telegram/webhook", json({ update_id: 1 })],
  ["/callback"],
  ["/a/path/of/the/class"],
  [""],
  ["/"]
];
