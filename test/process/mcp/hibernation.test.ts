// An agent with a server that could notify it at any time is still evicted when it is not used. Nothing shows that but
// waiting: 30 seconds until the line is hung up, and about 10 until workerd evicts the object. `npm run test:long` waits.
import { expect, test } from "vitest";
import { z } from "zod";
import { textResult } from "../../../src/features/mcp/raw-mcp.test-support.ts";
import { serveMcp } from "../../../src/features/mcp/served-mcp.test-support.ts";
import { startWorker } from "../workerd-process.ts";
import { listen } from "./http-server.ts";

test.runIf(process.env["EVERTHINK_LONG_TESTS"])(
  "an agent that does not use its MCP server is evicted, and the server's session goes on",
  async () => {
    const worker = await startWorker({
      entry: new URL("./hibernation-worker.ts", import.meta.url),
      objects: ["Sleeper"],
      allowsPrivateNetwork: true
    });
    const resource = await listen();
    const served = serveMcp((server) => {
      server.registerTool("whoami", { inputSchema: z.object({}) }, () => textResult("you"));
    });
    let streams = 0;
    const hungUp = new Promise<void>((resolve) => {
      resource.handle((request) => {
        if (request.method === "GET") {
          streams += 1;
          request.signal.addEventListener("abort", () => resolve());
        }
        return served.handler(request);
      });
    });
    const visit = async (query = "") => (await fetch(`${worker.url}/agents/sleeper/a/${query}`)).text();
    const first = await visit(`?add=${encodeURIComponent(`${resource.origin}/mcp`)}`);
    expect(streams).toBe(1);
    await hungUp;
    // workerd evicts after about 10 seconds without traffic; asking sooner would be traffic.
    await new Promise((resolve) => setTimeout(resolve, 15_000));
    expect(await visit()).not.toBe(first);
    expect(served.servers.size).toBe(1);
  }
);
