// TypeScript that was not compiled when it was built, such as scripts in R2.
import { loadTransform } from "../../../sandbox/load-transform.ts";
import { errorMessage } from "../../../util/errors.ts";
import { SkillScriptError } from "../errors.ts";

export async function stripTypes(file: string, source: string): Promise<string> {
  const transform = await loadTransform();
  if (!transform)
    throw new SkillScriptError(`${file} must be compiled to a self-contained JavaScript module.`, {
      hint: "Install the package sucrase to run TypeScript as it is, or compile the script with `everthink skills build`."
    });
  try {
    const transforms: ("typescript" | "jsx")[] = file.endsWith(".tsx") ? ["typescript", "jsx"] : ["typescript"];
    return transform(source, { transforms, disableESTransforms: true }).code;
  } catch (error) {
    throw new SkillScriptError(`${file} cannot be read: ${errorMessage(error)}`);
  }
}
