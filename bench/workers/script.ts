// What the model of a benchmark is to answer, carried by the user's text as JSON, so that one driver can ask every
// contender for the same thing. Shared by the driver and the workers.

export interface Script {
  /** Text deltas of the last step. */
  chunks: number;
  /** Characters of each delta. */
  chunkChars: number;
  /** Between two deltas; 0 hands over everything at once. */
  pauseMs: number;
  /** Steps with calls of the tool "echo" before the text. */
  callSteps: number;
  callsPerStep: number;
  /** Before each of those steps, as a model that thinks. */
  stepPauseMs: number;
  /** After the last delta the answer stays open until it is cancelled. */
  isHeld: boolean;
}

export const ONE_CHUNK: Script = {
  chunks: 1,
  chunkChars: 16,
  pauseMs: 0,
  callSteps: 0,
  callsPerStep: 1,
  stepPauseMs: 0,
  isHeld: false
};

export function writeScript(script: Partial<Script>): string {
  return JSON.stringify({ ...ONE_CHUNK, ...script });
}

/** Text that is no script, such as that of a seeded history, asks for one chunk. */
export function readScript(text: string): Script {
  try {
    return { ...ONE_CHUNK, ...(JSON.parse(text) as Partial<Script>) };
  } catch {
    return ONE_CHUNK;
  }
}

/** All deltas are the same, so what arrived can be checked by its length. */
export function deltaOf(script: Script): string {
  return "x".repeat(script.chunkChars - 1) + " ";
}
