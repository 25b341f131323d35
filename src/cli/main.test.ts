// The command line as a whole: every command is found, explained and refused in one way.
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test, vi } from "vitest";
import { CommandError, CommandUsageError } from "./cli-context.ts";
import { testContext } from "./cli.test-support.ts";
import { closest } from "./closest.ts";
import { allOptions, parseCommandLine, splitPassedOn } from "./command-line.ts";
import { setWebhookArguments } from "./commands/set-webhook.ts";
import { skillsBuildArguments } from "./commands/skills.ts";
import { dispatch, reportFailure, silenceSqliteNotice } from "./main.ts";
import { FakeTelegram } from "../testing/messengers/index.ts";
import { withProgress } from "./progress.ts";
import { runProgram } from "./run-program.ts";
import { COMMANDS } from "./table/commands.ts";
import { SKILLS_BUILD } from "./table/project-commands.ts";
import { SET_WEBHOOK } from "./table/server-commands.ts";

const folder = mkdtempSync(join(tmpdir(), "everthink-main-"));
// A project without an agent.
mkdirSync(join(folder, "agents"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function io() {
  const seen = { output: "", notes: "" };
  const context = testContext({
    cwd: folder,
    print: (text) => (seen.output += `${text}\n`),
    stream: (text) => (seen.output += text),
    note: (text) => (seen.notes += `${text}\n`)
  });
  return { seen, context };
}

async function run(...args: string[]): Promise<{ code: number; output: string; notes: string }> {
  const { seen, context } = io();
  return { code: await dispatch(args, context), ...seen };
}

describe("help", () => {
  test("the overview has a line for every command", async () => {
    const { output, code } = await run("--help");
    expect(code).toBe(0);
    for (const { name, summary } of COMMANDS) {
      expect(output.split("\n").some((line) => line.startsWith(`  ${name} `) && line.endsWith(` ${summary}`))).toBe(
        true
      );
    }
    expect(await run("help")).toEqual({ code: 0, output, notes: "" });
    expect(await run()).toEqual({ code: 1, output, notes: "" });
  });

  test.each(COMMANDS.map((command) => [command.name, command] as const))(
    "everthink %s --help has usage, description, every option and every exit code, in lines that fit",
    async (name, command) => {
      const words = name.split(" ");
      const { output, code } = await run(...words, "--help");
      expect(code).toBe(0);
      expect(await run(...words, "--nonsense", "-h")).toMatchObject({ output });
      expect(await run("help", ...words)).toMatchObject({ output });
      expect(output.split("\n")[0]).toMatch(new RegExp(`^everthink ${name}( |$)`));
      expect(output.split("\n\n").length).toBeGreaterThan(2);
      for (const [option, { isOnByDefault }] of Object.entries(allOptions(command))) {
        expect(output).toMatch(new RegExp(`^  --${isOnByDefault ? "no-" : ""}${option}[ ,]`, "m"));
      }
      for (const [exit, meaning] of Object.entries(command.exitCodes)) {
        expect(output.replaceAll(/\s+/g, " ")).toContain(` ${exit} ${meaning}`);
      }
      // Every example is one that the command understands.
      expect(command.examples.length).toBeGreaterThan(0);
      for (const example of command.examples) {
        expect(output).toContain(`\n  npx everthink ${example}\n`);
        const typed = [...example.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? "");
        expect(typed.slice(0, words.length)).toEqual(words);
        expect(() => parseCommandLine(splitPassedOn(typed.slice(words.length), command).own, command)).not.toThrow();
      }
      expect(Object.keys(command.exitCodes).slice(0, 2)).toEqual(["0", "1"]);
      for (const line of output.split("\n")) expect(line.length).toBeLessThanOrEqual(120);
    }
  );

  test("flags behind -- belong to the other program, also --help", async () => {
    await expect(run("types", "--", "--help")).resolves.toMatchObject({ output: "everthink.d.ts written\n" });
  });

  test("the version is printed", async () => {
    expect(await run("--version")).toEqual({ code: 0, output: "1.2.3\n", notes: "" });
    expect((await run("-v")).output).toBe("1.2.3\n");
  });
});

describe("what cannot be understood is refused with what to type", () => {
  const refused: [args: string[], message: string, hint: string][] = [
    [["fly"], 'There is no command "fly".', "See: everthink --help"],
    [["stat"], 'There is no command "stat".', "Did you mean state? See: everthink --help"],
    [["skills"], '"everthink skills" is not a command.', "There is: everthink skills build"],
    [
      ["messenger", "slack"],
      '"everthink messenger slack" is not a command.',
      "There is: everthink messenger telegram set-webhook"
    ],
    [["inspect", "--fast"], "Unknown option '--fast'.", "See: everthink inspect --help"],
    [["serve", "--prot", "1"], "Unknown option '--prot'.", "Did you mean --port? See: everthink serve --help"],
    [["init", "--templte", "x"], "Unknown option '--templte'.", "Did you mean --template? See: everthink init --help"],
    [["chat", "a", "--json=1"], "Option '--json' does not take an argument.", "See: everthink chat --help"],
    [["inspect", "here"], '"here" is one argument too many.', "See: everthink inspect --help"],
    [
      ["state", "a", "--limit", "ten"],
      '--limit must be a number from 0 to 999999999, not "ten".',
      "See: everthink state --help"
    ],
    [["chat"], "Which agent? Give its id, class or binding.", "See: everthink chat --help"],
    [["chat", "--message", "Hi"], "Which agent? Give its id, class or binding.", "See: everthink chat --help"],
    [
      ["state", "a", "--url", "nowhere"],
      '--url takes an address like https://app.example.com, not "nowhere".',
      "See: everthink state --help"
    ],
    [
      ["state", "a", "--host", "a b"],
      '--host takes an address like localhost:5173, not "a b".',
      "See: everthink state --help"
    ]
  ];
  test.each(refused)("%j", async (args, message, hint) => {
    await expect(run(...args)).rejects.toMatchObject({ code: "command-usage", message, hint });
  });

  test("every command refuses an option that it does not list", async () => {
    for (const { name } of COMMANDS) {
      await expect(run(...name.split(" "), "--nothing-of-the-kind"), name).rejects.toBeInstanceOf(CommandUsageError);
    }
  });

  test("a group of commands lists them as help", async () => {
    expect((await run("messenger", "--help")).output).toContain("messenger telegram set-webhook");
  });

  test("a command cannot read an option that its help does not have", () => {
    const parsed = parseCommandLine([], SKILLS_BUILD);
    expect(() => parsed.text("port")).toThrow("everthink skills build has no option --port.");
  });

  test.each([
    ["prot", "port"],
    ["ports", "port"],
    ["var-fil", "var-file"],
    ["x", undefined],
    ["something", undefined]
  ])("%s was meant to be %s", (word, meant) => {
    expect(closest(word, ["port", "host", "var-file"])).toBe(meant);
  });
});

describe("what goes wrong", () => {
  test("is said on standard error, with a value on standard output for a script that asked for JSON", () => {
    const { seen, context } = io();
    const error = new CommandError("It is broken.", "Mend it.");
    reportFailure(error, ["inspect"], context);
    expect(seen).toEqual({ output: "", notes: "It is broken.\nMend it.\n" });
    reportFailure(error, ["inspect", "--json"], context);
    expect(JSON.parse(seen.output)).toEqual({
      error: { code: "command-failed", message: "It is broken.", hint: "Mend it." }
    });
  });

  test("of Node's warnings only the one about its SQLite is left out", () => {
    const emitWarning = vi.fn<(...args: unknown[]) => void>();
    const target = { emitWarning } as object as NodeJS.Process;
    silenceSqliteNotice(target);
    target.emitWarning("SQLite is an experimental feature and might change at any time", "ExperimentalWarning");
    target.emitWarning("Something else", "ExperimentalWarning");
    target.emitWarning("SQLite is old", "DeprecationWarning");
    expect(emitWarning.mock.calls.map(([text]) => text)).toEqual(["Something else", "SQLite is old"]);
  });

  test("a defect shows its stack", () => {
    const shown = vi.spyOn(console, "error").mockImplementation(() => {});
    const defect = new TypeError("x is undefined");
    reportFailure(defect, [], io().context);
    expect(shown).toHaveBeenCalledWith(defect);
    shown.mockRestore();
  });
});

describe("without a terminal", () => {
  const ended: [args: string[], message: string, hint: string][] = [
    [["init", "/elsewhere"], "The directory must be below", "Use --root for another place."],
    [["dev"], "There is no vite.config.ts here.", "Make a project that has one: everthink init"],
    [["eject", "../worker.ts"], "../worker.ts is outside of the project.", "Name a file below it"],
    [["chaos"], "There is no scenario test/chaos.ts.", "What it holds: everthink chaos --help"],
    [["migrate"], "There is no package.json in ", "Name the project: everthink migrate <folder>"],
    [["migrate", "nowhere"], "There is no folder ", "See: everthink migrate --help"],
    [["migrate", "--data", "nowhere"], "There is no folder ", "See: everthink migrate --help"],
    [["skills", "build"], "skills", ""],
    [
      ["state", "a", "--host", "127.0.0.1:1"],
      "No connection to http://127.0.0.1:1/agents/a/default.",
      "--url or --host"
    ],
    [["studio", "--port", "70000"], "--port must be a number from 0 to 65535", "See: everthink studio --help"],
    [["serve"], "There is no build here", "vite build"]
  ];
  test.each(ended)("%j ends with what to type", async (args, message, hint) => {
    const failed = run(...args);
    await expect(failed).rejects.toThrow(message);
    await expect(failed).rejects.toMatchObject({ hint: expect.stringContaining(hint) });
  });

  test("commands about a project end with 0 where there is nothing to do or to find", async () => {
    const codes = await Promise.all(
      [["inspect"], ["config"], ["eject"], ["types", "--check"]].map((args) => run(...args))
    );
    expect(codes.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
  });
});

describe("progress", () => {
  test("anything over a second is announced, and again every ten; shorter work says nothing", async () => {
    vi.useFakeTimers();
    try {
      const { seen, context } = io();
      await withProgress("Quick", context, Promise.resolve());
      let end = () => {};
      const work = withProgress("Connecting", context, new Promise<void>((settle) => (end = settle)));
      await vi.advanceTimersByTimeAsync(999);
      expect(seen.notes).toBe("");
      await vi.advanceTimersByTimeAsync(10_001);
      expect(seen.notes).toBe("Connecting …\nConnecting … 11 s\n");
      end();
      await work;
      await vi.advanceTimersByTimeAsync(60_000);
      expect(seen.notes).toBe("Connecting …\nConnecting … 11 s\n");
    } finally {
      vi.useRealTimers();
    }
  });

  test("another program's end and what it wrote are known; one that is not there ends with no code", async () => {
    const { context } = io();
    const script = "console.log('half'); console.error('broken'); process.exitCode = 3";
    expect(await runProgram([process.execPath, "-e", script], folder, context)).toEqual({
      code: 3,
      output: "half\n",
      errors: "broken\n"
    });
    expect(await runProgram(["no-such-program-anywhere"], folder, context)).toEqual({
      code: null,
      output: "",
      errors: ""
    });
  });

  test("a signal stops it", async () => {
    const stop = new AbortController();
    const ended = runProgram([process.execPath, "-e", "setInterval(() => {}, 1000)"], folder, { signal: stop.signal });
    stop.abort();
    expect((await ended).code).toBeNull();
  });
});

describe("skills build", () => {
  const parsed = (...args: string[]) => skillsBuildArguments(parseCommandLine(args, SKILLS_BUILD));

  test.each([
    [[], { folder: "skills", output: "skills.generated.ts" }],
    [["src/skills/"], { folder: "src/skills", output: "src/skills.generated.ts" }],
    [["a", "--out", "b.js"], { folder: "a", output: "b.js" }]
  ])("%j is understood", (args, expected) => expect(parsed(...args)).toEqual(expected));

  test("a module is a .ts or .js file", () => {
    expect(() => parsed("--out", "a.json")).toThrow('--out must be a .ts or .js file, not "a.json".');
  });
});

describe("messenger telegram set-webhook", () => {
  const url = "https://example.com/agents/support/main/messengers/telegram/webhook";
  const parsed = (...args: string[]) => setWebhookArguments(parseCommandLine(args, SET_WEBHOOK));

  test("takes the address, and names of variables instead of secrets", () => {
    const secrets = { tokenVariable: "TELEGRAM_BOT_TOKEN", secretVariable: "TELEGRAM_WEBHOOK_SECRET_TOKEN" };
    expect(parsed(url)).toEqual({ url, ...secrets });
    expect(parsed(url, "--token-var", "BOT")).toMatchObject({ tokenVariable: "BOT" });
  });

  test.each([[[]], [["http://example.com"]], [[url, "--token-var", ""]]])("refuses %j", (args) => {
    expect(() => parsed(...args)).toThrow(CommandUsageError);
  });

  test("a variable that is not set is named", async () => {
    await expect(run("messenger", "telegram", "set-webhook", url)).rejects.toThrow("TELEGRAM_BOT_TOKEN is not set");
  });

  test("tells Telegram the address and the secret, and what it says if it refuses", async () => {
    const telegram = new FakeTelegram({ token: "1:test", secretToken: "s3cret" });
    vi.stubGlobal("fetch", telegram.fetch);
    const { seen, context } = io();
    const environment = {
      TELEGRAM_BOT_TOKEN: "1:test",
      SECRET: "s3cret",
      TELEGRAM_WEBHOOK_SECRET_TOKEN: "not allowed"
    };
    const set = (...args: string[]) =>
      dispatch(["messenger", "telegram", "set-webhook", url, ...args], { ...context, environment });
    expect(await set("--secret-var", "SECRET")).toBe(0);
    expect(seen.output).toBe(`Telegram sends the bot's messages to ${url}\n`);
    expect(telegram.calls.map(({ name, body }) => [name, body["url"], body["secret_token"]])).toEqual([
      ["setWebhook", url, "s3cret"]
    ]);
    await expect(set()).rejects.toThrow(/Telegram did not set the webhook/);
    vi.unstubAllGlobals();
  });
});

describe("start-up", () => {
  const source = fileURLToPath(new URL("..", import.meta.url));

  /** What Node reads before a file of src/ runs: files of src/, and packages. Imports of types are erased. */
  function loadedBy(entry: string, seen = new Set<string>()): Set<string> {
    const path = join(source, entry);
    if (seen.has(entry)) return seen;
    seen.add(entry);
    const text = readFileSync(path, "utf8");
    for (const [, names = "", target = ""] of text.matchAll(/^(?:import|export)\s+([^;]*?)from "([^"]+)";$/gm)) {
      const isErased = /^type\s/.test(names) || /^\{(\s*type\s[^,}]+,?)+\s*\}\s*$/.test(names);
      if (isErased || target.startsWith("node:")) continue;
      if (target.startsWith(".")) loadedBy(relative(source, resolve(dirname(path), target)), seen);
      else seen.add(target);
    }
    return seen;
  }

  test("the program itself loads descriptions only, no command", () => {
    expect(
      [...loadedBy("cli/main.ts")].filter(
        (file) => !/^(cli\/(table\/)?[\w-]+\.ts|util\/(errors|bytes)\.ts)$/.test(file)
      )
    ).toEqual([]);
  });

  test("serve loads nothing of what the other commands need", () => {
    const loaded = [...loadedBy("cli/commands/serve.ts")];
    const others = loaded.filter((file) => !/^(cli|framework\/(serve|studio|local-data)|util)\//.test(file));
    // How alarms are spread, the parser of Wrangler's files, and time limits; for Studio, what waits in the files of agents.
    const own = ["host/process-alarms.ts", "host/deadline.ts", "host/path.ts"];
    // What Studio beside it reads in the files of agents.
    own.push("features/approvals/waiting-rows.ts", "session/last-words.ts");
    expect(others.toSorted()).toEqual([...own, "jsonc-parser"].toSorted());
    expect(loaded.filter((file) => file.startsWith("cli/commands/"))).toEqual(["cli/commands/serve.ts"]);
    expect(loaded).toContain("framework/serve/supervisor.ts");
  });
});
