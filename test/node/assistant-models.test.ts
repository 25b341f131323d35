// Which model the demo uses, what it says when that one cannot be used, and that no key gets anywhere.
import { afterEach, describe, expect, test, vi } from "vitest";
import type { ModelEnv } from "../../examples/assistant/server/env.ts";
import { paceMs } from "../../examples/assistant/server/env.ts";
import { failureForPeople } from "../../examples/assistant/server/failure.ts";
import { failureOnPurpose } from "../../examples/assistant/server/offline/failure-on-purpose.ts";
import { chooseModel, statusOf, type RemoteChoice } from "../../examples/assistant/server/models.ts";
import { remoteModel } from "../../examples/assistant/server/provider-models.ts";
import { problemIn } from "../../examples/assistant/server/unusable.ts";
import { openHost, Page } from "./assistant-kit.ts";

const KEY = "sk-very-secret-0123456789";

afterEach(() => void vi.unstubAllGlobals());

describe("the choice", () => {
  test.each<[string, ModelEnv, object]>([
    ["nothing is set", {}, { provider: "offline" }],
    ["empty values count as not set", { OPENAI_API_KEY: " ", MODEL_PROVIDER: "" }, { provider: "offline" }],
    ["OpenAI", { OPENAI_API_KEY: ` ${KEY}\n` }, { provider: "openai", modelId: "gpt-5", apiKey: KEY }],
    ["Anthropic", { ANTHROPIC_API_KEY: KEY }, { provider: "anthropic", modelId: "claude-sonnet-5", apiKey: KEY }],
    ["Google", { GOOGLE_GENERATIVE_AI_API_KEY: KEY }, { provider: "google", modelId: "gemini-flash-latest" }],
    ["MODEL names the model", { OPENAI_API_KEY: KEY, MODEL: "gpt-x" }, { provider: "openai", modelId: "gpt-x" }],
    [
      "the first key counts",
      { GOOGLE_GENERATIVE_AI_API_KEY: "g", ANTHROPIC_API_KEY: "a" },
      { provider: "anthropic", apiKey: "a" }
    ],
    [
      "MODEL_PROVIDER decides",
      { MODEL_PROVIDER: "Google", GOOGLE_GENERATIVE_AI_API_KEY: "g", OPENAI_API_KEY: "o" },
      { provider: "google", apiKey: "g" }
    ],
    ["offline on purpose", { MODEL_PROVIDER: "offline", OPENAI_API_KEY: KEY }, { provider: "offline" }],
    [
      "a server of one's own",
      { OPENAI_COMPATIBLE_URL: "http://localhost:11434/v1", MODEL: "llama" },
      { provider: "compatible", baseUrl: "http://localhost:11434/v1", modelId: "llama" }
    ]
  ])("%s", (_name, env, choice) => {
    expect(chooseModel(env)).toMatchObject(choice);
    expect(statusOf(chooseModel(env)).problem).toBeUndefined();
  });

  test.each<[string, ModelEnv, RegExp, RegExp]>([
    ["an unknown provider", { MODEL_PROVIDER: "acme" }, /"acme"/, /offline, openai, anthropic, google, compatible/],
    ["a provider without its key", { MODEL_PROVIDER: "openai" }, /OPENAI_API_KEY is not set/, /Set OPENAI_API_KEY/],
    ["a key that is none", { OPENAI_API_KEY: `${KEY} oops` }, /spaces or characters/, /OPENAI_API_KEY/],
    ["no address", { MODEL_PROVIDER: "compatible" }, /OPENAI_COMPATIBLE_URL is not set/, /localhost:11434/],
    ["no model", { OPENAI_COMPATIBLE_URL: "http://localhost:1234/v1" }, /MODEL is not/, /Set MODEL/],
    ["no URL at all", { OPENAI_COMPATIBLE_URL: "localhost:1234", MODEL: "m" }, /is not an address/, /http/],
    ["another protocol", { OPENAI_COMPATIBLE_URL: "file:///etc", MODEL: "m" }, /is not an address/, /http/]
  ])("%s is a problem with a fix, and the offline model answers", (_name, env, what, fix) => {
    const { problem, label } = statusOf(chooseModel(env));
    expect(problem?.what).toMatch(what);
    expect(problem?.fix).toMatch(fix);
    expect(label).toBe("Built-in offline model");
    expect(JSON.stringify(statusOf(chooseModel(env)))).not.toContain(KEY);
  });

  test("people are told who answers", () => {
    expect(statusOf(chooseModel({ OPENAI_API_KEY: KEY }))).toEqual({ provider: "openai", label: "OpenAI gpt-5" });
    expect(statusOf(chooseModel({}))).toEqual({ provider: "offline", label: "Built-in offline model" });
  });

  test.each([
    [undefined, 25],
    ["", 25],
    ["0", 0],
    ["7", 7],
    ["-1", 25],
    ["fast", 25],
    ["99999", 1_000]
  ])("a pace of %s is %d ms", (OFFLINE_PACE_MS, ms) => {
    expect(paceMs({ ...(OFFLINE_PACE_MS !== undefined && { OFFLINE_PACE_MS }) })).toBe(ms);
  });
});

const CHOICES: Record<string, RemoteChoice> = {
  openai: { provider: "openai", modelId: "m1", apiKey: KEY },
  anthropic: { provider: "anthropic", modelId: "m1", apiKey: KEY },
  google: { provider: "google", modelId: "m1", apiKey: KEY },
  compatible: { provider: "compatible", modelId: "m1", baseUrl: "http://localhost:11434/v1", apiKey: KEY }
};
const EVERY = Object.entries(CHOICES);

/** Every provider's error repeats the key, as some do. */
const answerWith = (status: number, message = `Bad: ${KEY}`) => {
  const body = { error: { message, code: status, status: "X", type: "t" }, type: "error" };
  return async () => Response.json(body, { status });
};

async function failure(choice: RemoteChoice, fetch: () => Promise<Response>): Promise<unknown> {
  vi.stubGlobal("fetch", fetch);
  const prompt = [{ role: "user" as const, content: [{ type: "text" as const, text: "hi" }] }];
  return remoteModel(choice)
    .doStream({ prompt })
    .then(
      () => undefined,
      (error: unknown) => error
    );
}

describe.each(EVERY)("with %s", (_name, choice) => {
  test.each([
    [401, /refused the key in \w+_API_KEY \(401\)/, /valid key/],
    [403, /refused the key in \w+_API_KEY \(403\)/, /valid key/],
    [404, /has no model "m1".*\(404\)/, /Set MODEL/]
  ])("status %d is a problem in plain words, without the key", async (status, what, fix) => {
    const problem = problemIn(await failure(choice, answerWith(status)), choice);
    expect(problem?.what).toMatch(what);
    expect(problem?.fix).toMatch(fix);
    expect(JSON.stringify(problem)).not.toContain(KEY);
  });

  test.each<[string, () => Error]>([
    ["Node", () => new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED 127.0.0.1:9") })],
    ["workerd, refused", () => new Error("Network connection lost.")],
    ["workerd, no such host", () => new Error("internal error; reference = 4k6rqlpr1l6n028nhcbaeiem")]
  ])("a connection that does not come about is a problem (%s)", async (_runtime, failed) => {
    const error = await failure(choice, () => Promise.reject(failed()));
    expect(problemIn(error, choice)?.what).toMatch(/cannot be reached|Nobody answers at http:/);
  });

  test.each([400, 408, 413, 429, 500, 503, 529])("status %d is left to Think", async (status) => {
    const error = await failure(choice, answerWith(status, "prompt is too long"));
    expect(error).toBeInstanceOf(Error);
    expect(problemIn(error, choice)).toBeUndefined();
    expect(failureForPeople(error).message).not.toContain("too long");
  });
});

test("people are told what Think says for them, and nothing of a bug", () => {
  const forPeople = Object.assign(new Error("Interrupted."), { code: "turn-interrupted", hint: "for operators" });
  expect(failureForPeople(forPeople).message).toBe("Interrupted.");
  expect(failureForPeople(new ReferenceError("secret is not defined")).message).toBe(
    "The turn failed. Please try again."
  );
  const onPurpose = new Error("wrapped", { cause: failureOnPurpose() });
  expect(failureForPeople(onPurpose).message).toBe("The offline model failed, as you asked.");
  expect(failureForPeople("thrown").message).toBe("The turn failed. Please try again.");
});

test("Google's 400 for a wrong key is a refused key", async () => {
  const error = await failure(CHOICES["google"]!, answerWith(400, "API key not valid. Please pass a valid API key."));
  expect(problemIn(error, CHOICES["google"]!)?.what).toBe(
    "Google refused the key in GOOGLE_GENERATIVE_AI_API_KEY (400)."
  );
});

test("a server that wants a key and got none is told apart from a wrong key", async () => {
  const choice: RemoteChoice = { provider: "compatible", modelId: "m1", baseUrl: "http://localhost:1/v1" };
  expect(problemIn(await failure(choice, answerWith(401)), choice)?.what).toContain("wants a key");
});

describe("in the agent", () => {
  /** Enough of a chat completion for one short answer. */
  const sse = (text: string) => {
    const chunk = (delta: object, finish_reason: string | null) =>
      `data: ${JSON.stringify({ id: "1", created: 1, model: "m1", choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
    const body = `${chunk({ role: "assistant", content: text }, null)}${chunk({}, "stop")}data: [DONE]\n\n`;
    return async () => new Response(body, { headers: { "content-type": "text/event-stream" } });
  };

  /** The network is outside the virtual host: time is given to it. */
  async function settled(page: Page): Promise<void> {
    await expect
      .poll(async () => {
        await page.settle();
        return page.snapshot.status;
      })
      .toBe("settled");
  }

  test("a refused key is shown, the offline model answers, and a later success clears it", async () => {
    const host = openHost({
      OPENAI_COMPATIBLE_URL: "http://localhost:9/v1",
      MODEL: "m1",
      OPENAI_COMPATIBLE_API_KEY: KEY
    });
    const page = new Page(host);
    await page.settle();
    expect(page.snapshot.state).toEqual({ model: { provider: "compatible", label: "Compatible server m1" } });

    vi.stubGlobal("fetch", answerWith(401));
    void page.client.send("hello");
    await settled(page);
    expect(page.text).toMatch(/^Hello! I am the built-in offline model/);
    expect(page.snapshot.error).toBeUndefined();
    expect(page.snapshot.state).toEqual({
      model: {
        provider: "compatible",
        label: "Built-in offline model",
        problem: {
          what: "Compatible server refused the key in OPENAI_COMPATIBLE_API_KEY (401).",
          fix: "Set OPENAI_COMPATIBLE_API_KEY to a valid key and start again."
        }
      }
    });

    vi.stubGlobal("fetch", sse("Ahoy."));
    void page.client.send("hello again");
    await expect.poll(async () => (await page.settle(), page.snapshot.messages.length)).toBe(4);
    await settled(page);
    expect(page.text).toBe("Ahoy.");
    expect(page.snapshot.state).toEqual({ model: { provider: "compatible", label: "Compatible server m1" } });
  });

  test("an ordinary refusal is shown as what it is: no other model answers in its place", async () => {
    const page = new Page(openHost({ OPENAI_API_KEY: KEY }));
    vi.stubGlobal("fetch", answerWith(400));
    void page.client.send("hello");
    await settled(page);
    expect(page.snapshot.error).toBe("The model's provider refused the request (400).");
    expect(page.snapshot.messages.map(({ role }) => role)).toEqual(["user"]);
    expect(page.snapshot.state).toEqual({ model: { provider: "openai", label: "OpenAI gpt-5" } });
  });

  test("no key is in the state, in a message, in a note of the panel or in an error", async () => {
    const logged: string[] = [];
    for (const method of ["error", "warn", "log"] as const) {
      vi.spyOn(console, method).mockImplementation((...words) => void logged.push(words.map(String).join(" ")));
    }
    const host = openHost({ OPENAI_API_KEY: KEY });
    for (const status of [401, 400]) {
      vi.stubGlobal("fetch", answerWith(status));
      const page = new Page(host);
      void page.client.send("hello");
      await settled(page);
      expect(JSON.stringify([page.snapshot, page.notes])).not.toContain(KEY);
      expect(page.notes.length).toBeGreaterThan(2);
    }
    vi.restoreAllMocks();
    expect(logged.join("\n")).not.toContain(KEY);
  });

  test("a client cannot write the state", async () => {
    const page = new Page(openHost());
    await page.settle();
    page.client.setState({ model: { provider: "openai", label: "Mine" } });
    await page.settle();
    expect(page.snapshot.state).toMatchObject({ model: { label: "Built-in offline model" } });
    expect(page.snapshot.stateError).toBeDefined();
  });
});
