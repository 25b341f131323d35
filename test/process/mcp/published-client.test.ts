// The published React hook against a real workerd: it is shown the agent's MCP servers, a login in real redirects ends at
// the agent, and all of it survives SIGKILL.
import { afterEach, describe, expect, test } from "vitest";
import type { ShownMcp } from "../../clients/generation.ts";
import { EventLog } from "../clients/event-log.ts";
import { generations } from "../clients/generations.ts";
import { renderHook } from "../clients/hook-stage.ts";
import { startWorker } from "../workerd-process.ts";
import { serveProtected } from "./protected-server.ts";

const mounted: { unmount(): void }[] = [];
afterEach(() => {
  for (const component of mounted.splice(0)) component.unmount();
});

describe.each(generations)("useAgent of $version", (generation) => {
  test("shows the servers, and a login that it starts is finished, also after SIGKILL", async () => {
    const worker = await startWorker({
      entry: new URL("./reader-worker.ts", import.meta.url),
      objects: ["Reader"],
      allowsPrivateNetwork: true
    });
    const { mcpUrl } = await serveProtected();
    const shown = new EventLog<ShownMcp>();
    const component = await renderHook(
      () => generation.useAgent({ host: new URL(worker.url).host, agent: "Reader", name: "a", onMcpUpdate: shown.add }),
      ({ identified }) => ({ identified })
    );
    mounted.push(component);
    await shown.find(({ servers }) => Object.keys(servers).length === 0);
    const added = await component.current.call<{ state: string; authUrl: string }>("add", [mcpUrl]);
    expect(added.state).toBe("authenticating");
    await shown.find(({ servers }) => servers["mine"]?.auth_url === added.authUrl);
    await worker.kill();
    await worker.start();
    // What a browser does: the login page, its redirect to the agent, and the agent's redirect.
    const back = (await fetch(added.authUrl, { redirect: "manual" })).headers.get("location");
    expect(back).toBe(`${worker.url}/agents/reader/a/callback?${new URL(back ?? "").searchParams}`);
    const end = await fetch(back ?? "", { redirect: "manual" });
    expect([end.status, end.headers.get("location")]).toEqual([302, `${worker.url}/`]);
    await shown.find(({ servers, tools }) => servers["mine"]?.state === "ready" && tools[0]?.name === "whoami");
    await worker.kill();
    await worker.start();
    await component.current.ready;
    const answer = await component.current.call("ask", []);
    expect(JSON.stringify(answer)).toContain('"text":"you"');
    expect(JSON.stringify(answer)).toContain("You are you.");
  });
});
