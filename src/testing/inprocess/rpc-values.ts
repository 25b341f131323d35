// What crosses an object boundary: plain data is copied; functions, RpcTargets and streams become live references whose
// use is a call back to where they came from; everything else is refused with the platform's words.
import { copyError, remoteError } from "./rpc-errors.ts";
import type { Party } from "./party.ts";
import { liveReference } from "./live-reference.ts";
import { stubKind } from "./stub-kind.ts";
import { upgradeOf } from "./upgrade-response.ts";
import type { Engine } from "./engine.ts";

/** Instances cross an object boundary as live references: their public methods stay callable from the other side. */
export class RpcTarget {}

/** Live arguments of a call end with it; `dup()` keeps one for longer. */
export class CallScope {
  hasEnded = false;
}

export interface Crossing {
  readonly engine: Engine;
  /** Where the value comes from, and where it goes. Known at the latest when a live reference is used. */
  sender(): Party;
  receiver(): Party;
  readonly scope?: CallScope;
}

export function carry(value: unknown, crossing: Crossing): unknown {
  return new Copy(crossing).of(value);
}

class Copy {
  readonly #crossing: Crossing;
  readonly #seen = new Map<object, unknown>();

  constructor(crossing: Crossing) {
    this.#crossing = crossing;
  }

  of(value: unknown): unknown {
    if (typeof value === "symbol") throw cloneError(`${String(value)} could not be cloned.`);
    if ((typeof value !== "object" && typeof value !== "function") || value === null) return value;
    const known = this.#seen.get(value);
    if (known !== undefined) return known;
    return this.#live(value) ?? this.#platformObject(value) ?? this.#container(value) ?? this.#leaf(value);
  }

  #live(value: object): unknown {
    const kind = stubKind(value);
    if (kind?.type === "facet") throw cloneError("Stubs pointing to Durable Object facets are not serializable.");
    if (kind?.type === "object") return kind.rebind(this.#crossing.receiver);
    if (kind?.type === "namespace") throw notSerializable("DurableObjectNamespace");
    if (typeof value === "function" || value instanceof RpcTarget || kind?.type === "live") {
      return this.#remember(value, liveReference(value, this.#crossing));
    }
    return undefined;
  }

  #platformObject(value: object): unknown {
    if (value instanceof Response) return this.#remember(value, carryResponse(value, this.#crossing));
    if (value instanceof ReadableStream) return this.#remember(value, carryStream(value, this.#crossing));
    if (value instanceof Headers) return this.#remember(value, new Headers(value));
    const isShared = value instanceof Request || value instanceof WritableStream || value instanceof AbortSignal;
    return isShared || value instanceof Blob ? value : undefined;
  }

  #container(value: object): unknown {
    if (Array.isArray(value)) {
      const copy: unknown[] = this.#remember(value, []);
      for (const item of value) copy.push(this.of(item));
      return copy;
    }
    if (value instanceof Map) {
      const copy = this.#remember(value, new Map<unknown, unknown>());
      for (const [key, item] of value) copy.set(this.of(key), this.of(item));
      return copy;
    }
    if (value instanceof Set) {
      const copy = this.#remember(value, new Set<unknown>());
      for (const item of value) copy.add(this.of(item));
      return copy;
    }
    if (value instanceof Error)
      return this.#remember(
        value,
        copyError(value, (inner) => this.of(inner))
      );
    if (Object.getPrototypeOf(value) !== Object.prototype) return undefined;
    const copy: Record<string, unknown> = this.#remember(value, {});
    for (const [key, item] of Object.entries(value)) {
      // "__proto__" is a key like any other in JSON, and means something else to an assignment.
      Object.defineProperty(copy, key, { value: this.of(item), writable: true, enumerable: true, configurable: true });
    }
    return copy;
  }

  #leaf(value: object): unknown {
    if (value instanceof Promise) throw cloneError("#<Promise> could not be cloned.");
    const isData =
      ArrayBuffer.isView(value) ||
      [ArrayBuffer, Date, RegExp, Boolean, Number, String, BigInt].some((type) => value instanceof type);
    if (isData) return this.#remember(value, structuredClone(value));
    throw notSerializable(value.constructor?.name ?? "Object");
  }

  #remember<T>(original: object, copy: T): T {
    this.#seen.set(original, copy);
    return copy;
  }
}

export function carryResponse(response: Response, crossing: Crossing): Response {
  const upgrade = upgradeOf(response);
  if (upgrade !== undefined) {
    upgrade.server.connection.leave(crossing.engine, crossing.sender(), upgrade.server);
    return response;
  }
  if (response.body === null) return response;
  return new Response(carryStream(response.body, crossing), {
    status: response.status,
    statusText: response.statusText,
    headers: response.headers
  });
}

function notSerializable(type: string): DOMException {
  return cloneError(`Could not serialize object of type "${type}". This type does not support serialization.`);
}

function cloneError(message: string): DOMException {
  return new DOMException(message, "DataCloneError");
}

/**
 * A stream that crosses an object boundary: each chunk is its own delivery, so a crash can fall between any two, and a
 * consumer outside sees the stream fail instead of going on with a dead object's data.
 */
function carryStream<T>(stream: ReadableStream<T>, crossing: Crossing): ReadableStream<T> {
  const reader = stream.getReader();
  const read = () =>
    reader.read().catch((error: unknown) => {
      throw remoteError(error, (value) => value);
    });
  return new ReadableStream<T>(
    {
      async pull(controller) {
        const chunk = await crossing.receiver().receive(crossing.sender().track(read()));
        if (chunk.done) controller.close();
        else controller.enqueue(chunk.value);
      },
      cancel: (reason) => reader.cancel(reason)
    },
    { highWaterMark: 0 }
  );
}
