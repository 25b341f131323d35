// What Studio is asked to look at, and the variable that lets it in.
import type { NamedAgentsInit } from "./named-agents.ts";
import type { StudioTarget } from "./studio-server.ts";

/** The variable by which a class without an authorizeInspection() of its own lets Studio in; see think/inspection.ts. */
export const INSPECTION_VARIABLE = "EVERTHINK_INSPECTION_KEY";

export interface DevelopedProject {
  readonly root: string;
  readonly agents: readonly DevelopedAgent[];
}

export interface DevelopedAgent {
  /** As in its address. */
  readonly id: string;
  readonly className: string;
}

export interface StudioArguments {
  readonly target: StudioTarget;
  /** Its path segment. */
  readonly agent: string | undefined;
  /** Path segments of those to choose from. */
  readonly agents: readonly string[];
  /** Absent: the one that was active last, as far as it is known which there are. */
  readonly instance: string | undefined;
  /** Present when the target is the development server of a project on this machine: whose objects can be listed. */
  readonly project: DevelopedProject | undefined;
  /** Agents that are asked whether they wait; undefined: those of the project, if its objects can be listed. */
  readonly named: Omit<NamedAgentsInit, "token"> | undefined;
  readonly port: number;
  readonly canWrite: boolean;
}
