// What the panel says about tokens. They are counted from the opening of the page on, so a conversation that was opened
// again has had some of which the page knows nothing. Pure.
import { countText } from "../amounts.ts";
import type { Tokens } from "./panel-notes.ts";

/** `isReopened`: there were turns, all of them before this page could count. */
export function tokensText({ input, output }: Tokens, isReopened: boolean): string {
  if (input > 0 || output > 0) return `${countText(input)} in · ${countText(output)} out`;
  return isReopened ? "none since opened" : "no tokens yet";
}
