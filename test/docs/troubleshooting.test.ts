// docs/troubleshooting.md, against fake providers: for each failure what it says the page, the terminal and the log say. The
// models are made by the starters' models/model.ts, with the real provider packages.
import { readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { action, Think } from "../../src/index.ts";
import { describeRetry } from "../../src/client/index.ts";
import { createTestHost, createScript, reply, scriptedModel, text, toolCall } from "../../src/testing/index.ts";
import { chooseModel, modelStatus, type ModelVariables } from "../../starters/shared/models/model.ts";
import { framesOf, sendChat } from "../kit/frames.ts";
import { user } from "../kit/messages.ts";
import { z } from "zod";

const page = readFileSync(new URL("../../docs/troubleshooting.md", import.meta.url), "utf8").replaceAll(/\s+/g, " ");
const KEY = "sk-secret-0123456789";

let log: string[] = [];
beforeEach(() => {
  log = [];
  vi.spyOn(console, "error").mockImplementation((...words) => void log.push(words.map(String).join(" ")));
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

class Assistant extends Think<ModelVariables> {
  override getModel() {
    return chooseModel(this.env, []);
  }
  // The SDK's own retries, of seconds before ours begin, wait in real time.
  override beforeTurn() {
    return { maxRetries: 0 };
  }
}

/** Without what differs from run to run: the request, and where user code threw. */
const plain = (text: string) =>
  text
    .replace(/request [\w-]+/, "request …")
    .replaceAll(/\s+/g, " ")
    .replaceAll(/ \(at .*?\)+(?=\.)/g, "");

/** What a client is shown at the end of the turn. */
async function ask(env: object, answer: () => Response): Promise<string | undefined> {
  vi.stubGlobal("fetch", async () => answer());
  const host = createTestHost({ agents: { Assistant }, env });
  const socket = await host.connect("/agents/assistant/ada");
  sendChat(socket, "r", [user("u", "Hello")]);
  await host.advance(600_000);
  return framesOf(socket).find(({ id, done }) => id === "r" && done)?.body;
}

const OPENAI = { OPENAI_API_KEY: KEY };
const OLLAMA = { OPENAI_COMPATIBLE_URL: "http://localhost:11434/v1", MODEL: "qwen3" };
const refusal =
  (status: number, message: string, headers: HeadersInit = {}) =>
  () =>
    Response.json({ error: { message, type: "error", param: null, code: null } }, { status, headers });
const refusedConnection = () => {
  throw new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED 127.0.0.1:11434") });
};

const FAILURES: readonly [name: string, env: object, answer: () => Response][] = [
  ["The key is refused", OPENAI, refusal(401, `Incorrect API key provided: ${KEY}.`)],
  ["The model is unknown", { ...OPENAI, MODEL: "gpt-99" }, refusal(404, "The model `gpt-99` does not exist.")],
  ["The rate is limited", OPENAI, refusal(429, "Rate limit reached.", { "retry-after": "20" })],
  ["The provider is down", OPENAI, refusal(503, "The server is overloaded.")],
  ["The server cannot be reached", OLLAMA, refusedConnection]
];

describe.each(FAILURES)("%s", (name, env, answer) => {
  test("in development page and terminal say what the document says; the log says it always", async () => {
    const shown = await ask({ ...env, EVERTHINK_DEVELOPMENT: "1" }, answer);
    expect(page).toContain(`## ${name}`);
    expect(page).toContain(plain(shown ?? ""));
    const failed = log.filter((line) => line.includes("a turn failed"));
    expect(failed).toHaveLength(1);
    expect(page).toContain(plain(failed[0] ?? ""));
    expect(log.join(" ") + shown).not.toContain(KEY);
  });

  test("in production clients read the safe text only", async () => {
    const shown = await ask(env, answer);
    expect(shown).toBe("The model could not answer.");
    expect(page).toContain(`"${shown}"`);
  });
});

test("while the provider asks to wait, the log says when it is asked again", async () => {
  await ask(OPENAI, refusal(429, "Rate limit reached.", { "retry-after": "20" }));
  const [line = ""] = log.filter((one) => one.includes("asked again"));
  expect(page).toContain(plain(line));
  const retry = { reason: "rate-limit", attempt: 2, of: 5, at: 20_000 } as const;
  expect(page).toContain(describeRetry(retry, 0));
});

test("without a key, and with a setting that cannot work, the page says which", () => {
  for (const env of [{}, { MODEL_PROVIDER: "openai" }, { MODEL_PROVIDER: "mistral" }, OLLAMA_WITHOUT_MODEL]) {
    expect(page).toContain(modelStatus({ ...env, EVERTHINK_DEVELOPMENT: "1" }).problem);
  }
});

const OLLAMA_WITHOUT_MODEL = { OPENAI_COMPATIBLE_URL: OLLAMA.OPENAI_COMPATIBLE_URL };

test("an action that throws is logged like a tool that throws", async () => {
  class Shop extends Think {
    override getModel() {
      return scriptedModel(createScript([reply(toolCall("refund", {})), reply(text("It failed."))]));
    }
    override getActions() {
      const execute = async () => {
        throw new Error("The bank is closed.");
      };
      return { refund: action({ description: "Refunds.", inputSchema: z.object({}), execute }) };
    }
  }
  const host = createTestHost({ agents: { Shop } });
  const socket = await host.connect("/agents/shop/ada");
  sendChat(socket, "r", [user("u", "Hello")]);
  await host.advance(60_000);
  const [line = ""] = log.filter((one) => one.includes("the action"));
  expect(page).toContain(plain(line));
});
