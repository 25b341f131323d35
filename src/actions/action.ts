// `action()`: the description of a tool with side effects, with the way to the desk that runs it.
import { OPEN_ACTIONS } from "../think/actions-port.ts";
import { describeAction, type Action, type ActionConfig } from "./descriptor.ts";
import { openDesk } from "./desk.ts";

/**
 * Describes a tool with side effects: run once per key, approved by a human, allowed by permissions.
 *
 * @example
 * getActions() {
 *   return {
 *     chargeInvoice: action({
 *       description: "Charge an invoice.",
 *       inputSchema: z.object({ invoiceId: z.string() }),
 *       idempotencyKey: ({ input }) => `invoice:${input.invoiceId}`,
 *       execute: async ({ invoiceId }) => charge(invoiceId)
 *     })
 *   };
 * }
 */
export function action<Input, Output>(config: ActionConfig<Input, Output>): Action<Input, Output> {
  return Object.freeze({ ...describeAction(config), [OPEN_ACTIONS]: openDesk });
}
