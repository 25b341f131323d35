// What the Worker of a purse and its test agree on. Dollars; a token costs a tenth of a cent.
export const LIMIT = 6;
export const GRANT = 40;
export const HANDS = 5;
/** What each call reports. */
export const USED = { input: 900, output: 100 };
export const PRICE_OF_CALL = (USED.input + USED.output) / 1_000;

export interface PurseReport {
  readonly said: number;
  readonly runs: readonly { readonly runId: string; readonly status: string }[];
  readonly spent: number;
  readonly granted: number;
  readonly open: number;
}
