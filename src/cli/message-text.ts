// Messages for a terminal: the text, and each tool call as a card of two lines, without control characters. Pure.
import type { UIMessage } from "ai";
import { showHidden } from "../features/messengers/approval-input.ts";
import { isToolPart, toolNameOf, type ToolPart } from "../model/tool-part.ts";

/** Characters of an input or output that are shown. */
const SHOWN_CHARACTERS = 300;

export function toolCard(part: ToolPart): string {
  return printable(cardText(part));
}

function cardText(part: ToolPart): string {
  const head = `┌ ${toolNameOf(part)} ${shortJson(part.input)}`;
  switch (part.state) {
    case "output-available":
      return `${head}\n└ ${shortJson(part.output)}`;
    case "output-error":
      return `${head}\n└ failed: ${part.errorText ?? ""}`;
    case "output-denied":
      return `${head}\n└ not approved`;
    case "approval-requested":
      return `${head}\n└ waits for your approval`;
    default:
      return `${head}\n└ …`;
  }
}

export function messageText({ role, parts }: UIMessage): string {
  const shown = parts.flatMap((part) => {
    if (part.type === "text") return [part.text];
    return isToolPart(part) ? [toolCard(part)] : [];
  });
  return printable(`${role === "user" ? "you" : role}: ${shown.join("\n")}`);
}

/** One line; control characters of a server's text could rewrite the terminal. */
export function shortJson(value: unknown): string {
  const text = value === undefined ? "" : (JSON.stringify(value) ?? "");
  const cut = text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
  return printable(cut);
}

/** For a decision: all of it, and what cannot be seen, or turns the direction of writing, by its number. */
export function wholeJson(value: unknown): string {
  return showHidden(value === undefined ? "" : (JSON.stringify(value) ?? ""));
}

/** Without escape sequences: what a model or server writes must not move the cursor or change the title. */
export function printable(text: string): string {
  // oxlint-disable-next-line no-control-regex
  return text.replace(/[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/g, "");
}
