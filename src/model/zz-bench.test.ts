import { test } from "vitest";
import { reply, textChunks, text } from "../testing/model/index.ts";
import { majors, run } from "./sdk-majors.test-support.ts";
import { callModel } from "./call.ts";
import { QUIET_TURNS } from "./coalesce.ts";

function simple(parts: object[], spec: string, mode: "buffered" | "pull" | "macro" | "paced"): any {
  return {
    specificationVersion: spec,
    provider: "p",
    modelId: "m",
    supportedUrls: {},
    doGenerate: async () => {
      throw 1;
    },
    doStream: async () => {
      let i = 0;
      return {
        stream:
          mode === "buffered"
            ? new ReadableStream({
                start(c) {
                  for (const p of parts) c.enqueue(p);
                  c.close();
                }
              })
            : new ReadableStream(
                {
                  async pull(c) {
                    if (mode === "macro") {
                      await new Promise((r) => setImmediate(r));
                    } else if (mode === "paced") {
                      await new Promise((r) => setTimeout(r, 1));
                    }
                    if (i < parts.length) c.enqueue(parts[i++]);
                    else c.close();
                  }
                },
                { highWaterMark: 0 }
              )
      };
    }
  };
}
const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
const parts = (n: number) => [
  { type: "stream-start", warnings: [] },
  { type: "text-start", id: "1" },
  ...Array.from({ length: n }, (_, i) => ({ type: "text-delta", id: "1", delta: "w" + i + " " })),
  { type: "text-end", id: "1" },
  { type: "finish", usage, finishReason: { unified: "stop", raw: "stop" } }
];

async function time(f: () => Promise<number>, rounds = 9) {
  const t: number[] = [];
  let n = 0;
  for (let i = 0; i < rounds; i++) {
    const s = process.cpuUsage();
    n = await f();
    const e = process.cpuUsage(s);
    t.push((e.user + e.system) / 1000);
  }
  t.sort((a, b) => a - b);
  return { ms: t[Math.floor(t.length / 2)]!, n };
}
test("bench", async () => {
  for (const major of majors) {
    const spec = major.sdk.major === 7 ? "v4" : "v3";
    for (const mode of ["buffered", "pull", "macro", "paced"] as const)
      for (const count of mode === "paced" ? [400] : [2000, 1]) {
        const p = parts(count);
        const bare = await time(
          async () => {
            let n = 0;
            const r = major.module.streamText({ model: simple(p, spec, mode), prompt: "x", onError() {} });
            for await (const _ of r.toUIMessageStream()) n++;
            return n;
          },
          count === 1 ? 200 : 9
        );
        const ours = (coalesce: boolean) =>
          time(
            async () => {
              let n = 0;
              const c = callModel(major.sdk, {
                model: simple(p, spec, mode),
                messages: [{ role: "user", content: "x" }],
                signal: new AbortController().signal,
                coalesce
              });
              for await (const _ of c.chunks) n++;
              await c.outcome;
              return n;
            },
            count === 1 ? 200 : 9
          );
        const off = await ours(false),
          on = await ours(true);
        console.warn(
          major.name,
          mode,
          count,
          "bare",
          bare.ms.toFixed(2),
          bare.n,
          "off",
          off.ms.toFixed(2),
          off.n,
          "on",
          on.ms.toFixed(2),
          on.n,
          "ratio on/bare",
          (bare.ms / on.ms).toFixed(2),
          QUIET_TURNS
        );
      }
  }
}, 120000);
test("scripted", async () => {
  for (const major of majors) {
    const burst = [reply(textChunks(2000))];
    const on = await time(async () => (await run(major, { steps: burst })).chunks.length);
    const off = await time(async () => (await run(major, { steps: burst, coalesce: false })).chunks.length);
    console.warn(major.name, "scripted", on, off);
  }
}, 120000);
