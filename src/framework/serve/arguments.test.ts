import { describe, expect, test } from "vitest";
import { HELP, parseArguments } from "./arguments.ts";
import { UsageError } from "./errors.ts";

const DEFAULTS = {
  command: "serve",
  host: "127.0.0.1",
  port: 8787,
  data: ".data",
  variables: [],
  allowsPrivateNetwork: false,
  allowedHosts: [] as string[] | undefined,
  hasPlug: false,
  healthTimeoutMs: 30_000,
  graceMs: 5_000,
  objects: []
};

const PLUG_REFUSAL = "--plug is for this machine only, so --host must be 127.0.0.1 or localhost or ::1.";

describe("the command line", () => {
  test.each([
    [["serve"], DEFAULTS],
    [["serve", "dist/app"], { ...DEFAULTS, build: "dist/app" }],
    [
      ["serve", "--port", "0", "--host", "*", "--data", "/var/lib/app"],
      { ...DEFAULTS, port: 0, host: "*", data: "/var/lib/app", allowedHosts: undefined }
    ],
    [["serve", "--port=65535"], { ...DEFAULTS, port: 65_535 }],
    [
      ["serve", "--var", "A", "--var", "B", "--var-file", "x"],
      { ...DEFAULTS, variables: ["A", "B"], variableFile: "x" }
    ],
    [["serve", "w.js", "--objects", "A, B", "--objects=C"], { ...DEFAULTS, build: "w.js", objects: ["A", "B", "C"] }],
    [["serve", "--loader", "LOADER", "--assets", "public"], { ...DEFAULTS, loader: "LOADER", assets: "public" }],
    [["serve", "--health-timeout", "1.5", "--grace", "0"], { ...DEFAULTS, healthTimeoutMs: 1500, graceMs: 0 }],
    [["serve", "--allow-private-network"], { ...DEFAULTS, allowsPrivateNetwork: true }],
    [["serve", "--allow-host", "App.example.com"], { ...DEFAULTS, allowedHosts: ["app.example.com"] }],
    [["serve", "--host", "127.0.0.2"], { ...DEFAULTS, host: "127.0.0.2", allowedHosts: ["127.0.0.2"] }],
    [["serve", "--allow-host=*", "--allow-host", "[::2]"], { ...DEFAULTS, allowedHosts: ["*", "[::2]"] }],
    [["serve", "--plug"], { ...DEFAULTS, hasPlug: true }],
    [["serve", "--plug", "--host", "localhost"], { ...DEFAULTS, hasPlug: true, host: "localhost" }],
    [["serve", "--plug", "--host", "::1"], { ...DEFAULTS, hasPlug: true, host: "::1" }],
    [["serve", "--compatibility-date", "2026-01-02"], { ...DEFAULTS, compatibilityDate: "2026-01-02" }],
    [["skills", "build"], { command: "skills", folder: "skills", output: "skills.generated.ts" }],
    [
      ["skills", "build", "src/skills/"],
      { command: "skills", folder: "src/skills", output: "src/skills.generated.ts" }
    ],
    [["skills", "build", "a", "--out", "b.js"], { command: "skills", folder: "a", output: "b.js" }],
    [["skills", "--help"], { command: "help" }],
    [["--help"], { command: "help" }],
    [["serve", "-h", "--port", "nonsense"], { command: "help" }],
    [["help"], { command: "help" }],
    [["--version"], { command: "version" }]
  ])("%j is understood", (args, expected) => {
    expect(parseArguments(args)).toEqual(expected);
  });

  test.each([
    [[], "Which command? There are: everthink serve, everthink skills build, everthink messenger"],
    [["server"], 'There is no command "server".'],
    [["skills"], "There is one command for skills: everthink skills build [folder]"],
    [["skills", "build", "a", "b"], 'One folder at a time: "b" is one too many.'],
    [["skills", "build", "--port", "1"], "Unknown option '--port'."],
    [["skills", "build", "--out", "a.json"], '--out must be a .ts or .js file, not "a.json".'],
    [["serve", "--prot", "1"], "Unknown option '--prot'."],
    [["serve", "--port"], "Option '--port <value>' argument missing."],
    [["serve", "--port", "eighty"], '--port must be a number from 0 to 65535, not "eighty".'],
    [["serve", "--port", "65536"], '--port must be a number from 0 to 65535, not "65536".'],
    [["serve", "--port", "1e3"], '--port must be a number from 0 to 65535, not "1e3".'],
    [["serve", "--port="], '--port must be a number from 0 to 65535, not "".'],
    [
      ["serve", "--allow-host", "a.example:80"],
      '--allow-host takes host names like app.example.com, not "a.example:80".'
    ],
    [
      ["serve", "--host", "0.0.0.0", "--allow-host", "a.example"],
      "--allow-host is for a server on this machine's own address; 0.0.0.0 answers to every name."
    ],
    [["serve", "--data", ""], "--data is empty."],
    [["serve", "--host", " "], "--host is empty."],
    [["serve", "a", "b"], 'One build at a time: "b" is one too many.'],
    [["serve", "--var", "A=secret"], '--var takes names like Assistant or API_KEY, not "A=secret".'],
    [["serve", "--objects", "A,,B"], '--objects takes names like Assistant or API_KEY, not "".'],
    [["serve", "--grace", "-1"], "Option '--grace' argument is ambiguous."],
    [["serve", "--grace", "soon"], '--grace must be a number of seconds from 0 to 3600, not "soon".'],
    [["serve", "--health-timeout", "0"], '--health-timeout must be a number of seconds from 0.1 to 3600, not "0".'],
    [["serve", "--plug", "--host", "*"], PLUG_REFUSAL],
    [["serve", "--host", "0.0.0.0", "--plug"], PLUG_REFUSAL],
    [["serve", "--plug", "--host", "box.local"], PLUG_REFUSAL],
    [["serve", "--compatibility-date", "today"], '--compatibility-date must look like 2026-09-18, not "today".']
  ])("%j is refused in plain words", (args, message) => {
    expect(() => parseArguments(args)).toThrow(new UsageError(message));
  });

  test("the help names every option", () => {
    for (const option of [
      "port",
      "host",
      "data",
      "var",
      "var-file",
      "allow-private-network",
      "health-timeout",
      "grace",
      "plug",
      "objects",
      "loader",
      "assets",
      "compatibility-date"
    ]) {
      expect(HELP).toContain(`--${option}`);
    }
  });
});

describe("messenger telegram set-webhook", () => {
  const url = "https://example.com/agents/support/main/messengers/telegram/webhook";

  test("takes the address, and names of variables instead of secrets", () => {
    const given = ["messenger", "telegram", "set-webhook", url];
    const secrets = { tokenVariable: "TELEGRAM_BOT_TOKEN", secretVariable: "TELEGRAM_WEBHOOK_SECRET_TOKEN" };
    expect(parseArguments(given)).toEqual({ command: "set-webhook", url, ...secrets });
    expect(parseArguments([...given, "--token-var", "BOT"])).toMatchObject({ tokenVariable: "BOT" });
  });

  test.each([
    ["messenger"],
    ["messenger", "telegram"],
    ["messenger", "slack", "set-webhook", url],
    ["messenger", "telegram", "set-webhook"],
    ["messenger", "telegram", "set-webhook", "http://example.com"]
  ])("refuses %s %s %s %s", (...args) => {
    expect(() => parseArguments(args)).toThrow(UsageError);
  });
});
