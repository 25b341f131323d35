// What the Worker is given: the two kinds of objects, and the variables that choose the model.
import type { MODEL_VARIABLES } from "../shared/model-variables.ts";
import type { Assistant } from "../agents/assistant/agent.ts";
import type { Directory } from "../agents/directory.ts";

export type ModelEnv = { readonly [Name in (typeof MODEL_VARIABLES)[number]]?: string };

export interface Env extends ModelEnv {
  Assistant: DurableObjectNamespace<Assistant>;
  Directory: DurableObjectNamespace<Directory>;
  /** For scripts of skills and extensions; not there in tests without workerd. */
  LOADER?: WorkerLoader;
}

/** There is one directory. */
export const DIRECTORY_NAME = "main";

/** Between two words of the offline model. */
const DEFAULT_PACE_MS = 25;
const MAX_PACE_MS = 1_000;

/** How slowly things that people should be able to watch happen; 0: nothing waits. */
export function paceMs({ OFFLINE_PACE_MS }: ModelEnv): number {
  const wished = OFFLINE_PACE_MS === undefined || OFFLINE_PACE_MS.trim() === "" ? NaN : Number(OFFLINE_PACE_MS);
  return Number.isFinite(wished) && wished >= 0 ? Math.min(wished, MAX_PACE_MS) : DEFAULT_PACE_MS;
}
