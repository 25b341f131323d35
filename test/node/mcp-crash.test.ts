// Killed at each of its writes and awaits, an agent with MCP servers keeps what was accepted: a server that was added is
// there and connects, a login can be finished or started again, and a call is never made twice behind the user's back.
import { beforeEach, expect, test, vi } from "vitest";
import { everyCrash, reply, text, toolCall } from "../../src/testing/index.ts";
import {
  agentOf,
  Librarian,
  library,
  messages,
  open,
  protectedLibrary,
  scene,
  serversOf,
  type Host,
  URL_LIBRARY
} from "./mcp-kit.ts";
import { user } from "../kit/messages.ts";

// A conversation per point at which it is killed.
vi.setConfig({ testTimeout: 60_000 });

// Every crash is reported by what it interrupted.
beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
});

const CALLBACK = { callbackHost: "http://localhost" };
const add = async (host: Host, options: object = {}) =>
  (await agentOf(host)).add("library", URL_LIBRARY, { id: "lib", ...options });

async function statesOf(host: Host) {
  const { servers, tools } = await serversOf(host);
  return { servers: Object.values(servers).map(({ name, state }) => ({ name, state })), tools: tools.length };
}

test("killed while it connects: added again, the server is there once, ready", async () => {
  const { points } = await everyCrash({
    create: () => {
      const host = open();
      library();
      return host;
    },
    script: (host) => add(host),
    finish: async (host) => {
      await add(host);
      await host.idle();
    },
    inspect: statesOf
  });
  expect(points).toBeGreaterThan(5);
});

test("killed while it connects again after a restart: the next start does it", async () => {
  await everyCrash({
    create: async () => {
      const host = open();
      library();
      await add(host);
      await host.restart();
      return host;
    },
    script: async (host) => (await agentOf(host)).wait(),
    finish: async (host) => {
      await (await agentOf(host)).wait();
      await host.idle();
    },
    inspect: statesOf
  });
});

test("killed while a user logs in: the login is finished, or a new page leads to it", async () => {
  let server: ReturnType<typeof protectedLibrary> | undefined;
  const visit = async (host: Host, page: string) => {
    const back = (await server!.login(new Request(page))).headers.get("location")!;
    await host.fetch(back.replace("http://localhost", ""), { redirect: "manual" });
    await host.idle();
  };
  await everyCrash({
    create: () => {
      const host = open();
      server = protectedLibrary();
      return host;
    },
    script: async (host) => {
      const added = await add(host, CALLBACK);
      if (added.state === "authenticating") await visit(host, added.authUrl);
    },
    // What a user does who finds the server not ready: adds it, and logs in if asked.
    finish: async (host) => {
      const added = await add(host, CALLBACK);
      if (added.state === "authenticating") await visit(host, added.authUrl);
    },
    inspect: statesOf
  });
});

test("killed in a call: its turn ends, and the call is not made a second time", async () => {
  const made = new Set<number>();
  const lend = async (host: Host) =>
    (await agentOf(host)).saveMessages([user("Lend me Emma.")], { idempotencyKey: "emma" });
  await everyCrash({
    create: async () => {
      const host = open(
        Array(30).fill((call: { prompt: unknown }) =>
          JSON.stringify(call.prompt).includes("tool-result")
            ? reply(text("Done."))
            : reply(toolCall("tool_lib_lend", { book: "Emma" }))
        )
      );
      scene.boundary = () => host.boundary();
      library();
      await add(host);
      return host;
    },
    script: lend,
    finish: async (host) => {
      void lend(host).catch(() => undefined);
      await host.advance(60_000);
      await host.idle();
    },
    inspect: async (host) => {
      const transcript = await messages(host);
      made.add(scene.effects.length);
      const last = transcript.at(-1)?.parts.at(-1);
      return { roles: transcript.map(({ role }) => role), end: last?.type === "text" ? last.text : last };
    }
  });
  expect([...made].toSorted()).toEqual([1]);
});

test("killed while it is removed: removed again, nothing is left", async () => {
  await everyCrash({
    create: async () => {
      const host = open();
      library();
      await add(host);
      return host;
    },
    script: async (host) => (await agentOf(host)).remove("lib"),
    finish: async (host) => {
      await (await agentOf(host)).remove("lib");
      await host.idle();
    },
    inspect: async (host) => ({
      ...(await statesOf(host)),
      rows: host.sql(Librarian, "a", "SELECT * FROM cf_mcp_credentials")
    })
  });
});
