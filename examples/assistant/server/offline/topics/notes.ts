// Notes: taking one, then deleting or publishing it, which both ask a person; and listing them.
import type { Call } from "../conversation.ts";
import { fieldOf, numberIn, textIn } from "../outcome.ts";
import type { Step } from "../plan.ts";
import { outcomeOfCall, trouble, type Asked, type Topic } from "../topic.ts";

interface Note {
  readonly id: number;
  readonly text: string;
}

const QUOTED = /["“”„«]([^"“”„«»]+)["“”»]/;
const UNQUOTED =
  /\bnote\b[:,]?\s*(?:that (?:says|reads)|saying|to|of|that)?\s*[:,]?\s*(.+?)(?:[,.;]?\s*(?:and )?then\b.*)?[.!]?\s*$/is;
const TAKE = /\b(take|make|write|add|keep)\b.{0,20}\bnote\b|^\s*note\b/i;
const LIST = /\b(list|show|which|what|read)\b.{0,20}\bnotes\b/i;
const DELETE = /\b(delete|remove|throw)\b/i;
const PUBLISH = /\bpublish|\b(on|to) the board\b/i;
const NUMBERED = /\bnote\s+(?:number\s+|no\.?\s*|#)?(\d+)\b/i;

export const newNote: Topic = {
  isAbout: ({ question }) => TAKE.test(question) && wordsIn(question) !== "",
  plan(asked) {
    const text = wordsIn(asked.question);
    const take: Step = { text: "I take the note.", call: { tool: "take_note", input: { text } } };
    const taken = outcomeOfCall(asked, "take_note");
    if (taken === undefined || taken.kind === "waiting") return [take];
    if (taken.kind !== "done") return [take, { text: trouble("The note was not taken", taken) }];
    const note = { id: numberIn(taken.value, "id") ?? 0, text: textIn(taken.value, "text") ?? text };
    return [take, ...afterwards(asked, note)];
  }
};

export const existingNote: Topic = {
  isAbout: ({ question }) => NUMBERED.test(question) && (DELETE.test(question) || PUBLISH.test(question)),
  plan(asked) {
    const id = Number(NUMBERED.exec(asked.question)?.[1]);
    const look: Step = { call: { tool: "list_notes", input: {} } };
    const listed = outcomeOfCall(asked, "list_notes");
    if (listed === undefined || listed.kind === "waiting") return [look];
    if (listed.kind !== "done") return [look, { text: trouble("The notes could not be read", listed) }];
    const note = notesIn(listed.value).find((candidate) => candidate.id === id);
    return [look, ...(note ? afterwards(asked, note) : [{ text: `There is no note ${id}.` }])];
  }
};

export const listNotes: Topic = {
  isAbout: ({ question }) => LIST.test(question),
  plan(asked) {
    const look: Step = { call: { tool: "list_notes", input: {} } };
    const outcome = outcomeOfCall(asked, "list_notes");
    if (outcome === undefined || outcome.kind === "waiting") return [look];
    if (outcome.kind !== "done") return [look, { text: trouble("The notes could not be read", outcome) }];
    const lines = notesIn(outcome.value).map(({ id, text }) => `- **${id}**: ${text}`);
    return [
      look,
      { text: lines.length === 0 ? "There are no notes yet." : `These are the notes:\n\n${lines.join("\n")}` }
    ];
  }
};

/** What a decision over publishing came to. */
export function publishedSentence({ input, outcome }: Call): string {
  const name = named({ id: numberIn(input, "id") ?? 0, text: textIn(input, "text") ?? "" });
  if (outcome === undefined || outcome.kind === "waiting") return `${name} waits for a decision.`;
  if (outcome.kind === "done") return `It is decided: ${name} is on the board now.`;
  return trouble(`It is decided: ${name} stays off the board`, outcome);
}

/** What is to be done with a note that is there. */
function afterwards(asked: Asked, note: Note): Step[] {
  if (PUBLISH.test(asked.question)) return publishing(asked, note);
  if (DELETE.test(asked.question)) return deleting(asked, note);
  return [{ text: `Noted: ${named(note)}.` }];
}

function deleting(asked: Asked, note: Note): Step[] {
  const remove: Step = {
    text: `${capital(named(note))} is there. Deleting it needs your yes.`,
    call: { tool: "delete_note", input: note }
  };
  const outcome = outcomeOfCall(asked, "delete_note");
  if (outcome === undefined || outcome.kind === "waiting") return [remove];
  if (outcome.kind === "done") return [remove, { text: `${capital(named(note))} is deleted.` }];
  return [remove, { text: trouble(`${capital(named(note))} was not deleted`, outcome) }];
}

function publishing(asked: Asked, note: Note): Step[] {
  const publish: Step = {
    text: `${capital(named(note))} is there. Now the board.`,
    call: { tool: "publish_note", input: note }
  };
  const outcome = outcomeOfCall(asked, "publish_note");
  if (outcome === undefined) return [publish];
  if (outcome.kind !== "waiting")
    return [publish, { text: publishedSentence({ tool: "publish_note", input: note, outcome }) }];
  return [
    publish,
    {
      text: `Publishing ${named(note)} waits for somebody's decision. That may take days, and the process may restart as often as it likes; we can talk about other things meanwhile.`
    }
  ];
}

function named({ id, text }: Note): string {
  return `note ${id} (“${text}”)`;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** The words of the note that the question asks for; empty when it names none. */
function wordsIn(question: string): string {
  return (QUOTED.exec(question)?.[1] ?? UNQUOTED.exec(question)?.[1] ?? "").trim();
}

function notesIn(value: unknown): Note[] {
  const notes = fieldOf(value, "notes");
  if (!Array.isArray(notes)) return [];
  return notes.map((note: unknown) => ({ id: numberIn(note, "id") ?? 0, text: textIn(note, "text") ?? "" }));
}
