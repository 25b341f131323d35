// What can be done in a real Chromium, and what no page can make it do: pages come from a server on this machine, which the
// class names, and another server stands for what is inside of a network.
import { createServer } from "node:http";
import { createSocket } from "node:dgram";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { BrowserActions, type PageOutput } from "../../src/features/browser/actions.ts";
import { cdpBrowser, type CdpBrowserOptions } from "../../src/features/browser/index.ts";
import { BrowserSessions } from "../../src/features/browser/sessions.ts";
import {
  endless,
  redirectTo,
  send,
  serveWeb,
  stalled,
  type Page,
  type WebServer
} from "../../src/features/web/web-server.test-support.ts";
import { startChromium, type Chromium } from "../kit/chromium.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let chromium: Chromium;
let server: WebServer;
let inside: WebServer;
let pages: Record<string, Page>;
let udp: ReturnType<typeof createSocket>;
let packets: number;
let upgrades: string[];
let sessions: BrowserSessions;
let count = 0;

beforeAll(async () => {
  chromium = await startChromium();
  inside = await serveWeb({});
  pages = {};
  server = await serveWeb(new Proxy(pages, {}));
  udp = createSocket("udp4");
  udp.on("message", () => void (packets += 1));
  await new Promise<void>((resolve) => udp.bind(0, "127.0.0.1", resolve));
});
afterAll(async () => {
  udp.close();
  await Promise.all([chromium.close(), server.close(), inside.close()]);
});

beforeEach(() => {
  for (const path of Object.keys(pages)) delete pages[path];
  [server.asked.length, inside.asked.length, packets, upgrades, count] = [0, 0, 0, [], 0];
});
afterEach(() => sessions?.closeAll("the test is over"));

const use = { key: "test", signal: undefined };

function actions(options: CdpBrowserOptions = {}): BrowserActions {
  const browser = cdpBrowser({ url: chromium.url, allow: [server.origin], timeout: 5_000, ...options });
  sessions = new BrowserSessions({ env: {}, browser: () => browser, newId: () => `request-${++count}` });
  return new BrowserActions(sessions, () => undefined);
}

const html = (body: string) => send(`<!doctype html><title>A page</title>${body}`);

function page(output: unknown): PageOutput {
  expect(output).not.toHaveProperty("error");
  return output as PageOutput;
}

/** Opens one page with this body. */
async function opened(
  body: string,
  options: CdpBrowserOptions = {}
): Promise<{ does: BrowserActions; seen: PageOutput }> {
  pages["/"] = html(body);
  const does = actions(options);
  return { does, seen: page(await does.open(use, `${server.origin}/`)) };
}

const nameIn = (seen: PageOutput, label: string) =>
  new RegExp(`\\[\\w+ (e\\d+): ${label}`).exec(seen.content)?.[1] ?? `no ${label}`;
const postsTo = (asked: readonly string[]) => asked.filter((one) => !one.startsWith("GET "));

describe("a page", () => {
  test("is read after its scripts have run, with names for what can be used", async () => {
    const { seen } = await opened(
      `<h1>Tea</h1><p hidden>unseen</p><p>Green <a href=/more>tea</a></p><ul><li>one<li>two</ul>
       <form><label>Your name <input name=who value=Ann></label><input type=password value=secret>
       <select name=size><option>Small<option selected>Large</select><button>Order</button></form>
       <script>document.body.append("made by a script")</script>`
    );
    expect(seen).toMatchObject({ url: `${server.origin}/`, title: "A page" });
    expect(seen.content).toContain("# Tea");
    expect(seen.content).toContain(`[link e1: tea](${server.origin}/more)`);
    expect(seen.content).toContain("- one\n- two");
    expect(seen.content).toContain('[text e2: Your name value: "Ann"]');
    expect(seen.content).toContain("[password e3 (filled in)]");
    expect(seen.content).toContain("options: Small | *Large");
    expect(seen.content).toContain("[button e5: Order]");
    expect(seen.content).toContain("made by a script");
    expect(seen.content).not.toMatch(/unseen|secret/);
  });

  test("is used: a link is followed, a field is filled in, an option is chosen, a form that reads is sent", async () => {
    pages["/found?q=green+tea&size=Small"] = html("<p>Found</p>");
    pages["/more"] = html(
      "<form action=/found><input name=q><select name=size><option>Large<option>Small</select></form>"
    );
    const { does, seen } = await opened("<a href=/more target=_blank>more</a>");
    const more = page(await does.click(use, nameIn(seen, "more")));
    expect(more.url).toBe(`${server.origin}/more`);
    page(await does.type(use, { ref: nameIn(more, "size"), text: "small" }));
    const found = page(await does.type(use, { ref: nameIn(more, "q"), text: "green tea", submit: true }));
    expect(found).toMatchObject({ url: `${server.origin}/found?q=green+tea&size=Small`, content: "Found" });
  });

  test("is shown as an image", async () => {
    const { does } = await opened("<h1>Tea</h1>");
    expect(await does.screenshot(use)).toMatchObject({ kind: "image", mediaType: "image/jpeg" });
  });

  test("that is long is shown in parts, and names of an older page mean no other element", async () => {
    pages["/other"] = html("<button>B</button>");
    const { does, seen } = await opened(`<button>A</button>${"<p>word</p>".repeat(1_000)}`, { maxShownChars: 500 });
    expect(seen).toMatchObject({ from: 0, totalChars: expect.any(Number) });
    expect(page(await does.read(use, 500)).content.length).toBe(500);
    const other = page(await does.open(use, `${server.origin}/other`));
    expect(nameIn(other, "B")).toBe("e2");
    expect(await does.click(use, "e1")).toMatchObject({ error: expect.stringContaining("no element") });
  });
});

describe("what would be sent", () => {
  const form = "<form method=post action=/order><input name=item value=tea><button>Order</button></form>";

  test("by a form waits for a person, is shown as it is sent, and is sent once", async () => {
    pages["/order"] = html("<p>Thank you</p>");
    const { does, seen } = await opened(form);
    const asking = page(await does.click(use, nameIn(seen, "Order")));
    expect(postsTo(server.asked)).toEqual([]);
    const [asked] = asking.asks ?? [];
    expect(asked).toEqual({ request: "request-1", method: "POST", url: `${server.origin}/order`, body: "item=tea" });
    expect(page(await does.send(use, "request-1")).content).toContain("Thank you");
    expect(await does.send(use, "request-1")).toMatchObject({ error: expect.stringContaining("Nothing was sent") });
    expect(postsTo(server.asked)).toEqual(["POST /order"]);
  });

  test("is not what code says it is: another body is refused", async () => {
    const { does, seen } = await opened(form);
    const [asked] = page(await does.click(use, nameIn(seen, "Order"))).asks ?? [];
    if (!asked) throw new Error("nothing was asked");
    const refused = { error: expect.stringContaining("not what the page waits with") };
    for (const change of [{ body: "item=cake" }, { url: `${server.origin}/other` }, { method: "PUT" }])
      expect(await does.send(use, asked.request, { ...asked, ...change })).toMatchObject(refused);
    expect(postsTo(server.asked)).toEqual([]);
  });

  test("is refused when the model goes on with anything else", async () => {
    const { does, seen } = await opened(form);
    await does.click(use, nameIn(seen, "Order"));
    page(await does.open(use, `${server.origin}/`));
    expect(await does.send(use, "request-1")).toMatchObject({ error: expect.stringContaining("Nothing was sent") });
    expect(postsTo(server.asked)).toEqual([]);
  });

  test("by a form keeps its place: the page can be read while a person decides, and forms in frames are refused", async () => {
    pages["/frame"] = html(`<form method=post action=/framed><button>Inner</button></form>`);
    const { does, seen } = await opened(`${form}<iframe src=/frame></iframe>`);
    page(await does.click(use, nameIn(seen, "Order")));
    expect(page(await does.read(use)).content).toContain("Order");
    const inner = page(await does.click(use, nameIn(seen, "Inner")));
    expect(inner.asks).toBeUndefined();
    expect(inner.notes?.join()).toContain("would send something");
    expect(postsTo(server.asked)).toEqual([]);
  });

  test("by a script of a click waits too, each request by itself, and a redirect that sends it again is asked about again", async () => {
    pages["/api"] = redirectTo("/second", 307);
    pages["/second"] = send("{}", "application/json");
    const { does, seen } = await opened(
      `<button onclick="fetch('/api',{method:'PUT',body:'a'}).then(()=>document.body.append('done'))">Save</button>`
    );
    const asking = page(await does.click(use, nameIn(seen, "Save")));
    expect(asking.asks).toMatchObject([{ method: "PUT", body: "a" }]);
    const again = page(await does.send(use, "request-1"));
    expect(again.asks).toMatchObject([{ request: "request-2", url: `${server.origin}/second`, body: "a" }]);
    expect(server.asked).not.toContain("PUT /second");
    expect(page(await does.send(use, "request-2")).content).toContain("done");
    expect(postsTo(server.asked)).toEqual(["PUT /api", "PUT /second"]);
  });

  test("by no action of the model is refused: on load, by a timer, by a beacon", async () => {
    const { seen, does } = await opened(
      `<script>fetch('/a',{method:'POST'});navigator.sendBeacon('/b','x');setTimeout(()=>fetch('/c',{method:'DELETE'}),900)
       </script><button onclick="navigator.sendBeacon('/d','x')">Track</button>`,
      { posts: "refuse" }
    );
    const later = page(await does.click(use, nameIn(seen, "Track")));
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    expect(later.asks).toBeUndefined();
    expect(JSON.stringify([seen.notes, later.notes, page(await does.read(use)).notes])).toContain(
      "would send something"
    );
    expect(postsTo(server.asked)).toEqual([]);
  });
});

describe("a hostile page", () => {
  test("asks nothing from inside of the network: not by images, frames, scripts, fetches, redirects or itself", async () => {
    pages["/redirect"] = redirectTo(`${inside.origin}/redirected`);
    pages["/frame"] = html(`<script>location = "${inside.origin}/from-frame"</script>`);
    const { seen } = await opened(
      `<img src="${inside.origin}/img"><script src="${inside.origin}/script"></script><iframe src="${inside.origin}/frame"></iframe>
       <img src=/redirect><iframe src=/frame></iframe><link rel=stylesheet href="${inside.origin}/css">
       <script>fetch("${inside.origin}/fetch", {mode: "no-cors"}).catch(() => 0); new EventSource("${inside.origin}/events");
       const frame = document.createElement("iframe"); frame.srcdoc = '<img src="${inside.origin}/srcdoc">'; document.body.append(frame);
       document.body.append(Object.assign(document.createElement("img"), { src: "http://169.254.169.254/latest" }));
       setTimeout(() => location = "${inside.origin}/location", 50)</script>`
    );
    expect(inside.asked).toEqual([]);
    expect(seen.url).toBe(`${server.origin}/`);
    expect(JSON.stringify(seen.notes)).toContain("agent's own machine");
    expect(JSON.stringify(seen.notes)).toContain("169.254.169.254");
  });

  test.each([
    "file:///etc/passwd",
    "chrome://version",
    "javascript:alert(1)",
    "data:text/html,hello",
    "about:blank",
    "view-source:http://example.com"
  ])("and %s cannot be opened", async (address) => {
    expect(await actions().open(use, address)).toMatchObject({
      error: expect.stringContaining("neither http nor https")
    });
  });

  test("cannot lead to a file of the machine", async () => {
    const { seen } = await opened(
      `<iframe src="file:///etc/passwd"></iframe><script>location = "file:///etc/passwd"; fetch("file:///etc/passwd").catch(() => 0)</script>ok`
    );
    expect(seen).toMatchObject({ url: `${server.origin}/` });
    expect(seen.content).not.toContain("root:");
  });

  test("has no windows, dialogs, workers, sockets or calls of its own", async () => {
    const sockets = createServer();
    sockets.on("upgrade", (request, socket) => {
      upgrades.push(String(request.url));
      socket.destroy();
    });
    await new Promise<void>((resolve) => sockets.listen(0, "127.0.0.1", resolve));
    const socketPort = (sockets.address() as AddressInfo).port;
    pages["/worker"] = send(
      `fetch("/from-worker"); new WebSocket("ws://127.0.0.1:${socketPort}/w")`,
      "text/javascript"
    );
    const { does, seen } = await opened(
      `<form method=post action=/popup-post target=_blank><input name=a></form><script>
       window.open("/popup"); alert("hello"); confirm("sure?"); print(); document.forms[0].submit();
       for (const start of [() => new Worker("/worker"), () => new SharedWorker("/worker"), () => navigator.serviceWorker.register("/worker"),
         () => new WebSocket("ws://127.0.0.1:${socketPort}/s"), () => new WebTransport("https://127.0.0.1:${socketPort}/t")])
         try { start()?.catch?.(() => 0) } catch {}
       const call = (world) => { const peer = new world.RTCPeerConnection({ iceServers: [{ urls: "stun:127.0.0.1:${(udp.address() as AddressInfo).port}" }] });
         peer.createDataChannel("x"); peer.createOffer().then((offer) => peer.setLocalDescription(offer)); };
       const frame = document.createElement("iframe"); document.body.append(frame);
       for (const world of [window, frame.contentWindow]) try { call(world) } catch {}
       document.body.append("after all")</script>`
    );
    expect(seen.content).toContain("after all");
    await new Promise((resolve) => setTimeout(resolve, 500));
    page(await does.read(use));
    sockets.close();
    expect(upgrades).toEqual([]);
    expect(packets).toBe(0);
    expect(server.asked.filter((one) => one !== "GET /" && one !== "GET /favicon.ico")).toEqual([]);
  });

  test("saves no file, and a file is no page", async () => {
    pages["/file"] = send("MZ", "application/octet-stream");
    pages["/attached"] = send("<p>hi</p>", "text/html", { "content-disposition": "attachment; filename=a.html" });
    const { does, seen } = await opened(
      `<a href=/file>file</a><a download href="data:text/plain,x">data</a><script>document.links[1].click()</script>`
    );
    const clicked = page(await does.click(use, nameIn(seen, "file")));
    expect(clicked).toMatchObject({ url: `${server.origin}/` });
    expect(JSON.stringify(clicked.notes)).toContain("A download was refused (application/octet-stream)");
    expect(await does.open(use, `${server.origin}/attached`)).toMatchObject({
      error: expect.stringContaining("does not save")
    });
  });

  test("that does not end, or is huge, is read to a limit", async () => {
    pages["/endless"] = (request, response) => endless(request, response);
    pages["/stalled"] = stalled;
    pages["/huge"] = html(
      "<p></p><script>for (let i = 0; i < 2e5; i += 1) document.body.append(document.createElement('p'), 'word '.repeat(10))</script>"
    );
    const does = actions({ timeout: 3_000 });
    const long = page(await does.open(use, `${server.origin}/endless`));
    expect(long.notes?.join()).toContain("this is its beginning");
    expect(long.content.length).toBeLessThanOrEqual(20_000);
    expect(page(await does.open(use, `${server.origin}/stalled`)).notes?.join()).toContain("did not end in time");
    const huge = page(await does.open(use, `${server.origin}/huge`));
    expect(huge.notes?.join()).toContain("longer than what can be read");
    expect(huge.totalChars).toBeLessThanOrEqual(200_000);
  });

  test("that asks for ever, or loads for ever, is stopped", async () => {
    pages["/stream"] = (request, response) => endless(request, response);
    const ask = (times: number) => `for (let n = 0; n < ${times}; n += 1) fetch("/x" + i++).catch(() => 0)`;
    const many = await opened(`<script>let i = 0; ${ask(60)}</script>`, { maxRequests: 40 });
    expect(many.seen.notes?.join()).toContain("too many requests");
    expect(server.asked.length).toBeLessThanOrEqual(40);
    sessions.closeAll("next");
    pages["/"] = html(`<script>let i = 0; setInterval(() => { ${ask(50)} }, 10)</script>`);
    const flood = await actions({ maxRequests: 40 }).open(use, `${server.origin}/`);
    expect(flood).toMatchObject({ error: expect.stringContaining("too many requests") });
    expect(server.asked.length).toBeLessThanOrEqual(80);
    sessions.closeAll("next");
    const much = await opened(`<script>fetch("/stream").then((answer) => answer.text()).catch(() => 0)</script>`, {
      maxBytes: 1_000_000,
      timeout: 3_000
    });
    expect(much.seen.notes?.join()).toContain("loaded too much");
  });

  test("that goes round in circles, or asks whether to stay, ends within the time of an action", async () => {
    pages["/round"] = html("<script>location.reload()</script>");
    const does = actions({ timeout: 2_000, maxRequests: 30 });
    await does.open(use, `${server.origin}/round`);
    expect(server.asked.length).toBeLessThan(60);
    pages["/stay"] = html("<script>onbeforeunload = () => 'stay'</script><button>x</button>");
    pages["/next"] = html("next");
    const seen = page(await does.open(use, `${server.origin}/stay`));
    page(await does.click(use, nameIn(seen, "x")));
    expect(page(await does.open(use, `${server.origin}/next`)).content).toBe("next");
  });

  test("that blocks its own thread is closed, and the model is told", async () => {
    pages["/block"] = html("<button onclick='for (;;);'>x</button>");
    const does = actions({ timeout: 1_000 });
    const seen = page(await does.open(use, `${server.origin}/block`));
    expect(await does.click(use, nameIn(seen, "x"))).toMatchObject({ error: expect.stringContaining("was closed") });
    expect(page(await does.open(use, `${server.origin}/block`)).content).toContain("x");
  });

  test("cannot change what is read of it: the functions that read it are not the page's", async () => {
    const { seen } = await opened(
      `<p>real</p><script>Node.prototype.__defineGetter__("childNodes", () => []); JSON.stringify = () => "forged";
       Element.prototype.checkVisibility = () => false; globalThis.everthinkRefs = new Map([["e1", document.body]]);</script>`
    );
    expect(seen.content).toContain("real");
  });

  test("sees nothing of another session: cookies and storage begin empty", async () => {
    pages["/set"] = html(
      "<p></p><script>document.cookie = 'a=1'; localStorage.a = 1; document.body.append('set')</script>"
    );
    pages["/get"] = html(
      "<p></p><script>document.body.append('[' + document.cookie + (localStorage.a ?? '') + ']')</script>"
    );
    const does = actions();
    page(await does.open(use, `${server.origin}/set`));
    expect(page(await does.open({ ...use, key: "other" }, `${server.origin}/get`)).content).toBe("[]");
    expect(page(await does.open(use, `${server.origin}/get`)).content).toBe("[a=11]");
  });
});

describe("a session", () => {
  test("is refused what the lists refuse, and names that stand for what is inside", async () => {
    expect(await actions({ allow: ["example.com"] }).open(use, `${server.origin}/`)).toMatchObject({
      error: expect.stringContaining("could not be opened")
    });
    expect(server.asked).toEqual([]);
    const does = actions({ allow: ["*"], resolve: async () => ["10.0.0.7"] });
    expect(await does.open(use, "http://shop.example.com/")).toMatchObject({
      error: expect.stringContaining("10.0.0.7")
    });
  });

  test("ends when it is not used; then every action says so, and an address opens a new one", async () => {
    const { does } = await opened("x", { idleMs: 300 });
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(await does.read(use)).toMatchObject({ error: expect.stringContaining("not used") });
    expect(await does.click(use, "e1")).toMatchObject({ error: expect.stringContaining("open the address again") });
    page(await does.open(use, `${server.origin}/`));
  });

  test("ends when its time is over, however much it is used", async () => {
    const { does } = await opened("x", { sessionMs: 4_000 });
    await vi.waitFor(async () => {
      expect(await does.read(use)).toMatchObject({ error: expect.stringContaining("time was over") });
    }, 10_000);
  });

  test("there are at most three of an agent", async () => {
    pages["/"] = html("x");
    const does = actions();
    for (const key of ["a", "b", "c"]) page(await does.open({ ...use, key }, `${server.origin}/`));
    expect(await does.open({ ...use, key: "d" }, `${server.origin}/`)).toMatchObject({
      error: expect.stringContaining("Not more than 3")
    });
  });

  test("of a browser that cannot be reached is a result and no failure of the turn", async () => {
    const does = actions({ url: "ws://127.0.0.1:9/devtools" });
    expect(await does.open(use, `${server.origin}/`)).toMatchObject({
      error: expect.stringContaining("could not be reached")
    });
    expect(await does.read(use)).toMatchObject({ error: expect.stringContaining("No page is open") });
  });
});
