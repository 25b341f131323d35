// What the conversations of the kill run consist of: for the worker, for what counts outside of it, and for the audit. A job's id
// says how its work behaves: "slow" takes its time, "throws" fails at first, "hangs" does not return in the process it began in.

/** Jobs of one wave. Each kind of durable work is in every wave. */
export const JOBS = [
  "queue.plain",
  "queue.slow",
  "queue.throws",
  "queue.hangs",
  "one-shot.plain",
  "one-shot.slow",
  "one-shot.throws",
  "one-shot.hangs",
  "managed-fiber.plain",
  "managed-fiber.slow",
  "managed-fiber.hangs",
  "fiber.plain",
  "fiber.slow",
  "fiber.hangs",
  "fiber.throws",
  "resumed-fiber.plain",
  "resumed-fiber.throws",
  "turn.tool.slow",
  "turn.unkeyed.plain",
  "turn.keyed.throws",
  "turn.keyed.hangs",
  "turn.asked.plain",
  "turn.parked.plain",
  "turn.parkedKeyed.slow",
  "turn.execute.plain",
  "turn.research.slow",
  "turn.research.throws",
  "turn.survey.hangs",
  "workflow.slow",
  "chat.say.plain",
  "chat.parked.plain"
] as const;

export interface Job {
  /** "queue", "turn", …: how it is begun. */
  readonly type: string;
  /** Of turns and chats: what the model is asked to do. */
  readonly tool: string;
  readonly id: string;
}

/** Waves are numbered from 1. */
export function jobsOfWave(wave: number): Job[] {
  return JOBS.map((name) => {
    const [type = "", tool = ""] = name.split(".");
    return { type, tool, id: `${name}.w${wave}` };
  });
}

/** What the worker is told by what counts its effects. */
export interface Instruction {
  readonly waitMs: number;
  readonly then: "go" | "throw" | "hang";
}

/** Where everything outside of the process is: the name of an agent, which is all that a worker is given here. */
export interface Places {
  readonly effectsPort: number;
  readonly telegramPort: number;
  /** The minute (HH:MM, UTC) at which the tasks of the agent are due. */
  readonly minute: string;
  readonly round: number;
}

export function nameOf({ effectsPort, telegramPort, minute, round }: Places): string {
  return `${effectsPort}-${telegramPort}-${minute.replace(":", "")}-${round}`;
}

export function placesOf(name: string): Places {
  const [effectsPort = 0, telegramPort = 0, minute = "", round = 0] = name.split("-");
  return {
    effectsPort: Number(effectsPort),
    telegramPort: Number(telegramPort),
    minute: `${minute.slice(0, 2)}:${minute.slice(2)}`,
    round: Number(round)
  };
}

export const TASK_PROMPT_ID = "task.prompt.plain";

/** A call of a tool, as the transcript shows it. */
export interface ShownCall {
  readonly tool: string;
  readonly input: string;
  readonly state: string;
  readonly output: string;
}

/** What an agent tells of itself. */
export interface AgentState {
  readonly questions: readonly string[];
  readonly calls: readonly ShownCall[];
  /** Those that are not completed. */
  readonly submissions: readonly { readonly id: string; readonly status: string; readonly error: string }[];
  readonly fibers: readonly { readonly name: string; readonly status: string }[];
  readonly runs: readonly { readonly runId: string; readonly status: string; readonly input: string }[];
  readonly workflows: readonly { readonly id: string; readonly status: string }[];
  readonly schedules: readonly string[];
  readonly deadLetters: number;
  readonly pending: readonly Waiting[];
  /** Milliseconds from now; null: none. */
  readonly alarmInMs: number | null;
}

/** What waits for a human. */
export interface Waiting {
  readonly executionId: string;
  readonly source: string;
  readonly inputHash: string;
  readonly mayHaveRun: boolean;
  readonly input: string;
}

/** The text of an answer. */
export function answerTo(id: string): string {
  return `This is the whole answer to ${id}, from its beginning to its end.`;
}

/** What a chat shows of a job. */
export interface ChatRecord {
  readonly job: Job;
  readonly texts: readonly string[];
}
