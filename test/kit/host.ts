// What tests do with a host.
import type { TestHost } from "../../src/testing/index.ts";

/** Until nothing runs any more, and then for this long: pauses between messages, back-offs, continuations. */
export async function settleFor(host: TestHost<object>, ms: number): Promise<void> {
  await host.idle();
  await host.advance(ms);
}
