// The inspection API as a part of every class: one route, and nothing else until it is asked. Access is decided before
// anything of the agent is read.
import { hasBearerToken } from "../../agent/bearer-token.ts";
import { runtimeOf } from "../../agent/runtime.ts";
import { handPart } from "./by-hand.ts";
import { accessOf, forbidden, inspectionResponse } from "./inspect-http.ts";
import { isDeveloped } from "../../util/development.ts";
import { isObject } from "../../util/json.ts";
import type { Feature } from "../../feature/feature.ts";
import type { ChatServices } from "../../feature/services.ts";
import type { InspectionMembers } from "./capability.ts";
import { ThinkInspection } from "./inspection-source.ts";
import { WarnOnce } from "../../util/warn-once.ts";

/** The variable whose value opens the API to a client that has it. */
const INSPECTION_KEY = "EVERTHINK_INSPECTION_KEY";
const MIN_KEY_CHARS = 16;
const warnings = new WarnOnce();

const REST = /^\/v1\/(.*)$/s;
/** Below an agent's address. */
const INSPECTION_PATH = /^\/inspect\/v1\/(.*)$/s;

export function inspectionFeature(services: ChatServices): Feature {
  // Only agents with these members open it.
  const agent = services.agent as InspectionMembers;
  /** `path` is what follows "/inspect/v1/". */
  const mayInspect = async (request: Request, path: string) =>
    // The class may read the body to check a signature.
    (await agent.authorizeInspection(request.clone() as Request, accessOf(request, path))) === true;
  return {
    name: "inspection",
    inTurn: (turn) => handPart(services, turn),
    roles: {
      inspector: {
        answers: (path) => INSPECTION_PATH.test(path),
        admits: async (request, path) => {
          const inspected = INSPECTION_PATH.exec(path)?.[1];
          return inspected !== undefined && mayInspect(request, inspected);
        }
      }
    },
    routes: {
      inspect: async (request, rest) => {
        const path = REST.exec(rest)?.[1];
        // An address of the class's own.
        if (path === undefined) return undefined;
        if (!(await mayInspect(request, path))) return forbidden();
        const refusal = actRefusal(agent, request);
        if (refusal !== null && accessOf(request, path) === "act") return forbidden(refusal);
        return inspectionResponse(request, path, new ThinkInspection(services, refusal));
      }
    }
  };
}

/** Why this request may not take part; null: it may. */
function actRefusal(agent: InspectionMembers, request: Request): string | null {
  const { inspectionActs } = agent;
  if (inspectionActs === "always") return null;
  if (inspectionActs === "never") return 'The class lets no inspector take part: inspectionActs is "never".';
  if (isDeveloped(request, runtimeOf(agent).env)) return null;
  return 'Only under everthink dev, on the same machine. For others the class says inspectionActs = "always".';
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
