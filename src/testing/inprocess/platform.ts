// The platform in Node: what `#platform` means where there is no workerd. Names and types are those of the real one; the
// objects that use them live in an Engine, which tests create.
import type {
  DurableObject as PlatformDurableObject,
  WorkflowEntrypoint as PlatformWorkflowEntrypoint
} from "cloudflare:workers";
import { standIn } from "./stand-in.ts";

export { trackForeignWork as loading } from "./foreign-work.ts";
export { objectServicesOf as platformOf } from "./object-services.ts";
export { createSocketPair as openSocketPair } from "./upgrade-response.ts";
export type { WorkflowEvent, WorkflowStep } from "cloudflare:workers";

class NodeDurableObject {
  protected ctx: DurableObjectState;
  protected env: unknown;

  constructor(ctx: DurableObjectState, env: unknown) {
    this.ctx = ctx;
    this.env = env;
  }
}

// One name for the class and for the type of its instances, as a class declaration would give.
export const DurableObject = standIn<typeof PlatformDurableObject>(NodeDurableObject);
export type DurableObject<Env = Cloudflare.Env, Props = object> = PlatformDurableObject<Env, Props>;

/** There is no workflow engine in Node: tests construct the class and give `run` steps of their own. */
class NodeWorkflowEntrypoint {
  protected ctx: ExecutionContext;
  protected env: unknown;

  constructor(ctx: ExecutionContext, env: unknown) {
    this.ctx = ctx;
    this.env = env;
  }
}

export const WorkflowEntrypoint = standIn<typeof PlatformWorkflowEntrypoint>(NodeWorkflowEntrypoint);
export type WorkflowEntrypoint<Env = unknown, Params = unknown> = PlatformWorkflowEntrypoint<Env, Params>;
