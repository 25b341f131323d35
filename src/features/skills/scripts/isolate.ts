// JavaScript and TypeScript in an isolate of their own, one per run: without the agent's bindings and without network, with
// nothing but the functions that the run is given. The deadline is kept from outside.
import { disposeCall, openIsolate, type IsolateLoader } from "../../../sandbox/isolate.ts";
import { SPIN_LIMIT_MS } from "../../../sandbox/spin-guard.ts";
import { parseJson, isObject } from "../../../util/json.ts";
import { cutToBytes } from "../../../util/bytes.ts";
import { SkillScriptError } from "../errors.ts";
import { descriptorOf } from "../skill.ts";
import type { Capabilities } from "./capabilities.ts";
import { scriptFunctions } from "./script-functions.ts";
import { makeHarness } from "./isolate-source.ts";
import { MAX_PRINTED_BYTES, MAX_RESULT_CHARS } from "./limits.ts";
import { scriptModules } from "./modules.ts";
import type { SkillScriptRequest } from "./script.ts";

interface ScriptEntrypoint {
  run(payload: object, host: object): Promise<unknown>;
}

export interface IsolateRun {
  readonly loader: IsolateLoader;
  readonly request: SkillScriptRequest;
  readonly capabilities: Capabilities;
  readonly timeoutMs: number;
  /** Rejects when the run is stopped. */
  readonly stopped: Promise<never>;
}

/** Runs a script in an isolate. Throws SkillScriptError. */
export async function runInIsolate(run: IsolateRun): Promise<unknown> {
  const { loader, request, capabilities, timeoutMs, stopped } = run;
  const { skill, path, input, source: content, precompiled = false } = request;
  const resources = request.resources ?? [{ path, kind: "script" as const, content, precompiled }];
  const { entry, modules } = await scriptModules(path, resources);
  const entrypoint = openIsolate<ScriptEntrypoint>({
    loader,
    // A script that does not yield must end with its deadline: until then no timer of this process fires.
    modules: { ...modules, "main.js": makeHarness(entry, Math.min(SPIN_LIMIT_MS, timeoutMs)) },
    cpuMs: timeoutMs
  });
  const files = Object.fromEntries(
    resources.flatMap((one) => (one.encoding === "base64" ? [] : [[one.path, one.content]]))
  );
  const payload = { input, skill: descriptorOf(skill), files, hasNetwork: capabilities.fetch !== undefined };
  const call = entrypoint.run(payload, scriptFunctions(capabilities));
  // A late failure of a run that was given up is not an unhandled one.
  call.catch(() => undefined);
  try {
    return readResult(await Promise.race([call, stopped]), capabilities);
  } finally {
    disposeCall(call);
  }
}

/** Reads what the isolate returned, which is not trusted: a script can change the code around it. */
function readResult(returned: unknown, capabilities: Capabilities): unknown {
  const { json, error, logs } = isObject(returned) ? returned : {};
  const lines = Array.isArray(logs) ? logs.filter((line) => typeof line === "string") : [];
  const printed = lines.length === 0 ? "" : cutToBytes(lines.join("\n"), MAX_PRINTED_BYTES);
  if (error !== undefined || !isObject(returned)) {
    const message = String(error ?? "The script returned nothing.").slice(0, MAX_PRINTED_BYTES);
    throw new SkillScriptError(printed === "" ? message : `${message}\n${printed}`);
  }
  if (typeof json === "string" && json.length > MAX_RESULT_CHARS)
    throw new SkillScriptError(`The result of the script has more than ${MAX_RESULT_CHARS} characters.`);
  const parsed = typeof json === "string" ? parseJson(json) : undefined;
  const result = parsed?.ok ? parsed.value : null;
  const { outputFiles } = capabilities;
  if (printed === "" && outputFiles.length === 0) return result;
  // A tool's output: fields that are missing are left out.
  return {
    result,
    ...(printed !== "" && { logs: printed.split("\n") }),
    ...(outputFiles.length > 0 && { outputFiles })
  };
}
