// What the queue refuses or gives up, and why.
import { errorTable, ThinkError } from "../../util/errors.ts";

export const queueErrors = errorTable(ThinkError, {
  QueueLimitError: (limit: number) => ({
    code: "queue-full",
    message: `This agent's queue already holds ${limit} items.`,
    hint: "Items are added faster than their callback works them off. Add fewer and larger ones, or spread them over several callbacks."
  }),
  QueueItemGivenUpError: (callback: string, starts: number) => ({
    code: "queue-item-given-up",
    message: `An item of "${callback}" was started ${starts} times without ever finishing and was given up.`,
    hint: "Each start ended with the process or with a platform error. The item is kept among the dead letters."
  })
});
