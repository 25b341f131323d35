// The terminal view of `everthink dev` as lines: what is drawn at the bottom all the time, and a turn that has ended. Pure.
import { oneLine } from "../chat/receipt-text.ts";
import { printable } from "../message-text.ts";
import { characterWidth, textWidth, type Paint } from "../terminal/styled-text.ts";
import { openTurns, type DevState, type DevTurn } from "./dev-state.ts";

export interface DevLook {
  readonly width: number;
  readonly paint: Paint;
  readonly now: number;
}

/** Turns that are drawn; the others are counted. */
const MAX_SHOWN = 8;

export const KEYS = {
  o: "opens the page in a browser",
  s: "opens Studio, which looks inside the agents",
  c: "talks to an agent, here",
  l: "shows fewer lines of the log: all, warnings, errors",
  r: "kills the server and starts it again: what ran is recovered",
  q: "quits, as Ctrl-C does",
  "?": "says this"
} as const;

export type DevKey = keyof typeof KEYS;

export function helpLines(): string[] {
  return Object.entries(KEYS).map(([key, text]) => `  ${key}  ${text}`);
}

export function liveLines(state: DevState, look: DevLook): string[] {
  const turns = openTurns(state);
  const more = turns.length - MAX_SHOWN;
  return [
    headLine(state, look),
    ...turns.slice(0, MAX_SHOWN).flatMap((turn) => openLines(turn, look)),
    ...(more > 0 ? [look.paint("dim", `  and ${more} more`)] : []),
    keyLine(state, look)
  ].map((line) => cut(line, look));
}

function headLine({ origin, studio, agents }: DevState, { paint }: DevLook): string {
  const address = origin === undefined ? paint("yellow", "starting …") : paint("cyan", `${origin}/`);
  const count = `${agents} ${agents === 1 ? "agent" : "agents"}`;
  const looked = studio === undefined ? "Studio: press s" : `Studio: ${studio}`;
  return `${paint("bold", "everthink")}  ${address}  ${paint("dim", `${looked}  ${count}`)}`;
}

function keyLine({ level }: DevState, { paint }: DevLook): string {
  const log = level === "info" ? "log" : level === "warn" ? "log: warnings" : "log: errors";
  const keys = [
    ["o", "open"],
    ["s", "Studio"],
    ["c", "chat"],
    ["l", log],
    ["r", "restart"],
    ["q", "quit"],
    ["?", "help"]
  ];
  return keys.map(([key = "", text = ""]) => `${paint("bold", key)} ${paint("dim", text)}`).join("  ");
}

function openLines(turn: DevTurn, { paint, now }: DevLook): string[] {
  const { status, tool, retry } = turn;
  const doing =
    status === "queued"
      ? "waits for the turn before it"
      : status === "waiting"
        ? `waits for a person${tool === undefined ? "" : `: ${tool}`}`
        : `step ${turn.steps + 1}${tool === undefined ? "" : ` · ${tool}`}`;
  const mark = status === "running" ? paint("green", "●") : paint("yellow", "○");
  const line = `${mark} ${paint("bold", printable(turn.at))}  ${[doing, ...numbers(turn, now)].join(" · ")}${asked(turn)}`;
  if (retry === undefined || status !== "running") return [line];
  const seconds = Math.ceil((retry.at - now) / 1_000);
  const when = seconds > 0 ? `is asked again in ${seconds} s` : "is asked again now";
  const attempt = `attempt ${retry.attempt}${retry.of === undefined ? "" : ` of ${retry.of}`}`;
  return [line, paint("yellow", `  the model ${when}, ${attempt}`)];
}

const MARKS: Readonly<Partial<Record<DevTurn["status"], readonly [string, "green" | "red" | "yellow"]>>> = {
  completed: ["✓", "green"],
  failed: ["✗", "red"],
  aborted: ["■", "yellow"],
  skipped: ["–", "yellow"]
};

/** One line of the log. */
export function endedLine(turn: DevTurn, { width, paint, now }: DevLook): string {
  const [mark = "?", colour = "yellow"] = MARKS[turn.status] ?? [];
  const why = turn.status === "completed" ? [] : [`${turn.status}${turn.reason === null ? "" : `: ${turn.reason}`}`];
  const time = new Date(turn.settledAt ?? now).toTimeString().slice(0, "hh:mm:ss".length);
  const calls = turn.calls === 0 ? [] : [counted(turn.calls, "call")];
  const deaths = turn.deaths === 0 ? [] : [`survived ${counted(turn.deaths, "death")}`];
  const said = [...why, counted(turn.steps, "step"), ...calls, ...numbers(turn, turn.settledAt ?? now), ...deaths];
  const head = `${paint("dim", time)} ${paint(colour, mark)} ${paint("bold", printable(turn.at))}`;
  return cut(`${head}  ${said.join(" · ")}${asked(turn)}`, { width });
}

function numbers({ tokens, cost, startedAt }: DevTurn, end: number): string[] {
  const seconds = Math.max(0, end - startedAt) / 1_000;
  return [
    ...(tokens === 0 ? [] : [`${tokens.toLocaleString("en")} tokens`]),
    ...(cost === null || cost.amount === 0 ? [] : [money(cost)]),
    `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`
  ];
}

function money({ amount, currency }: NonNullable<DevTurn["cost"]>): string {
  const text = amount < 0.01 ? amount.toPrecision(2) : amount.toFixed(2);
  return currency === "USD" ? `$${text}` : `${text} ${currency}`;
}

const counted = (count: number, noun: string) => `${count} ${noun}${count === 1 ? "" : "s"}`;
const asked = ({ question }: DevTurn) => (question === null || question === "" ? "" : `  “${oneLine(question)}”`);

/** One row: what is drawn again must not take two. */
function cut(line: string, { width }: Pick<DevLook, "width">): string {
  if (textWidth(line) <= width) return line;
  // Its styles are lost: a cut in the middle of one would colour what follows.
  let [shown, used] = ["", 0];
  // oxlint-disable-next-line no-control-regex
  for (const character of line.replace(/\u001b\[[\d;]*m/g, "")) {
    used += characterWidth(character);
    if (used > width - 1) break;
    shown += character;
  }
  return `${shown.trimEnd()}…`;
}
