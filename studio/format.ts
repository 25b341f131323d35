// Numbers, times and whole turns as text.
import type { Cost, ShownText, StepUsage, TurnTimeline } from "../src/features/inspection/index.ts";

export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return "–";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(ms < 9995 ? 2 : 1)} s`;
  const seconds = Math.round(ms / 1000);
  return seconds < 3600 ? `${Math.floor(seconds / 60)} min ${seconds % 60} s` : `${(ms / 3_600_000).toFixed(1)} h`;
}

export function bytes(count: number): string {
  if (count < 1024) return `${count} B`;
  return count < 1024 * 1024 ? `${(count / 1024).toFixed(1)} KB` : `${(count / 1024 / 1024).toFixed(1)} MB`;
}

export function count(number: number): string {
  return number.toLocaleString("en");
}

export function clock(at: number | null): string {
  return at === null ? "–" : new Date(at).toLocaleTimeString([], { hourCycle: "h23" });
}

export function dateTime(at: number | null): string {
  return at === null ? "–" : new Date(at).toLocaleString([], { hourCycle: "h23" });
}

/** How long something is past, to its largest unit. */
export function ago(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 1) return "just now";
  if (minutes < 60) return `${minutes} min ago`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ago`;
  return `${Math.floor(hours / 24)} days ago`;
}

export function tokens({ inputTokens, outputTokens }: StepUsage): string {
  if (inputTokens === null && outputTokens === null) return "–";
  return `${count(inputTokens ?? 0)} in · ${count(outputTokens ?? 0)} out`;
}

/** Empty: not known. Small sums keep two digits that say something. */
export function money(cost: Cost | null | undefined): string {
  if (!cost) return "";
  const { amount, currency } = cost;
  const digits = amount > 0 && amount < 0.1 ? { maximumSignificantDigits: 2 } : { maximumFractionDigits: 2 };
  try {
    return new Intl.NumberFormat("en", { style: "currency", currency, ...digits }).format(amount);
  } catch {
    // Not a currency code: the class wrote it.
    return `${amount.toPrecision(2)} ${currency}`;
  }
}

/** Tokens, and what they cost where it is known. */
export function spent(usage: StepUsage, cost: Cost | null | undefined): string {
  return [tokens(usage), money(cost)].filter(Boolean).join(" · ");
}

/**
 * What a reader cannot see is written out: control characters as symbols, so that escape sequences of terminals do nothing,
 * and characters that are invisible or turn the direction of writing around by their number, so that no text looks like another.
 */
export function printable(text: string): string {
  return text.replaceAll(UNSEEN, (char) => {
    const code = char.codePointAt(0) ?? 0;
    return code < 0x20
      ? String.fromCodePoint(0x2400 + code)
      : `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  });
}

/** An address of an agent as its name was written. */
export function readableAddress(at: string): string {
  try {
    return decodeURIComponent(at);
  } catch {
    // Not written by us.
    return at;
  }
}

const CALL_STATES: Readonly<Record<string, string>> = {
  "input-streaming": "is written",
  "input-available": "runs",
  "approval-requested": "asks",
  "approval-responded": "decided",
  "output-available": "done",
  "output-error": "failed",
  "output-denied": "denied"
};

/** The state of a part that is a call, in a word. */
export function callState(state: string): string {
  return Object.hasOwn(CALL_STATES, state) ? (CALL_STATES[state] ?? state) : printable(state);
}

/** Who decided. What only a client claimed is shown as that. */
export function deciderName(by: string | null): string {
  const [, claimed] = /^unverified:(.*)$/s.exec(by ?? "") ?? [];
  return printable(claimed === undefined ? (by ?? "a client") : `${claimed} (not verified)`);
}

/** Joiners and variation selectors are left alone: emoji and several scripts are written with them. */
const UNSEEN =
  // oxlint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}]/gu;

/** One turn as Markdown, for issues and messages. Content is fenced: it cannot become markup. */
export function turnMarkdown(turn: TurnTimeline, address: string): string {
  const lines = [
    `## Turn \`${turn.turnId}\` of \`${address}\``,
    "",
    `- ${turn.status}${turn.error ? ` (${turn.error.code})` : ""}, ${turn.trigger ?? "?"}, ${new Date(turn.admittedAt ?? 0).toISOString()}`,
    `- waited ${duration(turn.queueMs)}, tokens ${spent(turn.usage, turn.cost)}`,
    ""
  ];
  for (const message of turn.messages) {
    lines.push(`**${message.role}**`, "", ...message.parts.flatMap(({ text }) => [fenced(text), ""]));
  }
  for (const attempt of turn.attempts) {
    lines.push(`### Attempt ${attempt.attempt}: ${attempt.kind}, ${attempt.end ?? "open"}`, "");
    if (attempt.decision) lines.push(`Why: ${attempt.decision}`, "");
    for (const call of attempt.steps.flatMap(({ calls }) => calls)) {
      lines.push(`- \`${call.toolName}\`: ${call.status}`, "", fenced(call.input), "");
      if (call.output) lines.push(fenced(call.output), "");
    }
  }
  return lines.join("\n");
}

function fenced({ text, chars, isCut }: ShownText): string {
  const fence = "`".repeat(Math.max(3, ...[...text.matchAll(/`+/g)].map(([run]) => run.length + 1)));
  return `${fence}\n${printable(text)}${isCut ? `\n… (${chars} characters)` : ""}\n${fence}`;
}
