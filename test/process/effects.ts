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
  const watching = new Set<(name: string) => void>();
  const server = createServer((request, response) => {
    const { searchParams } = new URL(request.url ?? "/", "http://localhost");
    const [run = "", name = "", key = ""] = ["run", "name", "key"].map((one) => searchParams.get(one) ?? "");
    effects.push({ run, name, key });
    response.end("counted");
    for (const see of watching) see(name);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const of = (run: string, name: string) => effects.filter((one) => one.run === run && one.name === name);
  /** Resolves with the next effect of one of these names, while its call has not returned. */
  const next = (...names: string[]) =>
    new Promise<void>((resolve) => {
      const see = (name: string) => {
        if (!names.includes(name)) return;
        watching.delete(see);
        resolve();
      };
      watching.add(see);
    });
  return { port, of, next };
}

export type EffectCounter = Awaited<ReturnType<typeof countEffects>>;
