// Real workerd processes for tests. A test file that starts one need not clean up after a failure: everything still
// running is stopped, and everything temporary removed, when the file ends. `dist/` must have been built.
import { afterAll } from "vitest";
import { serveWorker, type WorkerOptions, type WorkerServer } from "../../tools/serve-worker.ts";

export type { WorkerOptions, WorkerServer };

const started = new Set<WorkerServer>();

/**
 * ```ts
 * const server = await startWorker({ entry: new URL("./fixtures/counter.ts", import.meta.url), objects: ["Counter"] });
 * await fetch(`${server.url}/`);
 * await server.kill(); // SIGKILL
 * await server.start(); // same data, same port
 * ```
 */
export async function startWorker(options: WorkerOptions): Promise<WorkerServer> {
  const server = await serveWorker(options);
  started.add(server);
  return server;
}

afterAll(async () => {
  await Promise.all([...started].map((server) => server.stop()));
  started.clear();
});
