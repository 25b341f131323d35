// A call that waits for a decision, as lines for the person who decides. Pure.
import type { WaitingApproval } from "../../client/index.ts";
import { showTitle } from "../../features/messengers/approval-input.ts";
import { isObject } from "../../util/json.ts";
import { printable, wholeJson } from "../message-text.ts";

/** Of code that waits, the call inside of it. */
export function question({ toolName, input, descriptor, mayHaveRun }: WaitingApproval): string {
  const said: Record<string, unknown> = isObject(descriptor) ? descriptor : {};
  const { action = toolName, summary = "" } = said;
  const given = typeof summary === "string" && summary !== "" ? `│ ${showTitle(summary)}\n` : "";
  const end = mayHaveRun
    ? "was begun before, and may have run: approve it only if it did not"
    : "waits for your approval";
  return printable(`┌ ${String(action)} ${wholeJson(said["input"] ?? input)}\n${given}└ ${end}`);
}
