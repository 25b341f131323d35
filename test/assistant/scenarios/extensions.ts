// A tool that the model writes for itself: a person sees what it may do, approves it, and the next question uses it; then
// another version, of which the card shows the change.
import { expect } from "vitest";
import type { Scenario } from "../scenario.ts";

const USE = "How strong is a wind of 22 knots?";

export const writesATool: Scenario = {
  name: "the model writes an extension, a person approves it, it is used after a reload, and its next version shows the change",
  async play({ visitor }) {
    await visitor.ask("Write yourself a tool that judges the wind.");
    const asked = () => visitor.tool("load_extension").last();
    await asked().getByText('Load the extension "wind" 1.0.0').waitFor();
    await asked().getByText("It reaches no files, no network").waitFor();
    await asked().getByLabel("Source").getByText("beaufort: {").waitFor();
    await visitor.status("parked");
    await visitor.photograph("extension-asked");
    await asked().getByRole("button", { name: "Approve" }).click();
    await visitor.answerHas("Version 1.0.0 of my tool is loaded.");
    await visitor.isSettled();
    await visitor.reload();
    await visitor.askAndWait(USE);
    await visitor.answerHas("is force 6.");
    await visitor.ask("Improve your tool.");
    await asked().getByText('Replace the extension "wind" 1.0.0 by 1.1.0').waitFor();
    const changes = asked().getByLabel("Changes since 1.0.0");
    await changes.getByText("-         return { force };").waitFor();
    expect(await changes.getByText("unchanged lines").count()).toBeGreaterThan(0);
    await visitor.photograph("extension-changed");
    await asked().getByRole("button", { name: "Approve" }).click();
    await visitor.answerHas("Version 1.1.0 of my tool is loaded.");
    await visitor.isSettled();
    await visitor.askAndWait(USE);
    await visitor.answerHas("is force 6, a strong breeze.");
  }
};

export const extensionScenarios: readonly Scenario[] = [writesATool];
