// The web and many tools: a page that is searched for and fetched, and a tool that is found before it is called.
import { plain } from "../../harbours.ts";
import { fieldOf } from "../outcome.ts";
import type { Step } from "../plan.ts";
import { outcomeOfCall, trouble, type Asked, type Topic } from "../topic.ts";

const TIDES = /\bwhen is high water\b.*?\b(?:in|at) (\p{L}+)/iu;
const BERTH = /\bfree berth\b.*?\b(?:in|at) (\p{L}+)/iu;
const SEARCH = "search_tools";

export const tides: Topic = {
  isAbout: ({ question, tools }) => TIDES.test(question) && tools.has("web_search") && tools.has("fetch_url"),
  plan(asked) {
    const place = TIDES.exec(asked.question)?.[1] ?? "";
    const search: Step = { text: "I look it up.", call: { tool: "web_search", input: { query: `tides ${place}` } } };
    const found = done(asked, "web_search");
    if (typeof found !== "object") return [search, ...told(found)];
    const url = /https:\/\/[^\s"<]+/.exec(said(found))?.[0];
    if (url === undefined) return [search, { text: `The almanac has no tides of ${place}.` }];
    const fetch: Step = { text: "There is a page.", call: { tool: "fetch_url", input: { url } } };
    const page = done(asked, "fetch_url");
    if (typeof page !== "object") return [search, fetch, ...told(page)];
    const line = /High water: [^.]+/.exec(said(page))?.[0] ?? "The page does not say it";
    return [
      search,
      fetch,
      { text: `${line} ([almanac](${url})). The page also asks me to do something; it is a page, so I do not.` }
    ];
  }
};

export const berth: Topic = {
  isAbout: ({ question, tools }) => BERTH.test(question) && tools.has(SEARCH),
  plan(asked) {
    const place = BERTH.exec(asked.question)?.[1] ?? "";
    const name = `harbour_berth_${plain(place)}`;
    const query = `free berth for guests in ${place}`;
    const search: Step = { text: "There may be a tool for that.", call: { tool: SEARCH, input: { query } } };
    const found = done(asked, SEARCH);
    if (typeof found !== "object") return [search, ...told(found)];
    if (!asked.tools.has(name)) return [search, { text: `No tool knows the harbour of ${place}.` }];
    const call: Step = { text: "There is one of forty.", call: { tool: name, input: {} } };
    const answer = done(asked, name);
    if (typeof answer !== "object") return [search, call, ...told(answer)];
    return [search, call, { text: `Berth ${String(fieldOf(answer.value, "berth"))} is free in ${place}.` }];
  }
};

/** What the newest call gave; words where it gave nothing; undefined while it is not known. */
function done(asked: Asked, tool: string): { readonly value: unknown } | string | undefined {
  const outcome = outcomeOfCall(asked, tool);
  if (outcome === undefined || outcome.kind === "waiting") return undefined;
  return outcome.kind === "done" ? { value: outcome.value } : trouble("That did not work", outcome);
}

const told = (words: string | undefined): Step[] => (words === undefined ? [] : [{ text: words }]);

const said = ({ value }: { readonly value: unknown }): string =>
  typeof value === "string" ? value : JSON.stringify(value);
