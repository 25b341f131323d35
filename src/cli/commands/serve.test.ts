import { describe, expect, test } from "vitest";
import { parseCommandLine, usageError } from "../command-line.ts";
import { SERVE } from "../table/server-commands.ts";
import { serveArguments } from "./serve.ts";

const parsed = (...args: string[]) => serveArguments(parseCommandLine(args, SERVE));

const DEFAULTS = {
  host: "127.0.0.1",
  port: 8787,
  data: ".data",
  variables: [],
  allowsPrivateNetwork: false,
  allowedHosts: [] as string[] | undefined,
  hasPlug: false,
  healthTimeoutMs: 30_000,
  bodySilenceMs: 30_000,
  graceMs: 5_000,
  objects: []
};

const PLUG_REFUSAL = "--plug is for this machine only, so --host must be 127.0.0.1 or localhost or ::1.";

describe("what is typed after everthink serve", () => {
  test.each([
    [[], DEFAULTS],
    [["dist/app"], { ...DEFAULTS, build: "dist/app" }],
    [
      ["--port", "0", "--host", "*", "--data", "/var/lib/app"],
      { ...DEFAULTS, port: 0, host: "*", data: "/var/lib/app", allowedHosts: undefined }
    ],
    [["--port=65535"], { ...DEFAULTS, port: 65_535 }],
    [["--var", "A", "--var", "B", "--var-file", "x"], { ...DEFAULTS, variables: ["A", "B"], variableFile: "x" }],
    [["w.js", "--objects", "A, B", "--objects=C"], { ...DEFAULTS, build: "w.js", objects: ["A", "B", "C"] }],
    [["--loader", "LOADER", "--assets", "public"], { ...DEFAULTS, loader: "LOADER", assets: "public" }],
    [["--health-timeout", "1.5", "--grace", "0"], { ...DEFAULTS, healthTimeoutMs: 1500, graceMs: 0 }],
    [["--body-timeout", "0.5"], { ...DEFAULTS, bodySilenceMs: 500 }],
    [["--allow-private-network"], { ...DEFAULTS, allowsPrivateNetwork: true }],
    [["--allow-host", "App.example.com"], { ...DEFAULTS, allowedHosts: ["app.example.com"] }],
    [["--host", "127.0.0.2"], { ...DEFAULTS, host: "127.0.0.2", allowedHosts: ["127.0.0.2"] }],
    [["--allow-host=*", "--allow-host", "[::2]"], { ...DEFAULTS, allowedHosts: ["*", "[::2]"] }],
    [["--plug"], { ...DEFAULTS, hasPlug: true }],
    [["--plug", "--host", "localhost"], { ...DEFAULTS, hasPlug: true, host: "localhost" }],
    [["--plug", "--host", "::1"], { ...DEFAULTS, hasPlug: true, host: "::1" }],
    [["--compatibility-date", "2026-01-02"], { ...DEFAULTS, compatibilityDate: "2026-01-02" }]
  ])("%j is understood", (args, expected) => {
    expect(parsed(...args)).toEqual(expected);
  });

  test.each([
    [["--fast"], "Unknown option '--fast'."],
    [["--port"], "Option '--port <value>' argument missing."],
    [["--port", "eighty"], '--port must be a number from 0 to 65535, not "eighty".'],
    [["--port", "65536"], '--port must be a number from 0 to 65535, not "65536".'],
    [["--port", "1e3"], '--port must be a number from 0 to 65535, not "1e3".'],
    [["--port="], '--port must be a number from 0 to 65535, not "".'],
    [["--allow-host", "a.example:80"], '--allow-host takes host names like app.example.com, not "a.example:80".'],
    [
      ["--host", "0.0.0.0", "--allow-host", "a.example"],
      "--allow-host is for a server on this machine's own address; 0.0.0.0 answers to every name."
    ],
    [["--data", ""], "--data is empty."],
    [["--host", " "], "--host is empty."],
    [["a", "b"], '"b" is one argument too many.'],
    [["--var", "A=secret"], '--var takes names like Assistant or API_KEY, not "A=secret".'],
    [["--objects", "A,,B"], '--objects takes names like Assistant or API_KEY, not "".'],
    [["--grace", "-1"], "Option '--grace' argument is ambiguous."],
    [["--grace", "soon"], '--grace must be a number of seconds from 0 to 3600, not "soon".'],
    [["--health-timeout", "0"], '--health-timeout must be a number of seconds from 0.1 to 3600, not "0".'],
    [["--body-timeout", "never"], '--body-timeout must be a number of seconds from 0.1 to 3600, not "never".'],
    [["--plug", "--host", "*"], PLUG_REFUSAL],
    [["--host", "0.0.0.0", "--plug"], PLUG_REFUSAL],
    [["--plug", "--host", "box.local"], PLUG_REFUSAL],
    [["--compatibility-date", "today"], '--compatibility-date must look like 2026-09-18, not "today".']
  ])("%j is refused in plain words", (args, message) => {
    expect(() => parsed(...args)).toThrow(usageError("serve", message));
  });
});
