// Steps of a start that may fail without failing it: the agent is up and says what it lacks.

export type DegradableStep = "transcript-hydration" | "scheduled-task-reconcile" | "durable-work-recovery";

/** A step that failed. */
export interface OnStartDegradation {
  readonly step: DegradableStep;
  readonly error: string;
}
