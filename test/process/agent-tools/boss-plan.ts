// What the processes of these tests do and tell: for the worker and for the tests.

/** How long the hooks take, as the name of a conversation says: `<port>-<ms>-<number>`. */
export function hookMsOf(name: string): number {
  return Number(name.split("-")[1]);
}

export interface BossReport {
  readonly runs: readonly { readonly runId: string; readonly status: string; readonly isReported: boolean }[];
  readonly isSaid: boolean;
}
