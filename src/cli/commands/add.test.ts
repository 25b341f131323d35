// `everthink add chat`, on projects in temporary folders.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { testContext } from "../cli.test-support.ts";
import { dispatch } from "../main.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "everthink-add-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function put(files: Record<string, string>): void {
  for (const [path, text] of Object.entries({ "wrangler.jsonc": "{}", ...files })) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}

const read = (path: string) => readFileSync(join(folder, path), "utf8");

describe("add chat", () => {
  const parts = { "index.ts": "export {};\n", "page/theme.ts": "// mine\n", "styles.css": ".think-a {}\n" };

  async function addChat(...args: string[]) {
    for (const [path, text] of Object.entries(parts)) put({ [`shipped/${path}`]: text });
    let output = "";
    const print = (text: string) => (output += `${text}\n`);
    const context = testContext({ cwd: folder, print, stream: print, note: print });
    const place = { ...context.place, partsFolder: join(folder, "shipped") };
    await dispatch(["add", "chat", ...args], { ...context, place });
    return output;
  }

  test("copies the sources, and names the packages that the project does not have", async () => {
    put({ "package.json": '{ "dependencies": { "marked": "^1" } }' });
    expect(await addChat()).toBe(
      '3 files are in page/chat. In the page, import from "./chat" instead of "everthink/react".\nNext: npm install sugar-high@2.0.0\n'
    );
    for (const [path, text] of Object.entries(parts)) expect(read(`page/chat/${path}`)).toBe(text);
  });

  test("a file that exists ends it, and nothing is written; a folder outside of the project is refused", async () => {
    put({ "page/chat/page/theme.ts": "// changed" });
    await expect(addChat()).rejects.toThrow("page/chat/page/theme.ts exists, and nothing was changed.");
    expect([existsSync(join(folder, "page/chat/index.ts")), read("page/chat/page/theme.ts")]).toEqual([
      false,
      "// changed"
    ]);
    await expect(addChat("--to", "../elsewhere")).rejects.toThrow("leads out of");
    expect(await addChat("--to", "ui")).toContain("3 files are in ui.");
  });
});
