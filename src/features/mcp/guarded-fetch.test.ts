import { describe, expect, test } from "vitest";
import type { Fetch } from "../../util/guarded-request.ts";
import { guardedFetch, MAX_ANSWER_BYTES } from "./guarded-fetch.ts";

const SERVER = new URL("https://mcp.example.com/");

function answering(response: () => Response) {
  const asked: { url: string; redirect: string | undefined }[] = [];
  const fetch: Fetch = async (url, init) => {
    asked.push({ url: String(url), redirect: init?.redirect });
    return response();
  };
  return { asked, fetch: guardedFetch(fetch, SERVER) };
}

function chunks(contentType: string, ...parts: (string | number)[]): () => Response {
  return () => {
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const part of parts) {
          controller.enqueue(typeof part === "string" ? new TextEncoder().encode(part) : new Uint8Array(part).fill(97));
        }
        controller.close();
      }
    });
    return new Response(body, { headers: { "content-type": contentType } });
  };
}

describe("requests for an MCP server", () => {
  test("a blocked address is never asked", async () => {
    const { asked, fetch } = answering(() => new Response("secret"));
    await expect(fetch("http://169.254.169.254/latest")).rejects.toThrow(/Blocked URL/);
    await expect(fetch("http://localhost:9000/")).rejects.toThrow(/own machine/);
    expect(asked).toEqual([]);
  });

  test("a redirect is never followed out of sight of the guard", async () => {
    const { asked, fetch } = answering(
      () => new Response(null, { status: 302, headers: { location: "http://10.0.0.1/" } })
    );
    const response = await fetch("https://mcp.example.com/a", { redirect: "follow" });
    expect(response.status).toBe(302);
    expect(asked).toEqual([{ url: "https://mcp.example.com/a", redirect: "manual" }]);
  });

  test("an answer without an end is cut off", async () => {
    const half = MAX_ANSWER_BYTES / 2;
    const { fetch } = answering(chunks("application/json", half, half, 1));
    const response = await fetch("https://mcp.example.com/");
    await expect(response.text()).rejects.toThrow(/larger than/);
  });

  test("a stream may be long, but one event of it may not", async () => {
    const half = MAX_ANSWER_BYTES / 2;
    const many = answering(chunks("text/event-stream", half, "\n\n", half, "x\r\n\r\n", half, "\r\r", half));
    const read = await (await many.fetch("https://mcp.example.com/")).text();
    expect(read.length).toBeGreaterThan(MAX_ANSWER_BYTES);
    const endless = answering(chunks("text/event-stream", half, "\r\n", half, "\n"));
    await expect((await endless.fetch("https://mcp.example.com/")).text()).rejects.toThrow(/larger than/);
  });
});
