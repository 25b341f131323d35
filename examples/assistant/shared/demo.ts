// What the Worker and the page tell each other besides the chat itself. Types only: nothing of one side reaches the other.
import type { TelegramChats } from "everthink/testing/messengers";
import type { ToolRules } from "./tool-rules.ts";

export interface ConversationEntry {
  /** The name of its `Assistant`. */
  id: string;
  /** The beginning of the first question; "New conversation" before there is one. */
  title: string;
  createdAt: number;
  updatedAt: number;
  /** Questions that wait for a person. Absent: none. */
  waiting?: number;
}

export interface PublishedNote {
  id: string;
  text: string;
  publishedAt: number;
}

/** The state of the one `Directory`, called "main": every page follows it. */
export interface DirectoryState {
  /** Newest first. */
  conversations: ConversationEntry[];
  /** What `publish_note` has put on the board, newest first. */
  board: PublishedNote[];
}

export type ModelProvider = "offline" | "openai" | "anthropic" | "google" | "compatible";

export interface ModelStatus {
  provider: ModelProvider;
  /** For people: "Built-in offline model", "OpenAI gpt-5". */
  label: string;
  /** The chosen model cannot be used, so the offline model answers in its place. */
  problem?: {
    /** "OpenAI refused the key in OPENAI_API_KEY (401)." */
    what: string;
    /** "Set OPENAI_API_KEY to a valid key and start again." */
    fix: string;
  };
}

/** The state of an `Assistant`. */
export interface AssistantState {
  model: ModelStatus;
  /** What people chose for tools of MCP servers. */
  toolRules?: ToolRules;
  /** Ids of the tasks that are switched on; undefined while none ever was. */
  tasksOn?: string[];
  /** Undefined while it was never used. */
  messenger?: MessengerChat;
}

/** The simulated messenger. */
export interface MessengerChat {
  chats: TelegramChats;
  /** When the bot last said that it is writing, in milliseconds since 1970; undefined after it has spoken. */
  typingAt?: number;
}

export interface FileEntry {
  path: string;
  type: "file" | "directory" | "symlink";
  size: number;
  mimeType: string;
  updatedAt: number;
}

export interface FileListing {
  /** By path. */
  entries: FileEntry[];
  /** How many more there are. */
  left: number;
}

/** How a file differs from what it was before. */
export interface LastChange {
  at: number;
  /** A unified diff; empty for what cannot be compared. */
  diff: string;
}

/** Sent like a PanelNote after each change of a file. */
export interface FilesNote {
  type: "files";
  path: string;
}

/** A call that a program of the model made. */
export interface CalledFromCode {
  /** "tools.take_note" */
  name: string;
  /** "applied", "pending", "failed", … */
  state: string;
}

/** A recurring task as the page shows it. */
export interface DemoTask {
  taskId: string;
  title: string;
  /** "Every minute" */
  when: string;
  isOn: boolean;
  /** In milliseconds since 1970. */
  nextRunAt?: number;
  lastRunAt?: number;
  lastOutcome?: "submitted" | "handled" | "failed" | "skipped";
}

/** Sent to every page of a conversation as text, next to the protocol, while a turn runs. Not stored. */
export interface PanelNote {
  type: "panel";
  /** A page that connects is told again of what happened just before. */
  id: string;
  at: number;
  /** A hook of the class that fired, or an event it reported. */
  kind: "hook" | "event";
  /** "beforeTurn", "chat:recovery:detected" */
  name: string;
  /** One short line for people; may be empty. */
  detail: string;
  /** Set by onStepFinish: what this step used. */
  usage?: { inputTokens: number; outputTokens: number };
}
