// What the code of the process tests does, and what an agent tells of its runs: for the worker and for the tests.

/** Two calls that carry a key, one that must not be repeated, and one that a human decides. */
export const CODE = `const a = await world.keyed({ n: 1 });
let b; try { b = await world.once({ n: 2 }) } catch { b = "unknown" }
await world.gated({ n: 3 });
const c = await world.keyed({ n: 4 });
[a, b, c]`;

/** The engine itself is busy: no check in the code can end it. */
export const FREEZING = `await world.once({ n: 1 }); /^(a+)+$/.test("a".repeat(50) + "b")`;

export interface RunFacts {
  readonly runs: readonly { id: string; status: string; error: string | null; isPlaced: number }[];
  readonly pending: readonly { executionId: string; mayHaveRun?: true }[];
  readonly isSaid: boolean;
}
