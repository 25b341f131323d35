// Tells a model that cannot be used as it is set up (a refused key, an unknown model, no server at the address) from one
// that only failed this time. What it says is for people and holds nothing that the provider or the platform said: such
// texts may repeat a key. Pure.
import { APICallError } from "ai";
import { HOSTED, providerName, type ModelProblem, type RemoteChoice } from "./models.ts";

/** Undefined: an ordinary failure, which Think retries or reports. */
export function problemIn(error: unknown, choice: RemoteChoice): ModelProblem | undefined {
  if (isUnreachable(error)) return unreachable(choice);
  if (!APICallError.isInstance(error) || error.statusCode === undefined) return undefined;
  const { statusCode: status } = error;
  const said = `${error.message} ${error.responseBody ?? ""}`;
  if (status === 401 || status === 403 || (status === 400 && REFUSED_KEY.test(said))) return refusedKey(choice, status);
  if (status === 404 || (status === 400 && UNKNOWN_MODEL.test(said))) return unknownModel(choice, status);
  return undefined;
}

/** Google answers a wrong key with 400. */
const REFUSED_KEY = /API_KEY_INVALID|api key not valid|(invalid|incorrect).{0,10}api.?key/i;
const UNKNOWN_MODEL = /model_not_found|(invalid|unknown) model|model .{0,100}(does not exist|not found)/i;

/** How Node, workerd and the SDK say that no connection came about. For an unknown host, workerd's is an "internal error". */
const NO_CONNECTION =
  /fetch failed|failed to fetch|cannot connect to api|network connection lost|econnrefused|enotfound|eai_again|connection refused|internal error; reference|invalid url/i;

function isUnreachable(error: unknown): boolean {
  if (APICallError.isInstance(error) && error.statusCode !== undefined) return false;
  return error instanceof Error && NO_CONNECTION.test(error.message);
}

function refusedKey(choice: RemoteChoice, status: number): ModelProblem {
  const key = choice.provider === "compatible" ? "OPENAI_COMPATIBLE_API_KEY" : HOSTED[choice.provider].key;
  const isGiven = choice.apiKey !== undefined;
  return {
    what: isGiven
      ? `${providerName(choice.provider)} refused the key in ${key} (${status}).`
      : `${providerName(choice.provider)} wants a key, and ${key} is not set (${status}).`,
    fix: `Set ${key} to a valid key and start again.`
  };
}

function unknownModel({ provider, modelId }: RemoteChoice, status: number): ModelProblem {
  const isOwnServer = provider === "compatible";
  return {
    what: `${providerName(provider)} has no model "${modelId}"${isOwnServer ? ", or its address is wrong" : ""} (${status}).`,
    fix: isOwnServer
      ? "Set MODEL to a model the server has, check OPENAI_COMPATIBLE_URL (most end in /v1), and start again."
      : "Set MODEL to a model that your key may use and start again."
  };
}

function unreachable(choice: RemoteChoice): ModelProblem {
  const name = providerName(choice.provider);
  if (choice.provider !== "compatible") {
    return {
      what: `${name} cannot be reached.`,
      fix: "Check this machine's connection to the internet and ask again."
    };
  }
  return {
    what: `Nobody answers at ${new URL(choice.baseUrl).origin}.`,
    fix: "Start the server there, or set OPENAI_COMPATIBLE_URL to where it listens. If it is on this machine, everthink serve needs --allow-private-network."
  };
}
