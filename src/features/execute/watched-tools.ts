// Tools inside executed code are run with the class's hooks, so that a policy cannot be passed by writing code.
import { wrapTool, type ToolWatch } from "../../model/index.ts";
import type { ChatServices } from "../../feature/services.ts";
import { withHidden } from "../../util/hidden-fields.ts";
import type { ConnectorContext, RunTool } from "./connector.ts";

export function watchedRunner(host: ChatServices): RunTool {
  return async (name, tool, { input, context }) => {
    const watched = wrapTool(name, tool, watchOf(host, context));
    // A tool's `execute` takes its input and these options in both majors.
    const execute = watched.execute as (input: unknown, options: object) => unknown;
    const { toolCallId, abortSignal, idempotencyKey, executionId } = context;
    return await execute(input, { toolCallId, messages: [], abortSignal, context: {}, idempotencyKey, executionId });
  };
}

function watchOf({ overrides, turns, clock }: ChatServices, context: ConnectorContext): ToolWatch {
  const { turnId = "", requestId = "" } = turns.current() ?? {};
  const { abortSignal } = context;
  const details = { turnId, requestId, attempt: 1, via: "execute", executionId: context.executionId };
  const shown = <Call extends object>(call: Call) =>
    // The fields that hooks are given of a call of the model, and where it came from.
    withHidden({ ...call, ...details }, { abortSignal, signal: abortSignal }) as object as never;
  return {
    before: ({ abortSignal: _signal, ...call }) => overrides.beforeToolCall(shown(call)),
    after: ({ executedInput: _executed, abortSignal: _signal, ...call }) => overrides.afterToolCall(shown(call)),
    stepNumber: () => 0,
    now: () => clock.now()
  };
}
