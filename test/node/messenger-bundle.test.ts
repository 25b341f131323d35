// What messengers cost a Worker that has none, and that a provider brings no other: read from what a user's bundler keeps.
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { expect, test } from "vitest";
import { WORKER_BUILD } from "../../tools/bundle-worker.ts";

const repository = fileURLToPath(new URL("../..", import.meta.url));
const PROVIDERS = ["telegram", "slack", "discord", "teams"];

/** The files of this package that are in the bundle of a Worker with this code. */
async function filesOf(code: string): Promise<string[]> {
  const { metafile } = await build({
    ...WORKER_BUILD,
    alias: { ...WORKER_BUILD.alias, "#platform": `${repository}/src/host/workerd/platform.ts` },
    packages: "external",
    stdin: { contents: code, resolveDir: repository, loader: "ts" },
    absWorkingDir: repository,
    metafile: true,
    write: false
  });
  const inputs = Object.values(metafile.outputs).flatMap((output) => Object.entries(output.inputs));
  return inputs.flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? [path] : []));
}

const imported = (...paths: string[]): string =>
  [`import { Think } from "./src/index.ts";`, ...paths, `export class Bot extends Think {}`].join("\n");

test("a class without messengers carries no code of messengers, the Chat SDK or the fakes", async () => {
  const files = await filesOf(imported());
  expect(files).toContain("src/think/think.ts");
  expect(files.filter((path) => /^src\/(features\/messengers|features\/chat-sdk|testing)\//.test(path))).toEqual([]);
});

test.each(PROVIDERS)("a bot in %s carries the code of its own provider only", async (provider) => {
  const files = await filesOf(
    imported(
      `import messenger from "./src/features/messengers/${provider}.ts";`,
      `export const bot = messenger({} as never);`
    )
  );
  const carried = PROVIDERS.filter((name) =>
    files.some((path) => new RegExp(`^src/features/messengers/${name}[./]`).test(path))
  );
  expect(carried).toEqual([provider]);
  expect(files).toContain("src/features/messengers/replies.ts");
});
