// What Studio is asked to look at, and the variable that lets it in.
import type { StudioTarget } from "./studio-server.ts";

/** The variable by which a class without an authorizeInspection() of its own lets Studio in; see think/inspection.ts. */
export const INSPECTION_VARIABLE = "EVERTHINK_INSPECTION_KEY";

export interface StudioArguments {
  readonly target: StudioTarget;
  /** Its path segment. */
  readonly agent: string | undefined;
  /** Path segments of those to choose from. */
  readonly agents: readonly string[];
  readonly instance: string;
  readonly port: number;
  readonly canWrite: boolean;
}
