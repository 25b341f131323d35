// Calls between objects: what can be reached, what crosses, and how errors look on the other side.
import { expect, test } from "vitest";
import { DurableObject } from "#platform";
import { createTestHost, RpcTarget } from "../index.ts";
import { standIn } from "./stand-in.ts";

class Plain {
  x = 1;
}

class CodedError extends Error {
  code = "c1";
  details = { a: 1 };
  override name = "CodedError";
}

class Counter extends RpcTarget {
  count = 0;
  increment() {
    return ++this.count;
  }
  get value() {
    return this.count;
  }
}

async function readAll(stream: ReadableStream<string>): Promise<string[]> {
  const chunks: string[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

type Callback = ((value: unknown) => Promise<unknown>) & { dup(): Callback };

class Callee extends DurableObject {
  field = 5;
  own = () => 1;
  kept: Callback | undefined;

  get getter() {
    return 42;
  }
  echo(value: unknown): unknown {
    return value;
  }
  kind(value: object) {
    return value.constructor.name;
  }
  fail(which: string): unknown {
    if (which === "coded") throw new CodedError("bad");
    if (which === "type") throw new TypeError("wrong type");
    if (which === "text") throw "just text";
    if (which === "cause") throw new Error("outer", { cause: new Error("inner") });
    throw Object.assign(new Error("carries a promise"), { promise: Promise.resolve() });
  }
  plain() {
    return new Plain();
  }
  counter() {
    return new Counter();
  }
  nested() {
    return { add: (value: number) => value + 1, at: new Date(0), map: new Map([[1, 2]]), none: undefined };
  }
  async callTwice(callback: Callback) {
    return [await callback(1), await callback(2)];
  }
  keep(callback: Callback, isDuplicated: boolean) {
    this.kept = isDuplicated ? callback.dup() : callback;
  }
  async useKept() {
    return this.kept?.("later");
  }
  stream() {
    return new ReadableStream<string>({
      start(controller) {
        controller.enqueue("a");
        controller.enqueue("b");
        controller.close();
      }
    });
  }
  endless() {
    return new ReadableStream<string>({
      start(controller) {
        controller.enqueue("only");
      }
    });
  }
  async drain(stream: ReadableStream<string>) {
    return (await readAll(stream)).join("");
  }
  override async fetch(request: Request): Promise<Response> {
    if (request.url.endsWith("/throw")) throw new CodedError("in fetch");
    return Response.json(
      { method: request.method, body: await request.text() },
      { status: 201, headers: { "x-a": "b" } }
    );
  }
  override alarm() {}
  override webSocketMessage() {}
}

// The test calls names and passes values no typed stub would allow.
type Loose = Record<string, (...args: unknown[]) => Promise<unknown>> & { fetch: Fetcher["fetch"] };

class Caller extends DurableObject<{ Callee: DurableObjectNamespace<Callee> }> {
  #callee() {
    return standIn<Loose>(this.env.Callee.getByName("other"));
  }
  async viaStub() {
    const result = await this.#callee()["echo"]?.(this.env.Callee.getByName("third"));
    return standIn<DurableObjectStub<Callee>>(result).echo("through a passed stub");
  }
  passNamespace() {
    return this.#callee()["echo"]?.(this.env.Callee);
  }
  async catchCoded() {
    try {
      await this.#callee()["fail"]?.("coded");
    } catch (error) {
      return [error instanceof CodedError, error instanceof Error, { ...standIn<object>(error) }];
    }
    return [];
  }
}

const open = () => createTestHost({ agents: { Callee, Caller } });
const callee = async (host = open()) => standIn<Loose>(await host.get(Callee, "a"));
const call = async (method: string, ...args: unknown[]) => {
  const stub = await callee();
  return stub[method]?.(...args);
};

test.each([
  ["nope", 'The RPC receiver does not implement the method "nope".'],
  ["own", 'The RPC receiver does not implement the method "own".'],
  ["field", 'The RPC receiver does not implement the method "field".'],
  ["ctx", 'The RPC receiver does not implement the method "ctx".'],
  ["getter", '"getter" is not a function.'],
  ["alarm", "'alarm' is a reserved method and cannot be called over RPC."],
  ["webSocketMessage", "'webSocketMessage' is a reserved method and cannot be called over RPC."]
])("calling %s rejects with a remote TypeError", async (method, message) => {
  await expect(call(method)).rejects.toMatchObject({ name: "TypeError", message, remote: true });
});

test("a getter is read by awaiting it; then and symbols are not remote", async () => {
  const stub = await callee();
  expect(await stub["getter"]).toBe(42);
  expect(stub["then"]).toBeUndefined();
  expect(Reflect.get(stub, Symbol.asyncIterator)).toBeUndefined();
});

test("plain data is copied, cycles and shared parts included", async () => {
  const shared = { deep: [1n, new Date(5), new Set(["x"]), new Uint8Array([1, 2]), null, undefined] };
  const value: Record<string, unknown> = { left: shared, right: shared };
  value["self"] = value;
  const copy = standIn<typeof value>(await call("echo", value));
  expect(copy).toEqual(value);
  expect(copy).not.toBe(value);
  expect(copy["self"]).toBe(copy);
  expect(copy["left"]).toBe(copy["right"]);
});

test.each([
  ["a class instance", new Plain(), 'Could not serialize object of type "Plain".'],
  ["a promise", Promise.resolve(), "#<Promise> could not be cloned."],
  ["a symbol", Symbol("x"), "Symbol(x) could not be cloned."],
  ["a URL", new URL("http://x"), 'Could not serialize object of type "URL".'],
  ["an object without prototype", Object.create(null), 'Could not serialize object of type "Object".']
])("%s does not cross", async (_name, value, message) => {
  await expect(call("echo", value)).rejects.toMatchObject({ name: "DataCloneError" });
  await expect(call("echo", value)).rejects.toThrow(message);
});

test("a result that cannot cross rejects the call", async () => {
  await expect(call("plain")).rejects.toThrow('Could not serialize object of type "Plain".');
});

test("requests, headers and blobs cross as what they are", async () => {
  expect(await call("kind", new Request("http://x/"))).toBe("Request");
  expect(await call("kind", new Headers())).toBe("Headers");
  expect(await call("kind", new Blob([]))).toBe("Blob");
});

test("errors keep name, message, cause and own properties, but not their class", async () => {
  const host = open();
  const [isSameClass, isError, properties] = await (await host.get(Caller, "a")).catchCoded();
  expect([isSameClass, isError]).toEqual([false, true]);
  expect(properties).toEqual({ name: "CodedError", code: "c1", details: { a: 1 }, remote: true });
  await expect(call("fail", "coded")).rejects.toMatchObject({ name: "CodedError", message: "bad" });
  await expect(call("fail", "type")).rejects.toBeInstanceOf(TypeError);
  await expect(call("fail", "text")).rejects.toMatchObject({ message: "just text", remote: true });
  await expect(call("fail", "cause")).rejects.toMatchObject({ cause: { message: "inner" } });
  await expect(call("fail", "promise")).rejects.toMatchObject({ message: "carries a promise", remote: true });
});

test("functions cross as callbacks that end with the call unless duplicated", async () => {
  const stub = await callee();
  const seen: unknown[] = [];
  const callback = (value: unknown) => seen.push(value);
  expect(await stub["callTwice"]?.(callback)).toEqual([1, 2]);
  await stub["keep"]?.(callback, false);
  await expect(stub["useKept"]?.()).rejects.toThrow("RPC stub used after being disposed.");
  await stub["keep"]?.(callback, true);
  expect(await stub["useKept"]?.()).toBe(3);
  expect(seen).toEqual([1, 2, "later"]);
});

test("an error thrown by a callback travels back to its caller and on", async () => {
  const failing = () => {
    throw new CodedError("from the callback");
  };
  await expect(call("callTwice", failing)).rejects.toMatchObject({ name: "CodedError", code: "c1", remote: true });
});

test("an RpcTarget stays where it is and can be used before it arrives", async () => {
  const stub = standIn<DurableObjectStub<Callee>>(await callee());
  const counter = standIn<{ increment(): Promise<number>; value: Promise<number> }>(await stub.counter());
  expect([await counter.increment(), await counter.increment(), await counter.value]).toEqual([1, 2, 2]);
  expect(await standIn<{ increment(): Promise<number> }>(stub.counter()).increment()).toBe(1);
});

test("functions inside results are callable, and results can be disposed of", async () => {
  const result = standIn<{ add(value: number): Promise<number>; at: Date; [Symbol.dispose](): void }>(
    await call("nested")
  );
  expect(await result.add(1)).toBe(2);
  expect(Object.keys(result)).toEqual(["add", "at", "map", "none"]);
  result[Symbol.dispose]();
});

test("streams cross both ways, and fail for a reader outside when the process dies", async () => {
  const host = open();
  const stub = await callee(host);
  const stream = standIn<ReadableStream<string>>(await stub["stream"]?.());
  expect(await readAll(stream)).toEqual(["a", "b"]);
  const outgoing = new ReadableStream<string>({
    start(controller) {
      controller.enqueue("c");
      controller.close();
    }
  });
  expect(await stub["drain"]?.(outgoing)).toBe("c");
  const reader = standIn<ReadableStream<string>>(await stub["endless"]?.()).getReader();
  expect(await reader.read()).toMatchObject({ value: "only" });
  const pending = reader.read();
  host.kill();
  await expect(pending).rejects.toMatchObject({ name: "ProcessDied" });
});

test("fetch passes request and response; a throw arrives as text", async () => {
  const stub = await callee();
  const response = await stub.fetch("http://x/y", { method: "POST", body: "in" });
  expect([response.status, response.headers.get("x-a"), await response.json()]).toEqual([
    201,
    "b",
    { method: "POST", body: "in" }
  ]);
  await expect(stub.fetch("http://x/throw")).rejects.toMatchObject({ message: "CodedError: in fetch", remote: true });
});

test("stubs can be passed on; namespaces cannot", async () => {
  const host = open();
  const caller = await host.get(Caller, "a");
  expect(await caller.viaStub()).toBe("through a passed stub");
  await expect(caller.passNamespace()).rejects.toThrow('Could not serialize object of type "DurableObjectNamespace".');
});

test("ids: by name, by text, unique; foreign and malformed ones are refused", () => {
  const { Callee: callees, Caller: callers } = open().env;
  const named = callees.idFromName("n");
  expect(named.name).toBe("n");
  expect(named.equals(callees.idFromString(named.toString()))).toBe(true);
  expect(callees.idFromString(named.toString()).name).toBeUndefined();
  expect(callees.newUniqueId().toString()).not.toBe(callees.newUniqueId().toString());
  expect(callees.jurisdiction("eu").idFromName("n").equals(named)).toBe(true);
  expect(() => callees.idFromString("zz")).toThrow("must be 64 hex digits");
  expect(() => callers.idFromString(named.toString())).toThrow("not valid for this namespace");
  expect(() => callers.get(named)).toThrow("not valid for this namespace");
});
