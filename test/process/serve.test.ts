import { once } from "node:events";
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import WebSocket from "ws";
import { isAlive, ServedProject, type ServeRun, WRANGLER } from "./served-project.ts";

const PATIENCE = { timeout: 20_000, interval: 50 };
/** A user who owns nothing. */
const NOBODY = 65_534;

let project: ServedProject;
beforeAll(async () => {
  project = await ServedProject.withBuild();
  project.put({
    "dist/client/about.html": "<h1>About</h1>",
    "dist/client/app.js": "export {};",
    "dist/client/styles.css": "body {}",
    "dist/client/logo.svg": "<svg/>",
    "dist/client/pixel.png": "png",
    "dist/client/data.json": "{}",
    "dist/client/engine.wasm": "wasm",
    "dist/client/thing.strange": "?",
    "dist/client/folder/a.txt": "a",
    "dist/client/.secret": "hidden",
    "dist/client/.well-known/proof": "proof"
  });
});

/** As a browser asks for a page; fetch() in Node does not let us say so. */
async function openPage(url: string): Promise<string> {
  const asked = request(url, { headers: { "sec-fetch-mode": "navigate" } }).end();
  const [answer] = (await once(asked, "response")) as [IncomingMessage];
  return (await answer.toArray()).join("");
}

async function stop(run: ServeRun): Promise<number | null> {
  run.child.kill("SIGTERM");
  return run.ended;
}

/** A failed command says it in a few plain words. */
async function refusal(run: ServeRun): Promise<string> {
  expect(await run.ended, run.output).toBe(1);
  expect(run.output).not.toMatch(/\bat .*:\d+|Error\b|node:internal/);
  return run.output;
}

describe("everthink serve", () => {
  test("serves assets with their types, and nothing that is none", async () => {
    const run = project.serve(["--data", "data-assets"]);
    const seen: Record<string, unknown> = {};
    const paths = ["/", "/about", "/app.js", "/styles.css", "/logo.svg", "/pixel.png", "/data.json", "/engine.wasm"];
    for (const path of [...paths, "/thing.strange", "/.well-known/proof", "/folder/a.txt"]) {
      const answer = await run.fetch(path);
      seen[path] = `${answer.status} ${answer.headers.get("content-type")}`;
      await answer.text();
    }
    expect(seen).toEqual({
      "/": "200 text/html; charset=utf-8",
      "/about": "200 text/html; charset=utf-8",
      "/app.js": "200 text/javascript; charset=utf-8",
      "/styles.css": "200 text/css; charset=utf-8",
      "/logo.svg": "200 image/svg+xml",
      "/pixel.png": "200 image/png",
      "/data.json": "200 application/json",
      "/engine.wasm": "200 application/wasm",
      "/thing.strange": "200 application/octet-stream",
      "/.well-known/proof": "200 application/octet-stream",
      "/folder/a.txt": "200 text/plain; charset=utf-8"
    });
    for (const path of [
      "/folder",
      "/folder/",
      "/.secret",
      "/%2esecret",
      "/..%2fapp%2findex.js",
      "/missing.js",
      "/%zz"
    ]) {
      const answer = await run.fetch(path);
      expect([path, answer.status, await answer.text()]).toEqual([path, 404, "from the worker"]);
    }
    expect(await openPage(`${await run.url()}/some/client/route`)).toBe("<h1>Home</h1>");
    expect((await run.fetch("/about.html?a=1")).headers.get("location")).toBe("/about?a=1");
    const tag = (await run.fetch("/app.js")).headers.get("etag") ?? "";
    expect((await run.fetch("/app.js", { headers: { "if-none-match": tag } })).status).toBe(304);
    const part = await run.fetch("/app.js", { headers: { range: "bytes=0-5" } });
    expect([part.status, await part.text()]).toEqual([206, "export"]);
    const head = await run.fetch("/app.js", { method: "HEAD" });
    expect([head.status, head.headers.get("content-length"), await head.text()]).toEqual([200, "10", ""]);
    expect((await run.fetch("/app.js", { method: "POST" })).status).toBe(404);
    expect(await (await run.fetch("/api/asset")).text()).toBe("body {}");
    expect(await stop(run)).toBe(0);
  });

  test("runs objects, facets, alarms, the loader and sockets, and keeps their data over a restart", async () => {
    const first = project.serve(["--data", "data-kept"]);
    expect(await first.json("/__think/health")).toEqual({ status: "ok" });
    expect([await first.json("/api/add"), await first.json("/api/add")]).toEqual([1, 2]);
    expect(await first.json("/api/facet")).toBe(1);
    expect(await (await first.fetch("/api/load")).text()).toBe("loaded");
    await first.json("/api/alarm");
    await first.says(/worker\s+alarm rang/);
    expect(await stop(first)).toBe(0);
    expect(first.output).toMatch(/everthink Stopped\.\n$/);

    const second = project.serve(["--data", "data-kept"]);
    expect(await second.json("/api/count")).toBe(3);
    expect(await second.json("/api/facet")).toBe(2);
    second.child.kill("SIGINT");
    expect(await second.ended).toBe(0);
  });

  test("starts workerd again when it was killed: same port, same data", async () => {
    const run = project.serve(["--data", "data-killed"]);
    expect(await run.json("/api/add")).toBe(1);
    const [pid] = run.workerds();
    process.kill(pid!, "SIGKILL");
    await run.says(/workerd ended: SIGKILL\.[\s\S]*workerd runs again/);
    expect(run.workerds()).not.toContain(pid);
    expect(await run.json("/api/add")).toBe(2);
    await stop(run);
  });

  test("notices a worker in an endless loop, and starts it again", async () => {
    const run = project.serve(["--data", "data-frozen", "--health-timeout", "1"]);
    expect(await run.json("/api/add")).toBe(1);
    await expect(run.fetch("/api/loop")).rejects.toThrow();
    await run.says(/workerd did not answer for 1 s and was killed\.[\s\S]*workerd runs again/);
    expect(await run.json("/api/add")).toBe(2);
    expect(await stop(run)).toBe(0);
  });

  test("stops gracefully, also with open sockets, and leaves no process and no secret behind", async () => {
    const options = { env: { API_KEY: "s3cret value" } };
    const run = project.serve(["--data", "data-stop", "--var", "API_KEY", "--grace", "0.3"], options);
    expect(await run.json("/api/variables")).toEqual({ greeting: "hello", key: "s3cret value" });
    const socket = new WebSocket(`${(await run.url()).replace("http", "ws")}/api/socket`);
    await once(socket, "open");
    socket.send("x");
    expect(String((await once(socket, "message"))[0])).toBe("echo x");
    const pids = run.workerds();
    expect(pids).toHaveLength(1);
    const closed = once(socket, "close");
    expect(await stop(run)).toBe(0);
    await closed;
    expect(pids.filter(isAlive)).toEqual([]);
    const folder = join(project.folder, "data-stop", ".everthink");
    const texts = readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath, entry.name), "utf8"));
    expect(texts.filter((text) => text.includes("s3cret"))).toEqual([]);
  });

  test("refuses a second instance on the same data, and leaves the first one alone", async () => {
    const first = project.serve(["--data", "data-shared"]);
    await first.json("/api/add");
    const second = await refusal(project.serve(["--data", "data-shared"]));
    expect(second).toContain("data-shared is in use by another instance (process ");
    expect(second).toContain("One folder belongs to one instance.");
    expect(await first.json("/api/add")).toBe(2);
    await stop(first);
  });

  test("takes over at once from an instance that was killed, whose workerd goes first", async () => {
    const first = project.serve(["--data", "data-stale"]);
    await first.json("/api/add");
    const [pid] = first.workerds();
    first.child.kill("SIGKILL");
    const second = project.serve(["--data", "data-stale"]);
    expect(await second.json("/api/add")).toBe(2);
    expect(isAlive(pid!)).toBe(false);
    await stop(second);
  });

  test("keeps others out as long as a workerd runs on the data, even when its supervisor is gone", async () => {
    const first = project.serve(["--data", "data-orphaned"]);
    await first.json("/api/add");
    const [pid] = first.workerds();
    // Without its lifeline, nothing ends workerd when the supervisor is killed.
    for (const lifeline of first.children("sh")) process.kill(lifeline, "SIGKILL");
    first.child.kill("SIGKILL");
    try {
      const output = await refusal(project.serve(["--data", "data-orphaned"]));
      expect(output).toContain("is in use by another instance");
      expect(isAlive(pid!)).toBe(true);
    } finally {
      process.kill(pid!, "SIGKILL");
    }
    const second = project.serve(["--data", "data-orphaned"]);
    expect(await second.json("/api/add")).toBe(2);
    await stop(second);
  });

  test("says that a port is taken, before it touches the data", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as { port: number };
    const output = await refusal(project.serve(["--data", "data-port", "--port", String(port)]));
    expect(output).toBe(`Port ${port} is already in use.\nChoose another one with --port.\n`);
    expect(readdirSync(project.folder)).not.toContain("data-port");
    other.close();
  });

  test("does not put its data among the assets", async () => {
    const output = await refusal(project.serve(["--data", "dist/client/data"]));
    expect(output).toContain("it lies among the assets, where everybody could read it.");
    expect(readdirSync(join(project.folder, "dist/client"))).not.toContain("data");
  });

  test("tells the worker how clients of a proxy came", async () => {
    const run = project.serve(["--data", "data-proxy"]);
    const answer = await run.fetch("/api/address", { headers: { "x-forwarded-proto": "https" } });
    expect(await answer.text()).toMatch(/^https:/);
    await stop(run);
  });

  test("gives up a body that is half sent, and one of which a byte arrives now and then", async () => {
    const run = project.serve(["--data", "data-body", "--body-timeout", "0.5"]);
    const { port } = new URL(await run.url());
    /** What a body of 1,000 bytes is answered with; `everyMs`: another byte in this time. */
    const answerTo = async (bytes: number, everyMs?: number): Promise<string> => {
      const socket = connect(Number(port), "127.0.0.1");
      let sent = bytes;
      socket.write(`POST /api/body HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n${"b".repeat(bytes)}`);
      const open = Promise.withResolvers<[string]>();
      const timer = setInterval(() => {
        socket.write("b");
        sent += 1;
        if (sent >= 100) open.resolve([`no answer after ${sent} bytes`]);
      }, everyMs ?? 60_000);
      const [answer] = await Promise.race([once(socket, "data"), open.promise]);
      clearInterval(timer);
      socket.destroy();
      return String(answer).split("\r\n")[0] ?? "";
    };
    const answers = await Promise.all([answerTo(1_000), answerTo(500), answerTo(1, 200)]);
    expect(answers).toEqual(["HTTP/1.1 200 OK", "HTTP/1.1 408 Request Timeout", "HTTP/1.1 408 Request Timeout"]);
    await stop(run);
  });

  test("says that the data folder is not writable", async () => {
    const folder = join(project.folder, "data-closed");
    mkdirSync(folder);
    chmodSync(folder, 0o555);
    const output = await refusal(
      project.serve(["--data", "data-closed"], process.getuid?.() === 0 ? { uid: NOBODY } : {})
    );
    expect(output).toContain("data-closed cannot be used: this user may not write there.");
    writeFileSync(join(project.folder, "data-file"), "");
    expect(await refusal(project.serve(["--data", "data-file"]))).toContain("data-file cannot be used: ");
  });

  test.each([
    [["nowhere"], "There is no build at nowhere.\nBuild it first (vite build)"],
    [["--port", "eighty"], '--port must be a number from 0 to 65535, not "eighty".\nSee: everthink serve --help'],
    [["--prot", "1"], "Unknown option '--prot'."],
    [["--host", "192.0.2.1"], "192.0.2.1 is not an address of this machine."],
    [["--var", "NOT_SET_ANYWHERE"], "The Worker needs NOT_SET_ANYWHERE, which is not set."],
    [["--var-file", "missing.env"], "The file missing.env given with --var-file does not exist."]
  ])("refuses %j in plain words", async (args, message) => {
    expect(await refusal(project.serve(args))).toContain(message);
  });

  test("says what is missing in a project without a build, and in one without workerd", async () => {
    const bare = new ServedProject();
    expect(await refusal(bare.serve())).toContain("is no everthink project");
    bare.put({ "wrangler.jsonc": "{}" });
    expect(await refusal(bare.serve())).toContain("There is no build here");
    bare.put({ "worker.js": "export default { fetch: () => new Response('hi') };" });
    expect(await refusal(bare.serve(["worker.js"]))).toBe(
      "workerd, the program that runs the Worker, is not installed in this project.\nInstall it: npm install workerd\n"
    );
    bare.installWorkerd();
    const run = bare.serve(["worker.js"]);
    expect(await (await run.fetch("/anything")).text()).toBe("hi");
    await stop(run);
  });

  test("shows what workerd says of a worker that cannot be loaded, once, and does not try again", async () => {
    const broken = new ServedProject();
    broken.installWorkerd();
    broken.put({ "worker.js": "throw new TypeError('not today');" });
    const run = broken.serve(["worker.js"]);
    expect(await run.ended).toBe(1);
    expect(run.output.match(/not today/g)).toHaveLength(1);
    expect(run.output).toContain("workerd did not start: it ended with code 1");
  });

  test("runs a build of several modules, with variables from its file, and warns of what it does not have", async () => {
    const many = new ServedProject();
    many.installWorkerd();
    many.put({
      "out/wrangler.jsonc": `{
        // A comment, as people write them.
        "name": "many", "main": "index.js", "compatibility_date": "${WRANGLER.compatibility_date}",
        "vars": { "MODE": "build", "LIST": [1, 2] },
        "kv_namespaces": [{ "binding": "CACHE", "id": "1" }],
      }`,
      "out/.dev.vars": 'MODE="file\\nline"\n',
      "out/index.js": `import { word } from "./lib/word.js";
        import text from "./lib/text.txt";
        export default { fetch: (request, env) => Response.json([word, text, env.MODE, env.LIST, typeof env.CACHE]) };`,
      "out/lib/word.js": "export const word = 'chunk';",
      "out/lib/text.txt": "text"
    });
    const run = many.serve(["out"]);
    expect(await run.json("/")).toEqual(["chunk", "text", "file\nline", [1, 2], "undefined"]);
    expect(run.output).toContain("The binding CACHE (kv_namespaces) is not available here");
    await stop(run);
  });

  test("prints its help and its version", async () => {
    const help = project.everthink(["--help"]);
    expect(await help.ended).toBe(0);
    expect(help.output).toMatch(/^ {2}serve +runs a built Worker/m);
    const own = project.everthink(["serve", "--help"]);
    expect(await own.ended).toBe(0);
    expect(own.output).toContain("everthink serve [build] [options]");
    const version = project.everthink(["--version"]);
    expect([await version.ended, version.output]).toEqual([0, expect.stringMatching(/^\d+\.\d+\.\d+\S*\n$/)]);
  });

  test("dies as a whole when it is killed: no workerd stays behind", async () => {
    const run = project.serve(["--data", "data-orphan"]);
    await run.url();
    const [pid] = run.workerds();
    run.child.kill("SIGKILL");
    await expect.poll(() => isAlive(pid!), PATIENCE).toBe(false);
  });
});
