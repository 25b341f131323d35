// The space between messages: what belongs to an answer stands closer to it than to what comes next.
import type { Visitor } from "./visitor.ts";

/** Between the tools of an answer and what comes next; their drawings have some room of their own. */
const LEAST_GAP_PX = 12;

/** Every answer whose tools stand tight on the next message or on the composer. The log must be at its end. */
export function crowded({ page }: Visitor): Promise<string[]> {
  return page.evaluate((leastGap) => {
    const answers = [...document.querySelectorAll("[data-role=assistant]")];
    const composer = document.querySelector("form.think-composer")!;
    return answers.flatMap((answer, index) => {
      const next = answer.nextElementSibling ?? composer;
      const tools = answer.querySelector(".think-message-tools");
      if (tools === null) return [];
      const gap = next.getBoundingClientRect().top - tools.getBoundingClientRect().bottom;
      return gap < leastGap ? [`${gap} px below answer ${index + 1}`] : [];
    });
  }, LEAST_GAP_PX);
}
