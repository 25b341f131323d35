// What the assistant knows for particular tasks: the folder `skills` beside this file, part of the build.
import { skills, type SkillScriptRunner } from "everthink";
import bundled from "everthink:skills";

export const demoSkills = [bundled];

/** Scripts have neither files nor tools nor network here. */
export function scriptRunner(loader: WorkerLoader | undefined): SkillScriptRunner {
  return skills.runner(loader ? { loader } : {});
}
