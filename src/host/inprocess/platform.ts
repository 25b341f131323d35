// The platform in Node: what `#platform` means where there is no workerd. Names and types are those of the real one; the
// objects that use them live in an Engine, which tests create.
import type { DurableObject as PlatformDurableObject } from "cloudflare:workers";
import { standIn } from "./stand-in.ts";

export { servicesOf } from "./object-services.ts";
export { openSocketPair } from "./upgrade-response.ts";

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
