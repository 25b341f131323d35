// The plugins of `everthink/build` in the bundlers they are for, with the built package.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build as bundle } from "esbuild";
import { fastStreams, fastStreamsForEsbuild } from "everthink/build";
import { rolldown } from "rolldown";
import { afterAll, beforeAll, expect, test } from "vitest";
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

let folder: string;
beforeAll(() => {
  // Inside the repository, so that packages are found.
  folder = mkdtempSync(join(repository, ".tmp-fast-streams-"));
  writeFileSync(join(folder, "program.js"), PROGRAM);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const bundlers = {
  async esbuild(input: string, output: string, plugins: boolean) {
    await bundle({
      entryPoints: [input],
      outfile: output,
      bundle: true,
      format: "esm",
      platform: "node",
      keepNames: true,
      // The repository's own maps imports to src/; a user's build does not have it.
      tsconfigRaw: {},
      plugins: plugins ? [fastStreamsForEsbuild()] : []
    });
  },
  async rolldown(input: string, output: string, plugins: boolean) {
    const build = await rolldown({
      input,
      platform: "node",
      plugins: plugins ? [fastStreams()] : [],
      logLevel: "silent"
    });
    await build.write({ file: output, format: "esm", codeSplitting: false });
    await build.close();
  }
};

test.each(Object.entries(bundlers))(
  "%s gives them to the SDK and to nobody else, and bodies still work",
  async (name, make) => {
    const results = [];
    for (const plugins of [false, true]) {
      const output = join(folder, `${name}-${plugins}.mjs`);
      await make(join(folder, "program.js"), output, plugins);
      results.push(
        (await import(pathToFileURL(output).href)) as { said: string; streamOfSdk: string; globals: unknown }
      );
    }
    const [plain, fast] = results;
    expect(plain).toMatchObject({ said: "Hello, keeper.", streamOfSdk: "ReadableStream" });
    expect(fast).toMatchObject({ said: "Hello, keeper.", streamOfSdk: "FastReadableStream" });
    expect(fast?.globals).toEqual(plain?.globals);
  }
);
