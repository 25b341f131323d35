// The parts of everthink/react as sources, which a project may copy: they are in the package, and compile in a project that has
// nothing of the repository's.
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { partSources, partStyles } from "../../tools/build-parts.ts";
import { PackedProject } from "./packed-project.ts";

// It packs, and compiles a project.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const PAGE = `import { Chat } from "./chat/index";
import "./chat/styles.css";
export const page = <Chat agent="assistant" name="ada" title="Assistant" />;
`;

const OPTIONS = {
  target: "es2024",
  module: "esnext",
  moduleResolution: "bundler",
  lib: ["es2024", "dom", "dom.iterable"],
  types: ["react", "vite/client"],
  jsx: "react-jsx",
  strict: true,
  skipLibCheck: true,
  noEmit: true
};

let packed: PackedProject;
let shipped = "";
beforeAll(() => {
  packed = new PackedProject();
  shipped = join(packed.link(), "dist", "parts");
});
afterAll(() => packed?.remove());

test("the package has the sources and one style sheet, and no test", () => {
  for (const [path, text] of partSources()) expect(readFileSync(join(shipped, path), "utf8"), path).toBe(text);
  expect(packed.files.filter((path) => /dist\/parts\/.*test/.test(path))).toEqual([]);
  expect(existsSync(join(shipped, "think.ts"))).toBe(true);
});

test("copied into a project, they compile and import nothing of everthink but what everybody may", () => {
  const project = join(packed.directory, "copied");
  mkdirSync(project);
  cpSync(shipped, join(project, "chat"), { recursive: true });
  writeFileSync(join(project, "page.tsx"), PAGE);
  writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions: OPTIONS, include: ["."] }));
  const tsc = join(packed.directory, "node_modules", "typescript", "bin", "tsc");
  const { status, stdout } = spawnSync(process.execPath, [tsc, "-p", project], { encoding: "utf8" });
  expect({ status, stdout }).toEqual({ status: 0, stdout: "" });
  const imported = [...partSources().values()].flatMap((text) =>
    [...text.replaceAll(/^\s*\*.*$/gm, "").matchAll(/(?:from |import\(|import )"([^."][^"]*)"/g)].map(
      ([, name]) => name
    )
  );
  const packages = [
    "ai",
    "everthink/client",
    "everthink/react",
    "marked",
    "react",
    "sugar-high/core",
    "sugar-high/lang"
  ];
  expect([...new Set(imported)].sort()).toEqual(packages);
});

test("the style sheet reaches no element outside of a part", () => {
  const selectors = partStyles()
    .replaceAll(/\/\*[\s\S]*?\*\//g, "")
    .replaceAll(/@keyframes [^{]+\{(?:[^{}]*\{[^{}]*\})*\s*\}/g, "")
    .replaceAll(/@media[^{]+\{/g, "")
    .matchAll(/([^{};]+)\{/g);
  const outside = [...selectors]
    .flatMap(([, list = ""]) => list.split(/,(?![^(]*\))/).map((one) => one.trim()))
    .filter((one) => !one.includes(".think-") && !/^(:where\(:root\)|:root\[data-theme="(light|dark)"\])$/.test(one));
  expect(outside).toEqual([]);
});
