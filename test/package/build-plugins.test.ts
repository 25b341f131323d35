// The plugins of `everthink/build` in the bundlers they are for, with the built package.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build as bundle } from "esbuild";
import { fastStreams, fastStreamsForEsbuild, zodLocales, zodLocalesForEsbuild } from "everthink/build";
import { rolldown } from "rolldown";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { repository } from "./packed-project.ts";

/** Text through the SDK's whole pipeline and out as the body of a response, which takes native streams only. */
const PROGRAM = `
import { createUIMessageStreamResponse, streamText, toUIMessageStream } from "ai";
import { reply, scriptedModel, text } from "everthink/testing";
const model = scriptedModel([reply(text("Hello, "), text("keeper."))]);
const { stream } = streamText({ model, prompt: "Hi" });
const response = createUIMessageStreamResponse({ stream: toUIMessageStream({ stream }) });
export const said = [...(await response.text()).matchAll(/"delta":"(.*?)"/g)].map(([, delta]) => delta).join("");
export const streamOfSdk = stream.constructor.name;
export const globals = [ReadableStream, TransformStream].map((one) => Function.prototype.toString.call(one).includes("native code") || one.name);
`;

/** A message in each language, as far as it is there. */
const LANGUAGES = `
import { z } from "zod";
const complaint = (locale) => {
  try {
    z.config(z.locales[locale]());
    return z.string().safeParse(1).error.issues[0].message;
  } catch (error) {
    return error.message;
  }
};
export const byDefault = z.string().safeParse(1).error.issues[0].message;
export const said = { en: complaint("en"), de: complaint("de"), fr: complaint("fr") };
z.config(z.locales.en()); // It is kept for the whole process.
`;

let folder: string;
beforeAll(() => {
  // Inside the repository, so that packages are found.
  folder = mkdtempSync(join(repository, ".tmp-build-plugins-"));
  writeFileSync(join(folder, "streams.js"), PROGRAM);
  writeFileSync(join(folder, "languages.js"), LANGUAGES);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Plugins {
  rolldown: ReturnType<typeof fastStreams>[];
  esbuild: ReturnType<typeof fastStreamsForEsbuild>[];
}

const bundlers = {
  async esbuild(input: string, output: string, plugins: Plugins) {
    await bundle({
      entryPoints: [input],
      outfile: output,
      bundle: true,
      format: "esm",
      platform: "node",
      keepNames: true,
      logLevel: "silent",
      // The repository's own maps imports to src/; a user's build does not have it.
      tsconfigRaw: {},
      plugins: plugins.esbuild
    });
  },
  async rolldown(input: string, output: string, plugins: Plugins) {
    const build = await rolldown({ input, platform: "node", plugins: plugins.rolldown, logLevel: "silent" });
    await build.write({ file: output, format: "esm", codeSplitting: false });
    await build.close();
  }
};

const NONE: Plugins = { rolldown: [], esbuild: [] };
let outputs = 0;

/** Builds a program and runs it. */
async function run<Exports>(make: (typeof bundlers)["esbuild"], program: string, plugins: Plugins) {
  const output = join(folder, `output-${(outputs += 1)}.mjs`);
  await make(join(folder, program), output, plugins);
  const exports = (await import(pathToFileURL(output).href)) as Exports;
  return { exports, sizeBytes: readFileSync(output).byteLength };
}

describe.each(Object.entries(bundlers))("with %s", (_name, make) => {
  test("fast streams are given to the SDK and to no other module, and bodies still work", async () => {
    interface Exports {
      said: string;
      streamOfSdk: string;
      globals: unknown;
    }
    const plugins = { rolldown: [fastStreams()], esbuild: [fastStreamsForEsbuild()] };
    const { exports: plain } = await run<Exports>(make, "streams.js", NONE);
    const { exports: fast } = await run<Exports>(make, "streams.js", plugins);
    expect(plain).toMatchObject({ said: "Hello, keeper.", streamOfSdk: "ReadableStream" });
    expect(fast).toMatchObject({ said: "Hello, keeper.", streamOfSdk: "FastReadableStream" });
    expect(fast.globals).toEqual(plain.globals);
  });

  test("of zod's languages those that were asked for stay, and the others say how to get them", async () => {
    interface Exports {
      byDefault: string;
      said: Record<string, string>;
    }
    const plugins = { rolldown: [zodLocales("de")], esbuild: [zodLocalesForEsbuild("de")] };
    const whole = await run<Exports>(make, "languages.js", NONE);
    const lean = await run<Exports>(make, "languages.js", plugins);
    expect(lean.exports.byDefault).toBe(whole.exports.byDefault);
    expect(lean.exports.said).toEqual({
      en: whole.exports.said["en"],
      de: whole.exports.said["de"],
      fr: `zod's locale "fr" was left out of this build: add its name to zodLocales().`
    });
    expect(whole.exports.said["fr"]).not.toContain("left out");
    expect(lean.sizeBytes).toBeLessThan(whole.sizeBytes - 200_000);
  });

  test("a language that zod does not have fails the build and names those it has", async () => {
    const plugins = { rolldown: [zodLocales("klingon")], esbuild: [zodLocalesForEsbuild("klingon")] };
    await expect(run(make, "languages.js", plugins)).rejects.toThrow(/zod has no locale "klingon"\. .*\ben\b/);
  });
});
