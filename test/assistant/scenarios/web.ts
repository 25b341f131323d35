// The web and many tools: what the model looks up and finds, as a person sees it.
import { expect } from "vitest";
import type { Scenario } from "../scenario.ts";

export const readsTheWeb: Scenario = {
  name: "a page is searched for and fetched, and what it asks the model to do is not done",
  async play({ visitor }) {
    await visitor.suggest("Read the web");
    await visitor.isSettled();
    await visitor.tool("web_search").waitFor();
    await visitor.tool("fetch_url").waitFor();
    await visitor.answerHas("High water: 04:12 and 16:40");
    await visitor.photograph("web");
    await visitor.reload();
    await visitor.answerHas("it is a page, so I do not");
    expect(await visitor.tool("delete_note").count()).toBe(0);
  }
};

export const findsATool: Scenario = {
  name: "one of forty tools is found before it is called, also as it is shown after a reload",
  async play({ visitor }) {
    await visitor.suggest("Find a tool");
    await visitor.isSettled();
    await visitor.tool("search_tools").waitFor();
    await visitor.tool("harbour_berth_haugesund").waitFor();
    await visitor.answerHas("Berth 7 is free in Haugesund");
    await visitor.photograph("found-tool");
    await visitor.reload();
    await visitor.tool("harbour_berth_haugesund").waitFor();
  }
};

export const webScenarios: readonly Scenario[] = [readsTheWeb, findsATool];
