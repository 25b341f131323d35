// The inspection API as a part of every class: one route, and nothing else until it is asked. Access is decided before
// anything of the agent is read.
import { hasBearerToken } from "../../agent/bearer-token.ts";
import { accessOf, forbidden, inspectionResponse } from "./inspect-http.ts";
import { isObject } from "../../util/json.ts";
import type { Feature, FeatureFactory } from "../../feature/feature.ts";
import type { ThinkRuntime } from "../../think/runtime.ts";
import { ThinkInspection } from "./inspection-source.ts";
import { WarnOnce } from "../../util/warn-once.ts";

/** The variable whose value opens the API to a client that has it. */
const INSPECTION_KEY = "EVERTHINK_INSPECTION_KEY";
const MIN_KEY_CHARS = 16;
const warnings = new WarnOnce();

const REST = /^\/v1\/(.*)$/s;
/** Below an agent's address. */
export const INSPECTION_PATH = /^\/inspect\/v1\/(.*)$/s;

export function inspectionFeature(runtime: ThinkRuntime): FeatureFactory {
  return (): Feature => ({
    name: "inspection",
    routes: { inspect: (request, rest) => respond(runtime, request, REST.exec(rest)?.[1]) }
  });
}

/** Undefined: an address of the class's own. */
async function respond(
  runtime: ThinkRuntime,
  request: Request,
  path: string | undefined
): Promise<Response | undefined> {
  if (path === undefined) return undefined;
  if (!(await mayInspect(runtime, request, path))) return forbidden();
  return inspectionResponse(request, path, new ThinkInspection(runtime));
}

/** `path` is what follows "/inspect/v1/". */
export async function mayInspect({ overrides }: ThinkRuntime, request: Request, path: string): Promise<boolean> {
  // The class may read the body to check a signature.
  return (await overrides.authorizeInspection(request.clone() as Request, accessOf(request, path))) === true;
}

export function hasInspectionKey(request: Request, env: unknown): boolean {
  const key: unknown = isObject(env) ? env[INSPECTION_KEY] : undefined;
  if (typeof key !== "string" || key === "") return false;
  if (key.length < MIN_KEY_CHARS) {
    warnings.warn(`${INSPECTION_KEY} has fewer than ${MIN_KEY_CHARS} characters and opens nothing: set a longer one.`);
    return false;
  }
  return hasBearerToken(request, key);
}
