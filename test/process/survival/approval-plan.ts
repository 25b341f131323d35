// What the test of approvals and its worker share.

export interface ApprovalPlaces {
  readonly urls: Readonly<Record<"telegram" | "slack" | "discord" | "teams", string>>;
  readonly discordKey: string;
  /** Where effects are counted. */
  readonly effectsPort: number;
}

const LINES = 60;

/** Longer than what one message of any provider shows. */
export function scriptOf(job: string): string {
  return Array.from({ length: LINES }, (_, line) => `echo line ${line} of the script of ${job} end`).join("\n");
}
