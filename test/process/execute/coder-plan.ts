// What the code of the process tests does, and what an agent tells of its runs: for the worker and for the tests.

/** Two calls that carry a key and may be repeated, one that says nothing, and two that a human decides. */
export const CODE = `const a = await world.keyed({ n: 1 });
let b; try { b = await world.once({ n: 2 }) } catch { b = "unknown" }
await world.gated({ n: 3 });
const c = await world.keyed({ n: 4 });
await world.last({ n: 5 });
[a, b, c]`;

/** The engine itself is busy: no check in the code can end it. */
export const FREEZING = `await world.once({ n: 1 }); /^(a+)+$/.test("a".repeat(50) + "b")`;

/** Takes all the memory there is, before any check in the code can end it. */
export const BOMB = `await world.once({ n: 1 }); const all = []; for (;;) all.push(new Array(4_000_000).fill(all.length))`;

export interface RunState {
  readonly runs: readonly { id: string; status: string; error: string | null; isPlaced: number }[];
  readonly pending: readonly { executionId: string; method: string; mayHaveRun?: true; inputHash?: string }[];
  readonly isSaid: boolean;
}
