// `action()`: a tool with side effects, which carries the feature that runs it. The feature itself is runtime.ts.
import type { ActionsFeature } from "../../feature/approval-contract.ts";
import { FEATURE } from "../../feature/feature.ts";
import type { ChatServices } from "../../feature/services.ts";
import { describeAction, type Action, type ActionConfig } from "./descriptor.ts";
import { ActionRuntime } from "./runtime.ts";

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
  return Object.freeze({ ...describeAction(config), [FEATURE]: openActions });
}

function openActions(host: ChatServices): ActionsFeature {
  return new ActionRuntime(host);
}
