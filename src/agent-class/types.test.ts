// What users rely on the compiler to know. Checked by `npm run types`; running it proves nothing more.
import { expectTypeOf, test } from "vitest";
import {
  Agent,
  getAgentByName,
  getSubAgentByName,
  type Connection,
  type Schedule,
  type SubAgentStub
} from "./index.ts";

interface Env {
  Shop: DurableObjectNamespace<Shop>;
}

class Shop extends Agent<Env, { open: boolean }, { owner: string }> {
  price(item: string): number {
    return item.length;
  }
  async stock(): Promise<string[]> {
    return [];
  }
  secret = "a field";
}

// Declared, never called: only its types matter.
declare const shop: Shop;
declare const env: Env;

test("state, sql rows, schedules and connections have the types the class gives them", () => {
  type State = Shop["state"];
  expectTypeOf<State>().toEqualTypeOf<{ open: boolean }>();
  expectTypeOf<Parameters<Shop["setState"]>>().toEqualTypeOf<[next: { open: boolean }]>();
  expectTypeOf<Parameters<Shop["onStart"]>[0]>().toEqualTypeOf<{ owner: string } | undefined>();
  const rows = () => shop.sql<{ id: string }>`SELECT id FROM items`;
  expectTypeOf(rows).returns.toEqualTypeOf<{ id: string }[]>();
  const scheduled = () => shop.schedule(1, "price", { item: "pen" });
  expectTypeOf(scheduled).returns.resolves.toEqualTypeOf<Schedule<{ item: string }>>();
  // @ts-expect-error a callback is a member of the class
  const wrong = () => shop.schedule(1, "missing");
  expectTypeOf(wrong).toBeFunction();
  expectTypeOf<Connection<{ seat: number }>["state"]>().toEqualTypeOf<{ seat: number } | null>();
});

test("a sub-agent's stub offers the user's own methods, asynchronously, and nothing of the base class", () => {
  type Stub = SubAgentStub<Shop>;
  expectTypeOf<Stub["price"]>().toEqualTypeOf<(item: string) => Promise<number>>();
  expectTypeOf<Stub["stock"]>().toEqualTypeOf<() => Promise<string[]>>();
  expectTypeOf<Stub>().not.toHaveProperty("setState");
  expectTypeOf<Stub>().not.toHaveProperty("secret");
  expectTypeOf<Stub>().not.toHaveProperty("internalCall");
  const byName = () => getSubAgentByName({}, Shop, "x");
  expectTypeOf(byName).returns.resolves.toEqualTypeOf<Stub>();
  const child = () => shop.subAgent(Shop, "x");
  expectTypeOf(child).returns.resolves.toEqualTypeOf<Stub>();
});

test("getAgentByName gives the class's own stub", () => {
  const lookUp = () => getAgentByName(env.Shop, "main");
  expectTypeOf(lookUp).returns.resolves.toEqualTypeOf<DurableObjectStub<Shop>>();
});
