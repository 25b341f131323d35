// TypeScript that was not compiled when it was built, such as scripts in R2. The package sucrase takes the types out; it is
// an optional peer, loaded by the first such script.
import { lazyModule } from "../../host/lazy-module.ts";
import { errorMessage } from "../../util/errors.ts";
import { SkillScriptError } from "../errors.ts";

type Transform = (
  source: string,
  options: { transforms: ("typescript" | "jsx")[]; disableESTransforms: boolean }
) => {
  code: string;
};

/** Undefined: not installed. Bundlers leave an import inside of try...catch alone when the package is not there. */
const loadTransform = lazyModule(async (): Promise<Transform | undefined> => {
  try {
    return (await import("sucrase")).transform;
  } catch {
    // The error that names the package is made where a script needs it.
    return undefined;
  }
});

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
