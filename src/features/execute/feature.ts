// Executed code as a feature of an agent: it joins with the first tool that carries it.
import type { UIMessageChunk } from "ai";
import type { ExecutionsFeature, PendingExecution } from "./restore-executions.ts";
import { servicesOf, type ChatServices } from "../../feature/services.ts";
import { wrapTool, type ToolWatch } from "../../model/index.ts";
import { withHidden } from "../../util/hidden-fields.ts";
import { endingInPause } from "../../feature/paused-turn.ts";
import { isObject } from "../../util/json.ts";
import { ExecutionApprovals } from "./execution-approvals.ts";
import { Executions, type RuntimeDefinition } from "./executions.ts";
import { isPausedExecution, type PendingCall } from "./outcome.ts";
import { EXECUTION_TABLES } from "./tables.ts";
import type { ConnectorContext } from "./connector.ts";
import { ToolSetConnector, type RunTool } from "./tool-set-connector.ts";
import type { ToolSet } from "ai";

/** Under which a tool or a runtime holds what it runs code with. */
export const DEFINITION: unique symbol = Symbol("everthink.execute-definition");

/** A definition before the agent is known: its tools are run with the agent's hooks. */
export interface UnboundDefinition extends RuntimeDefinition {
  readonly tools: ToolSet | undefined;
}

export interface OpenExecutions {
  readonly executions: Executions;
  readonly approvals: ExecutionApprovals;
}

interface OpenedFeature extends ExecutionsFeature {
  readonly opened: OpenExecutions;
}

/** Finds the executions of an agent. Undefined: its feature has not joined. */
export function findExecutions(agent: object): OpenExecutions | undefined {
  // Only this module has a feature of this name.
  return (servicesOf(agent).features.named("execute") as OpenedFeature | undefined)?.opened;
}

export function openExecute(host: ChatServices): OpenedFeature {
  const executions = new Executions(host);
  const waiting = new ExecutionApprovals(executions, host);
  return {
    name: "execute",
    opened: { executions, approvals: waiting },
    tables: EXECUTION_TABLES,
    adopt: (carrier) => {
      const definition: unknown = Reflect.get(carrier, DEFINITION);
      // Only this module puts something under this name.
      if (isObject(definition)) executions.register(bound(host, definition as object as UnboundDefinition));
    },
    ready: () => executions.resume(),
    stop: () => executions.stop(),
    nextWake: () => executions.nextWake(),
    runDue: async () => executions.runDue(),
    inTurn: () => ({ ...endingInPause(isPausedExecution), annotate: (chunk) => annotated(chunk, executions) }),
    settled: ({ turnId }) => executions.turnSettled(turnId),
    cleared: () => executions.store.deleteAll(),
    calls: {
      keepsOutcome: (turn, { toolCallId }) => executions.keepsCall(turn, toolCallId),
      lateOutcome: (turn, call) => executions.lateOutcome(turn, call),
      annotateRecovered: (chunk) => annotated(chunk, executions)
    },
    approvals: waiting,
    pendingExecutions: (id) => waiting.pendingExecutions(id).map(asPublic)
  };
}

function bound(host: ChatServices, { tools, connectors, ...definition }: UnboundDefinition): RuntimeDefinition {
  if (!tools) return { ...definition, connectors };
  return { ...definition, connectors: [new ToolSetConnector(tools, watchedRunner(host)), ...connectors] };
}

/** What arguments decode to can be sent. */
function asPublic(pending: PendingCall): PendingExecution {
  return pending as PendingExecution;
}

/** A run that waits carries what is asked, so that a client need not look it up. */
function annotated(chunk: UIMessageChunk, executions: Executions): UIMessageChunk {
  if (chunk.type !== "tool-output-available" || !isPausedExecution(chunk.output)) return chunk;
  const execution = executions.store.find(chunk.output.executionId);
  const approvalDescriptor = execution && executions.askedOf(execution);
  return approvalDescriptor ? { ...chunk, ...{ approvalDescriptor } } : chunk;
}

/** Runs a tool inside executed code with the class's hooks, so that a policy cannot be passed by writing code. */
function watchedRunner(host: ChatServices): RunTool {
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
