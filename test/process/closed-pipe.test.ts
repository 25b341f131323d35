// A reader that has seen enough, as `everthink docs | head -1`, is no failure of the command.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const program = fileURLToPath(new URL("../../dist/serve/cli.js", import.meta.url));

test("a command whose reader is gone ends with its own code and without a trace", () => {
  const script = `("$0" "${program}" docs performance; echo "ended with $?" >&2) | true`;
  const { stderr } = spawnSync("sh", ["-c", script, process.execPath], { encoding: "utf8" });
  expect(stderr).toBe("ended with 0\n");
});
