// Python in a Python Worker of its own, one per run, where the platform has Python: without the agent's bindings and without
// network. The deadline is kept from outside.
import { disposeCall, openIsolate } from "../../../sandbox/isolate.ts";
import { cutToBytes, decodeBase64, encodeBase64 } from "../../../util/bytes.ts";
import { errorMessage } from "../../../util/errors.ts";
import { isObject, parseJson } from "../../../util/json.ts";
import { SkillScriptError } from "../errors.ts";
import { descriptorOf } from "../skill.ts";
import type { IsolateRun } from "./isolate.ts";
import { scriptFunctions } from "./script-functions.ts";
import {
  MAX_PRINTED_BYTES,
  MAX_RESULT_CHARS,
  outputFileProblem,
  outputNameProblem,
  PYTHON_TIMED_OUT
} from "./limits.ts";
import { initialFiles, toOutputFile, SKILL_FOLDER } from "./path-contract.ts";
import { PYTHON_SOURCE } from "./python-source.ts";
import type { SkillOutputFile, SkillScriptRequest } from "./script.ts";

/** Texts only, in both directions: see python-source.ts. */
interface PythonEntrypoint {
  run(payload: string, host: (method: string, args: string) => Promise<string>): Promise<unknown>;
}

/** Runs a script in Python. Throws SkillScriptError. */
export async function runInPython(run: IsolateRun): Promise<unknown> {
  const call = start(run);
  // A late failure of a run that was given up is not an unhandled one.
  call.catch(() => undefined);
  let returned: unknown;
  try {
    returned = await Promise.race([call, run.stopped]);
  } catch (error) {
    throw error instanceof SkillScriptError ? error : platformFailure(error);
  } finally {
    disposeCall(call);
  }
  return readResult(returned);
}

function start({ loader, request, capabilities, timeoutMs }: IsolateRun): Promise<unknown> {
  const functions = scriptFunctions(capabilities);
  const ask = async (method: string, args: string): Promise<string> => {
    const call = Object.hasOwn(functions, method) ? functions[method] : undefined;
    const given = parseJson(args);
    if (!call || !given.ok || !Array.isArray(given.value)) return JSON.stringify({ error: "No such function." });
    return JSON.stringify(await call(...(given.value as never[])));
  };
  try {
    const entrypoint = openIsolate<PythonEntrypoint>({
      loader,
      modules: { "main.py": { py: PYTHON_SOURCE } },
      cpuMs: timeoutMs
    });
    return entrypoint.run(makePayload(request, timeoutMs), ask);
  } catch (error) {
    return Promise.reject(platformFailure(error));
  }
}

function makePayload(request: SkillScriptRequest, timeoutMs: number): string {
  const { skill, path, source } = request;
  const input = JSON.stringify(request.input) ?? "null";
  const files = Object.entries(initialFiles(request, input)).map(([file, content]) =>
    typeof content === "string" ? { path: file, text: content } : { path: file, base64: encodeBase64(content) }
  );
  const script = `${SKILL_FOLDER}/${path}`;
  return JSON.stringify({ input, files, source, path: script, skill: descriptorOf(skill), seconds: timeoutMs / 1_000 });
}

/** Makes the error of a rejection, which is the platform's own: whatever the script does is an answer. */
function platformFailure(error: unknown): SkillScriptError {
  const reason = errorMessage(error);
  if (/cpu/i.test(reason)) return new SkillScriptError(PYTHON_TIMED_OUT);
  return new SkillScriptError(
    "Python scripts cannot run here. Do the task without the script, or with one in another language.",
    { hint: `The platform could not start Python (${reason}). A local workerd downloads it with the first script.` }
  );
}

/** Reads what came back, which is not trusted: a script can change the code around it. */
function readResult(returned: unknown): unknown {
  const parsed = parseJson(typeof returned === "string" ? returned : "");
  const answer = parsed.ok && isObject(parsed.value) ? parsed.value : { error: "The script returned nothing." };
  const { error, result, exitCode } = answer;
  const stdout = readPrinted(answer["stdout"]);
  const stderr = readPrinted(answer["stderr"]);
  if (error !== undefined) {
    const texts = [cutToBytes(String(error), MAX_PRINTED_BYTES), stdout, stderr].filter((text) => text !== "");
    throw new SkillScriptError(texts.join("\n"));
  }
  const outputFiles = readOutputFiles(answer["files"]);
  const left = outputFiles.length > 0 ? { outputFiles } : {};
  if (typeof result !== "string") return { stdout, stderr, exitCode: Number(exitCode), ...left };
  if (result.length > MAX_RESULT_CHARS)
    throw new SkillScriptError(`The result of the script has more than ${MAX_RESULT_CHARS} characters.`);
  const value = parseJson(result);
  const logs = `${stdout}${stderr}`.split("\n").filter((line) => line !== "");
  const returnedValue = value.ok ? value.value : null;
  if (logs.length === 0 && outputFiles.length === 0) return returnedValue;
  return { result: returnedValue, ...(logs.length > 0 && { logs }), ...left };
}

function readOutputFiles(files: unknown): SkillOutputFile[] {
  const found: SkillOutputFile[] = [];
  for (const file of Array.isArray(files) ? files : []) {
    const { path, base64 } = isObject(file) ? file : {};
    const bytes = typeof base64 === "string" ? decodeBase64(base64) : undefined;
    const name = typeof path === "string" ? path : "";
    const problem = outputNameProblem(name) ?? outputFileProblem(name, bytes?.byteLength ?? 0, found.length);
    if (problem !== undefined) throw new SkillScriptError(problem);
    if (bytes) found.push(toOutputFile(name, bytes));
  }
  return found;
}

function readPrinted(text: unknown): string {
  return typeof text === "string" ? cutToBytes(text, MAX_PRINTED_BYTES) : "";
}
