// A skill of the build: its instructions, its script in an isolate, and what a person sees of both.
import type { Scenario } from "../scenario.ts";

export const usesASkill: Scenario = {
  name: "a skill is activated and its script runs in an isolate; the cards name the skill, also after a reload",
  async play({ visitor }) {
    await visitor.suggest("Use a skill");
    await visitor.isSettled();
    const activation = visitor.tool("activate_skill");
    await activation.getByText("passage-plan", { exact: true }).waitFor();
    await activation.getByText("active", { exact: true }).waitFor();
    await visitor.tool("run_skill_script").getByText("passage-plan", { exact: true }).waitFor();
    // Bergen to Haugesund is 59 miles south, and on to Stavanger another 30.
    await visitor.answerHas("88.9 miles");
    await visitor.answerHas("at 6 knots");
    await visitor.photograph("skill");
    await visitor.reload();
    await activation.getByText("active", { exact: true }).waitFor();
    await visitor.tool("run_skill_script").locator("summary").click();
    await visitor.tool("run_skill_script").getByText('"totalMiles"').waitFor();
    await activation.locator("summary").click();
    await activation.getByText("# Planning a passage").waitFor();
    await visitor.photograph("skill-open");
    await visitor.askAndWait("Plan a passage from Bergen to Atlantis.");
    await visitor.answerHas('"Atlantis" is not known');
    await visitor.photograph("skill-failed");
  }
};

export const skillScenarios: readonly Scenario[] = [usesASkill];
