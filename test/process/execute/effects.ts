// What tools did, counted where no kill reaches: in this process.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll } from "vitest";

export interface CountedEffect {
  readonly run: string;
  readonly name: string;
  readonly key: string;
}

export async function countEffects() {
  const effects: CountedEffect[] = [];
  const server = createServer((request, response) => {
    const { searchParams } = new URL(request.url ?? "/", "http://localhost");
    const [run = "", name = "", key = ""] = ["run", "name", "key"].map((one) => searchParams.get(one) ?? "");
    effects.push({ run, name, key });
    response.end("counted");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const of = (run: string, name: string) => effects.filter((one) => one.run === run && one.name === name);
  return { port, of };
}

export type EffectCounter = Awaited<ReturnType<typeof countEffects>>;
