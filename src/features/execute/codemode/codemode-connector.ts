// A connector as a class. Its members are protected where user code may want them so: a subclass can make them public.
import { typesOfConnector } from "../catalog.ts";
import type { Connector, ConnectorTool } from "../connector.ts";
import type { MaybePromise } from "../../../util/maybe-promise.ts";

/**
 * A namespace of functions for code, as a class.
 *
 * @example
 * class Clock extends CodemodeConnector {
 *   name() {
 *     return "clock";
 *   }
 *   tools() {
 *     return { now: { description: "The time.", execute: () => new Date().toISOString() } };
 *   }
 * }
 */
export abstract class CodemodeConnector<Env = unknown> {
  protected readonly ctx: object | undefined;
  protected readonly env: Env | undefined;

  constructor(ctx?: object, env?: Env) {
    this.ctx = ctx;
    this.env = env;
  }

  /** TypeScript declarations of its functions, as the model is shown them. */
  getTypeScriptTypes(): Promise<string> {
    // It has all that a connector has; only here some of it is called protected.
    return typesOfConnector(this as object as Connector);
  }

  /** What code calls it. */
  abstract name(): string;

  /** One line for the model. */
  protected instructions(): string | undefined {
    return undefined;
  }

  protected abstract tools(): MaybePromise<Readonly<Record<string, ConnectorTool>>>;

  /** May change each tool, e.g. let it wait for an approval. */
  protected tool(_name: string, tool: ConnectorTool): ConnectorTool | undefined {
    return tool;
  }

  /** After every pass of a run, also one that paused. */
  protected onPassEnd(_executionId: string, _status: string): MaybePromise<void> {
    // For subclasses.
  }

  /** After the last pass of a run. */
  protected disposeExecution(_executionId: string, _status: string): MaybePromise<void> {
    // For subclasses.
  }
}
