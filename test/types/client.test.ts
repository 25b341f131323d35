// What the compiler knows of an agent through its client. Checked by `npm run types`; running it proves nothing more.
import type { LanguageModel } from "ai";
import { expectTypeOf, test } from "vitest";
import { Agent, type StreamingResponse } from "../../src/agent-class/index.ts";
import type { CallableMethods, ThinkClient } from "../../src/client/index.ts";
import { submissions } from "../../src/core/submissions.ts";
import { ThinkCore, withCapabilities } from "../../src/core/index.ts";
import { Think } from "../../src/index.ts";
import type { UseThinkResult } from "../../src/client/react.ts";

class Shop extends Think<unknown, { open: boolean }> {
  static override callables = ["price", "stock", "countTo", "submitMessages"] as const;
  override getModel(): LanguageModel {
    throw new Error("It never answers: only its types matter.");
  }
  price(item: string, count?: number): number {
    return item.length * (count ?? 1);
  }
  async stock(): Promise<string[]> {
    return [];
  }
  async countTo(stream: StreamingResponse, last: number): Promise<void> {
    stream.end(last);
  }
  /** Not listed. */
  audit(): void {}
  secret = "a field";
}

class Counter extends Agent {
  static callables = { vote: { description: "Adds a vote" } };
  vote(by: number): number {
    return by;
  }
  reset(): void {}
}

/** The compiler cannot tell the names of a list that may change. */
class Loose extends Think {
  static override callables = ["hello"];
  override getModel(): LanguageModel {
    throw new Error("It never answers: only its types matter.");
  }
  hello(): string {
    return "hello";
  }
}

class Lean extends withCapabilities(ThinkCore, submissions) {
  override getModel(): LanguageModel {
    throw new Error("It never answers: only its types matter.");
  }
  hello(): string {
    return "hello";
  }
}

// Declared, never called: only its types matter.
declare const client: ThinkClient<typeof Shop>;
declare const anything: ThinkClient;

/** Those that the package marks in every conversation. */
type Marked = "listBranches" | "selectBranch" | "pendingApprovals" | "approveExecution" | "rejectExecution";

test("calls, their results and the state are typed by the class", () => {
  expectTypeOf(() => client.call("price", ["pen", 2])).returns.resolves.toEqualTypeOf<number>();
  expectTypeOf(() => client.call("stock", [])).returns.resolves.toEqualTypeOf<string[]>();
  expectTypeOf(() => client.getSnapshot().state).returns.toEqualTypeOf<{ open: boolean } | undefined>();
  expectTypeOf<Parameters<typeof client.setState>>().toEqualTypeOf<[state: { open: boolean }]>();
  expectTypeOf<UseThinkResult<typeof Shop>["call"]>().toEqualTypeOf<typeof client.call>();
});

test("the response of a streaming method is not the client's to give", () => {
  expectTypeOf<CallableMethods<typeof Shop>["countTo"]["args"]>().toEqualTypeOf<[last: number]>();
});

test("what a class lists can be called, with what the package marks, and nothing else", () => {
  type Listed = "price" | "stock" | "countTo" | "submitMessages";
  expectTypeOf<keyof CallableMethods<typeof Shop>>().toEqualTypeOf<Listed | Marked>();
  expectTypeOf<keyof CallableMethods<typeof Counter>>().toEqualTypeOf<"vote">();
});

test("of an instance, or of a list that may change, the methods of the class itself can be called, and none of the package's", () => {
  expectTypeOf<keyof CallableMethods<Shop>>().toEqualTypeOf<"price" | "stock" | "countTo" | "audit" | Marked>();
  expectTypeOf<keyof CallableMethods<Counter>>().toEqualTypeOf<"vote" | "reset">();
  expectTypeOf<keyof CallableMethods<typeof Loose>>().toEqualTypeOf<"hello" | Marked>();
  expectTypeOf<keyof CallableMethods<Lean>>().toEqualTypeOf<"hello" | "listBranches" | "selectBranch">();
});

test("what cannot be called does not compile", () => {
  // @ts-expect-error no such method
  const missing = () => client.call("nothing", []);
  // @ts-expect-error a field
  const field = () => client.call("secret", []);
  // @ts-expect-error a method that is not listed
  const unlisted = () => client.call("audit", []);
  // @ts-expect-error a method of the package, for code on the server
  const server = () => client.call("clearMessages", []);
  // @ts-expect-error a number is no item
  const wrong = () => client.call("price", [1]);
  expectTypeOf([missing, field, unlisted, server, wrong]).toBeArray();
});

test("without a class any method may be called", () => {
  expectTypeOf(() => anything.call("whatever", [1, "two"])).returns.resolves.toBeUnknown();
});
