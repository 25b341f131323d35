// The `ctx` an object's constructor receives: the platform's DurableObjectState for one activation. Every call of an
// object that is no longer alive throws.
import type { ObjectActivation, Startup } from "./activation.ts";
import { ObjectReset } from "./errors.ts";
import { FacetsFake } from "./facets.ts";
import { Hibernation } from "./hibernation.ts";
import { createEnv, createExports } from "./namespace.ts";
import { rememberServices } from "./object-services.ts";
import { flattenError, resetError } from "./rpc-errors.ts";
import { StorageAccess } from "./storage-access.ts";
import { StorageFake } from "./storage.ts";

class StateFake {
  readonly id: Startup["id"];
  readonly props: unknown;
  readonly exports: Record<string, unknown>;
  readonly storage: StorageFake;
  readonly facets: FacetsFake;
  readonly #activation: ObjectActivation;
  readonly #hibernation: Hibernation;

  constructor(activation: ObjectActivation, startup: Startup) {
    this.#activation = activation;
    this.#hibernation = new Hibernation(activation);
    this.id = startup.id;
    this.props = startup.reference.props;
    this.exports = createExports(activation.engine, activation);
    this.storage = new StorageFake(new StorageAccess(activation));
    this.facets = new FacetsFake(activation, startup.id);
  }

  waitUntil(work: Promise<unknown>): void {
    this.#activation.assertLive();
    this.#activation.waitUntil(work);
  }

  blockConcurrencyWhile<T>(callback: () => Promise<T>): Promise<T> {
    return this.#activation.block(callback);
  }

  /** Throws so that the caller stops here; on the platform nothing after it runs at all. */
  abort(reason?: unknown): never {
    this.#activation.assertLive();
    const error =
      reason === undefined ? new Error("Application called abort() to reset Durable Object.") : flattenError(reason);
    this.#activation.record.reset(resetError(error));
    throw new ObjectReset(error);
  }

  acceptWebSocket(socket: unknown, tags?: string[]): void {
    this.#hibernation.accept(socket, tags);
  }

  getWebSockets(tag?: string): unknown[] {
    return this.#hibernation.list(tag);
  }

  getTags(socket: unknown): string[] {
    return this.#hibernation.tags(socket);
  }

  setWebSocketAutoResponse(pair?: { request: string; response: string }): void {
    this.#hibernation.setAutoResponse(pair);
  }

  getWebSocketAutoResponse(): { request: string; response: string } | null {
    return this.#hibernation.autoResponse();
  }

  getWebSocketAutoResponseTimestamp(socket: unknown): Date | null {
    return this.#hibernation.autoResponseAt(socket);
  }

  setHibernatableWebSocketEventTimeout(timeoutMs?: number): void {
    this.#hibernation.setEventTimeout(timeoutMs);
  }

  getHibernatableWebSocketEventTimeout(): number | null {
    return this.#hibernation.eventTimeout();
  }
}

export function createObjectState(activation: ObjectActivation, startup: Startup): { state: object; env: object } {
  const state = new StateFake(activation, startup);
  rememberServices(state, activation);
  return { state, env: createEnv(activation.engine, activation) };
}
