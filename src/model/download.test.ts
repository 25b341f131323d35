// Files that the SDK has fetched, on both majors: which addresses are asked, and how much is read of an answer.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { reply, text } from "../testing/model/index.ts";
import type { ModelCallInput } from "./call.ts";
import { DOWNLOAD_TIMEOUT_MS, MAX_DOWNLOAD_BYTES, MAX_DOWNLOAD_REDIRECTS } from "./download.ts";
import { isFileRefusal } from "./failure-classifier.ts";
import { failure, majors, run } from "./sdk-majors.test-support.ts";

/** What is fetched, by address; anything else fails. */
let answers: Record<string, () => Response>;
let asked: string[];

beforeEach(() => {
  answers = {};
  asked = [];
  vi.stubGlobal("fetch", async (url: URL, { redirect, signal }: RequestInit) => {
    asked.push(String(url));
    expect(redirect).toBe("manual");
    signal?.throwIfAborted();
    const answer = answers[String(url)];
    if (!answer) throw new TypeError("fetch failed");
    return answer();
  });
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const picture = (bytes = 3) => new Response(new Uint8Array(bytes), { headers: { "content-type": "image/png" } });
const redirect = (location: string) => new Response(null, { status: 302, headers: { location } });

describe.each(majors)("with $name", (major) => {
  /** A call whose question has files, with a model that fetches none of them itself. */
  async function ask(urls: readonly string[], more: Partial<ModelCallInput> = {}) {
    const steps = [reply(text("A cat."))];
    const model = major.model(steps, { supportedUrls: {} });
    const files = urls.map((url) => ({ type: "file" as const, mediaType: "image/png", data: new URL(url) }));
    const { outcome } = await run(major, { steps, model, messages: [{ role: "user", content: files }], ...more });
    return { outcome, prompt: model.script.calls[0]?.prompt };
  }

  test("a file at a public address is fetched for the model", async () => {
    answers["https://files.example.com/cat.png"] = picture;
    const { outcome, prompt } = await ask(["https://files.example.com/cat.png"]);
    expect(outcome.status).toBe("completed");
    expect(JSON.stringify(prompt)).toContain("image/png");
    expect(asked).toEqual(["https://files.example.com/cat.png"]);
  });

  // The first five pass the SDK's own check.
  test.each([
    ["http://intranet/cat.png", "a name of a private network"],
    ["http://224.0.0.1/cat.png", "an address of a private network"],
    ["http://168.63.129.16/machine", "an address of a private network"],
    ["http://192.0.2.7/cat.png", "an address of a private network"],
    ["http://files.corp/cat.png", "a name of a private network"],
    ["http://127.0.0.1:8787/agents/chat/b/get-messages", "the agent's own machine"],
    ["http://169.254.169.254/latest/meta-data", "an address of a private network"],
    ["ftp://files.example.com/cat.png", "neither http nor https"]
  ])("a file at %s is refused and not asked for, because it is %s", async (url, reason) => {
    const { outcome } = await ask([url]);
    const error = failure(outcome);
    expect(error.cause).toMatchObject({ code: "file-not-downloaded", hint: expect.stringContaining(reason) });
    // Later turns show the model a note in its place.
    expect(isFileRefusal(error)).toBe(true);
    expect(asked).toEqual([]);
  });

  test.each(["http://intranet/cat.png", "http://192.0.2.7/", "http://localhost:8787/", "file:///etc/passwd"])(
    "a redirect to %s is not followed",
    async (location) => {
      answers["https://files.example.com/"] = () => redirect(location);
      const { outcome } = await ask(["https://files.example.com/"], { allowsPrivateNames: true });
      expect(failure(outcome).cause).toMatchObject({ code: "file-not-downloaded" });
      expect(asked).toEqual(["https://files.example.com/"]);
    }
  );

  test("redirects among public addresses are followed, a few times", async () => {
    answers["https://a.example.com/"] = () => redirect("/b");
    answers["https://a.example.com/b"] = () => redirect("https://b.example.com/");
    answers["https://b.example.com/"] = picture;
    answers["https://loop.example.com/"] = () => redirect("https://loop.example.com/");
    expect((await ask(["https://a.example.com/"])).outcome.status).toBe("completed");
    asked = [];
    expect(failure((await ask(["https://loop.example.com/"])).outcome).cause).toMatchObject({
      hint: expect.stringContaining(`redirected more than ${MAX_DOWNLOAD_REDIRECTS} times`)
    });
    expect(asked).toHaveLength(MAX_DOWNLOAD_REDIRECTS + 1);
  });

  test("names of a private network are asked where the operator allows it, numbers and this machine never", async () => {
    answers["http://intranet/cat.png"] = picture;
    answers["http://intranet/away"] = () => redirect("http://10.0.0.1/");
    const allowed = { allowsPrivateNames: true };
    expect((await ask(["http://intranet/cat.png"], allowed)).outcome.status).toBe("completed");
    for (const url of ["http://10.0.0.1/", "http://localhost/", "http://intranet/away"]) {
      expect((await ask([url], allowed)).outcome.status).toBe("failed");
    }
    expect(asked).toEqual(["http://intranet/cat.png", "http://intranet/away"]);
  });

  test("a file that is too large is not read to its end, nor are many that are too large together", async () => {
    let pulled = 0;
    const endless = () =>
      new Response(
        new ReadableStream({
          pull(controller) {
            pulled += 1;
            controller.enqueue(new Uint8Array(1_000_000));
          }
        })
      );
    answers["https://big.example.com/"] = endless;
    const error = failure((await ask(["https://big.example.com/"])).outcome);
    expect(error.cause).toMatchObject({ hint: expect.stringContaining(`larger than ${MAX_DOWNLOAD_BYTES} bytes`) });
    expect(pulled).toBeLessThan(40);
    const urls = [1, 2, 3].map((index) => `https://big.example.com/${index}`);
    for (const url of urls) answers[url] = () => picture(20_000_000);
    expect(failure((await ask(urls)).outcome).cause).toMatchObject({ hint: expect.stringContaining("together") });
  });

  test("a server that does not answer is given up in time, and one that is stopped at once", async () => {
    const never = (signal: AbortSignal | null | undefined) =>
      new Promise<Response>((_resolve, reject) => {
        if (signal?.aborted) reject(signal.reason as Error);
        signal?.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
      });
    vi.stubGlobal("fetch", (_url: URL, { signal }: RequestInit) => never(signal));
    const timeout = vi.spyOn(AbortSignal, "timeout").mockReturnValue(AbortSignal.abort(new Error("over")));
    const error = failure((await ask(["https://slow.example.com/"])).outcome);
    expect(timeout).toHaveBeenCalledWith(DOWNLOAD_TIMEOUT_MS);
    expect(error.cause).toMatchObject({ hint: expect.stringContaining("took longer than 30 s") });
    timeout.mockRestore();
    const stop = new AbortController();
    const stopped = ask(["https://slow.example.com/"], { signal: stop.signal });
    stop.abort();
    expect((await stopped).outcome.status).toBe("aborted");
  });

  test("an answer that is no success is a refused file", async () => {
    answers["https://files.example.com/gone.png"] = () => new Response("gone", { status: 410 });
    const error = failure((await ask(["https://files.example.com/gone.png"])).outcome);
    expect(error.cause).toMatchObject({ hint: expect.stringContaining("answered with 410") });
    expect(isFileRefusal(error)).toBe(true);
  });

  test("a file that the provider fetches is not asked for, and a function of the class's own is used", async () => {
    const steps = [reply(text("A cat."))];
    const content = [{ type: "file" as const, mediaType: "image/png", data: new URL("http://intranet/cat.png") }];
    const { outcome } = await run(major, { steps, messages: [{ role: "user", content }] });
    expect(outcome.status).toBe("completed");
    const own = vi.fn(async (requests: readonly unknown[]) =>
      requests.map(() => ({ data: new Uint8Array(3), mediaType: "image/png" }))
    );
    const settled = await ask(["http://intranet/cat.png"], { settings: { maxRetries: 0, experimental_download: own } });
    expect(settled.outcome.status).toBe("completed");
    expect(own).toHaveBeenCalledOnce();
    expect(asked).toEqual([]);
  });
});
