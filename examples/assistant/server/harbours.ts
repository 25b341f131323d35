// Forty tools of ten harbours: more than a prompt should describe. The model finds the one it needs with search_tools.
import { tool, type ToolSet } from "ai";
import { z } from "zod";

const HARBOURS = [
  "Bergen",
  "Egersund",
  "Farsund",
  "Florø",
  "Haugesund",
  "Kristiansand",
  "Mandal",
  "Måløy",
  "Stavanger",
  "Ålesund"
];

const DESKS: Readonly<
  Record<string, { readonly does: (harbour: string) => string; readonly answer: (order: number) => object }>
> = {
  berth: { does: (harbour) => `A free berth for guests in ${harbour}.`, answer: (order) => ({ berth: 3 + order }) },
  fuel: {
    does: (harbour) => `The price of diesel at the pier of ${harbour}.`,
    answer: (order) => ({ perLitre: 18 + order / 10 })
  },
  depth: {
    does: (harbour) => `The depth at the entrance of ${harbour}.`,
    answer: (order) => ({ metres: 4 + order / 2 })
  },
  pilot: {
    does: (harbour) => `The channel on which the pilots of ${harbour} listen.`,
    answer: (order) => ({ channel: 10 + order })
  }
};

const PREFIX = "harbour_";

/** Whether a tool is described to the model only once it was found. */
export const isHarbourTool = (name: string): boolean => name.startsWith(PREFIX);

export const harbourTools: ToolSet = Object.fromEntries(
  HARBOURS.flatMap((harbour, order) =>
    Object.entries(DESKS).map(([desk, { does, answer }]) => [
      `${PREFIX}${desk}_${plain(harbour)}`,
      tool({
        description: does(harbour),
        inputSchema: z.object({}),
        execute: () => ({ harbour, ...answer(order) })
      })
    ])
  )
);

/** Names of tools have no letters beyond a to z. */
export function plain(harbour: string): string {
  const letters: Readonly<Record<string, string>> = { å: "aa", ø: "oe", æ: "ae" };
  return harbour.toLowerCase().replaceAll(/[åøæ]/g, (letter) => letters[letter] ?? "");
}
