// What the compiler knows of an agent through its client. Checked by `npm run types`; running it proves nothing more.
import { expectTypeOf, test } from "vitest";
import type { StreamingResponse } from "../../src/agent-class/index.ts";
import type { CallableMethods, ThinkClient } from "../../src/client/index.ts";
import { Think } from "../../src/index.ts";

class Shop extends Think<unknown, { open: boolean }> {
  price(item: string, count?: number): number {
    return item.length * (count ?? 1);
  }
  async stock(): Promise<string[]> {
    return [];
  }
  async countTo(stream: StreamingResponse, last: number): Promise<void> {
    stream.end(last);
  }
  secret = "a field";
}

// Declared, never called: only its types matter.
declare const client: ThinkClient<Shop>;
declare const anything: ThinkClient;

test("calls, their results and the state are typed by the class", () => {
  expectTypeOf(() => client.call("price", ["pen", 2])).returns.resolves.toEqualTypeOf<number>();
  expectTypeOf(() => client.call("stock", [])).returns.resolves.toEqualTypeOf<string[]>();
  expectTypeOf(() => client.getSnapshot().state).returns.toEqualTypeOf<{ open: boolean } | undefined>();
  expectTypeOf<Parameters<typeof client.setState>>().toEqualTypeOf<[state: { open: boolean }]>();
});

test("the response of a streaming method is not the client's to give", () => {
  expectTypeOf<CallableMethods<Shop>["countTo"]["args"]>().toEqualTypeOf<[last: number]>();
});

test("what the class does not have cannot be called", () => {
  // @ts-expect-error no such method
  const missing = () => client.call("nothing", []);
  // @ts-expect-error a field
  const field = () => client.call("secret", []);
  // @ts-expect-error a number is no item
  const wrong = () => client.call("price", [1]);
  expectTypeOf([missing, field, wrong]).toBeArray();
});

test("without a class any method may be called", () => {
  expectTypeOf(() => anything.call("whatever", [1, "two"])).returns.resolves.toBeUnknown();
});
