// Runs scripts of skills: each run has a deadline and its own capabilities, and ends with both. Interpreters and parsers are
// loaded with the first script that needs them.
import type { IsolateLoader } from "../../../sandbox/isolate.ts";
import { rejectOnAbort } from "../../workspace/bash/timed-signal.ts";
import { SkillScriptError } from "../errors.ts";
import { extensionOf, isResourcePath } from "../resource.ts";
import { Capabilities, type CapabilityOptions } from "./capabilities.ts";
import { runInIsolate } from "./isolate.ts";
import { DEFAULT_SCRIPT_TIMEOUT_MS, PYTHON_TIMED_OUT } from "./limits.ts";
import { runInPython } from "./python.ts";
import { languageOf, SCRIPT_EXTENSIONS, type SkillScriptRequest, type SkillScriptRunner } from "./script.ts";
import { runInShell } from "./shell.ts";

export interface SkillRunnerOptions extends CapabilityOptions {
  /** The `worker_loaders` binding, which all languages but Bash need. */
  readonly loader?: IsolateLoader;
  /** The milliseconds that a script may run; 30,000 by default. */
  readonly timeout?: number;
}

/**
 * Makes what runs scripts of skills. Without further options they have neither files nor tools nor network.
 *
 * @example
 * override getSkillScriptRunner() {
 *   return skills.runner({ loader: this.env.LOADER, workspaceInstance: this.workspace });
 * }
 */
export function runner(options: SkillRunnerOptions): SkillScriptRunner {
  return { run: (request) => run(options, request) };
}

async function run(options: SkillRunnerOptions, request: SkillScriptRequest): Promise<unknown> {
  const { path, resources = [], signal: caller } = request;
  if (![path, ...resources.map((one) => one.path)].every(isResourcePath))
    throw new SkillScriptError("Every path of a skill must be a normalized relative path.");
  const language = languageOf(extensionOf(path));
  if (!language) throw new SkillScriptError(`A script must end in one of ${SCRIPT_EXTENSIONS.join(" ")}.`);
  const timeoutMs = options.timeout ?? DEFAULT_SCRIPT_TIMEOUT_MS;
  const deadline = AbortSignal.timeout(timeoutMs);
  const signal = caller ? AbortSignal.any([caller, deadline]) : deadline;
  const { toolCallId = "skill-script", messages = [] } = request;
  const capabilities = await Capabilities.open(options, { toolCallId, messages, signal });
  const late = new SkillScriptError(
    language === "python" ? PYTHON_TIMED_OUT : `The script was timed out after ${timeoutMs} ms.`
  );
  const stopped = rejectOnAbort(signal, () =>
    deadline.aborted ? late : new SkillScriptError("The script was stopped.")
  );
  try {
    if (language === "bash") return await runInShell({ request, capabilities, signal, timeoutMs, stopped });
    const { loader } = options;
    if (!loader)
      throw new SkillScriptError("Scripts in JavaScript, TypeScript and Python cannot run here.", {
        hint: 'Give skills.runner a loader: "worker_loaders": [{ "binding": "LOADER" }] in the Wrangler configuration.'
      });
    const runInLanguage = language === "python" ? runInPython : runInIsolate;
    return await runInLanguage({ loader, request, capabilities, timeoutMs, stopped });
  } finally {
    capabilities.close();
  }
}
