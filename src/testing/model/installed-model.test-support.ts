// Suites that run on both majors of the AI SDK take their models from here; see vitest.config.ts.
import { createScript, Script, type Steps } from "./script.ts";
import { scriptedModel, type ScriptedModelOptions } from "./scripted-model.ts";

export const IS_AI_6 = process.env["AI_MAJOR"] === "6";

/** A scripted model of the specification that the project's SDK takes. */
export function installedModel(source: Script | Steps, options: Omit<ScriptedModelOptions, "specification"> = {}) {
  const script = source instanceof Script ? source : createScript(source);
  return IS_AI_6
    ? scriptedModel(script, { ...options, specification: "v3" })
    : scriptedModel(script, { ...options, specification: "v4" });
}
