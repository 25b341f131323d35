// What the agents under test write down about themselves, and how much work one batch is. Shared by the worker and the
// audit.

export const STEPS = 5;
export const ONE_SHOTS = 3;
export const QUEUE_ITEMS = 3;

export interface WorkBook {
  key: string;
  began: number;
  ended: number;
}

export interface RecoveryReport {
  fiberId: string;
  /** The last step the fiber had stashed. */
  done: number;
  times: number;
}

export interface FiberBook {
  fiberId: string;
  status: string;
  error: string | undefined;
  done: number;
}

export interface Books {
  accepted: string[];
  work: WorkBook[];
  effects: { step: string; times: number }[];
  reports: RecoveryReport[];
  fibers: FiberBook[];
  /** Kinds of schedules and keys of queue items that are still stored. */
  schedules: string[];
  queued: string[];
  intervalRuns: number;
}
